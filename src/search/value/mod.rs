//! The values of search parameters: one file per kind of value, from text to something that can be compared.

mod date;
pub(crate) mod escape;
mod interval;
mod near;
mod number;
mod numbers;
mod prefix;
mod reference;
mod stretches;
mod text;
mod texts;
mod token;
mod uri;
mod uris;

pub(super) use date::{DateSet, DateValue};
pub(super) use interval::Interval;
pub(super) use near::NearValue;
pub(super) use number::{Extent, NumberValue, Numbers, QuantityValue, Stored};
pub(super) use numbers::{NumberSet, Quantities, QuantitySet, Unit};
pub(super) use prefix::Prefix;
pub(super) use reference::ReferenceValue;
pub(super) use text::{begins, contains, fold, has_noise, is_silent, plain};
pub(super) use texts::{Beginnings, Parts};
pub(super) use token::{TokenSet, TokenValue, TypedIdentifier, TypedSet};
pub(super) use uri::UriTree;
pub(super) use uris::{ReferenceSet, UriSet};
