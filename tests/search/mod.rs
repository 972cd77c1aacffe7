//! Search over real records gives what a plain, row-by-row reading of the same JSON gives.

mod bounds;
mod brute;
mod canonicals;
mod conditions;
mod contained;
mod corpus;
mod differential;
mod filters;
mod finer_points;
mod includes;
mod joins;
mod many;
mod mutations;
mod newest;
mod order;
mod pages;
mod plans;
mod queries;
mod sampled;
mod small;
mod sorting;
mod specification;
mod system;
mod terminology;
mod walks;
mod ways;
