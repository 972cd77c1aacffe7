//! The result of an import, per resource type.

use std::collections::BTreeMap;

use super::error::Refusal;
use crate::fhir::{TypeId, facts};
use crate::normalize::Report;

/// The maximum number of refusals in a summary. Further ones are only counted.
pub const REFUSALS_KEPT: usize = 100;

/// The counts of one type. `read` is the sum of the other counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Resources in the input. With rules, also generated resources and rows of the lake that rules changed.
    pub read: u64,
    /// Resources that were written, as a new resource or as a new version.
    pub stored: u64,
    /// Resources that are equal to the existing row, or that were not created because a conditional create found a
    /// match.
    pub unchanged: u64,
    /// Resources that a later version in the same input replaced.
    pub replaced: u64,
    /// Resources that were left out, with a [`Refusal`].
    pub refused: u64,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The counts by type name.
    pub types: BTreeMap<&'static str, Counts>,
    /// The number of refused parts of the input whose type is unknown. Other refusals are counted by type.
    pub untyped_refused: u64,
    /// The first refusals, at most [`REFUSALS_KEPT`].
    pub refusals: Vec<Refusal>,
    /// The number of all refusals.
    pub refused: u64,
    /// The number of Bundle entries that were left out: deletions, searches, outcomes, and entries without a resource.
    pub left_out: u64,
    /// The number of references to entries of a Bundle, and of conditional references, that did not lead to exactly one
    /// resource. They are stored unchanged.
    pub unresolved: u64,
    /// The counts of normalization, if rules were applied.
    pub rules: Report,
    /// The number of the lake's rows that could not be read. The rules have left them unchanged.
    pub unreadable: u64,
    /// The snapshot with the result. 0 for a dry run.
    pub snapshot: u64,
}

impl Summary {
    /// Returns the sums over all types.
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

    /// Computes the numbers of replaced resources: those that were read, and neither stored nor unchanged nor refused.
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

    /// Adds a refusal. If the type is known, the caller has already counted the resource as read.
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
