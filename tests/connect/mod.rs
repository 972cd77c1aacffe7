//! The consent flow at its doors and pages, over HTTP, with the sandbox's organizations on the other side.

mod abuse;
mod authorize;
mod browser;
mod ends;
mod link;
mod page;
mod waiting;
mod ways;
mod world;
