//! The values of search parameters: one file per kind of value, from text to something that can be compared.

mod date;
pub(crate) mod escape;
mod interval;
mod near;
mod number;
mod prefix;
mod reference;
mod text;
mod token;
mod uri;

pub(super) use date::DateValue;
pub(super) use interval::Interval;
pub(super) use near::NearValue;
pub(super) use number::{Extent, NumberValue, QuantityValue, Stored};
pub(super) use prefix::Prefix;
pub(super) use reference::ReferenceValue;
pub(super) use text::{begins, contains, fold, has_noise, plain};
pub(super) use token::{TokenSet, TokenValue, TypedIdentifier};
pub(super) use uri::UriTree;
