//! What belongs to nobody: providers, places, plans and drugs, by their references. It is written once, when first
//! asked for.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::row::Row;
use crate::sandbox::people::population::Population;

/// The shared resources.
#[derive(Default)]
pub(in crate::sandbox::payer) struct Shelf(OnceLock<HashMap<String, Arc<Row>>>);

impl Shelf {
    /// The resource that a relative reference leads to.
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
