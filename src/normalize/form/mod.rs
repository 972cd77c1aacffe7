//! The form of a record: systems, codes, displays, required elements.

mod coding;
pub mod systems;

pub use coding::canonical_code;
pub use systems::canonical_system;

use super::codes::Codes;
use super::plan::Addition;
use super::record::Record;
use super::report::Report;
use super::survey::Settings;
use crate::lake::json::Edits;

/// What records of the consent say of codes: displays by system and code.
#[derive(Debug, Default)]
pub struct Facts {}

impl Facts {
    /// Takes in a record.
    pub fn see(&mut self, _: &Record<'_>, _: &Settings<'_>) {}

    /// The facts when all records are seen.
    pub fn decide(self) -> Facts {
        self
    }
}

/// Edits a record, and makes the additions of other rules.
pub fn edit(_: &Record<'_>, _: &Facts, _: &[Addition], _: &dyn Codes, _: &mut Edits, _: &mut Report) {}
