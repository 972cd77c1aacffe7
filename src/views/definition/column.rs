//! The columns of a view: the type of their values, from the declared `type` and the types of the path.
//!
//! Values keep their written form: decimals, dates and times are text. A column's declared type decides the kind of
//! its values. A value that the kind cannot hold is an error. Typed output converts values to the SQL types of the
//! columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};

use super::kind::Kind;
use super::sql_type::SqlType;
use crate::fhir::storage::{LIST_ITEM, Storage};
use crate::fhir::{Kind as FhirKind, facts};
use crate::fhirpath::{ItemType, System};

/// A column of a view's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name.
    pub name: String,
    /// The place of the column's definition in the ViewDefinition. For a column of a union, the place in the first
    /// branch.
    pub at: String,
    /// The kind of the column's values.
    pub kind: Kind,
    /// Whether a row has a list of values in this column.
    pub collection: bool,
    /// The FHIR type that the view declares, or the only type that the path yields. `None` if neither exists.
    pub fhir_type: Option<String>,
    /// The view's description of the column.
    pub description: Option<String>,
    /// The column's tags. They are hints for particular systems, such as databases.
    pub tags: Vec<Tag>,
    /// The SQL type of the column's values in typed output. For a collection, the SQL type of its items.
    pub sql: SqlType,
}

/// A `tag` of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The tag's name, such as `ansi/type`.
    pub name: String,
    /// The tag's value.
    pub value: String,
}

/// The name of the tag with a column's SQL type.
pub(in crate::views) const ANSI_TYPE: &str = "ansi/type";
/// The key of the column's FHIR type in the metadata of its Arrow field.
const FHIR_TYPE: &str = "fhir_type";
/// The key of the column's description in the metadata of its Arrow field.
const DESCRIPTION: &str = "description";
/// In the metadata of a column's Arrow field, the key of a tag is this prefix and the tag's name.
const TAG: &str = "tag:";

impl Kind {
    /// Returns the kind's name in messages.
    pub(in crate::views) fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::Integer => "integer",
            Kind::Decimal => "decimal",
            Kind::Text => "text",
            Kind::Any => "any value",
        }
    }

    /// Returns the Arrow type of values of this kind.
    pub(in crate::views) fn data_type(self) -> DataType {
        match self {
            Kind::Boolean => DataType::Boolean,
            Kind::Integer => DataType::Int32,
            Kind::Decimal | Kind::Text | Kind::Any => DataType::Utf8,
        }
    }

    /// Returns the kind that can hold the values of both kinds.
    pub(in crate::views) fn with(self, other: Kind) -> Kind {
        match (self, other) {
            _ if self == other => self,
            (Kind::Integer | Kind::Decimal, Kind::Integer | Kind::Decimal) => Kind::Decimal,
            _ => Kind::Any,
        }
    }

    /// Returns the kind of items of a type. `None` for a complex type.
    pub(in crate::views) fn of_items(item_type: ItemType) -> Option<Kind> {
        match item_type {
            ItemType::System(system) => match system {
                System::Boolean => Some(Kind::Boolean),
                System::Integer => Some(Kind::Integer),
                System::Long | System::Decimal => Some(Kind::Decimal),
                System::String | System::Date | System::DateTime | System::Time => Some(Kind::Text),
                System::Quantity | System::TypeInfo | System::Target => None,
            },
            ItemType::Fhir(type_id) => Kind::of_fhir(facts().get(type_id)),
        }
    }

    fn of_fhir(def: &crate::fhir::TypeDef) -> Option<Kind> {
        match Storage::of(def) {
            Storage::Boolean => Some(Kind::Boolean),
            Storage::Integer => Some(Kind::Integer),
            Storage::Decimal => Some(Kind::Decimal),
            Storage::Text | Storage::DateTime | Storage::Time => Some(Kind::Text),
            Storage::Struct | Storage::Reference | Storage::Json => None,
        }
    }

    /// Returns the kind for a column's `type`: the name or URL of a FHIR type, or the name of a System type. `Err` has
    /// a message that describes the problem.
    pub(in crate::views) fn declared(fhir_type: &str) -> Result<Kind, String> {
        let name = fhir_type.rsplit('/').next().unwrap_or(fhir_type);
        if let Some(system) = name.strip_prefix("System.") {
            return match system {
                "Boolean" => Ok(Kind::Boolean),
                "Integer" => Ok(Kind::Integer),
                "Decimal" => Ok(Kind::Decimal),
                "String" | "Date" | "DateTime" | "Time" => Ok(Kind::Text),
                _ => Err(format!("'{fhir_type}' is not a type that a column can have")),
            };
        }
        // R4 has no integer64. Views for later versions declare it for integers, including integers beyond 32 bits.
        // `Kind::Decimal` can hold these, too.
        if name == "integer64" {
            return Ok(Kind::Decimal);
        }
        let known = facts()
            .lookup(name.strip_prefix("FHIR.").unwrap_or(name))
            .map(|type_id| facts().get(type_id));
        let known = known.ok_or_else(|| format!("'{fhir_type}' is no FHIR type"))?;
        match known.kind {
            FhirKind::Primitive(_) => Kind::of_fhir(known).ok_or_else(|| format!("'{fhir_type}' is no primitive type")),
            _ => Err(format!(
                "'{fhir_type}' is not a primitive type; choose one of its elements"
            )),
        }
    }
}

