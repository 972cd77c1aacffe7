//! Searches over one person's columns as the operator of a plan.
//!
//! An explained search runs this operator, so its explanation shows the plan, and another process can run the plan. Any
//! other search calls the same function without a plan, because a stream and a copy of the query would cost more than
//! most of these searches.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};

use super::super::SearchError;
use super::super::criteria::filter;
use super::super::engine::Engine;
use super::super::parameters::query::Query;
use super::explain::trace::Trace;
use super::matches::Found;
use super::merge::{Keyed, Order};
use super::person;
use super::person::Tested;
use crate::fhir::facts;
use crate::fhir::storage::LeafSet;
use crate::lake::scan::{Locator, Person, ScopedTable};
use crate::plan::Lookup;

/// What a search over one person's columns returns.
#[derive(Clone, Debug)]
pub(in crate::search) enum PersonOutput {
    /// The matches of the page.
    Page,
    /// The number of matches.
    Count,
    /// The first `limit` matches in the order `order`, with their sort keys.
    First { order: Arc<Order>, limit: usize },
    /// The rows that match, with these leaves.
    Rows(LeafSet),
}

/// The answer of a search over one person's columns, by its [`PersonOutput`].
#[derive(Debug)]
pub(in crate::search) enum PersonAnswer {
    Page(Found),
    Count(usize),
    First(Vec<Keyed>),
    /// The columns of the requested leaves come first. Behind them are the locators, and `id` and `last_updated` if
    /// they were not requested.
    Rows(RecordBatch),
}

impl Engine {
    /// Searches one person's columns.
    pub(in crate::search) async fn of_person(
        &self,
        table: &ScopedTable,
        query: &Query,
        person: Person,
        output: PersonOutput,
    ) -> Result<PersonAnswer, SearchError> {
        if !query.trace.is_on() {
            let leaves = output.leaves(query);
            let tested = Tested::read_in_turns(table, query, person, &leaves).await?;
            return output.answer(query, tested);
        }
        let operator = Arc::new(OnPerson {
            answer: Some(Mutex::default()),
            ..OnPerson::new(table, query, person, output)
        });
        self.look_up(operator, OnPerson::take, &query.trace).await
    }
}

impl PersonOutput {
    fn run(&self, table: &ScopedTable, query: &Query, person: Person) -> Result<PersonAnswer, SearchError> {
        self.answer(query, Tested::read(table, query, person, &self.leaves(query))?)
    }

    /// Returns the leaves of the person's rows that the search reads.
    fn leaves(&self, query: &Query) -> LeafSet {
        match self {
            PersonOutput::Rows(leaves) => wanted(query, leaves),
            PersonOutput::Page | PersonOutput::Count | PersonOutput::First { .. } => person::leaves(query),
        }
    }

    fn answer(&self, query: &Query, tested: Tested) -> Result<PersonAnswer, SearchError> {
        Ok(match self {
            PersonOutput::Page => PersonAnswer::Page(person::search(query, tested)?),
            PersonOutput::Count => {
                let total = person::search(query, tested)?.total;
                PersonAnswer::Count(total.unwrap_or_default())
            }
            PersonOutput::First { order, limit } => PersonAnswer::First(person::keyed(query, &tested, order, *limit)?),
            PersonOutput::Rows(_) => PersonAnswer::Rows(tested.matching()?),
        })
    }

    /// Returns the text that a plan shows after the conditions.
    fn label(&self, query: &Query) -> String {
        match self {
            PersonOutput::Page => person::page_label(query),
            PersonOutput::Count => ", count".to_owned(),
            PersonOutput::First { limit, .. } => format!(", {}take={limit}", person::order_label(query)),
            PersonOutput::Rows(_) => String::new(),
        }
    }

    fn schema(&self, table: &ScopedTable, query: &Query) -> SchemaRef {
        match self {
            PersonOutput::Page | PersonOutput::First { .. } => Locator::schema(),
            PersonOutput::Count => Arc::new(Schema::new(vec![Field::new("count(*)", DataType::Int64, false)])),
            PersonOutput::Rows(leaves) => table.schema(&wanted(query, leaves)),
        }
    }
}

