//! Views: an editor, what is to be said of the definition, its columns, the first rows with what they cost, a plot, and
//! a link that makes all of it again.

mod ask;
mod chart;
mod preview;
mod show;

pub(in crate::http::console) use show::{open, rows, run};