impl Column {
    /// Whether a tag declares the column's SQL type.
    pub(in crate::views) fn has_sql_tag(&self) -> bool {
        self.tags.iter().any(|tag| tag.name.eq_ignore_ascii_case(ANSI_TYPE))
    }

    /// Returns the name of the SQL type of the column's values. For a collection, the SQL type of its items.
    pub fn sql_type(&self) -> String {
        self.sql.to_string()
    }

    /// Returns the field in the Arrow schema of untyped rows, whose values keep their written form.
    pub(in crate::views) fn field(&self) -> FieldRef {
        self.field_of(self.kind.data_type())
    }

    /// Returns the field in the Arrow schema of typed output.
    pub(in crate::views) fn typed_field(&self) -> FieldRef {
        self.field_of(self.sql.data_type())
    }

    fn field_of(&self, values: DataType) -> FieldRef {
        let data_type = if self.collection {
            DataType::List(item_field(values))
        } else {
            values
        };
        let mut metadata = HashMap::new();
        if let Some(fhir_type) = &self.fhir_type {
            metadata.insert(FHIR_TYPE.to_owned(), fhir_type.clone());
        }
        if let Some(description) = &self.description {
            metadata.insert(DESCRIPTION.to_owned(), description.clone());
        }
        for tag in &self.tags {
            metadata
                .entry(format!("{TAG}{}", tag.name))
                .or_insert_with(|| tag.value.clone());
        }
        Arc::new(Field::new(&self.name, data_type, true).with_metadata(metadata))
    }
}

/// Returns the Arrow field of the items in a collection's list.
pub(in crate::views) fn item_field(values: DataType) -> FieldRef {
    Arc::new(Field::new(LIST_ITEM, values, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_type_is_a_name_or_an_address() {
        for (fhir_type, kind) in [
            ("boolean", Kind::Boolean),
            ("positiveInt", Kind::Integer),
            ("decimal", Kind::Decimal),
            ("dateTime", Kind::Text),
            ("http://hl7.org/fhir/StructureDefinition/decimal", Kind::Decimal),
            ("http://hl7.org/fhirpath/System.Integer", Kind::Integer),
        ] {
            assert_eq!(Kind::declared(fhir_type), Ok(kind), "{fhir_type}");
        }
        assert!(Kind::declared("HumanName").unwrap_err().contains("not a primitive"));
        assert!(Kind::declared("varchar").unwrap_err().contains("no FHIR type"));
    }
}
