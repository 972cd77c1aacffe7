//! The resources that people share: providers, places, plans and drugs. They are generated at the first use.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::row::Row;
use crate::sandbox::people::population::Population;

/// The shared resources. The key is the reference to a resource. The map is empty before the first use.
#[derive(Default)]
pub(in crate::sandbox::payer) struct Shelf(OnceLock<HashMap<String, Arc<Row>>>);

impl Shelf {
    /// Returns the shared resource to which this relative reference leads. `None` if there is no such resource.
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
