//! The resources of a source, parsed once, with an index by type and id.

use rustc_hash::FxHashMap;

use crate::columns::json::{Tape, Value};
use crate::fhir::{TypeId, facts};
use crate::patient::Record;
use crate::patient::follow::{Targets, key};

/// A parsed resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource<'t> {
    pub(super) type_id: TypeId,
    pub(super) type_name: &'static str,
    pub(super) json: Value<'t>,
    /// The index of all resources of the same source.
    pub(super) index: &'t Index<'t>,
}

impl<'t> Resource<'t> {
    /// Returns a property of the resource.
    pub(super) fn get(&self, name: &str) -> Option<Value<'t>> {
        self.json.get(name)
    }

    /// Whether the property `name`, a CodeableConcept or a list of them, has one of these codes.
    pub(super) fn has(&self, name: &str, codes: &[&str]) -> bool {
        crate::patient::concept::has_any(self.get(name), codes)
    }

    /// Returns the text of the first of these date properties that has a value, or an empty string. For a Period this
    /// is its start or, if that is missing, its end. Rows are sorted by this text.
    pub(super) fn when(&self, names: &[&str]) -> String {
        let texts = names.iter().filter_map(|name| {
            let value = self.get(name)?;
            let text = if value.is_object() {
                value.get_str("start").or_else(|| value.get_str("end"))
            } else {
                value.as_str()
            };
            text.map(|text| text.into_owned())
        });
        texts.into_iter().next().unwrap_or_default()
    }
}

/// The resources of a source by type and id.
#[derive(Debug, Default)]
pub(super) struct Index<'t> {
    /// The base URL of the service's own references, without a trailing slash.
    base: &'t str,
    all: Vec<(TypeId, Value<'t>)>,
    by_key: FxHashMap<(TypeId, &'t str), usize>,
}

impl<'t> Index<'t> {
    /// Parses the resources of a record. `tapes` has one tape for each resource. Leaves out a resource that is not
    /// valid JSON. The lake has no such resources.
    pub(super) fn read(record: &'t Record, tapes: &'t mut [Tape], base: &'t str) -> Index<'t> {
        let rows = record
            .types
            .iter()
            .flat_map(|gathered| gathered.rows.iter().map(|row| (gathered.type_id, row)));
        let mut index = Index {
            base: base.trim_end_matches('/'),
            ..Index::default()
        };
        for ((type_id, row), tape) in rows.zip(tapes) {
            if let Ok(json) = tape.parse(&row.resource) {
                index.by_key.insert((type_id, row.id.as_str()), index.all.len());
                index.all.push((type_id, json));
            }
        }
        index
    }

    /// Returns all resources, in the order of the record.
    pub(super) fn resources(&self) -> Vec<Resource<'_>> {
        let resource = |(type_id, json): &(TypeId, Value<'t>)| Resource {
            type_id: *type_id,
            type_name: facts().get(*type_id).name,
            json: *json,
            index: self,
        };
        self.all.iter().map(resource).collect()
    }
}

impl<'t> Targets<'t> for Index<'t> {
    fn find(&self, reference: &str) -> Option<Value<'t>> {
        let (type_id, id) = key(reference, self.base)?;
        let at = self.by_key.get_key_value(&(type_id, id)).map(|(_, at)| *at)?;
        Some(self.all[at].1)
    }
}

#[cfg(test)]
impl<'t> Index<'t> {
    /// Creates an index with a single resource.
    pub(super) fn single(type_name: &str, json: Value<'t>) -> Index<'t> {
        Index {
            all: vec![(facts().lookup(type_name).unwrap(), json)],
            ..Index::default()
        }
    }
}
