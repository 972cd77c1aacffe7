//! References, and what other sources know.

use super::record::Record;
use super::report::Report;
use super::survey::Settings;
use crate::lake::json::Edits;

/// What is kept of what can be referred to.
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

/// Edits the references of a record.
pub fn edit(_: &Record<'_>, _: &Facts, _: &mut Edits, _: &mut Report) {}
