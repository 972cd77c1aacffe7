//! The system columns of a batch.

use super::leaf::{Numbers, Text};
use crate::columns::shape::timestamp;
use crate::fhir::storage::LIST_ITEM;
use arrow::array::{ArrayRef, ListArray, NullBufferBuilder};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Int64Type, TimestampMicrosecondType};
use arrow::error::ArrowError;
use std::sync::Arc;

/// The values of a row's system columns.
#[derive(Clone, Copy, Debug)]
pub struct SystemValues<'a> {
    /// The owner of the row. 0 for shared rows.
    pub owner: i64,
    /// The resource's id. Empty if the resource has none, which does not occur in a lake.
    pub id: &'a str,
    /// The id of the Patient in whose compartment the row is.
    pub patient: Option<&'a str>,
    /// The application that the row belongs to.
    pub application: &'a str,
    /// The authorization whose sync stored the row. `None` for imported data.
    pub authorization: Option<&'a str>,
    /// The endpoint from which the row came, if any.
    pub endpoint: Option<&'a str>,
    /// `meta.versionId`.
    pub version: i64,
    /// `meta.lastUpdated` in UTC microseconds.
    pub last_updated: i64,
    /// The first 16 bytes of the hash of the content.
    pub digest: [u8; 16],
    /// The shared resources to which the row refers, as `Type/id`.
    pub shared_refs: &'a [String],
    /// The resource's JSON text. The server's answers contain an unchanged copy of it.
    pub resource: &'a str,
}

impl<'a> SystemValues<'a> {
    /// Returns the values for a resource that is shredded only for a computation and is in no lake. Its owner is 0,
    /// and its application is empty. `resource` may be empty if nothing reads the text.
    pub fn outside(id: &'a str, resource: &'a str) -> SystemValues<'a> {
        SystemValues {
            owner: 0,
            id,
            patient: None,
            application: "",
            authorization: None,
            endpoint: None,
            version: 1,
            last_updated: 0,
            digest: [0; 16],
            shared_refs: &[],
            resource,
        }
    }

    /// Returns the number of bytes of all texts except the resource's JSON.
    pub(super) fn text_bytes(&self) -> usize {
        let optional = [self.patient, self.authorization, self.endpoint];
        let refs: usize = self.shared_refs.iter().map(String::len).sum();
        self.id.len() + self.application.len() + optional.into_iter().flatten().map(str::len).sum::<usize>() + refs
    }
}

/// The system columns of the rows so far.
#[derive(Debug)]
pub(super) struct System {
    owner: Numbers<Int64Type>,
    id: Text,
    patient: Text,
    application: Text,
    authorization: Text,
    endpoint: Text,
    version: Numbers<Int64Type>,
    last_updated: Numbers<TimestampMicrosecondType>,
    digest: Text,
    shared_refs: Text,
    shared_ends: Vec<i32>,
    resource: Text,
}

impl System {
    pub(super) fn new() -> System {
        System {
            owner: Numbers::new(),
            id: Text::new(),
            patient: Text::new(),
            application: Text::new(),
            authorization: Text::new(),
            endpoint: Text::new(),
            version: Numbers::new(),
            last_updated: Numbers::new(),
            digest: Text::new(),
            shared_refs: Text::new(),
            shared_ends: vec![0],
            resource: Text::new(),
        }
    }

    /// Reserves memory for this many rows with this many bytes of JSON.
    pub(super) fn reserve(&mut self, rows: usize, bytes: usize) {
        self.resource.reserve(rows, bytes);
    }

    pub(super) fn push(&mut self, row: usize, values: &SystemValues<'_>) {
        self.owner.push(values.owner);
        if !values.id.is_empty() {
            self.id.push_at(row, values.id);
        }
        self.application.push(values.application.as_bytes());
        self.version.push(values.version);
        self.last_updated.push(values.last_updated);
        self.digest.push(&values.digest);
        self.resource.push(values.resource.as_bytes());
        let optional = [
            (&mut self.patient, values.patient),
            (&mut self.authorization, values.authorization),
            (&mut self.endpoint, values.endpoint),
        ];
        for (column, value) in optional {
            if let Some(value) = value {
                column.push_at(row, value);
            }
        }
        for reference in values.shared_refs {
            self.shared_refs.push(reference.as_bytes());
        }
        self.shared_ends.push(self.shared_refs.len() as i32);
    }

    /// Returns the columns in the order of `storage::SYSTEM_COLUMNS`, with `len` rows each. Empties the columns.
    pub(super) fn finish(&mut self, len: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        let ends = std::mem::replace(&mut self.shared_ends, vec![0]);
        let mut nulls = NullBufferBuilder::new(len);
        for row in ends.windows(2) {
            nulls.append(row[1] > row[0]);
        }
        let refs = self.shared_refs.finish(self.shared_refs.len())?;
        let item = Arc::new(Field::new(LIST_ITEM, DataType::Utf8, true));
        let shared_refs = ListArray::try_new(item, OffsetBuffer::new(ends.into()), refs, nulls.finish())?;
        Ok(vec![
            self.owner.finish(len, DataType::Int64)?,
            self.id.finish(len)?,
            self.patient.finish(len)?,
            self.application.finish(len)?,
            self.authorization.finish(len)?,
            self.endpoint.finish(len)?,
            self.version.finish(len, DataType::Int64)?,
            self.last_updated.finish(len, timestamp())?,
            self.digest.finish_binary(len)?,
            Arc::new(shared_refs),
            self.resource.finish(len)?,
        ])
    }
}
