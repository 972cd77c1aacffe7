//! Finds the columns of a table by the field ids in its files.

use std::collections::BTreeMap;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};

use crate::columns::layout::{ColumnRow, Layout, LayoutError, field_id};
use crate::fhir::TypeId;

/// The columns of a table according to the files that were added.
#[derive(Debug)]
pub(super) struct Columns {
    /// Assigns preliminary ids to columns, and knows which columns a table of this type can have.
    layout: Layout,
    rows: Vec<ColumnRow>,
    /// Maps the preliminary ids to the ids in the files.
    ids: BTreeMap<i32, i32>,
}

impl Columns {
    pub(super) fn new(type_id: TypeId) -> Columns {
        Columns {
            layout: Layout::new(type_id),
            rows: Vec::new(),
            ids: BTreeMap::new(),
        }
    }

    /// Adds the columns of a file. Returns `false` and adds none if a column does not belong to the table, or if one of
    /// its ids belongs to another column in an earlier file.
    pub(super) fn add(&mut self, schema: &Schema) -> bool {
        let mut layout = self.layout.clone();
        let Ok(adopted) = layout.adopt(schema) else {
            return false;
        };
        let mut ids = self.ids.clone();
        let fields = schema.fields().iter().zip(adopted.schema.fields());
        let agree = fields.into_iter().all(|(file, new)| pair(file, new, &mut ids));
        let mut given: Vec<i32> = ids.values().copied().collect();
        given.sort_unstable();
        given.dedup();
        if !agree || given.len() != ids.len() {
            return false;
        }
        self.rows.extend(adopted.new);
        self.layout = layout;
        self.ids = ids;
        true
    }

    /// Returns the table's columns with the ids in the files.
    pub(super) fn finish(self) -> Result<(Layout, Vec<ColumnRow>), LayoutError> {
        let ids = self.ids;
        let id = |id: i32| ids.get(&id).copied().unwrap_or(id);
        let rows: Vec<ColumnRow> = self
            .rows
            .into_iter()
            .map(|row| ColumnRow {
                id: id(row.id),
                parent: row.parent.map(id),
                ..row
            })
            .collect();
        Ok((Layout::from_rows(self.layout.type_id(), rows.clone())?, rows))
    }
}

/// Records the ids of a column and of the columns inside it. Returns `false` if a column has no id, or had a
/// different one in an earlier file.
fn pair(file: &Field, new: &FieldRef, ids: &mut BTreeMap<i32, i32>) -> bool {
    let (Some(in_file), Some(given)) = (field_id(file), field_id(new)) else {
        return false;
    };
    if *ids.entry(given).or_insert(in_file) != in_file {
        return false;
    }
    match (file.data_type(), new.data_type()) {
        (DataType::List(file), DataType::List(new)) => pair(file, new, ids),
        (DataType::Struct(file), DataType::Struct(new)) => file.iter().zip(new).all(|(file, new)| pair(file, new, ids)),
        _ => true,
    }
}
