//! The resources in a request. They are restricted like those of a lake: by type, by the person under whom an import
//! would file them, and by their last update. No scope applies, because the resources are the client's own.
//!
//! A Bundle stands for the resources in its entries, but not for those of a Bundle in an entry. To find a resource's
//! person, references by `fullUrl` between the entries are resolved. If the request has `_since`, resources without
//! `meta.lastUpdated` are left out.

use std::borrow::Cow;

use bytes::Bytes;
use rustc_hash::FxHashMap;

use crate::columns::json::{Tape, Value};
use crate::columns::shred::{Shredder, SystemValues};
use crate::fhir::outcome::IssueType;
use crate::fhir::temporal::Temporal;
use crate::fhir::{TypeId, facts};
use crate::http::error::Error;
use crate::ingest;
use crate::views::{Document, Refused};

/// A resource of the view's type, as JSON text.
pub(in crate::http) struct Found(Bytes);

impl Document for Found {
    fn text(&self) -> &[u8] {
        &self.0
    }

    fn is_lines(&self) -> bool {
        false
    }

    fn refuse(&self, _: usize, reason: Refused) {
        // This does not occur, because `narrowed` has tested that the resource fits into columns.
        tracing::error!(%reason, "a resource that was fit for columns is not");
    }
}

/// Returns the sent resources that meet the restrictions, in their order. An error if one is malformed.
pub(in crate::http) fn narrowed(
    sent: &[Bytes],
    type_id: TypeId,
    patients: Option<&[String]>,
    since: Option<i64>,
) -> Result<Vec<Found>, Error> {
    let mut tape = Tape::new();
    let mut collector = Collector {
        type_id,
        patients,
        since,
        shredder: Shredder::new(type_id),
        found: Vec::new(),
    };
    for (place, text) in sent.iter().enumerate() {
        let wrong = |problem: &dyn std::fmt::Display| {
            let which = format!("is wrong in its resource {}: {problem}", place + 1);
            Error::parameter("resource", IssueType::Invalid, which)
        };
        let root = tape.parse(text).map_err(|error| wrong(&error))?;
        let Some(name) = root.get_str("resourceType") else {
            return Err(wrong(&"it has no resourceType"));
        };
        let outcome = match &*name {
            "Bundle" => collector.bundle(text, root),
            name => collector.resource(text, root, name, &|_| None),
        };
        outcome.map_err(|problem| wrong(&problem))?;
    }
    Ok(collector.found)
}

struct Collector<'a> {
    type_id: TypeId,
    patients: Option<&'a [String]>,
    since: Option<i64>,
    /// Checks whether resources fit into columns.
    shredder: Shredder,
    found: Vec<Found>,
}

/// Resolves a reference to an entry of the same Bundle. `None` if the Bundle has no such entry.
type Known<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl Collector<'_> {
    fn bundle(&mut self, text: &Bytes, root: Value<'_>) -> Result<(), String> {
        let entries = || root.get("entry").into_iter().flat_map(|entries| entries.items());
        let mut addresses: FxHashMap<Cow<'_, str>, String> = FxHashMap::default();
        if self.patients.is_some() {
            for entry in entries() {
                let named = entry.get("resource").and_then(|resource| {
                    let resource_type = resource.get_str("resourceType")?;
                    Some(format!("{resource_type}/{}", resource.get_str("id")?))
                });
                if let (Some(address), Some(named)) = (entry.get_str("fullUrl"), named) {
                    addresses.insert(address, named);
                }
            }
        }
        for entry in entries() {
            let Some(resource) = entry.get("resource").filter(Value::is_object) else {
                continue;
            };
            let Some(name) = resource.get_str("resourceType") else {
                continue;
            };
            self.resource(text, resource, &name, &|reference| addresses.get(reference).cloned())?;
        }
        Ok(())
    }

    /// Adds a resource, if it has the view's type and meets the restrictions.
    fn resource(&mut self, text: &Bytes, resource: Value<'_>, name: &str, known: &Known<'_>) -> Result<(), String> {
        if name != facts().get(self.type_id).name || !self.is_of_patients(resource, known) || !self.is_recent(resource)
        {
            return Ok(());
        }
        let id = resource.get_str("id").unwrap_or_default();
        let pushed = self.shredder.push(&SystemValues::outside(&id, ""), resource);
        pushed.map_err(|error| error.to_string())?;
        self.found.push(Found(text.slice(resource.span())));
        Ok(())
    }

    fn is_of_patients(&self, resource: Value<'_>, known: &Known<'_>) -> bool {
        let Some(patients) = self.patients else { return true };
        let resolved = |reference: Value<'_>| {
            let text = reference.as_str()?;
            Some(known(&text).unwrap_or_else(|| text.into_owned()))
        };
        let patient = ingest::patient_of(self.type_id, resource, &resolved);
        patient.is_some_and(|patient| patients.contains(&patient))
    }

    fn is_recent(&self, resource: Value<'_>) -> bool {
        let Some(since) = self.since else { return true };
        let updated = resource.get("meta").and_then(|meta| meta.get_str("lastUpdated"));
        let updated = updated.and_then(|text| Temporal::instant(&text).ok());
        updated.is_some_and(|updated| updated.start >= since)
    }
}
