//! Projections: turns the requested leaves into the columns of a scan and, for each file, into the Parquet leaves to
//! read.
//!
//! The clipped schema depends only on the table's layout and the leaves, never on a file, so all batches of a scan have
//! the same schema. If the layout lacks a requested leaf, the deepest existing element above it takes its place. Of
//! this element, the clip requests the leaf that is cheapest to read. For example, a request for `component.code.text`
//! still shows each component and its code if no code has a text.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::fhir::storage::{EVERYTHING, LeafSet, SYSTEM_COLUMNS};

/// The key of the Parquet field id in the metadata of an Arrow field.
const FIELD_ID: &str = "PARQUET:field_id";

/// The requested columns of one table.
#[derive(Clone, Debug)]
pub(in crate::lake::scan) struct Clip {
    /// The requested columns with their field ids, which identify the columns in files.
    wanted: Fields,
    /// The schema of the batches: without metadata, and with all fields nullable.
    schema: SchemaRef,
}

impl Clip {
    /// Clips a table's full schema to the requested leaves. A path that ends in `.*` requests all leaves below the
    /// element. The path `*` requests all elements, but no system column except `id`.
    pub(in crate::lake::scan) fn new(full: &Schema, leaves: &LeafSet) -> Clip {
        let mut root = Node::default();
        for leaf in leaves {
            match leaf.as_str() {
                EVERYTHING => full
                    .fields()
                    .iter()
                    .filter(|field| is_element(field))
                    .for_each(|field| root.insert_all(field.name())),
                _ => root.insert(leaf),
            }
        }
        let wanted = root.clip(full.fields());
        let plain: Fields = wanted.iter().map(plain).collect();
        Clip {
            wanted,
            schema: Arc::new(Schema::new(plain)),
        }
    }

    /// Returns the schema of the batches.
    pub(in crate::lake::scan) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns this clip without the root columns for which `keep` returns `false`.
    pub(in crate::lake::scan) fn retain(&self, keep: impl Fn(&str) -> bool) -> Clip {
        let wanted: Fields = self.wanted.iter().filter(|field| keep(field.name())).cloned().collect();
        let fields: Fields = self
            .schema
            .fields()
            .iter()
            .filter(|field| keep(field.name()))
            .cloned()
            .collect();
        Clip {
            wanted,
            schema: Arc::new(Schema::new(fields)),
        }
    }

    /// Returns a clip with the root columns of both clips, which must have none in common.
    pub(in crate::lake::scan) fn join(&self, other: &Clip) -> Clip {
        let join = |left: &Fields, right: &Fields| left.iter().chain(right).cloned().collect::<Fields>();
        Clip {
            wanted: join(&self.wanted, &other.wanted),
            schema: Arc::new(Schema::new(join(self.schema.fields(), other.schema.fields()))),
        }
    }

    /// Returns the indexes of the Parquet leaves of a file that must be read, ascending and without duplicates. `file`
    /// is the file's Arrow schema, whose primitive fields in depth-first order are the Parquet leaves. `sizes` are the
    /// compressed sizes of the leaves.
    pub(in crate::lake::scan) fn leaves(&self, file: &Fields, sizes: &[u64]) -> Vec<usize> {
        let mut found = Vec::new();
        collect(&self.wanted, file, 0, sizes, &mut found);
        found
    }
}

/// Whether a root column is an element. `id` counts as an element, the other system columns do not.
fn is_element(field: &Field) -> bool {
    field.name() == "id" || !SYSTEM_COLUMNS.contains(&field.name().as_str())
}

/// Whether `leaves` requests this root column or a leaf below it.
pub(in crate::lake::scan) fn is_asked(leaves: &LeafSet, field: &Field) -> bool {
    leaves.contains(EVERYTHING) && is_element(field)
        || leaves.iter().any(|leaf| leaf.split('.').next() == Some(field.name()))
}

/// Returns the dotted paths of a file's Parquet leaves in order, without the names of list levels.
pub(in crate::lake::scan) fn leaf_paths(file: &Fields) -> Vec<String> {
    fn walk(prefix: &str, fields: &Fields, paths: &mut Vec<String>) {
        for field in fields {
            let path = if prefix.is_empty() {
                field.name().clone()
            } else {
                format!("{prefix}.{}", field.name())
            };
            match unlist(field.data_type()).1 {
                DataType::Struct(children) => walk(&path, children, paths),
                _ => paths.push(path),
            }
        }
    }
    let mut paths = Vec::new();
    walk("", file, &mut paths);
    paths
}

/// The requested leaves as a tree of names.
#[derive(Default)]
struct Node<'a> {
    children: BTreeMap<&'a str, Node<'a>>,
}

