//! Resources made from claims and Coverage.

use std::collections::HashMap;

use super::plan::{Addition, Generated};
use super::record::Record;
use super::survey::Settings;
use crate::fhir::TypeId;

/// What is kept of claims, and of a source's own records that stand in for generated ones.
#[derive(Debug, Default)]
pub struct Facts {}

impl Facts {
    /// Takes in a record.
    pub fn see(&mut self, _: &Record<'_>, _: &Settings<'_>) {}

    /// The resources to generate, in order of type and id, and what a source's own records gain.
    pub fn decide(self, _: &Settings<'_>) -> (Vec<Generated>, HashMap<(TypeId, String), Vec<Addition>>) {
        Default::default()
    }
}
