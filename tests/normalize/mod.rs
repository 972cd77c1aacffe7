//! Normalization over the room's own door: a golden test for each rule over the real files, worked out by hand, and
//! properties that hold for any records.

mod claims;
mod command;
mod contributed;
mod form;
mod form_properties;
pub(crate) mod harness;
mod imports;
mod properties;
mod real;
mod world;
