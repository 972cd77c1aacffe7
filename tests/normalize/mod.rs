//! Normalization through the room's own API: a golden test of each rule over the real files, worked out by hand, and
//! properties that hold for any records.

mod codings;
mod command;
mod conditions;
mod contributed;
mod dialects;
mod encounters;
mod form_properties;
pub(crate) mod harness;
mod imports;
mod insurance_plans;
mod own_words;
mod prescriptions;
mod procedures;
mod properties;
mod real;
mod references;
mod required;
mod world;
