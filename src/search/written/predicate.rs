//! Writes and reads the predicates of searches: criteria, and the boundary of a sorted page.

use std::any::Any;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::criteria::predicate::{self, Asked};
use super::super::engine::Engine;
use super::super::joins::binding::Filed;
use super::super::paging::boundary::{self, Beyond};
use super::super::paging::page_token::Side;
use super::super::parameters::query::Query;
use super::criterion::WrittenCriterion;
use super::error::{WrittenError, of_json, to_json};
use super::function::Key;
use crate::lake::scan::{Locator, Predicate, ScopedTable};
use crate::plan::{DynamicFilter, DynamicFilters};

const PREDICATE: &str = "a condition of a search";

#[derive(Debug, Serialize, Deserialize)]
enum Written {
    Criterion {
        criterion: WrittenCriterion,
        plain: bool,
        /// The Patients whose compartments are searched, and the owners of their rows. `None` if no compartment is
        /// searched.
        filed: Option<(Vec<String>, Vec<i64>)>,
    },
    Boundary {
        keys: Vec<Key>,
        leaves: Vec<String>,
        file: u64,
        row: u32,
        side: u8,
    },
}

impl Engine {
    /// Writes a predicate of a search. Returns `None` for any other predicate.
    pub fn write_predicate(
        &self,
        predicate: &Arc<dyn Predicate>,
        filters: &DynamicFilters,
    ) -> Result<Option<Value>, WrittenError> {
        let any: Arc<dyn Any + Send + Sync> = predicate.clone();
        let written = if let Ok(filter) = any.clone().downcast::<DynamicFilter>() {
            Written::Criterion {
                criterion: WrittenCriterion::of_dynamic_filter(self, &filter, filters)?,
                plain: true,
                filed: None,
            }
        } else if let Some(asked) = any.downcast_ref::<Asked>() {
            let filed = asked.filed.as_ref();
            Written::Criterion {
                criterion: WrittenCriterion::write(self, &asked.criterion, filters)?,
                plain: asked.plain,
                filed: filed.map(|filed| (filed.patients.to_vec(), filed.owners.to_vec())),
            }
        } else if let Some(beyond) = any.downcast_ref::<Beyond>() {
            let keys = beyond.keys.iter().map(|key| Key::write(self, key));
            Written::Boundary {
                keys: keys.collect::<Result<_, _>>()?,
                leaves: predicate.leaves().iter().cloned().collect(),
                file: beyond.matched.file,
                row: beyond.matched.row,
                side: beyond.side.byte(),
            }
        } else {
            return Ok(None);
        };
        to_json(&written, PREDICATE).map(Some)
    }

    /// Reads a predicate that [`write_predicate`](Self::write_predicate) wrote, for the rows of a table.
    pub fn read_predicate(
        &self,
        written: &Value,
        table: &ScopedTable,
        filters: &DynamicFilters,
    ) -> Result<Arc<dyn Predicate>, WrittenError> {
        match of_json(written, PREDICATE)? {
            Written::Criterion {
                criterion,
                plain,
                filed,
            } => {
                let criterion = criterion.read(self, table.type_id(), filters)?;
                let query = Query {
                    filed: filed.map(|(patients, owners)| Filed {
                        patients: patients.into(),
                        owners: owners.into(),
                    }),
                    ..Query::of_criteria(table.type_id(), Vec::new())
                };
                Ok(predicate::one(&query, &criterion, plain))
            }
            Written::Boundary {
                keys,
                leaves,
                file,
                row,
                side,
            } => {
                let keys = keys.iter().map(|key| key.read(self)).collect::<Result<Vec<_>, _>>()?;
                let side = Side::of_byte(side).ok_or(WrittenError::Form(PREDICATE))?;
                let leaves = leaves.into_iter().collect();
                let matched = Locator { file, row };
                Ok(boundary::predicate(table, &keys, leaves, matched, side)?)
            }
        }
    }
}
