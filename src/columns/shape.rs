//! Shapes: the columns that an R4 type can have. A shape lists every JSON property of the type, how its values are
//! stored, and its place among the other properties. The writer (`shred`) and the table's column tree (`layout`) both
//! use shapes, so they cannot disagree.
//!
//! A shape has all possible columns. `layout` knows which columns a table really has.

use crate::fhir::storage::{self, Storage};
use crate::fhir::{Kind, TypeId, facts};
use arrow::datatypes::{DataType, TimeUnit};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The difference in `order` between neighbouring elements. It leaves places for the types of a choice and for
/// companions.
pub const ORDER_STEP: i64 = 1_000;
/// The difference in `order` between neighbouring types of a choice. It leaves places for companions.
const CHOICE_STEP: i64 = 10;
/// The difference in `order` between `x` and `_x`. It puts `_x` after all companions of `x`.
const PRIMITIVE_ELEMENT_PLACE: i64 = 9;

/// All JSON properties that a value of one R4 type can have.
#[derive(Debug)]
pub struct Shape {
    slots: Vec<Slot>,
    by_name: FxHashMap<&'static str, u16>,
}

/// One JSON property of a type.
#[derive(Debug)]
pub struct Slot {
    /// The name of the property: `code`, `valueQuantity`, `_birthDate`.
    pub name: &'static str,
    /// How its values become columns.
    pub part: SlotKind,
    /// Its R4 type. For `_x`, the type of `x`.
    pub type_id: TypeId,
    /// Whether the property repeats.
    pub many: bool,
    /// Its place among its siblings (DuckLake's `column_order`).
    pub order: i64,
    /// For a primitive `x`, the index of the slot of `_x`. For `_x`, the index of the slot of `x`. `None` for other
    /// properties.
    pub partner: Option<u16>,
}

/// How the values of a slot become columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// One text column.
    Text,
    /// One boolean column.
    Boolean,
    /// One 32-bit integer column.
    Integer,
    /// A text column and a column with the exact number.
    Decimal,
    /// A text column and two timestamp columns, the start and the end.
    DateTime,
    /// A text column and two columns with the start and the end in microseconds since midnight.
    Time,
    /// The columns of `Reference.reference`: its text, and the type and the id of a relative reference.
    Reference,
    /// One text column that holds JSON.
    Json,
    /// A struct column.
    Struct,
}

/// The type of a column, as DuckLake's `column_type` states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ColumnType {
    Varchar,
    Boolean,
    Int32,
    Int64,
    Decimal,
    TimestampTz,
    Blob,
    Struct,
    List,
}

impl ColumnType {
    /// Returns DuckLake's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            ColumnType::Varchar => "varchar",
            ColumnType::Boolean => "boolean",
            ColumnType::Int32 => "int32",
            ColumnType::Int64 => "int64",
            ColumnType::Decimal => "decimal(38,18)",
            ColumnType::TimestampTz => "timestamptz",
            ColumnType::Blob => "blob",
            ColumnType::Struct => "struct",
            ColumnType::List => "list",
        }
    }

    /// Returns the column type with this DuckLake name. `None` if the engine does not use this type.
    pub fn parse(name: &str) -> Option<ColumnType> {
        use ColumnType::*;
        [Varchar, Boolean, Int32, Int64, Decimal, TimestampTz, Blob, Struct, List]
            .into_iter()
            .find(|column_type| column_type.name() == name)
    }

    /// Returns the column type that holds Arrow values of this type. `None` if no column does.
    pub fn of(data_type: &DataType) -> Option<ColumnType> {
        Some(match data_type {
            DataType::Utf8 => ColumnType::Varchar,
            DataType::Boolean => ColumnType::Boolean,
            DataType::Int32 => ColumnType::Int32,
            DataType::Int64 => ColumnType::Int64,
            DataType::Decimal128(storage::NUMBER_PRECISION, storage::NUMBER_SCALE) => ColumnType::Decimal,
            DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) if zone.as_ref() == "UTC" => ColumnType::TimestampTz,
            DataType::Binary => ColumnType::Blob,
            DataType::Struct(_) => ColumnType::Struct,
            DataType::List(_) => ColumnType::List,
            _ => return None,
        })
    }

    /// Returns the Arrow type of a column without children. `None` for structs and lists.
    pub fn arrow(self) -> Option<DataType> {
        Some(match self {
            ColumnType::Varchar => DataType::Utf8,
            ColumnType::Boolean => DataType::Boolean,
            ColumnType::Int32 => DataType::Int32,
            ColumnType::Int64 => DataType::Int64,
            ColumnType::Decimal => DataType::Decimal128(storage::NUMBER_PRECISION, storage::NUMBER_SCALE),
            ColumnType::TimestampTz => timestamp(),
            ColumnType::Blob => DataType::Binary,
            ColumnType::Struct | ColumnType::List => return None,
        })
    }
}

/// Returns `Timestamp(Microsecond, "UTC")`.
pub(crate) fn timestamp() -> DataType {
    static TIMESTAMP: OnceLock<DataType> = OnceLock::new();
    TIMESTAMP
        .get_or_init(|| DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())))
        .clone()
}

/// A column of a slot: the element itself or one of its companions.
#[derive(Clone, Copy, Debug)]
pub struct SlotColumn<'a> {
    /// The slot to which the column belongs.
    pub slot: &'a Slot,
    /// The type of the values. For a repeating slot, the type of the list's items.
    pub column_type: ColumnType,
    /// Its place among its siblings (DuckLake's `column_order`).
    pub order: i64,
    /// Whether the column is a companion of the slot's own column.
    pub companion: bool,
}

