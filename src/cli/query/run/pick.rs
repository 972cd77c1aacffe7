//! Selects resources in files by `--patient` and `--since`, from their JSON.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::args::Args;
use crate::columns::json::Value;
use crate::fhir::TypeId;
use crate::fhir::temporal::Temporal;
use crate::ingest;
use crate::views::Pick;

/// The selection by Patient and by time.
struct Asked {
    patients: Option<HashSet<String>>,
    since: Option<i64>,
}

/// Returns the selection that the arguments describe. `None` if they select all resources.
pub(super) fn pick(arguments: &Args) -> Option<Arc<dyn Pick>> {
    let asked = Asked {
        patients: arguments.patients().map(|patients| patients.into_iter().collect()),
        since: arguments.since,
    };
    (asked.patients.is_some() || asked.since.is_some()).then(|| Arc::new(asked) as Arc<dyn Pick>)
}

/// Returns the text of a reference without a change. References in files are not resolved.
fn as_it_stands(reference: Value<'_>) -> Option<String> {
    reference.as_str().map(Cow::into_owned)
}

impl Pick for Asked {
    fn takes(&self, type_id: TypeId, resource: Value<'_>) -> bool {
        if let Some(since) = self.since {
            let updated = resource.get("meta").and_then(|meta| meta.get_str("lastUpdated"));
            let updated = updated.and_then(|text| Temporal::instant(&text).ok());
            if updated.is_none_or(|updated| updated.start < since) {
                return false;
            }
        }
        match &self.patients {
            None => true,
            Some(patients) => {
                ingest::patient_of(type_id, resource, &as_it_stands).is_some_and(|patient| patients.contains(&patient))
            }
        }
    }

    fn reads(&self, type_id: TypeId) -> Vec<&'static str> {
        let mut properties = Vec::new();
        if self.since.is_some() {
            properties.push("meta");
        }
        if self.patients.is_some() {
            properties.extend(ingest::patient_properties(type_id));
        }
        properties
    }
}
