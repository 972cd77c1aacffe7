//! The columns of one table so far, as a tree with the ids that DuckLake's catalog and the Parquet files use.
//!
//! A layout only grows: a column keeps its id and its place as long as the table exists, and no id is reused. A
//! layout does not store itself. The catalog stores the [`ColumnRow`]s from [`Layout::adopt`] and rebuilds the layout
//! by [`Layout::from_rows`]. A commit works on a clone, and replaces the layout after the catalog has stored the
//! rows.

use super::shape::{ColumnType, ORDER_STEP, Shape, timestamp};
use crate::fhir::storage::{LIST_ITEM, SYSTEM_COLUMNS};
use crate::fhir::{TypeId, facts};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// The version of the format of data files in `LAYOUT.md`. The footer of every data file states it.
pub const LAYOUT_VERSION: u32 = 1;
/// The version of a catalog. Versions 1 to 3 did not record how many entries the ledger of erasures has of the lake.
pub const CATALOG_VERSION: u32 = 4;
/// The version of a catalog after the first attachment was stored. A program without attachments would take an
/// attachment for a file that an interrupted writer left, and move it aside. So it must refuse the lake.
pub const ATTACHMENTS_CATALOG_VERSION: u32 = 5;
/// The version of the catalog of a sealed lake, with or without attachments. It applies from the creation of the lake
/// on.
pub const SEALED_CATALOG_VERSION: u32 = 6;

/// The key under which an Arrow field's metadata holds the Parquet field id.
pub const FIELD_ID: &str = parquet::arrow::PARQUET_FIELD_ID_META_KEY;

/// A column as a row of DuckLake's table `ducklake_column`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRow {
    /// `column_id`: the Parquet field id.
    pub id: i32,
    /// `parent_column`: the struct or list that contains it. `None` for a top-level column.
    pub parent: Option<i32>,
    /// `column_name`.
    pub name: String,
    /// `column_type`.
    pub column_type: ColumnType,
    /// `column_order`: its place among the columns with the same parent.
    pub order: i64,
    /// `nulls_allowed`.
    pub nullable: bool,
}

/// Why the columns of a schema or of the catalog are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// R4 has no such element, and the engine has no such system column.
    #[error("no column `{column}` can be in a table of {resource}")]
    Unknown {
        /// The table's resource type.
        resource: &'static str,
        /// The column's dotted path.
        column: String,
    },
    /// The column's type is not the one that R4 or the engine defines.
    #[error("the column `{column}` of {resource} cannot be of type {found}")]
    Type {
        /// The table's resource type.
        resource: &'static str,
        /// The column's dotted path.
        column: String,
        /// The refused type.
        found: String,
    },
    /// The stored rows do not form a tree. For example, a parent is missing, an id or a place is taken twice, or a list
    /// has not exactly one item column.
    #[error("the catalog's column {id} of {resource} does not fit into the table")]
    Row {
        /// The table's resource type.
        resource: &'static str,
        /// The row's column id.
        id: i32,
    },
}

/// The result of [`Layout::adopt`] for a schema.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The adopted schema, with a field id for each column.
    pub schema: SchemaRef,
    /// The columns that the table did not have before. Parents come before their children.
    pub new: Vec<ColumnRow>,
}

/// The columns of one resource type's table.
#[derive(Clone, Debug)]
pub struct Layout {
    type_id: TypeId,
    columns: Vec<Column>,
    next_id: i32,
    count: usize,
    schema: SchemaRef,
}

#[derive(Clone, Debug)]
struct Column {
    id: i32,
    name: Arc<str>,
    column_type: ColumnType,
    order: i64,
    nullable: bool,
    children: Vec<Column>,
}

impl Layout {
    /// Returns the layout of a table without columns. The first [`adopt`](Layout::adopt) adds the system columns.
    pub fn new(type_id: TypeId) -> Layout {
        Layout {
            type_id,
            columns: Vec::new(),
            next_id: 1,
            count: 0,
            schema: Arc::new(Schema::empty()),
        }
    }

