//! The interface of this module: resources go in as rows, and record batches come out.

use super::clip::Clip;
use super::column::{Context, Fault};
use super::fields::Struct;
use super::system::{System, SystemValues};
use crate::columns::json::Value;
use crate::columns::layout::{Layout, system_fields};
use crate::columns::shape::Shape;
use crate::fhir::{TypeId, facts};
use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::{FieldRef, Schema};
use arrow::error::ArrowError;
use std::sync::Arc;

/// The maximum number of columns of a table, including nested ones. Real records need hundreds. Without a limit,
/// hostile records that nest extensions in extensions would make every plan and every file footer large. A row that
/// needs more columns is refused.
pub const MAX_COLUMNS: usize = 10_000;

/// The maximum number of bytes of JSON in one batch. It is limited because Arrow's text columns have 32-bit offsets.
pub const MAX_BATCH_BYTES: usize = 1 << 30;

/// The maximum number of bytes of one batch's columns, without the text of the values. Some rows are small as JSON but
/// large as columns. An example is a long list whose items have hundreds of columns and few values.
pub const MAX_BATCH_WIDTH: usize = 256 << 20;

/// The number of bytes of JSON between two checks of [`MAX_BATCH_WIDTH`].
const MEASURE_EVERY: usize = 256 << 10;

/// Why a batch does not accept a row. The rows that are already in the batch are not affected.
#[derive(Debug, thiserror::Error)]
pub enum ShredError {
    /// The JSON value is not an object.
    #[error("a {resource} must be a JSON object")]
    NotAnObject {
        /// The resource type.
        resource: &'static str,
    },
    /// An object has a property twice. The row is refused, because readers could disagree on its meaning.
    #[error("the property `{property}` stands twice in one object")]
    Duplicate {
        /// The property's name.
        property: &'static str,
    },
    /// The row would give the table more columns than allowed.
    #[error("`{property}` would need more than the {MAX_COLUMNS} columns that a table of {resource} can have")]
    TooManyColumns {
        /// The property whose columns would be too many.
        property: &'static str,
        /// The resource type.
        resource: &'static str,
    },
    /// The row alone is larger than a batch may be, as text or as columns.
    #[error("a {resource} of {bytes} bytes is too large to be stored in columns")]
    TooLarge {
        /// The resource type.
        resource: &'static str,
        /// The bytes of the row's JSON and its other texts.
        bytes: usize,
    },
    /// The batch is full. The caller must finish it and push the row again.
    #[error("the batch is full")]
    Full,
}

/// Turns resources of one type into record batches.
#[derive(Debug)]
pub struct Shredder {
    resource: &'static str,
    system: System,
    root: Struct,
    context: Context,
    rows: usize,
    bytes: usize,
    /// The bytes of JSON since the columns were last measured.
    unmeasured: usize,
}

impl Shredder {
    /// Returns a shredder for a table without columns.
    pub fn new(type_id: TypeId) -> Shredder {
        Shredder::with_root(type_id, Struct::new(Shape::of(type_id), true, None))
    }

    /// Returns a shredder for the columns of a clip. It accepts resources that were parsed as a whole, or with the
    /// clip's selection.
    pub fn clipped(clip: &Clip) -> Shredder {
        let root = Struct::new(Shape::of(clip.type_id()), true, Some(clip.root().clone()));
        Shredder::with_root(clip.type_id(), root)
    }

    fn with_root(type_id: TypeId, root: Struct) -> Shredder {
        Shredder {
            resource: facts().get(type_id).name,
            system: System::new(),
            root,
            context: Context::new(MAX_COLUMNS),
            rows: 0,
            bytes: 0,
            unmeasured: 0,
        }
    }

    /// Returns a shredder for a table with these columns. It may add columns until the table has [`MAX_COLUMNS`].
    pub fn for_layout(layout: &Layout) -> Shredder {
        let mut shredder = Shredder::new(layout.type_id());
        shredder.context.room = usize::MAX;
        shredder.root.expect(layout.schema().fields(), &mut shredder.context);
        shredder.context = Context::new(MAX_COLUMNS.saturating_sub(layout.len()));
        shredder
    }