/// Returns `leaves`, and the leaves that the query's criteria read.
fn wanted(query: &Query, leaves: &LeafSet) -> LeafSet {
    let mut wanted = filter::leaves(&query.criteria);
    wanted.extend(leaves.iter().cloned());
    wanted
}

impl PersonAnswer {
    /// Returns the matches of the page.
    pub(in crate::search) fn page(self) -> Result<Found, SearchError> {
        match self {
            PersonAnswer::Page(found) => Ok(found),
            _ => Err(SearchError::Unanswered),
        }
    }

    /// Returns the number of matches.
    pub(in crate::search) fn count(self) -> Result<usize, SearchError> {
        match self {
            PersonAnswer::Count(count) => Ok(count),
            _ => Err(SearchError::Unanswered),
        }
    }

    /// Returns the first matches in the requested order.
    pub(in crate::search) fn first(self) -> Result<Vec<Keyed>, SearchError> {
        match self {
            PersonAnswer::First(keyed) => Ok(keyed),
            _ => Err(SearchError::Unanswered),
        }
    }

    /// Returns the rows that match.
    pub(in crate::search) fn rows(self) -> Result<RecordBatch, SearchError> {
        match self {
            PersonAnswer::Rows(rows) => Ok(rows),
            _ => Err(SearchError::Unanswered),
        }
    }

    /// Returns the answer as the operator's rows: locators of matches, the number of matches, or the requested columns.
    fn batch(&self, schema: SchemaRef) -> Result<RecordBatch> {
        let columns: Vec<ArrayRef> = match self {
            PersonAnswer::Page(found) => Locator::columns(&found.locators).into(),
            PersonAnswer::First(keyed) => {
                let locators: Vec<Locator> = keyed.iter().map(|keyed| keyed.at).collect();
                Locator::columns(&locators).into()
            }
            PersonAnswer::Count(count) => vec![Arc::new(Int64Array::from(vec![*count as i64]))],
            PersonAnswer::Rows(rows) => {
                let asked: Vec<usize> = (0..schema.fields().len()).collect();
                return Ok(rows.project(&asked)?);
            }
        };
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}

/// A search over one person's columns, as the lookup of a plan's operator.
#[derive(Debug)]
pub(in crate::search) struct OnPerson {
    label: String,
    schema: SchemaRef,
    pub(in crate::search) table: ScopedTable,
    pub(in crate::search) query: Query,
    pub(in crate::search) person: Person,
    pub(in crate::search) output: PersonOutput,
    /// The answer of the last run, which `take` returns. The outer `Option` is `None` in a plan whose caller reads only
    /// the rows.
    answer: Option<Mutex<Option<PersonAnswer>>>,
}

impl OnPerson {
    pub(in crate::search) fn new(table: &ScopedTable, query: &Query, person: Person, output: PersonOutput) -> OnPerson {
        OnPerson {
            label: format!("{}{}", of_one_person(table, query), output.label(query)),
            schema: output.schema(table, query),
            table: table.clone(),
            // The query gets an empty trace. Its own trace holds the plan. If the plan held this trace, too, neither
            // would ever be freed.
            query: query.clone().traced(&Trace::default()),
            person,
            output,
            answer: None,
        }
    }

    /// Takes the answer of the last run.
    fn take(&self) -> Option<PersonAnswer> {
        let answer = self.answer.as_ref()?;
        answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Returns the text with which a plan shows one person's rows that meet a query's criteria.
pub(in crate::search) fn of_one_person(table: &ScopedTable, query: &Query) -> String {
    let conditions: Vec<&str> = query
        .criteria
        .iter()
        .map(|criterion| criterion.label.as_str())
        .collect();
    let name = facts().get(table.type_id()).name;
    format!("{name} of one person, predicates=[{}]", conditions.join("; "))
}

impl Lookup for OnPerson {
    fn label(&self) -> &str {
        &self.label
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> Result<RecordBatch> {
        let answer = self.output.run(&self.table, &self.query, self.person);
        let answer = answer.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let batch = answer.batch(self.schema.clone())?;
        if let Some(kept) = &self.answer {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        }
        Ok(batch)
    }
}