    /// Rebuilds a layout from the rows that the catalog stored, in any order.
    pub fn from_rows(type_id: TypeId, rows: impl IntoIterator<Item = ColumnRow>) -> Result<Layout, LayoutError> {
        let mut rows: Vec<ColumnRow> = rows.into_iter().collect();
        rows.sort_by_key(|row| (row.parent, row.order));
        let resource = facts().get(type_id).name;
        let mut by_parent: HashMap<Option<i32>, Vec<ColumnRow>> = HashMap::new();
        let count = rows.len();
        let next_id = rows.iter().map(|row| row.id).max().unwrap_or(0) + 1;
        let mut seen = std::collections::HashSet::new();
        for row in rows {
            if !seen.insert(row.id) {
                return Err(LayoutError::Row { resource, id: row.id });
            }
            by_parent.entry(row.parent).or_default().push(row);
        }
        let columns = tree(&mut by_parent, None, resource)?;
        if let Some(stray) = by_parent.values().flatten().next() {
            return Err(LayoutError::Row { resource, id: stray.id });
        }
        let schema = Arc::new(Schema::new(fields(&columns)));
        Ok(Layout {
            type_id,
            columns,
            next_id,
            count,
            schema,
        })
    }

    /// Returns the table's resource type.
    pub fn type_id(&self) -> TypeId {
        self.type_id
    }

    /// Returns the number of columns, including nested ones.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the table has no columns yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns all columns so far, with field ids: system columns, then elements in definition order, each followed
    /// by its companions.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the id of a top-level column.
    pub fn column_id(&self, name: &str) -> Option<i32> {
        self.columns
            .iter()
            .find(|column| *column.name == *name)
            .map(|column| column.id)
    }

    /// Looks up the columns of `schema`, in any order, and adds those that the table does not have.
    ///
    /// If one column is refused, no column is added.
    pub fn adopt(&mut self, schema: &Schema) -> Result<Adopted, LayoutError> {
        let mut adoption = Adoption {
            resource: facts().get(self.type_id).name,
            next_id: self.next_id,
            new: Vec::new(),
            path: Vec::new(),
        };
        let mut columns = self.columns.clone();
        let mut with_ids = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            with_ids.push(adoption.root(&mut columns, self.type_id, field)?);
        }
        let Adoption { next_id, new, .. } = adoption;
        if !new.is_empty() {
            self.count += new.len();
            self.next_id = next_id;
            self.schema = Arc::new(Schema::new(fields(&columns)));
            self.columns = columns;
        }
        Ok(Adopted {
            schema: Arc::new(Schema::new(with_ids)),
            new,
        })
    }
}

/// Returns the Parquet field id from a field's metadata.
pub fn field_id(field: &Field) -> Option<i32> {
    field.metadata().get(FIELD_ID)?.parse().ok()
}

/// Returns all columns of several schemas of one table, in the table's order. Their field ids are not those of the
/// table: [`Layout::adopt`] assigns the table's ids.
pub fn union_schema<'s>(
    type_id: TypeId,
    schemas: impl IntoIterator<Item = &'s Schema>,
) -> Result<SchemaRef, LayoutError> {
    let mut union = Layout::new(type_id);
    for schema in schemas {
        union.adopt(schema)?;
    }
    Ok(union.schema)
}

/// Returns the system columns, with which every table and every file begins.
pub fn system_fields() -> &'static [FieldRef] {
    static FIELDS: std::sync::OnceLock<Vec<FieldRef>> = std::sync::OnceLock::new();
    FIELDS.get_or_init(|| {
        let item = Arc::new(Field::new(LIST_ITEM, DataType::Utf8, true));
        let types = SYSTEM_COLUMNS.map(|name| match name {
            "owner" | "version" => (name, DataType::Int64, false),
            "id" | "application" | "resource" => (name, DataType::Utf8, false),
            "last_updated" => (name, timestamp(), false),
            "digest" => (name, DataType::Binary, false),
            "shared_refs" => (name, DataType::List(item.clone()), true),
            _ => (name, DataType::Utf8, true),
        });
        types
            .into_iter()
            .map(|(name, data_type, nullable)| Arc::new(Field::new(name, data_type, nullable)))
            .collect()
    })
}

/// The state of one [`Layout::adopt`].
struct Adoption {
    resource: &'static str,
    next_id: i32,
    new: Vec<ColumnRow>,
    path: Vec<String>,
}

