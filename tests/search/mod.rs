//! Searches over real records give the same results as a plain reading of the JSON, row by row.

mod bounds;
mod brute;
mod corpus;
mod criteria;
mod differential;
mod joined;
mod moments;
mod mutations;
mod paged;
mod planned;
mod small;
mod specification;
mod system;
