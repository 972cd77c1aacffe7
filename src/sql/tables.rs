//! The tables of a session: one for each resource type, and one for each view.
//!
//! The table of a type has the columns of the lake's Parquet files: first those system columns that are useful to
//! people, then the elements. DataFusion uses this table only to plan a statement. `rewrite` then replaces it by a
//! provider of the columns that the statement reads.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{CatalogProvider, SchemaProvider, Session, TableProvider};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::fhir::storage::{EVERYTHING, LeafSet, SYSTEM_COLUMNS, TEXT};
use crate::fhir::{Kind, TypeId, facts};
use crate::lake::scan::{FILE, ROW, ScopedTable};
use crate::views::ViewTable;

/// The system columns that a table shows, in this order. Elements follow.
const SHOWN: [&str; 7] = [
    "id",
    "patient",
    "version",
    "last_updated",
    "authorization",
    "endpoint",
    TEXT,
];
/// The metadata key of a column's origin, such as `Patient.gender`.
const ORIGIN: &str = "tabularium.column";
/// The name of the only schema.
pub(super) const SCHEMA: &str = "lake";
/// The name of the only catalog.
pub(super) const CATALOG: &str = "tabularium";

/// The table of a resource type, for planning. It cannot be scanned, so `rewrite` replaces it by a provider that can.
#[derive(Debug)]
pub(super) struct RowTable {
    pub(super) table: ScopedTable,
    schema: SchemaRef,
}

impl RowTable {
    fn new(table: ScopedTable) -> RowTable {
        let mut leaves: LeafSet = SHOWN.iter().map(|name| (*name).to_owned()).collect();
        leaves.insert(EVERYTHING.to_owned());
        let clipped = table.schema(&leaves);
        let system = SHOWN.iter().filter_map(|name| clipped.field_with_name(name).ok());
        let elements = clipped.fields().iter().map(AsRef::as_ref);
        let elements = elements.filter(|field: &&Field| {
            let name = field.name().as_str();
            !SYSTEM_COLUMNS.contains(&name) && ![FILE, ROW].contains(&name)
        });
        let name = facts().get(table.type_id()).name;
        let origin = |field: &Field| {
            let origin = format!("{name}.{}", field.name());
            field
                .clone()
                .with_metadata(HashMap::from([(ORIGIN.to_owned(), origin)]))
        };
        let schema = Schema::new(system.chain(elements).map(origin).collect::<Vec<_>>());
        RowTable {
            table,
            schema: Arc::new(schema),
        }
    }
}

/// Returns the resource type and the root column from which a field of a plan comes. `None` if the field is not an
/// unchanged column of a type's table.
pub(super) fn origin(field: &Field) -> Option<(TypeId, &str)> {
    let (resource_type, column) = field.metadata().get(ORIGIN)?.split_once('.')?;
    Some((facts().lookup(resource_type)?, column))
}

#[async_trait::async_trait]
impl TableProvider for RowTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan_err!("this form of a statement cannot read a table of the lake; use SELECT")
    }
}

/// All tables that a session shows, in one caller's scope.
#[derive(Debug)]
pub(super) struct Tables {
    any: ScopedTable,
    views: BTreeMap<String, Arc<ViewTable>>,
}

impl Tables {
    /// Creates the tables. `any` is the table of any one type; the tables of the other types are derived from it.
    pub(super) fn new(any: ScopedTable, views: BTreeMap<String, Arc<ViewTable>>) -> Tables {
        Tables { any, views }
    }

    /// Returns the resource type with exactly this name. `None` if no such type is stored.
    pub(super) fn resource_type(name: &str) -> Option<TypeId> {
        facts().lookup(name).filter(is_stored)
    }

    /// Returns the columns of a type's table that contain these leaves. If the table lacks a leaf, the result has the
    /// leaf's deepest parent element that exists instead.
    pub(super) fn stored(&self, type_id: TypeId, leaves: &LeafSet) -> SchemaRef {
        self.any.other(type_id).schema(leaves)
    }

    /// Returns the name of the table that a statement means: a table with exactly this name, else one whose name
    /// differs only in case. `None` if there is none.
    fn find(&self, name: &str) -> Option<String> {
        if self.views.contains_key(name) || Tables::resource_type(name).is_some() {
            return Some(name.to_owned());
        }
        let same = |known: &&str| known.eq_ignore_ascii_case(name);
        let mut views = self.views.keys().map(String::as_str);
        let mut types = facts()
            .resources()
            .filter(is_stored)
            .map(|type_id| facts().get(type_id).name);
        views.find(same).or_else(|| types.find(same)).map(str::to_owned)
    }
}

fn is_stored(type_id: &TypeId) -> bool {
    let def = facts().get(*type_id);
    def.kind == Kind::Resource && !def.is_abstract
}

#[async_trait::async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        let types = facts().resources().filter(is_stored);
        let stored = types.filter(|type_id| self.any.other(*type_id).has_files());
        let types = stored.map(|type_id| facts().get(type_id).name.to_owned());
        types.chain(self.views.keys().cloned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(name) = self.find(name) else { return Ok(None) };
        if let Some(view) = self.views.get(&name) {
            return Ok(Some(view.clone()));
        }
        let table = Tables::resource_type(&name).map(|type_id| RowTable::new(self.any.other(type_id)));
        Ok(table.map(|table| Arc::new(table) as Arc<dyn TableProvider>))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

/// The catalog, which has one schema.
#[derive(Debug)]
pub(super) struct Catalog(pub(super) Arc<Tables>);

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        vec![SCHEMA.to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        (name == SCHEMA).then(|| self.0.clone() as Arc<dyn SchemaProvider>)
    }
}

/// Whether a column is a struct or a list of structs.
pub(super) fn is_nested(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(_) => true,
        DataType::List(item) => is_nested(item.data_type()),
        _ => false,
    }
}
