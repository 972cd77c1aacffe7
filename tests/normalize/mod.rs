//! Normalization through the room's own API: a golden test of each rule over the real files, worked out by hand, and
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
