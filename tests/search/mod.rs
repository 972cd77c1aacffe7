//! Search over real records gives what a plain, row-by-row reading of the same JSON gives.

mod bounds;
mod brute;
mod corpus;
mod criteria;
mod differential;
mod joined;
mod mutations;
mod paged;
mod planned;
mod small;
mod specification;
mod system;
