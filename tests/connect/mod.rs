//! The consent flow's entry points and pages, over HTTP, with the sandbox's organizations as sources.

mod abuse;
mod authorize;
mod browser;
mod ends;
mod link;
mod page;
mod waiting;
mod ways;
mod world;
