//! Counts the resources that a consent or one of its sources has in the lake, by type. Reads only the system columns.
//! Caches the last counts of each scope, because clients introspect repeatedly.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use quick_cache::sync::Cache;

use crate::fhir::{TypeId, facts};
use crate::http::error::Error;
use crate::lake::scan::ScanError;
use crate::lake::{Lake, Scope, Snapshot};

/// The number of resources of each type, in the order of the types' names.
pub(in crate::http) type ByType = BTreeMap<&'static str, u64>;

/// The types that the counts always contain: with 0 if there are no resources of the type.
const LISTED: [&str; 23] = [
    "AllergyIntolerance",
    "CarePlan",
    "CareTeam",
    "Condition",
    "Coverage",
    "Device",
    "DiagnosticReport",
    "DocumentReference",
    "Encounter",
    "ExplanationOfBenefit",
    "Goal",
    "Immunization",
    "Location",
    "Medication",
    "MedicationDispense",
    "MedicationRequest",
    "Observation",
    "Organization",
    "Patient",
    "Practitioner",
    "PractitionerRole",
    "Procedure",
    "Provenance",
];

/// The counts of a scope without resources.
static ZEROS: LazyLock<Arc<ByType>> = LazyLock::new(|| Arc::new(LISTED.iter().map(|name| (*name, 0)).collect()));

/// The number of scopes whose counts are cached.
const KEPT: usize = 8_192;

/// Counts resources, and caches the results.
pub(in crate::http) struct Counts(Cache<Arc<Scope>, Counted>);

/// The counts of a scope in one snapshot. They are valid only while the lake's epoch equals `erasures`, because an
/// erasure changes the rows of existing snapshots.
#[derive(Clone)]
struct Counted {
    snapshot: u64,
    erasures: u64,
    counts: Arc<ByType>,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts(Cache::new(KEPT))
    }
}

impl Counts {
    /// Counts the resources that belong to the scope itself, without the shared rows to which they refer.
    pub(in crate::http) fn of(&self, lake: &Lake, scope: Scope) -> Result<Arc<ByType>, Error> {
        let scope = Arc::new(scope);
        let counted = |snapshot: &Arc<Snapshot>| {
            let (id, erasures) = (snapshot.id, snapshot.erasures());
            if let Some(kept) = self.0.get(&scope)
                && (kept.snapshot, kept.erasures) == (id, erasures)
            {
                return Ok(kept.counts);
            }
            let counts = count(lake, snapshot, &scope)?;
            let counted = Counted {
                snapshot: id,
                erasures,
                counts: counts.clone(),
            };
            self.0.insert(scope.clone(), counted);
            Ok(counts)
        };
        let snapshot = lake.snapshot();
        match counted(&snapshot) {
            // Another process's erasure may have removed a file of this snapshot. Try again with the current
            // snapshot.
            Err(_) if lake.erased_since(snapshot.erasures()) => counted(&lake.snapshot()),
            counts => counts,
        }
        .map_err(|error: ScanError| Error::internal(error))
    }
}

fn count(lake: &Lake, snapshot: &Arc<Snapshot>, scope: &Arc<Scope>) -> Result<Arc<ByType>, ScanError> {
    let mut counts: Option<ByType> = None;
    let types = snapshot.tables.keys().filter(|(mode, _)| *mode == scope.mode);
    for (_, type_id) in types {
        let rows = lake.table(snapshot, *type_id, scope).own_rows()?;
        if rows > 0 {
            let counts = counts.get_or_insert_with(|| ByType::clone(&ZEROS));
            counts.insert(name(*type_id), rows);
        }
    }
    Ok(counts.map_or_else(|| ZEROS.clone(), Arc::new))
}

fn name(type_id: TypeId) -> &'static str {
    facts().get(type_id).name
}
