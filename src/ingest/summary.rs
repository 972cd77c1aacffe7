//! The result of an import, per resource type.

use std::collections::BTreeMap;

use super::error::Refusal;
use crate::fhir::{TypeId, facts};
use crate::normalize::Report;

/// The maximum number of kept refusals. The rest is only counted.
pub const REFUSALS_KEPT: usize = 100;

/// The counts of one type. `read` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Met in the input.
    pub read: u64,
    /// Written as a new resource or a new version of one.
    pub stored: u64,
    /// Equal to the existing row, or matched by a conditional create.
    pub unchanged: u64,
    /// Followed by a later version in the same input.
    pub replaced: u64,
    /// Left out, with a [`Refusal`].
    pub refused: u64,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The counts by type name.
    pub types: BTreeMap<&'static str, Counts>,
    /// Refused input of unknown type. Other refusals are counted with their type.
    pub untyped_refused: u64,
    /// The first refusals.
    pub refusals: Vec<Refusal>,
    /// All refusals.
    pub refused: u64,
    /// Entries of Bundles without a resource to store: deletions, searches, outcomes, entries without a resource.
    pub left_out: u64,
    /// References to addresses inside a Bundle, and conditional ones, that did not match exactly one resource. They are
    /// stored unchanged.
    pub unresolved: u64,
    /// The counts of normalization, if rules were applied.
    pub rules: Report,
    /// Rows of the lake that the rules left unchanged, because they could not be read.
    pub unreadable: u64,
    /// The snapshot that holds the result.
    pub snapshot: u64,
}

impl Summary {
    /// The sums over all types.
    pub fn total(&self) -> Counts {
        let mut total = Counts {
            read: self.untyped_refused,
            refused: self.untyped_refused,
            ..Counts::default()
        };
        for counts in self.types.values() {
            total.read += counts.read;
            total.stored += counts.stored;
            total.unchanged += counts.unchanged;
            total.replaced += counts.replaced;
            total.refused += counts.refused;
        }
        total
    }

    /// Counts resources that a later occurrence in the input replaced.
    pub(super) fn close(&mut self) {
        for counts in self.types.values_mut() {
            counts.replaced = counts
                .read
                .saturating_sub(counts.stored + counts.unchanged + counts.refused);
        }
    }

    pub(super) fn of(&mut self, type_id: TypeId) -> &mut Counts {
        self.types.entry(facts().get(type_id).name).or_default()
    }

    /// Notes a refusal of a resource that was read.
    pub(super) fn refuse(&mut self, refusal: Refusal) {
        match refusal.type_id {
            Some(type_id) => self.of(type_id).refused += 1,
            None => self.untyped_refused += 1,
        }
        self.refused += 1;
        if self.refusals.len() < REFUSALS_KEPT {
            self.refusals.push(refusal);
        }
    }
}
