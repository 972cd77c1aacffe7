//! Reads the records for a summary from the lake: the types of its sections, and the people and organizations that they
//! refer to.

use std::sync::Arc;

use super::bundle::{Directory, Request, Summary, summarize};
use super::error::SummaryError;
use super::record::Record;
use super::request::Sections;
use crate::columns::json::Tape;
use crate::fhir::facts;
use crate::lake::Scope;
use crate::patient::PatientError;
use crate::patient::members::named;
use crate::search::raw::RawParameter;
use crate::search::{self, Engine, Extent, Gathered, Handling, Member, RecordRequest};

/// The types of the compartment that are read. Encounters give the date and the kind of diagnoses.
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

/// The number of devices read at a time.
const PAGE: usize = 1_000;

/// The patients of the summary, and its recipient.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'s> {
    /// The caller's scope.
    pub scope: &'s Arc<Scope>,
    /// The Patients of the consent, at least one. The primary one is first.
    pub patients: &'s [String],
    /// The moment, in microseconds since 1970.
    pub now: i64,
    /// The service's address, without a trailing slash.
    pub base_url: &'s str,
    /// The endpoints named by the tags of records.
    pub directory: &'s dyn Directory,
}

/// Reads a patient's records and makes a summary of them.
pub async fn summary(engine: &Engine, subject: Subject<'_>, sections: Sections) -> Result<Summary, PatientError> {
    let gathered = gather(engine, subject).await?;
    let devices = devices(engine, subject).await?;
    let mut records: Vec<Record<'_>> = gathered.iter().flat_map(of_type).collect();
    records.extend(devices.iter().filter_map(Device::record));
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
    let own = named(OWN).into_iter().map(|ty| Member {
        ty,
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
        Some(page) => Ok(page.gather()?),
        None => Err(PatientError::NoPatient(
            subject.patients.first().cloned().unwrap_or_default(),
        )),
    }
}

/// A device of the patient.
struct Device {
    id: String,
    text: String,
}

/// The patient's devices. R4's compartment does not include them.
async fn devices(engine: &Engine, subject: Subject<'_>) -> Result<Vec<Device>, PatientError> {
    let patients: Vec<String> = subject.patients.iter().map(|id| format!("Patient/{id}")).collect();
    let mut devices = Vec::new();
    let Some(ty) = facts().lookup("Device") else {
        return Ok(devices);
    };
    loop {
        let before = devices.len();
        let parameters = [
            RawParameter::named("patient", &patients.join(",")),
            RawParameter::named("_count", &PAGE.to_string()),
            RawParameter::named("_offset", &before.to_string()),
        ];
        let request = search::Request {
            scope: subject.scope,
            ty,
            compartment: None,
            parameters: &parameters,
            handling: Handling::Strict,
            now: subject.now,
            base: "",
        };
        let page = engine.search(&request).await?;
        let mut tape = Tape::new();
        let page = tape.parse(&page).map_err(|reason| SummaryError::Unreadable {
            resource_type: "Device",
            reason,
        })?;
        let entries = page.get("entry").into_iter().flat_map(|list| list.items());
        devices.extend(entries.filter_map(|entry| {
            let resource = entry.get("resource")?;
            Some(Device {
                id: resource.get_str("id")?.into_owned(),
                text: resource.raw().to_owned(),
            })
        }));
        if devices.len() == before || devices.len() % PAGE > 0 {
            return Ok(devices);
        }
    }
}

impl Device {
    fn record(&self) -> Option<Record<'_>> {
        Some(Record {
            resource_type: facts().lookup("Device")?,
            id: &self.id,
            text: &self.text,
            is_own: true,
        })
    }
}

fn of_type(gathered: &Gathered) -> impl Iterator<Item = Record<'_>> {
    gathered.rows.iter().filter_map(|row| {
        Some(Record {
            resource_type: gathered.ty,
            id: &row.id,
            // The text was checked when it was stored.
            text: std::str::from_utf8(&row.resource).ok()?,
            is_own: !gathered.is_referred,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fhir::compartment;

    #[test]
    fn types_are_of_the_compartment_or_are_referred_to() {
        let is_member = |name: &&str| {
            let ty = facts().lookup(name).unwrap();
            *name == "Patient" || !compartment::patient_params(ty).is_empty()
        };
        assert_eq!(OWN.iter().filter(|name| is_member(name)).count(), OWN.len());
        assert_eq!(REFERRED.iter().filter(|name| is_member(name)).count(), 0);
    }
}