    /// Reserves memory for this many rows with this many bytes of resources, so that the column of the resources'
    /// JSON need not be moved while it grows.
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        self.system.reserve(rows, bytes.min(MAX_BATCH_BYTES));
    }

    /// Returns the number of rows in the batch.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether the batch has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the number of bytes of text in the batch, which approximates its memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds one resource to the batch. `root` is the parsed JSON of the resource.
    pub fn push(&mut self, system: &SystemValues<'_>, root: Value<'_>) -> Result<(), ShredError> {
        let resource = self.resource;
        if !root.is_object() {
            return Err(ShredError::NotAnObject { resource });
        }
        // No text column can gain more bytes than this, because unescaping makes text shorter.
        let bytes = system.text_bytes() + system.resource.len().max(root.raw().len());
        let too_much = if self.rows == 0 {
            ShredError::TooLarge { resource, bytes }
        } else {
            ShredError::Full
        };
        if self.bytes + bytes > MAX_BATCH_BYTES {
            return Err(too_much);
        }
        self.root.append_children(self.rows, root, &mut self.context);
        if let Some(fault) = self.context.fault.take() {
            self.root.truncate(self.rows);
            return Err(match fault {
                Fault::Duplicate(property) => ShredError::Duplicate { property },
                Fault::Columns(property) => ShredError::TooManyColumns { property, resource },
            });
        }
        self.unmeasured += bytes;
        if self.unmeasured >= MEASURE_EVERY {
            if self.root.width(self.rows + 1) > MAX_BATCH_WIDTH {
                self.root.truncate(self.rows);
                return Err(too_much);
            }
            self.unmeasured = 0;
        }
        self.system.push(self.rows, system);
        self.rows += 1;
        self.bytes += bytes;
        Ok(())
    }

    /// Returns the rows so far as a batch: system columns, then the elements that have a value in some row. The
    /// shredder is then ready for the next batch.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let len = std::mem::take(&mut self.rows);
        (self.bytes, self.unmeasured) = (0, 0);
        let mut arrays = self.system.finish(len)?;
        // In a lake, some columns have no nulls. Outside a lake they can have nulls, because a resource may have no id
        // there. So make the field of such a column nullable.
        let nullable = |(field, array): (&FieldRef, &ArrayRef)| {
            if array.null_count() > 0 && !field.is_nullable() {
                Arc::new(field.as_ref().clone().with_nullable(true))
            } else {
                field.clone()
            }
        };
        let mut fields: Vec<FieldRef> = system_fields().iter().zip(&arrays).map(nullable).collect();
        for (field, array) in self.root.finish_children(len)? {
            fields.push(field);
            arrays.push(array);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;
    use arrow::array::AsArray;

    fn system<'a>(id: &'a str, resource: &'a str) -> SystemValues<'a> {
        SystemValues {
            owner: 7,
            id,
            patient: None,
            application: "local",
            authorization: None,
            endpoint: None,
            version: 1,
            last_updated: 0,
            digest: [1; 16],
            shared_refs: &[],
            resource,
        }
    }

    fn push(shredder: &mut Shredder, text: &str) -> Result<(), ShredError> {
        let mut tape = Tape::new();
        let root = tape.parse(text.as_bytes()).unwrap();
        let id = root.get_str("id").unwrap_or_default().into_owned();
        shredder.push(&system(&id, text), root)
    }

    fn shred(resource_type: &str, rows: &[&str]) -> RecordBatch {
        let mut shredder = Shredder::new(facts().lookup(resource_type).unwrap());
        for row in rows {
            push(&mut shredder, row).unwrap();
        }
        shredder.finish().unwrap()
    }

    /// Returns the columns of elements as text, one line for each row.
    fn elements(batch: &RecordBatch) -> Vec<String> {
        let elements: Vec<usize> = (system_fields().len()..batch.num_columns()).collect();
        let batch = batch.project(&elements).unwrap();
        (0..batch.num_rows())
            .map(|row| {
                let options = arrow::util::display::FormatOptions::default().with_null("-");
                let schema = batch.schema();
                let cells = batch
                    .columns()
                    .iter()
                    .zip(schema.fields().iter())
                    .map(|(column, field)| {
                        let shown = arrow::util::display::ArrayFormatter::try_new(column, &options).unwrap();
                        format!("{}={}", field.name(), shown.value(row))
                    });
                cells.collect::<Vec<_>>().join(" ")
            })
            .collect()
    }

    fn names(batch: &RecordBatch) -> Vec<String> {
        batch.schema().fields()[system_fields().len()..]
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    #[test]
    fn columns_appear_where_seen_in_definition_order() {
        let batch = shred(
            "Patient",
            &[
                r#"{"resourceType":"Patient","id":"a","gender":"male"}"#,
                r#"{"active":true,"id":"b","name":[{"family":"X","given":["y","z"]}]}"#,
                r#"{"id":"c","multipleBirthInteger":2,"shoeSize":45}"#,
            ],
        );
        assert_eq!(names(&batch), ["active", "name", "gender", "multipleBirthInteger"]);
        assert_eq!(
            elements(&batch),
            [
                "active=- name=- gender=male multipleBirthInteger=-",
                "active=true name=[{family: X, given: [y, z]}] gender=- multipleBirthInteger=-",
                "active=- name=- gender=- multipleBirthInteger=2",
            ]
        );
        assert_eq!(batch.column_by_name("id").unwrap().as_string::<i32>().value(1), "b");
        assert!(batch.column_by_name("shared_refs").unwrap().is_null(0));
    }

    #[test]
    fn values_of_another_kind_and_empty_ones_are_absent() {
        let batch = shred(
            "Patient",
            &[
                r#"{"active":"yes","name":{"family":"X"},"gender":["male"],"telecom":[],"address":[{}],"contact":[null,{"name":{}}],
                 "multipleBirthInteger":1.0,"maritalStatus":{"text":null,"shoe":1},"birthDate":19,"managingOrganization":"x"}"#,
            ],
        );
        assert_eq!(names(&batch), Vec::<String>::new());
    }

    #[test]
    fn repeating_primitives_and_their_extensions_are_lists_of_equal_length() {
        let batch = shred(
            "Patient",
            &[
                r#"{"name":[{"given":["a"],"_given":[null,{"id":"x"},null]}]}"#,
                r#"{"name":[{"_given":[{"id":"y"}],"given":[null,"b"]},{"given":["c"]},{"given":[null],"_given":[{"id":"z"}]}]}"#,
                r#"{"birthDate":"1999","_birthDate":{"extension":[{"url":"u","valueBoolean":false}]}}"#,
            ],
        );
        let shown = elements(&batch);
        assert_eq!(
            shown[0].split(" birthDate").next().unwrap(),
            "name=[{given: [a, -, -], _given: [-, {id: x}, -]}]"
        );
        assert_eq!(
            shown[1].split(" birthDate").next().unwrap(),
            "name=[{given: [-, b], _given: [{id: y}, -]}, {given: [c], _given: -}, {given: -, _given: [{id: z}]}]"
        );
        assert!(
            shown[2].ends_with("_birthDate={extension: [{url: u, valueBoolean: false}]}"),
            "{}",
            shown[2]
        );
    }

    #[test]
    fn recursion_and_contained_resources() {
        let batch = shred(
            "Questionnaire",
            &[
                r#"{"item":[{"linkId":"1","item":[{"linkId":"1.1","item":[{"linkId":"1.1.1"}]}]}],
                 "contained":[{"resourceType":"ValueSet", "id":"v"}]}"#,
            ],
        );
        assert_eq!(
            elements(&batch),
            [
                r#"contained=[{"resourceType":"ValueSet", "id":"v"}] item=[{linkId: 1, item: [{linkId: 1.1, item: [{linkId: 1.1.1}]}]}]"#
            ]
        );
    }

    #[test]
    fn a_refused_row_leaves_nothing_behind() {
        let mut shredder = Shredder::new(facts().lookup("Patient").unwrap());
        push(&mut shredder, r#"{"gender":"male","name":[{"family":"A"}]}"#).unwrap();
        let refused =
            r#"{"active":true,"name":[{"family":"B","given":["b"]}],"gender":"x","photo":[{"url":"u"}],"gender":"y"}"#;
        assert!(matches!(
            push(&mut shredder, refused),
            Err(ShredError::Duplicate { property: "gender" })
        ));
        assert!(matches!(
            push(&mut shredder, "[]"),
            Err(ShredError::NotAnObject { resource: "Patient" })
        ));
        push(&mut shredder, r#"{"name":[{"family":"C"}]}"#).unwrap();
        let batch = shredder.finish().unwrap();
        assert_eq!(
            elements(&batch),
            ["name=[{family: A}] gender=male", "name=[{family: C}] gender=-"]
        );
        assert_eq!(shredder.finish().unwrap().num_rows(), 0);
    }

    #[test]
    fn small_text_that_makes_large_columns_is_refused() {
        let mut shredder = Shredder::new(facts().lookup("Basic").unwrap());
        let wide = [
            r#"{"valueDateTime":"2020"}"#,
            r#"{"valueDate":"2020"}"#,
            r#"{"valueInstant":"2020"}"#,
            r#"{"valueTime":"10:00:00"}"#,
            r#"{"valueDecimal":1}"#,
            r#"{"valuePeriod":{"start":"2020","end":"2021"}}"#,
            r#"{"valueQuantity":{"value":1}}"#,
            r#"{"valueRange":{"low":{"value":1},"high":{"value":1}}}"#,
            r#"{"valueRatio":{"numerator":{"value":1},"denominator":{"value":1}}}"#,
        ];
        let row = |items: usize| format!("{{\"extension\":[{}{}]}}", wide.join(","), ",0".repeat(items));
        let (one, two) = (row(700_000), row(1_400_000));
        assert!(matches!(push(&mut shredder, &two), Err(ShredError::TooLarge { .. })));
        push(&mut shredder, &one).unwrap();
        assert!(matches!(push(&mut shredder, &one), Err(ShredError::Full)));
        push(&mut shredder, &row(1)).unwrap();
        assert_eq!(shredder.finish().unwrap().num_rows(), 2);
        push(&mut shredder, &one).unwrap();
    }

    #[test]
    fn hostile_width_is_refused() {
        let basic = facts().lookup("Basic").unwrap();
        let mut shredder = Shredder::new(basic);
        let types = [
            "Period",
            "Quantity",
            "HumanName",
            "Identifier",
            "Address",
            "CodeableConcept",
            "Attachment",
            "Range",
            "Ratio",
        ];
        let mut refused = 0;
        let nested = |path: usize| {
            let levels = (0..4).map(|level| types[path / types.len().pow(level) % types.len()]);
            levels.fold("{\"id\":\"x\"}".to_owned(), |inner, type_name| {
                format!("{{\"extension\":[{{\"value{type_name}\":{inner}}}]}}")
            })
        };
        for path in 0..types.len().pow(4) {
            match push(&mut shredder, &nested(path)) {
                Ok(()) => {}
                Err(ShredError::TooManyColumns { resource: "Basic", .. }) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
        assert!(refused > 0 && !shredder.is_empty());
        let batch = shredder.finish().unwrap();
        let mut layout = Layout::new(basic);
        layout.adopt(&batch.schema()).unwrap();
        assert!(layout.len() <= MAX_COLUMNS + system_fields().len() + 1);
        let mut known = Shredder::for_layout(&layout);
        push(&mut known, &nested(0)).unwrap();
        assert!(push(&mut known, r#"{"extension":[{"url":"u"}]}"#).is_err());
        assert_eq!(names(&known.finish().unwrap()), ["extension"]);
    }
}
