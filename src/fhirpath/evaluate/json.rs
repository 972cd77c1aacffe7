//! Writes items as JSON text. Digits and the order of properties are as stored. The engine's companion columns are not
//! written.

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::datatypes::{DataType, Int32Type};

use super::super::compile::types::{ItemType, System};
use super::super::values::columns::Values;
use super::super::values::items::Items;
use crate::fhir::storage::Storage;
use crate::fhir::{TypeId, facts};

impl Items {
    /// Appends an item as JSON. Appends `null` for an element without a value. A row of a table is written as the text
    /// in its column `resource`, or as `{}` if the batch lacks this text.
    pub fn write_json(&self, item: usize, out: &mut String) {
        let slot = self.slot(item);
        if !self.column.values.is_valid(slot) {
            return out.push_str("null");
        }
        match &self.column.values {
            Values::Boolean(array) => out.push_str(if array.value(slot) { "true" } else { "false" }),
            Values::Integer(array) => out.push_str(&array.value(slot).to_string()),
            Values::Text(array) => quote(array.value(slot), out),
            Values::Json(array) => out.push_str(array.value(slot)),
            Values::Decimal { .. } => match (self.text(item), self.scalar(item)) {
                (Some(text), _) => out.push_str(text),
                (None, Some(scalar)) => out.push_str(&scalar.to_text().unwrap_or_else(|| "null".to_string())),
                (None, None) => out.push_str("null"),
            },
            Values::Temporal { .. } => match self.text(item) {
                Some(text) => quote(text, out),
                None => out.push_str("null"),
            },
            Values::Quantity { value, unit } => {
                out.push_str("{\"value\":");
                out.push_str(value.value(slot));
                if unit.is_valid(slot) {
                    out.push_str(",\"unit\":");
                    quote(unit.value(slot), out);
                }
                out.push('}');
            }
            Values::Struct(array) => write_struct(self.item_type.fhir(), array, slot, out),
            Values::Record(batch) => {
                let text = batch
                    .column_by_name("resource")
                    .and_then(super::super::values::columns::text_array);
                match text.filter(|text| text.is_valid(slot) && !text.value(slot).is_empty()) {
                    Some(text) => out.push_str(text.value(slot)),
                    None => out.push_str("{}"),
                }
            }
        }
    }

    /// Returns the name of the items' type in FHIR, such as `string` for FHIRPath's String.
    pub fn type_name(&self) -> &'static str {
        match self.item_type {
            ItemType::Fhir(type_id) => facts().get(type_id).name,
            ItemType::System(system) => match system {
                System::Boolean => "boolean",
                System::String => "string",
                System::Integer => "integer",
                System::Long => "integer64",
                System::Decimal => "decimal",
                System::Date => "date",
                System::DateTime => "dateTime",
                System::Time => "time",
                System::Quantity | System::TypeInfo | System::Target => system.name(),
            },
        }
    }
}

fn quote(text: &str, out: &mut String) {
    // Writing a string as JSON cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

fn write_struct(type_id: Option<TypeId>, array: &StructArray, slot: usize, out: &mut String) {
    out.push('{');
    let mut first = true;
    for (field, column) in array.fields().iter().zip(array.columns()) {
        let name = field.name();
        if name.contains("__") || column.is_null(slot) {
            continue;
        }
        if !first {
            out.push(',');
        }
        first = false;
        quote(name, out);
        out.push(':');
        let child = match name.strip_prefix('_') {
            Some(_) => facts().lookup("Element"),
            None => type_id
                .and_then(|type_id| facts().child(type_id, name))
                .map(|child| child.type_id),
        };
        write_slot(child, column, slot, out);
    }
    out.push('}');
}

fn write_slot(type_id: Option<TypeId>, column: &ArrayRef, slot: usize, out: &mut String) {
    if column.is_null(slot) {
        return out.push_str("null");
    }
    let storage = type_id.map(|type_id| Storage::of(facts().get(type_id)));
    match column.data_type() {
        DataType::Boolean => out.push_str(if column.as_boolean().value(slot) {
            "true"
        } else {
            "false"
        }),
        DataType::Int32 => out.push_str(&column.as_primitive::<Int32Type>().value(slot).to_string()),
        DataType::Utf8 => match storage {
            Some(Storage::Decimal | Storage::Json) => out.push_str(column.as_string::<i32>().value(slot)),
            _ => quote(column.as_string::<i32>().value(slot), out),
        },
        DataType::Struct(_) => write_struct(type_id, column.as_struct(), slot, out),
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(slot);
            out.push('[');
            for item in 0..items.len() {
                if item > 0 {
                    out.push(',');
                }
                write_slot(type_id, &items, item, out);
            }
            out.push(']');
        }
        _ => out.push_str("null"),
    }
}
