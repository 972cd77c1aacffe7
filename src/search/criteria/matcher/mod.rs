//! Decides whether a value of a parameter matches the value of the search. There is one file per kind of value.
//!
//! A matcher works on whole columns. It gets the items of one type with their rows, and sets a flag for each row that
//! matches.

pub(in crate::search) mod codes;
mod date;
pub(in crate::search) mod items;
mod kind;
mod many;
mod mark;
mod near;
pub(in crate::search) mod number;
mod parse;
mod quantity;
mod reference;
mod sampled;
mod string;
mod token;
mod uri;

pub(in crate::search) use codes::CodesValue;
pub(in crate::search) use date::interval as date_interval;
pub(in crate::search) use items::only_text;
pub(in crate::search) use kind::{Matcher, Targets};
pub(in crate::search) use many::{MAX_ALTERNATIVES, Many, gather, gather_tokens, gather_values};
pub(in crate::search) use sampled::Samples;
pub(in crate::search) use token::TokenIndex;
