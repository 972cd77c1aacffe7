//! Collects the records that the pages show.

use std::sync::Arc;

use crate::columns::json::Tape;
use crate::fhir::facts;
use crate::lake::Scope;
use crate::patient::devices::devices;
use crate::patient::follow::key;
use crate::patient::{PatientError, REFERRED, Record, record};
use crate::search::Engine;

/// Types of referenced resources that the pages show in addition to those of `$everything`.
const FURTHER: [&str; 3] = ["Device", "InsurancePlan", "PractitionerRole"];

/// Collects a patient's records: the compartment, the resources that it refers to, and the patient's devices. `base` is
/// the base URL of the service's resources.
pub async fn gather(
    engine: &Engine,
    scope: &Arc<Scope>,
    patients: &[String],
    base: &str,
    now: i64,
) -> Result<Record, PatientError> {
    let also: Vec<&str> = REFERRED.iter().chain(&FURTHER).copied().collect();
    let mut record = record(engine, scope, patients, &also, now).await?;
    let Some(mut own) = devices(engine, scope, patients, now).await? else {
        return Ok(record);
    };
    // A record may refer to the device of another person, and an application's scope shows that device, too. So leave
    // out such devices.
    let is_ours = |resource: &[u8]| !is_of_somebody_else(resource, patients, base);
    let at = record.types.iter().position(|gathered| gathered.type_id == own.type_id);
    let referred = at.map(|at| record.types.remove(at).rows).unwrap_or_default();
    let referred = referred.into_iter().filter(|row| is_ours(&row.resource));
    let further: Vec<_> = referred
        .filter(|row| own.rows.iter().all(|known| known.id != row.id))
        .collect();
    own.rows.extend(further);
    if !own.rows.is_empty() {
        record.types.push(own);
    }
    Ok(record)
}

/// Whether a Device belongs to somebody else: its `patient` is none of `patients`. Returns `true` for a Device that is
/// not valid JSON, so that it is left out.
fn is_of_somebody_else(device: &[u8], patients: &[String], base: &str) -> bool {
    let mut tape = Tape::new();
    let Ok(device) = tape.parse(device) else { return true };
    let Some(patient) = device.get("patient").and_then(|patient| patient.get_str("reference")) else {
        return false;
    };
    let named = key(&patient, base.trim_end_matches('/'));
    !named.is_some_and(|(type_id, id)| facts().get(type_id).name == "Patient" && patients.iter().any(|own| own == id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_of_another_patient_is_told_by_its_reference() {
        let other = |device: &str| {
            let patients = ["ann".to_owned()];
            is_of_somebody_else(device.as_bytes(), &patients, "https://records.example/fhir/")
        };
        assert!(!other(r#"{"resourceType":"Device"}"#));
        assert!(!other(r#"{"patient":{"reference":"Patient/ann"}}"#));
        assert!(!other(
            r#"{"patient":{"reference":"https://records.example/fhir/Patient/ann"}}"#
        ));
        assert!(other(r#"{"patient":{"reference":"Patient/ben"}}"#));
        assert!(other(
            r#"{"patient":{"reference":"https://elsewhere.example/fhir/Patient/ann"}}"#
        ));
    }
}