impl<'a> Node<'a> {
    fn insert_all(&mut self, root: &'a str) {
        self.children
            .entry(root)
            .or_default()
            .children
            .entry(EVERYTHING)
            .or_default();
    }

    fn insert(&mut self, path: &'a str) {
        let mut node = self;
        for name in path.split('.') {
            node = node.children.entry(name).or_default();
        }
    }

    fn clip(&self, fields: &Fields) -> Fields {
        if self.children.contains_key(EVERYTHING) {
            return fields.clone();
        }
        let asked = |field: &FieldRef| {
            let node = self.children.get(field.name().as_str())?;
            Some(rebuild(field, &|children| node.clip_struct(children)))
        };
        fields.iter().filter_map(asked).collect()
    }

    fn clip_struct(&self, fields: &Fields) -> Fields {
        let clipped = self.clip(fields);
        if !clipped.is_empty() {
            return clipped;
        }
        let cheapest = fields
            .iter()
            .enumerate()
            .min_by_key(|(at, field)| (cost(field.data_type()), *at));
        cheapest
            .map(|(_, field)| rebuild(field, &|children| Node::default().clip_struct(children)))
            .into_iter()
            .collect()
    }
}

/// Rebuilds a field with other children. For a struct, or a list of structs, `children` makes the new child fields from
/// the old ones. Returns any other field as it is.
fn rebuild(field: &FieldRef, children: &dyn Fn(&Fields) -> Fields) -> FieldRef {
    match field.data_type() {
        DataType::Struct(fields) => with_type(field, DataType::Struct(children(fields))),
        DataType::List(item) => with_type(field, DataType::List(rebuild(item, children))),
        _ => field.clone(),
    }
}

fn with_type(field: &FieldRef, data_type: DataType) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

fn plain(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain).collect()),
        DataType::List(item) => DataType::List(plain(item)),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, true))
}

/// Returns the cost of reading a leaf only to see whether an element is present, estimated from its type. Real sizes
/// differ from file to file, but the schema must not.
fn cost(data_type: &DataType) -> usize {
    match data_type {
        DataType::Boolean => 0,
        DataType::Int32 => 1,
        DataType::Int64 | DataType::Timestamp(..) => 2,
        DataType::Decimal128(..) => 3,
        DataType::Struct(fields) => 10 + fields.iter().map(|field| cost(field.data_type())).min().unwrap_or(0),
        DataType::List(item) => 20 + cost(item.data_type()),
        _ => 4,
    }
}

/// Returns how many lists are nested in a type, and the type of the innermost items. The number is 0 for a type that is
/// no list.
fn unlist(data_type: &DataType) -> (usize, &DataType) {
    match data_type {
        DataType::List(item) => {
            let (depth, inner) = unlist(item.data_type());
            (depth + 1, inner)
        }
        other => (0, other),
    }
}

fn leaf_count(data_type: &DataType) -> usize {
    match unlist(data_type).1 {
        DataType::Struct(fields) => fields.iter().map(|field| leaf_count(field.data_type())).sum(),
        _ => 1,
    }
}

fn collect(wanted: &Fields, file: &Fields, first: usize, sizes: &[u64], found: &mut Vec<usize>) {
    let mut next = first;
    for field in file {
        let leaves = next..next + leaf_count(field.data_type());
        next = leaves.end;
        let Some(want) = wanted
            .iter()
            .find(|want| want.name() == field.name() && same_id(want, field))
        else {
            continue;
        };
        match (unlist(want.data_type()), unlist(field.data_type())) {
            ((want_depth, DataType::Struct(want)), (depth, DataType::Struct(children))) if want_depth == depth => {
                let before = found.len();
                collect(want, children, leaves.start, sizes, found);
                if found.len() == before {
                    found.extend(leaves.min_by_key(|leaf| sizes.get(*leaf).copied().unwrap_or(0)));
                }
            }
            ((want_depth, want), (depth, have)) if want_depth == depth && !want.is_nested() && !have.is_nested() => {
                found.push(leaves.start);
            }
            _ => {}
        }
    }
}

fn same_id(left: &Field, right: &Field) -> bool {
    match (left.metadata().get(FIELD_ID), right.metadata().get(FIELD_ID)) {
        (Some(left), Some(right)) => left == right,
        _ => true,
    }
}

/// Adds the dotted paths of a column's leaves to `found`. Each path begins with the text `above`.
pub(in crate::lake::scan) fn leaves(above: &str, field: &Field, found: &mut Vec<String>) {
    let path = format!("{above}{}", field.name());
    let mut data_type = field.data_type();
    while let DataType::List(item) = data_type {
        data_type = item.data_type();
    }
    match data_type {
        DataType::Struct(fields) => fields
            .iter()
            .for_each(|field| leaves(&format!("{path}."), field, found)),
        _ => found.push(path),
    }
}
