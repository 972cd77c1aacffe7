//! The resources of a person or of a part of the directory, each as a JSON text.

use std::ops::Range;

use uuid::Uuid;

use super::json::{self, Object};

/// Resources, in the order in which they were written.
#[derive(Debug, Default)]
pub struct Records {
    text: String,
    marks: Vec<(&'static str, Range<usize>)>,
}

/// One resource.
#[derive(Clone, Copy, Debug)]
pub struct Record<'r> {
    /// The resource type.
    pub resource_type: &'static str,
    /// The JSON on one line, without a line break at the end.
    pub json: &'r str,
}

impl Records {
    /// Returns an iterator over the resources.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        self.marks.iter().map(|(resource_type, range)| Record {
            resource_type,
            json: &self.text[range.clone()],
        })
    }

    /// Returns the number of resources.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there are no resources.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Writes a resource. `fill` writes all elements after `resourceType` and `id`.
    pub(in crate::sandbox) fn add(
        &mut self,
        resource_type: &'static str,
        id: Uuid,
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        let start = self.text.len();
        json::object(&mut self.text, |o| {
            o.text("resourceType", resource_type).text("id", id);
            fill(o);
        });
        self.marks.push((resource_type, start..self.text.len()));
    }
}