impl Adoption {
    fn root(&mut self, columns: &mut Vec<Column>, type_id: TypeId, field: &Field) -> Result<FieldRef, LayoutError> {
        let system = system_fields();
        let Some(place) = system.iter().position(|known| known.name() == field.name()) else {
            return self.element(columns, Shape::of(type_id), None, field);
        };
        let known = &system[place];
        self.path.push(field.name().clone());
        let same = match (known.data_type(), field.data_type()) {
            (DataType::List(known), DataType::List(item)) => known.data_type() == item.data_type(),
            (known, found) => known == found,
        };
        if !same {
            return Err(self.mistyped(field));
        }
        let mut names = Vec::new();
        let column = self.column(columns, None, known, place as i64)?;
        if let DataType::List(item) = known.data_type() {
            let id = column.id;
            let item = self.column(&mut column.children, Some(id), item, 0)?;
            names.push(item.field(item.column_type.arrow().unwrap_or(DataType::Null)));
        }
        let data_type = match names.pop() {
            Some(item) => DataType::List(item),
            None => known.data_type().clone(),
        };
        self.path.pop();
        Ok(column.field(data_type))
    }

    /// Adopts an element's column: looks it up in `shape`, adds it if it is new, and returns its field with ids.
    /// `parent` is the column that contains it, or `None` at the table's root.
    fn element(
        &mut self,
        columns: &mut Vec<Column>,
        shape: &'static Shape,
        parent: Option<i32>,
        field: &Field,
    ) -> Result<FieldRef, LayoutError> {
        self.path.push(field.name().clone());
        let Some(known) = shape.column(field.name(), parent.is_none()) else {
            return Err(LayoutError::Unknown {
                resource: self.resource,
                column: self.path.join("."),
            });
        };
        let item = match field.data_type() {
            DataType::List(item) if known.slot.many => Some(item),
            other if !known.slot.many && ColumnType::of(other) == Some(known.column_type) => None,
            _ => return Err(self.mistyped(field)),
        };
        if item.is_some_and(|item| ColumnType::of(item.data_type()) != Some(known.column_type)) {
            return Err(self.mistyped(field));
        }
        let column = self.column(columns, parent, field, known.order)?;
        let inner = known.slot.type_id;
        let data_type = match item {
            Some(item) => {
                let item_field = Field::new(LIST_ITEM, item.data_type().clone(), true);
                let id = column.id;
                let column = self.column(&mut column.children, Some(id), &item_field, 0)?;
                let data_type = self.inside(column, inner, item.data_type())?;
                DataType::List(column.field(data_type))
            }
            None => self.inside(column, inner, field.data_type())?,
        };
        self.path.pop();
        Ok(column.field(data_type))
    }

    fn inside(&mut self, column: &mut Column, type_id: TypeId, data_type: &DataType) -> Result<DataType, LayoutError> {
        let DataType::Struct(children) = data_type else {
            return Ok(data_type.clone());
        };
        let shape = Shape::of(type_id);
        let id = column.id;
        let fields: Result<Vec<_>, _> = children
            .iter()
            .map(|child| self.element(&mut column.children, shape, Some(id), child))
            .collect();
        Ok(DataType::Struct(Fields::from(fields?)))
    }

    /// Returns the column with this `order` among `siblings`. If there is none, adds a column for `field`. If there is
    /// one, but `field` has another name or type, refuses `field`.
    fn column<'c>(
        &mut self,
        siblings: &'c mut Vec<Column>,
        parent: Option<i32>,
        field: &Field,
        order: i64,
    ) -> Result<&'c mut Column, LayoutError> {
        let Some(column_type) = ColumnType::of(field.data_type()) else {
            return Err(self.mistyped(field));
        };
        let at = match siblings.binary_search_by_key(&order, |column| column.order) {
            Ok(at) if siblings[at].column_type == column_type && *siblings[at].name == **field.name() => at,
            Ok(_) => return Err(self.mistyped(field)),
            Err(at) => {
                let id = self.next_id;
                self.next_id += 1;
                let (name, nullable) = (field.name().clone(), field.is_nullable());
                self.new.push(ColumnRow {
                    id,
                    parent,
                    name: name.clone(),
                    column_type,
                    order,
                    nullable,
                });
                siblings.insert(
                    at,
                    Column {
                        id,
                        name: name.into(),
                        column_type,
                        order,
                        nullable,
                        children: Vec::new(),
                    },
                );
                at
            }
        };
        Ok(&mut siblings[at])
    }

    fn mistyped(&self, field: &Field) -> LayoutError {
        let found = field.data_type().to_string();
        LayoutError::Type {
            resource: self.resource,
            column: self.path.join("."),
            found,
        }
    }
}

