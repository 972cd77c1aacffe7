//! The people of a lake: all in a random order, and those chosen for queries about one person.

use std::collections::HashSet;

use super::super::error::BenchError;
use super::dice::{Dice, Reservoir};
use super::table;
use crate::lake::scan::ScopedTable;

/// The maximum number of people known by id. Of larger lakes they are a sample.
const MAX_PEOPLE: usize = 200_000;
/// People whose rows are sampled one by one.
const CHOSEN: usize = 1_000;

/// People's ids.
#[derive(Debug, Default)]
pub(in crate::bench) struct People {
    all: Vec<Box<str>>,
    chosen: HashSet<Box<str>>,
}

impl People {
    /// Reads them from the table of Patients.
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

    /// All people.
    pub(in crate::bench) fn all(&self) -> &[Box<str>] {
        &self.all
    }

    /// The people for queries about one person, in order.
    pub(in crate::bench) fn chosen(&self) -> &[Box<str>] {
        &self.all[..self.all.len().min(CHOSEN)]
    }

    /// Whether a person is among them.
    pub(in crate::bench) fn is_chosen(&self, id: &str) -> bool {
        self.chosen.contains(id)
    }
}
