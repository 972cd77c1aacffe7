//! The page of views: an editor, the findings about the definition, its columns, its first rows with their cost, a
//! plot, and a link that reproduces all of these.

mod ask;
mod chart;
mod examples;
mod preview;
mod show;

pub(in crate::http::console) use show::{open, rows, run};
