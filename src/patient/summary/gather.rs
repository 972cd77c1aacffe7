//! Reads the records for a summary from the lake: the types of its sections, and the people and organizations that they
//! refer to.

use std::sync::Arc;

use super::bundle::{Directory, Request, Summary, summarize};
use super::record::{Record, THREADS};
use super::request::Sections;
use crate::lake::Scope;
use crate::patient::PatientError;
use crate::patient::devices::devices;
use crate::patient::members::named;
use crate::search::{Engine, Extent, Gathered, Member, RecordRequest};

/// The types of the compartment whose records are read. No section shows Encounters. They are read because their
/// periods tell when a Condition was diagnosed.
const OWN: &[&str] = &[
    "Patient",
    "AllergyIntolerance",
    "CarePlan",
    "CareTeam",
    "ClinicalImpression",
    "Condition",
    "Consent",
    "DeviceUseStatement",
    "DiagnosticReport",
    "DocumentReference",
    "Encounter",
    "Goal",
    "Immunization",
    "MedicationDispense",
    "MedicationRequest",
    "MedicationStatement",
    "Observation",
    "Procedure",
    "RelatedPerson",
    "Specimen",
];

/// The types of referenced resources.
const REFERRED: &[&str] = &[
    "Device",
    "Medication",
    "Organization",
    "Practitioner",
    "PractitionerRole",
];

/// The patients of the summary, and its recipient.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'s> {
    /// The caller's scope.
    pub scope: &'s Arc<Scope>,
    /// The Patients of the consent, at least one. The primary one is first.
    pub patients: &'s [String],
    /// The time at which the summary is made, in microseconds since 1970.
    pub now: i64,
    /// The service's address, without a trailing slash.
    pub base_url: &'s str,
    /// Gives the name of an endpoint. The tags of the records contain only its id.
    pub directory: &'s dyn Directory,
}

/// Reads a patient's records and makes a summary of them.
pub async fn summary(engine: &Engine, subject: Subject<'_>, sections: Sections) -> Result<Summary, PatientError> {
    let gathered = gather(engine, subject).await?;
    let devices = devices(engine, subject.scope, subject.patients, subject.now).await?;
    let records: Vec<Record<'_>> = gathered.iter().chain(&devices).flat_map(of_type).collect();
    let patients: Vec<&str> = subject.patients.iter().map(String::as_str).collect();
    let request = Request {
        base_url: subject.base_url,
        moment: subject.now,
        patients: &patients,
        sections,
        directory: subject.directory,
    };
    Ok(summarize(&request, &records)?)
}

async fn gather(engine: &Engine, subject: Subject<'_>) -> Result<Vec<Gathered>, PatientError> {
    let own = named(OWN).into_iter().map(|type_id| Member {
        type_id,
        parameters: Vec::new(),
    });
    let request = RecordRequest {
        scope: subject.scope,
        patients: subject.patients,
        members: &own.collect::<Vec<_>>(),
        referred: &named(REFERRED),
        only: None,
        since: None,
        extent: Extent::Whole,
        now: subject.now,
        base: "",
    };
    match engine.record(&request).await? {
        Some(page) => Ok(page.gather(THREADS)?),
        None => Err(PatientError::NoPatient(
            subject.patients.first().cloned().unwrap_or_default(),
        )),
    }
}

fn of_type(gathered: &Gathered) -> impl Iterator<Item = Record<'_>> {
    gathered.rows.iter().filter_map(|row| {
        Some(Record {
            resource_type: gathered.type_id,
            id: &row.id,
            // This leaves out no row, because the text was checked when it was stored.
            text: std::str::from_utf8(&row.resource).ok()?,
            is_own: !gathered.is_referred,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fhir::{compartment, facts};

    #[test]
    fn types_are_of_the_compartment_or_are_referred_to() {
        let is_member = |name: &&str| {
            let type_id = facts().lookup(name).unwrap();
            *name == "Patient" || !compartment::patient_params(type_id).is_empty()
        };
        assert_eq!(OWN.iter().filter(|name| is_member(name)).count(), OWN.len());
        assert_eq!(REFERRED.iter().filter(|name| is_member(name)).count(), 0);
    }
}
