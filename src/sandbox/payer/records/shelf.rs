//! The resources that people share: providers, places, plans and drugs. They are generated when first used.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::row::Row;
use crate::sandbox::people::population::Population;

/// The shared resources by reference.
#[derive(Default)]
pub(in crate::sandbox::payer) struct Shelf(OnceLock<HashMap<String, Arc<Row>>>);

impl Shelf {
    /// Returns the shared resource of a relative reference.
    pub(in crate::sandbox::payer) fn get(&self, population: &Population, reference: &str) -> Option<Arc<Row>> {
        let rows = self.0.get_or_init(|| {
            let mut rows = HashMap::new();
            for records in population.directory() {
                for record in records.iter() {
                    let row = Row::written(record);
                    rows.insert(row.reference(), Arc::new(row));
                }
            }
            rows
        });
        rows.get(reference).cloned()
    }
}
