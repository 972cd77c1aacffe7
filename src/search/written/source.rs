//! Writes and reads what finds ids for semi-joins: the functions that take ids from rows, and the lookups of rows.

use std::any::Any;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::engine::Engine;
use super::super::joins::other::{Entries, OfPerson, Own, Referred};
use super::super::parameters::query::Query;
use super::criterion::WrittenCriterion;
use super::error::{WrittenError, of_json, to_json};
use super::named::{Named, named_type};
use crate::fhir::facts;
use crate::lake::scan::{Person, ScopedTable};
use crate::plan::{DynamicFilters, Lookup, Take};

const TAKE: &str = "what takes ids from rows";
const LOOKUP: &str = "rows that are looked up";

#[derive(Debug, Serialize, Deserialize)]
enum WrittenTake {
    Own {
        label: String,
    },
    Referred {
        label: String,
        through: Named,
        wanted: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
enum WrittenLookup {
    OfPerson {
        criteria: Vec<WrittenCriterion>,
        person: WrittenPerson,
        leaves: Vec<String>,
    },
    Entries {
        list: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
enum WrittenPerson {
    OfScope,
    Owner(i64),
    Either(i64, i64),
}

impl Engine {
    /// Writes a function that takes ids from rows, if a search has made it. Returns `None` for any other function.
    pub fn write_take(&self, take: &dyn Take) -> Result<Option<Value>, WrittenError> {
        let any = take as &dyn Any;
        let written = if let Some(own) = any.downcast_ref::<Own>() {
            let label = own.label.clone();
            WrittenTake::Own { label }
        } else if let Some(referred) = any.downcast_ref::<Referred>() {
            WrittenTake::Referred {
                label: referred.label.clone(),
                through: Named::write(self, &referred.through)?,
                wanted: referred.wanted.to_owned(),
            }
        } else {
            return Ok(None);
        };
        to_json(&written, TAKE).map(Some)
    }

    /// Reads a function that [`write_take`](Self::write_take) wrote.
    pub fn read_take(&self, written: &Value) -> Result<Arc<dyn Take>, WrittenError> {
        Ok(match of_json(written, TAKE)? {
            WrittenTake::Own { label } => Arc::new(Own { label }),
            WrittenTake::Referred { label, through, wanted } => Arc::new(Referred {
                label,
                through: through.read(self)?,
                wanted: facts().get(named_type(&wanted)?).name,
            }),
        })
    }

    /// Writes a lookup of a search. Also returns the table of the lookup. Returns `None` for any other lookup.
    pub fn write_lookup<'l>(
        &self,
        lookup: &'l dyn Lookup,
        filters: &DynamicFilters,
    ) -> Result<Option<(Value, &'l ScopedTable)>, WrittenError> {
        let any = lookup as &dyn Any;
        let (written, table) = if let Some(rows) = any.downcast_ref::<OfPerson>() {
            let criteria = rows.criteria.iter();
            let criteria = criteria.map(|criterion| WrittenCriterion::write(self, criterion, filters));
            let written = WrittenLookup::OfPerson {
                criteria: criteria.collect::<Result<_, _>>()?,
                person: match rows.person {
                    Person::OfScope => WrittenPerson::OfScope,
                    Person::Owner(owner) => WrittenPerson::Owner(owner),
                    Person::Either(one, other) => WrittenPerson::Either(one, other),
                },
                leaves: rows.wanted.iter().cloned().collect(),
            };
            (written, &rows.table)
        } else if let Some(entries) = any.downcast_ref::<Entries>() {
            let list = entries.list.clone();
            (WrittenLookup::Entries { list }, &entries.table)
        } else {
            return Ok(None);
        };
        Ok(Some((to_json(&written, LOOKUP)?, table)))
    }

    /// Reads a lookup that [`write_lookup`](Self::write_lookup) wrote, for this table.
    pub fn read_lookup(
        &self,
        written: &Value,
        table: &ScopedTable,
        filters: &DynamicFilters,
    ) -> Result<Arc<dyn Lookup>, WrittenError> {
        match of_json(written, LOOKUP)? {
            WrittenLookup::OfPerson {
                criteria,
                person,
                leaves,
            } => {
                let criteria = criteria.into_iter();
                let criteria = criteria.map(|criterion| criterion.read(self, table.type_id(), filters));
                let query = Query::of_criteria(table.type_id(), criteria.collect::<Result<_, _>>()?);
                let person = match person {
                    WrittenPerson::OfScope => Person::OfScope,
                    WrittenPerson::Owner(owner) => Person::Owner(owner),
                    WrittenPerson::Either(one, other) => Person::Either(one, other),
                };
                let leaves = leaves.into_iter().collect();
                Ok(Arc::new(OfPerson::new(table, &query, person, leaves)))
            }
            WrittenLookup::Entries { list } => Ok(Arc::new(Entries::new(table.clone(), list))),
        }
    }
}
