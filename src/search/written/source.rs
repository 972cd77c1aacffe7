//! Writes and reads the lookups of searches: of one person's rows, of a List's entries, and of the targets of includes.
//! Also writes and reads the functions that take ids from rows for semi-joins.

use std::any::Any;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::engine::Engine;
use super::super::includes::by_id::ById;
use super::super::joins::other::{Entries, Own, Referred};
use super::super::paging::page_token::{PagePosition, Side};
use super::super::parameters::query::Query;
use super::super::parameters::result::Summary;
use super::super::run::merge::Order;
use super::super::run::person_operator::{OnPerson, PersonOutput};
use super::criterion::WrittenCriterion;
use super::error::{WrittenError, of_json, to_json};
use super::function::Key;
use super::named::{Named, named_type};
use crate::fhir::facts;
use crate::lake::scan::{Locator, Person, ScopedTable, Sought};
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
    OnPerson {
        criteria: Vec<WrittenCriterion>,
        person: WrittenPerson,
        output: WrittenOutput,
    },
    Entries {
        list: String,
    },
    /// The ids of the rows. Each id has the owner of its row, if the owner is known.
    ById(Vec<(String, Option<i64>)>),
}

/// What a search of one person's columns returns.
#[derive(Debug, Serialize, Deserialize)]
enum WrittenOutput {
    Page(WrittenPage),
    Count,
    First { sort: Vec<Key>, limit: usize },
    Rows(Vec<String>),
}

#[derive(Debug, Serialize, Deserialize)]
struct WrittenPage {
    sort: Vec<Key>,
    offset: usize,
    count: usize,
    counts_only: bool,
    /// The match at the page's position: its file, its row, and the side of the match on which the page is.
    place: Option<(u64, u32, u8)>,
    erased_since: bool,
}

#[derive(Debug, Serialize, Deserialize)]
enum WrittenPerson {
    OfScope,
    Owner(i64),
    Either(i64, i64),
}

impl Engine {
    /// Writes a function that takes ids from rows for a semi-join of a search (`Own` or `Referred`). Returns `None` for
    /// any other function.
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
        let (written, table) = if let Some(rows) = any.downcast_ref::<OnPerson>() {
            let criteria = rows.query.criteria.iter();
            let criteria = criteria.map(|criterion| WrittenCriterion::write(self, criterion, filters));
            let written = WrittenLookup::OnPerson {
                criteria: criteria.collect::<Result<_, _>>()?,
                person: match rows.person {
                    Person::OfScope => WrittenPerson::OfScope,
                    Person::Owner(owner) => WrittenPerson::Owner(owner),
                    Person::Either(one, other) => WrittenPerson::Either(one, other),
                },
                output: self.write_output(&rows.output, &rows.query)?,
            };
            (written, &rows.table)
        } else if let Some(entries) = any.downcast_ref::<Entries>() {
            let list = entries.list.clone();
            (WrittenLookup::Entries { list }, &entries.table)
        } else if let Some(by_id) = any.downcast_ref::<ById>() {
            let sought = by_id.sought.iter().map(|one| (one.id.clone(), one.owner));
            (WrittenLookup::ById(sought.collect()), &by_id.table)
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
            WrittenLookup::OnPerson {
                criteria,
                person,
                output,
            } => {
                let criteria = criteria.into_iter();
                let criteria = criteria.map(|criterion| criterion.read(self, table.type_id(), filters));
                let mut query = Query::of_criteria(table.type_id(), criteria.collect::<Result<_, _>>()?);
                let person = match person {
                    WrittenPerson::OfScope => Person::OfScope,
                    WrittenPerson::Owner(owner) => Person::Owner(owner),
                    WrittenPerson::Either(one, other) => Person::Either(one, other),
                };
                let output = self.read_output(output, &mut query)?;
                Ok(Arc::new(OnPerson::new(table, &query, person, output)))
            }
            WrittenLookup::Entries { list } => Ok(Arc::new(Entries::new(table.clone(), list))),
            WrittenLookup::ById(ids) => {
                let sought = ids.into_iter().map(|(id, owner)| Sought { id, owner });
                Ok(Arc::new(ById::new(table, sought.collect())))
            }
        }
    }

    fn write_output(&self, output: &PersonOutput, query: &Query) -> Result<WrittenOutput, WrittenError> {
        let sort = || {
            query
                .sort
                .iter()
                .map(|key| Key::write(self, key))
                .collect::<Result<_, _>>()
        };
        Ok(match output {
            PersonOutput::Page => WrittenOutput::Page(WrittenPage {
                sort: sort()?,
                offset: query.offset,
                count: query.count,
                counts_only: query.counts_only(),
                place: query
                    .place
                    .map(|place| (place.locator.file, place.locator.row, place.side.byte())),
                erased_since: query.erased_since,
            }),
            PersonOutput::Count => WrittenOutput::Count,
            PersonOutput::First { limit, .. } => WrittenOutput::First {
                sort: sort()?,
                limit: *limit,
            },
            PersonOutput::Rows(leaves) => WrittenOutput::Rows(leaves.iter().cloned().collect()),
        })
    }

    /// Reads what a search returns, and sets the order and the page of its query.
    fn read_output(&self, written: WrittenOutput, query: &mut Query) -> Result<PersonOutput, WrittenError> {
        let sorted = |keys: Vec<Key>| keys.iter().map(|key| key.read(self)).collect::<Result<_, _>>();
        Ok(match written {
            WrittenOutput::Page(page) => {
                query.sort = sorted(page.sort)?;
                (query.offset, query.count) = (page.offset, page.count);
                if page.counts_only {
                    query.subset.summary = Summary::Count;
                }
                if let Some((file, row, side)) = page.place {
                    query.place = Some(PagePosition {
                        part: 0,
                        locator: Locator { file, row },
                        side: Side::of_byte(side).ok_or(WrittenError::Form(LOOKUP))?,
                    });
                }
                query.erased_since = page.erased_since;
                PersonOutput::Page
            }
            WrittenOutput::Count => PersonOutput::Count,
            WrittenOutput::First { sort, limit } => {
                query.sort = sorted(sort)?;
                let order = Arc::new(Order::of(&[query])?);
                PersonOutput::First { order, limit }
            }
            WrittenOutput::Rows(leaves) => PersonOutput::Rows(leaves.into_iter().collect()),
        })
    }
}
