//! How an R4 element is represented in columns: the naming rules that the writer (`columns::shred`) and the reader
//! (`fhirpath`) share. `LAYOUT.md` documents the rules with a worked example.
//!
//! [`Storage`] has the column type of an element that does not repeat. A repeating element is an Arrow `List` of this
//! type, and the item field is named [`LIST_ITEM`]. The companions of a repeating primitive (`x__number`, `x__start`,
//! `_x`) are lists of the same lengths beside it. An absent element is null. A primitive that has an id or extension
//! but no value is null in `x` and valid in `_x`.

use super::facts::{Kind, Primitive, TypeDef};

/// Name of the item field of every Arrow list.
pub const LIST_ITEM: &str = "element";
/// Suffix of the companion of a decimal: its value as decimal(38,18). The companion is null if the value does not fit
/// exactly.
pub const NUMBER: &str = "__number";
/// Suffix of the companion of a date, dateTime, instant or time with its inclusive lower bound.
pub const START: &str = "__start";
/// Suffix of the companion of a date, dateTime, instant or time with its exclusive upper bound.
pub const END: &str = "__end";
/// Companion of `Reference.reference` that holds the type part of a relative reference.
pub const REFERENCE_TYPE: &str = "reference__type";
/// Companion of `Reference.reference` that holds the id part of a relative reference.
pub const REFERENCE_ID: &str = "reference__id";
/// Suffix of the column of a root element that has the same name as a system column other than `id`.
pub const ELEMENT: &str = "__element";
/// The last part of a leaf path such as `code.*`, which requests all leaves below `code`.
pub const EVERYTHING: &str = "*";
/// The system column that holds a resource's JSON text.
pub const TEXT: &str = "resource";
/// Precision of [`NUMBER`] columns.
pub const NUMBER_PRECISION: u8 = 38;
/// Scale of [`NUMBER`] columns.
pub const NUMBER_SCALE: i8 = 18;

/// The system columns of every table, in order. The columns of the elements follow. The column `id` also holds the
/// element `id`, which has no column of its own.
pub const SYSTEM_COLUMNS: [&str; 11] = [
    "owner",
    "id",
    "patient",
    "application",
    "authorization",
    "endpoint",
    "version",
    "last_updated",
    "digest",
    "shared_refs",
    "resource",
];

/// How values of a type are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// `Utf8`.
    Text,
    /// `Boolean`.
    Boolean,
    /// `Int32`.
    Integer,
    /// `Utf8` as written in JSON, with a [`NUMBER`] companion.
    Decimal,
    /// `Utf8` as written, with [`START`] and [`END`] companions: `Timestamp(Microsecond, "UTC")`.
    DateTime,
    /// `Utf8` as written, with [`START`] and [`END`] companions: `Int64` microseconds since midnight.
    Time,
    /// `Struct` of the elements that occurred in the data.
    Struct,
    /// `Struct`. Its `reference` has the companions [`REFERENCE_TYPE`] and [`REFERENCE_ID`].
    Reference,
    /// `Utf8` holding the JSON text of a whole resource (`contained`, `Bundle.entry.resource`).
    Json,
}

impl Storage {
    /// Returns the storage of values of `type_def`.
    pub fn of(type_def: &TypeDef) -> Storage {
        match type_def.kind {
            Kind::Primitive(primitive) => match primitive {
                Primitive::Boolean => Storage::Boolean,
                Primitive::Integer | Primitive::PositiveInt | Primitive::UnsignedInt => Storage::Integer,
                Primitive::Decimal => Storage::Decimal,
                Primitive::Date | Primitive::DateTime | Primitive::Instant => Storage::DateTime,
                Primitive::Time => Storage::Time,
                _ => Storage::Text,
            },
            Kind::Resource => Storage::Json,
            Kind::Complex | Kind::Backbone if type_def.name == "Reference" => Storage::Reference,
            Kind::Complex | Kind::Backbone => Storage::Struct,
        }
    }
}

/// Returns the top-level column of the root element whose JSON property is `name`. It is `name` itself, or
/// `name__element` if a system column other than `id` has that name (`AllergyIntolerance.patient`, `ValueSet.version`).
pub fn root_column(name: &str) -> std::borrow::Cow<'_, str> {
    if name != "id" && SYSTEM_COLUMNS.contains(&name) {
        std::borrow::Cow::Owned(format!("{name}{ELEMENT}"))
    } else {
        std::borrow::Cow::Borrowed(name)
    }
}

/// The columns that a computation reads, as dotted paths without list markers from the table's root:
/// `code.coding.system`, `effectiveDateTime__start`. A path that names a struct requests only whether the struct is
/// present, so the scan reads only the cheapest leaf below the struct. A path whose last part is `*` (`code.*`)
/// requests every leaf below the rest of the path.
pub type LeafSet = std::collections::BTreeSet<String>;
