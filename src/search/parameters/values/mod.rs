//! The values of search parameters. There is one file per kind of value. Each file parses a text into a value that can
//! be compared.

mod date;
pub(crate) mod escape;
mod hashed;
mod interval;
mod near;
mod number;
mod numbers;
mod prefix;
mod reference;
mod spans;
mod text;
mod texts;
mod token;
mod uri;
mod uris;

pub(in crate::search) use date::{DateSet, DateValue};
pub(in crate::search) use hashed::{SentMap, SentSet};
pub(in crate::search) use interval::Interval;
pub(in crate::search) use near::NearValue;
pub(in crate::search) use number::{Extent, NumberValue, Numbers, QuantityValue, Stored};
pub(in crate::search) use numbers::{NumberSet, Quantities, QuantitySet, Unit};
pub(in crate::search) use prefix::Prefix;
pub(in crate::search) use reference::ReferenceValue;
pub(in crate::search) use text::{begins, contains, fold, has_noise, is_silent, plain};
pub(in crate::search) use texts::{Beginnings, Parts};
pub(in crate::search) use token::{TokenSet, TokenValue, TypedIdentifier, TypedSet};
pub(in crate::search) use uri::UriTree;
pub(in crate::search) use uris::{ReferenceSet, UriSet};