impl Column {
    fn field(&self, data_type: DataType) -> FieldRef {
        let id = HashMap::from([(FIELD_ID.to_owned(), self.id.to_string())]);
        Arc::new(Field::new(&*self.name, data_type, self.nullable).with_metadata(id))
    }

    fn full(&self) -> FieldRef {
        let data_type = match self.column_type {
            ColumnType::Struct => DataType::Struct(fields(&self.children).into()),
            ColumnType::List => match self.children.first() {
                Some(item) => DataType::List(item.full()),
                None => DataType::Null,
            },
            leaf => leaf.arrow().unwrap_or(DataType::Null),
        };
        self.field(data_type)
    }
}

fn fields(columns: &[Column]) -> Vec<FieldRef> {
    columns.iter().map(Column::full).collect()
}

fn tree(
    by_parent: &mut HashMap<Option<i32>, Vec<ColumnRow>>,
    parent: Option<i32>,
    resource: &'static str,
) -> Result<Vec<Column>, LayoutError> {
    let rows = by_parent.remove(&parent).unwrap_or_default();
    let mut columns: Vec<Column> = Vec::with_capacity(rows.len());
    for row in rows {
        let children = tree(by_parent, Some(row.id), resource)?;
        let whole = match row.column_type {
            ColumnType::List => children.len() == 1,
            ColumnType::Struct => !children.is_empty(),
            _ => children.is_empty(),
        };
        if !whole || columns.last().is_some_and(|before| before.order == row.order) {
            return Err(LayoutError::Row { resource, id: row.id });
        }
        let ColumnRow {
            id,
            name,
            column_type,
            order,
            nullable,
            ..
        } = row;
        columns.push(Column {
            id,
            name: name.into(),
            column_type,
            order,
            nullable,
            children,
        });
    }
    Ok(columns)
}

const _: () = assert!(SYSTEM_COLUMNS.len() < ORDER_STEP as usize);

#[cfg(test)]
mod tests {
    use super::*;

