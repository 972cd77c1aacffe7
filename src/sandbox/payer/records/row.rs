//! One resource of an organization.

use crate::sandbox::output::records::Record;

/// A resource with its type and id.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sandbox::payer) struct Row {
    pub(in crate::sandbox::payer) resource_type: String,
    pub(in crate::sandbox::payer) id: String,
    pub(in crate::sandbox::payer) json: String,
}

impl Row {
    /// Creates a row from a resource of the population. The JSON of such a resource begins with its type and id, so the
    /// first `id` in the text is the id of the resource.
    pub(in crate::sandbox::payer) fn written(record: Record<'_>) -> Row {
        let id = record.json.split_once(r#""id":""#).map_or("", |(_, rest)| rest);
        Row {
            resource_type: record.resource_type.to_owned(),
            id: id.split('"').next().unwrap_or_default().to_owned(),
            json: record.json.to_owned(),
        }
    }

    /// Returns the reference to the resource, such as `Observation/1`.
    pub(in crate::sandbox::payer) fn reference(&self) -> String {
        format!("{}/{}", self.resource_type, self.id)
    }

    /// Returns the references in the resource, except those to contained resources.
    pub(in crate::sandbox::payer) fn references(&self) -> impl Iterator<Item = &str> {
        let marks = memchr::memmem::find_iter(self.json.as_bytes(), br#""reference":""#);
        marks.filter_map(|at| {
            let rest = &self.json[at + r#""reference":""#.len()..];
            let reference = &rest[..rest.find('"')?];
            // Skips references to contained resources, which begin with `#`.
            (!reference.starts_with('#')).then_some(reference)
        })
    }
}
