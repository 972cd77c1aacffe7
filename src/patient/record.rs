//! All of a patient's resources in memory, by type. Documents about the patient are made from them.

use std::sync::Arc;

use super::PatientError;
use super::members::{named, types};
use crate::fhir::{TypeId, facts};
use crate::lake::Scope;
use crate::lake::scan::Row;
use crate::search::{Engine, Extent, Gathered, Member, RecordRequest};

/// A patient's resources and the resources that they refer to, without duplicates.
#[derive(Debug)]
pub struct Record {
    /// The snapshot from which the resources were read.
    pub snapshot: u64,
    /// The resources by type: Patient first, then the types of the compartment by name, then the referenced types.
    pub types: Vec<Gathered>,
}

/// Collects the resources in the compartments of these Patients, as far as the scope shows them. Also collects
/// resources of the types in `also` to which these resources refer, directly or through other resources of the types in
/// `also`. The types in `also` must not belong to the compartment.
pub async fn record(
    engine: &Engine,
    scope: &Arc<Scope>,
    patients: &[String],
    also: &[&str],
    now: i64,
) -> Result<Record, PatientError> {
    let member = |type_id: &TypeId| Member {
        type_id: *type_id,
        parameters: Vec::new(),
    };
    let members: Vec<Member> = types().iter().map(member).collect();
    let request = RecordRequest {
        scope,
        patients,
        members: &members,
        referred: &named(also),
        only: None,
        since: None,
        extent: Extent::Whole,
        now,
        base: "",
    };
    let Some(page) = engine.record(&request).await? else {
        return Err(PatientError::NoPatient(patients.first().cloned().unwrap_or_default()));
    };
    Ok(Record {
        snapshot: page.snapshot(),
        types: page.gather(1)?,
    })
}

impl Record {
    /// The resources of a type, in the table's order.
    pub fn of(&self, name: &str) -> &[Row] {
        let of = |gathered: &&Gathered| facts().get(gathered.type_id).name == name;
        self.types.iter().find(of).map_or(&[], |gathered| &gathered.rows)
    }

    /// The resource of a type and id.
    pub fn get(&self, name: &str, id: &str) -> Option<&Row> {
        self.of(name).iter().find(|row| row.id == id)
    }

    /// The number of resources.
    pub fn len(&self) -> usize {
        self.types.iter().map(|gathered| gathered.rows.len()).sum()
    }

    /// Whether there are no resources.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