impl SlotKind {
    fn of(storage: Storage) -> SlotKind {
        match storage {
            Storage::Text => SlotKind::Text,
            Storage::Boolean => SlotKind::Boolean,
            Storage::Integer => SlotKind::Integer,
            Storage::Decimal => SlotKind::Decimal,
            Storage::DateTime => SlotKind::DateTime,
            Storage::Time => SlotKind::Time,
            Storage::Struct | Storage::Reference => SlotKind::Struct,
            Storage::Json => SlotKind::Json,
        }
    }

    /// Returns the columns of a slot: first its own column, then the companions. Each entry is the suffix of the
    /// column's name and the column's type.
    pub fn columns(self) -> &'static [(&'static str, ColumnType)] {
        use ColumnType::*;
        match self {
            SlotKind::Text | SlotKind::Json => &[("", Varchar)],
            SlotKind::Boolean => &[("", Boolean)],
            SlotKind::Integer => &[("", Int32)],
            SlotKind::Decimal => &[("", Varchar), (storage::NUMBER, Decimal)],
            SlotKind::DateTime => &[
                ("", Varchar),
                (storage::START, TimestampTz),
                (storage::END, TimestampTz),
            ],
            SlotKind::Time => &[("", Varchar), (storage::START, Int64), (storage::END, Int64)],
            SlotKind::Reference => &[("", Varchar), ("__type", Varchar), ("__id", Varchar)],
            SlotKind::Struct => &[("", Struct)],
        }
    }
}

impl Shape {
    /// Returns the shape of a type. Builds the shape at its first use and keeps it for the life of the process.
    pub fn of(type_id: TypeId) -> &'static Shape {
        static SHAPES: OnceLock<Box<[OnceLock<Shape>]>> = OnceLock::new();
        let shapes = SHAPES.get_or_init(|| (0..facts().len()).map(|_| OnceLock::new()).collect());
        shapes[type_id.index()].get_or_init(|| Shape::new(type_id))
    }

    fn new(type_id: TypeId) -> Shape {
        let facts = facts();
        let def = facts.get(type_id);
        let mut slots = Vec::new();
        for element in &def.elements {
            for (choice, element_type) in element.types.iter().enumerate() {
                let type_def = facts.get(*element_type);
                let name = if element.choice {
                    choice_name(element.name, type_def.name)
                } else {
                    element.name
                };
                let order = i64::from(element.ordinal) * ORDER_STEP + choice as i64 * CHOICE_STEP;
                let part = if def.name == "Reference" && element.name == "reference" {
                    SlotKind::Reference
                } else {
                    SlotKind::of(Storage::of(type_def))
                };
                let at = slots.len() as u16;
                let primitive = matches!(type_def.kind, Kind::Primitive(_));
                let partner = primitive.then_some(at + 1);
                slots.push(Slot {
                    name,
                    part,
                    type_id: *element_type,
                    many: element.many,
                    order,
                    partner,
                });
                if primitive {
                    slots.push(Slot {
                        name: Box::leak(format!("_{name}").into_boxed_str()),
                        part: SlotKind::Struct,
                        type_id: *element_type,
                        many: element.many,
                        order: order + PRIMITIVE_ELEMENT_PLACE,
                        partner: Some(at),
                    });
                }
                if !element.choice {
                    break;
                }
            }
        }
        let by_name = slots
            .iter()
            .enumerate()
            .map(|(at, slot)| (slot.name, at as u16))
            .collect();
        Shape { slots, by_name }
    }

    /// Returns all slots, in definition order.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Returns the index of the slot of a JSON property.
    pub fn find(&self, name: &str) -> Option<u16> {
        self.by_name.get(name).copied()
    }

    /// Finds the column of this name in a struct of this shape. `root` says that the struct is the table's root,
    /// where an element with the name of a system column has the suffix `__element`.
    pub fn column(&self, name: &str, root: bool) -> Option<SlotColumn<'_>> {
        let (base, suffix) = match name.find("__") {
            Some(at) if root && name[at..].starts_with(storage::ELEMENT) => {
                (&name[..at], &name[at + storage::ELEMENT.len()..])
            }
            Some(at) => name.split_at(at),
            None => (name, ""),
        };
        let slot = &self.slots[usize::from(self.find(base)?)];
        if root && suffix_free(name, suffix) != storage::root_column(base) {
            return None;
        }
        let place = slot
            .part
            .columns()
            .iter()
            .position(|(companion, _)| *companion == suffix)?;
        Some(SlotColumn {
            slot,
            column_type: slot.part.columns()[place].1,
            order: slot.order + place as i64,
            companion: place > 0,
        })
    }
}

fn suffix_free<'n>(name: &'n str, suffix: &str) -> &'n str {
    name.strip_suffix(suffix).unwrap_or(name)
}

/// Returns the JSON name of a choice for one type: `valueDateTime` for `value` and `dateTime`.
fn choice_name(element: &str, type_name: &str) -> &'static str {
    let mut name = String::with_capacity(element.len() + type_name.len());
    name.push_str(element);
    let mut letters = type_name.chars();
    name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
    name.push_str(letters.as_str());
    Box::leak(name.into_boxed_str())
}
