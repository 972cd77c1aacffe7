//! Collects the references that resources have in any element: the relative references in all columns, and those in
//! contained resources.
//!
//! Search parameters do not cover every reference. For example, no search parameter yields the assigner of an
//! identifier. So this file reads the columns.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Fields};
use rustc_hash::FxHashSet;

use super::super::SearchError;
use super::super::criteria::filter;
use super::super::engine::Engine;
use super::super::parameters::query::Query;
use super::super::run::person::Tested;
use super::super::run::population;
use crate::columns::json::{Tape, Value};
use crate::fhir::TypeId;
use crate::fhir::facts;
use crate::fhir::reference::Target;
use crate::fhir::storage::{LeafSet, REFERENCE_ID, REFERENCE_TYPE};
use crate::lake::scan::ScopedTable;

/// The root element that holds contained resources as text.
const CONTAINED: &str = "contained";

/// For each type of a fixed list, a set of ids.
#[derive(Clone, Debug)]
pub(in crate::search) struct Ids {
    of: Vec<(TypeId, FxHashSet<String>)>,
}

impl Ids {
    /// Creates empty sets for these types. Ids of other types are ignored.
    pub(in crate::search) fn none_of(types: &[TypeId]) -> Ids {
        Ids {
            of: types.iter().map(|type_id| (*type_id, FxHashSet::default())).collect(),
        }
    }

    /// Returns the ids of one type.
    pub(in crate::search) fn of(&self, type_id: TypeId) -> impl Iterator<Item = &str> {
        let of = self.of.iter().find(|(of, _)| *of == type_id);
        of.into_iter().flat_map(|(_, ids)| ids.iter().map(String::as_str))
    }

    /// Returns the types that have at least one id.
    pub(in crate::search) fn types(&self) -> impl Iterator<Item = TypeId> {
        let some = self.of.iter().filter(|(_, ids)| !ids.is_empty());
        some.map(|(type_id, _)| *type_id)
    }

    /// Adds the ids of `other` to `self`. Returns those ids of `other` that `self` did not have before.
    pub(in crate::search) fn merge(&mut self, other: Ids) -> Ids {
        let mut new = other;
        for (type_id, ids) in &mut new.of {
            if let Some((_, known)) = self.of.iter_mut().find(|(of, _)| of == type_id) {
                ids.retain(|id| known.insert(id.clone()));
            }
        }
        new
    }

    fn insert(&mut self, resource_type: &str, id: &str) {
        let of = |(of, _): &&mut (TypeId, _)| facts().get(*of).name == resource_type;
        if let Some((_, ids)) = self.of.iter_mut().find(of)
            && !ids.contains(id)
        {
            ids.insert(id.to_owned());
        }
    }
}

impl Engine {
    /// Returns the ids to which the matches of a query in one table refer. `none` has the types to collect, with empty
    /// sets.
    pub(in crate::search) async fn all_referred(
        &self,
        table: &ScopedTable,
        query: &Query,
        none: &Ids,
    ) -> Result<Ids, SearchError> {
        let mut found = none.clone();
        let leaves = leaves(table);
        if leaves.is_empty() {
            return Ok(found);
        }
        let bound = self.bound(query, table);
        let Some(person) = bound.person else {
            let rows = population::rows(self.sessions(), table, query, bound.owners, leaves, |batch| {
                collect(batch, &mut found)
            });
            rows.await?;
            return Ok(found);
        };
        let of_criteria = filter::leaves(&query.criteria);
        let matches = Tested::read_in_turns(table, query, person, &of_criteria).await?.matches;
        if matches.true_count() > 0 {
            // This batch has the same rows in the same order as the batch that was tested, so `matches` applies to it.
            let rows = table.person_batch(person, &leaves)?.batch;
            collect(&filter_record_batch(&rows, &matches)?, &mut found)?;
        }
        Ok(found)
    }
}

/// Returns the leaves of a table that hold references.
fn leaves(table: &ScopedTable) -> LeafSet {
    let mut leaves = LeafSet::new();
    if let Some(schema) = table.stored_columns() {
        add_leaves(schema.fields(), &mut String::new(), &mut leaves);
        if schema.field_with_name(CONTAINED).is_ok() {
            leaves.insert(CONTAINED.to_owned());
        }
    }
    leaves
}

fn add_leaves(fields: &Fields, path: &mut String, leaves: &mut LeafSet) {
    for field in fields {
        let mut data_type = field.data_type();
        while let DataType::List(item) = data_type {
            data_type = item.data_type();
        }
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(field.name());
        match data_type {
            DataType::Struct(inner) => add_leaves(inner, path, leaves),
            _ if field.name() == REFERENCE_TYPE || field.name() == REFERENCE_ID => {
                leaves.insert(path.clone());
            }
            _ => {}
        }
        path.truncate(length);
    }
}

/// Collects the references of all rows of a batch.
fn collect(rows: &RecordBatch, found: &mut Ids) -> Result<(), SearchError> {
    for (field, column) in rows.schema_ref().fields().iter().zip(rows.columns()) {
        if field.name() == CONTAINED {
            collect_contained(column, found)?
        } else {
            collect_column(column, found)
        }
    }
    Ok(())
}

fn collect_column(column: &dyn Array, found: &mut Ids) {
    match column.data_type() {
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let (from, until) = ends(list.value_offsets());
            collect_column(&list.values().slice(from, until - from), found);
        }
        DataType::Struct(_) => {
            let items = column.as_struct();
            let text = |name| {
                items
                    .column_by_name(name)
                    .and_then(|column| column.as_string_opt::<i32>())
            };
            if let (Some(types), Some(ids)) = (text(REFERENCE_TYPE), text(REFERENCE_ID)) {
                let pairs = types
                    .iter()
                    .zip(ids)
                    .filter_map(|(resource_type, id)| resource_type.zip(id));
                pairs.for_each(|(resource_type, id)| found.insert(resource_type, id));
            }
            items.columns().iter().for_each(|column| collect_column(column, found));
        }
        _ => {}
    }
}

/// Collects the references in contained resources, which the column holds as text.
fn collect_contained(column: &dyn Array, found: &mut Ids) -> Result<(), SearchError> {
    let Some(list) = column.as_list_opt::<i32>() else {
        return Ok(());
    };
    let (from, until) = ends(list.value_offsets());
    let values = list.values().slice(from, until - from);
    let Some(texts) = values.as_string_opt::<i32>() else {
        return Ok(());
    };
    let mut tape = Tape::new();
    for text in texts.iter().flatten() {
        let root = tape.parse(text.as_bytes());
        collect_value(root.map_err(|error| SearchError::Stored(error.to_string()))?, found);
    }
    Ok(())
}

/// Collects the references in a JSON value. The tape limits the depth of a text, and so the depth of this recursion.
fn collect_value(value: Value<'_>, found: &mut Ids) {
    if value.is_array() {
        value.items().for_each(|item| collect_value(item, found));
        return;
    }
    for (key, inner) in value.entries() {
        if key.is("reference")
            && let Some(text) = inner.as_str()
            && let Some(target) = Target::parse(&text)
        {
            found.insert(target.type_name(), target.id);
        }
        collect_value(inner, found);
    }
}

fn ends(offsets: &[i32]) -> (usize, usize) {
    let end = |offset: Option<&i32>| offset.map_or(0, |offset| *offset as usize);
    (end(offsets.first()), end(offsets.last()))
}