    fn list(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new(LIST_ITEM, item, true)))
    }

    fn strukt(fields: &[(&str, DataType)]) -> DataType {
        DataType::Struct(
            fields
                .iter()
                .map(|(name, data_type)| Field::new(*name, data_type.clone(), true))
                .collect(),
        )
    }

    fn schema(fields: &[(&str, DataType)]) -> Schema {
        let elements = fields
            .iter()
            .map(|(name, data_type)| Arc::new(Field::new(*name, data_type.clone(), true)));
        Schema::new(system_fields().iter().cloned().chain(elements).collect::<Vec<_>>())
    }

    fn patient() -> TypeId {
        facts().lookup("Patient").unwrap()
    }

    fn names(fields: &Fields) -> Vec<&str> {
        fields.iter().map(|field| field.name().as_str()).collect()
    }

    #[test]
    fn columns_keep_ids_and_take_their_place_in_definition_order() {
        let mut layout = Layout::new(patient());
        let first = schema(&[
            ("birthDate", DataType::Utf8),
            ("name", list(strukt(&[("given", list(DataType::Utf8))]))),
        ]);
        let adopted = layout.adopt(&first).unwrap();
        assert_eq!(adopted.new.len(), layout.len());
        assert_eq!(
            adopted.new.iter().map(|row| row.id).collect::<Vec<_>>(),
            (1..=layout.len() as i32).collect::<Vec<_>>()
        );
        let birth_date = layout.column_id("birthDate").unwrap();

        let second = schema(&[
            ("birthDate__end", timestamp()),
            ("birthDate__start", timestamp()),
            ("birthDate", DataType::Utf8),
            (
                "_birthDate",
                strukt(&[("extension", list(strukt(&[("url", DataType::Utf8)])))]),
            ),
            ("gender", DataType::Utf8),
            (
                "name",
                list(strukt(&[
                    ("_given", list(strukt(&[("id", DataType::Utf8)]))),
                    ("family", DataType::Utf8),
                ])),
            ),
        ]);
        let adopted = layout.adopt(&second).unwrap();
        assert_eq!(layout.column_id("birthDate"), Some(birth_date));
        assert!(
            adopted
                .new
                .iter()
                .all(|row| row.id > birth_date && row.parent.is_none_or(|parent| parent < row.id))
        );
        let elements = &names(layout.schema().fields())[SYSTEM_COLUMNS.len()..];
        assert_eq!(
            elements,
            [
                "name",
                "gender",
                "birthDate",
                "birthDate__start",
                "birthDate__end",
                "_birthDate"
            ]
        );
        let DataType::List(item) = layout.schema().field_with_name("name").unwrap().data_type() else {
            panic!()
        };
        let DataType::Struct(fields) = item.data_type() else {
            panic!()
        };
        assert_eq!(names(fields), ["family", "given", "_given"]);
        let ids: Vec<_> = adopted.schema.fields().iter().map(|field| field_id(field)).collect();
        assert!(ids.iter().all(Option::is_some));
        assert_eq!(names(adopted.schema.fields()), names(second.fields()));

        let again = layout.adopt(&second).unwrap();
        assert!(again.new.is_empty());
        assert_eq!(again.schema, adopted.schema);
    }

    #[test]
    fn comes_back_from_its_rows() {
        let mut layout = Layout::new(patient());
        let mut rows = layout.adopt(&schema(&[("gender", DataType::Utf8)])).unwrap().new;
        rows.extend(
            layout
                .adopt(&schema(&[("name", list(strukt(&[("family", DataType::Utf8)])))]))
                .unwrap()
                .new,
        );
        rows.reverse();
        let mut back = Layout::from_rows(patient(), rows.clone()).unwrap();
        assert_eq!(back.schema(), layout.schema());
        let more = schema(&[("active", DataType::Boolean)]);
        assert_eq!(back.adopt(&more).unwrap().new, layout.adopt(&more).unwrap().new);

        let stray = ColumnRow {
            id: 999,
            parent: Some(998),
            name: "x".into(),
            column_type: ColumnType::Varchar,
            order: 1,
            nullable: true,
        };
        rows.push(stray);
        assert!(matches!(
            Layout::from_rows(patient(), rows),
            Err(LayoutError::Row { id: 999, .. })
        ));
    }

    #[test]
    fn refuses_what_r4_does_not_say_and_stays_as_it_was() {
        let mut layout = Layout::new(patient());
        layout.adopt(&schema(&[("gender", DataType::Utf8)])).unwrap();
        let before = layout.schema().clone();
        for (name, data_type) in [
            ("gender", DataType::Int32),
            ("name", DataType::Utf8),
            ("name", list(DataType::Utf8)),
            ("gender", list(DataType::Utf8)),
            ("birthDate__start", DataType::Int64),
        ] {
            let refused = layout.adopt(&schema(&[("active", DataType::Boolean), (name, data_type)]));
            assert!(matches!(refused, Err(LayoutError::Type { .. })), "{refused:?}");
        }
        for name in [
            "shoeSize",
            "birthDate__number",
            "gender__start",
            "patient__element",
            "gender__element",
        ] {
            let refused = layout.adopt(&schema(&[(name, DataType::Utf8)]));
            assert!(matches!(refused, Err(LayoutError::Unknown { .. })), "{refused:?}");
        }
        assert_eq!(layout.schema(), &before);
        assert!(layout.adopt(&schema(&[("active", DataType::Boolean)])).is_ok());
    }

    #[test]
    fn elements_yield_their_names_to_system_columns() {
        let allergy = facts().lookup("AllergyIntolerance").unwrap();
        let mut layout = Layout::new(allergy);
        layout
            .adopt(&schema(&[(
                "patient__element",
                strukt(&[("reference", DataType::Utf8)]),
            )]))
            .unwrap();
        assert!(layout.column_id("patient") < layout.column_id("patient__element"));
    }
}
