//! The people of a lake: all of them in a random order, and the people chosen for queries about one person.

use std::collections::HashSet;

use super::super::error::BenchError;
use super::dice::{Dice, Reservoir};
use super::table;
use crate::lake::scan::ScopedTable;

/// The maximum number of people whose ids are kept. If the lake has more, a random sample of them is kept.
const MAX_PEOPLE: usize = 200_000;
/// The maximum number of people for whom a pool keeps a sample of their own rows.
const CHOSEN: usize = 1_000;

/// The ids of the people, or of a random sample of `MAX_PEOPLE` people. `chosen` has the first `CHOSEN` ids of `all`.
#[derive(Debug, Default)]
pub(in crate::bench) struct People {
    all: Vec<Box<str>>,
    chosen: HashSet<Box<str>>,
}

impl People {
    /// Reads the ids of the people from the table of Patients, and shuffles them.
    pub(in crate::bench) fn read(patients: &ScopedTable, seed: u64) -> Result<People, BenchError> {
        let mut dice = Dice::new(seed, "people", 0);
        let mut ids: Reservoir<Box<str>> = Reservoir::new(MAX_PEOPLE);
        table::ids(patients, |id| ids.offer(&mut dice, || id.into()))?;
        let mut all = ids.items().to_vec();
        let many = all.len();
        dice.deal(&mut all, many);
        let chosen = all.iter().take(CHOSEN).cloned().collect();
        Ok(People { all, chosen })
    }

    /// Returns the ids of all people that were kept, in random order.
    pub(in crate::bench) fn all(&self) -> &[Box<str>] {
        &self.all
    }

    /// Returns the ids of the people who were chosen for queries about one person, in the order of `all`.
    pub(in crate::bench) fn chosen(&self) -> &[Box<str>] {
        &self.all[..self.all.len().min(CHOSEN)]
    }

    /// Whether a person was chosen for queries about one person.
    pub(in crate::bench) fn is_chosen(&self, id: &str) -> bool {
        self.chosen.contains(id)
    }
}
