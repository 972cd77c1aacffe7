//! The compartment of one or several Patients as a condition: the row is the Patient, or one of its compartment
//! parameters refers to the Patient (R4 CompartmentDefinition/patient).

use super::super::SearchError;
use super::super::parameters::raw::RawParameter;
use super::super::parameters::resolver::Resolver;
use super::criterion::{Condition, Criterion};
use crate::fhir::{TypeId, compartment, facts};

/// Whether the compartment of a Patient may have resources of this type.
pub(in crate::search) fn holds(type_id: TypeId) -> bool {
    !compartment::patient_params(type_id).is_empty() || facts().get(type_id).name == "Patient"
}

/// Returns the condition that a resource is in the compartment of one Patient. It is an error if resources of `type_id`
/// are never in the compartment of a Patient.
pub(in crate::search) fn criterion(
    resolver: &Resolver<'_>,
    type_id: TypeId,
    patient: &str,
) -> Result<Criterion, SearchError> {
    of_any(resolver, type_id, &[patient])
}

/// Returns the condition that a resource is in the compartment of at least one of these Patients. The ids must have
/// R4's form, because they are written into the values of search parameters.
pub(in crate::search) fn of_any(
    resolver: &Resolver<'_>,
    type_id: TypeId,
    patients: &[impl AsRef<str>],
) -> Result<Criterion, SearchError> {
    let name = facts().get(type_id).name;
    let ids: Vec<&str> = patients.iter().map(AsRef::as_ref).collect();
    let values: Vec<String> = ids.iter().map(|id| format!("Patient/{id}")).collect();
    let value = values.join(",");
    let mut asked: Vec<RawParameter> = compartment::patient_params(type_id)
        .iter()
        .map(|code| RawParameter::named(code, &value))
        .collect();
    if name == "Patient" {
        asked.push(RawParameter::named("_id", &ids.join(",")));
    }
    let mut parts = Vec::with_capacity(asked.len());
    for parameter in &asked {
        parts.extend(resolver.criterion(type_id, parameter)?);
    }
    let label = format!("in the compartment of {value}");
    match (parts.pop(), parts.is_empty()) {
        (None, _) => Err(SearchError::NoCompartment(name)),
        (Some(only), true) => Ok(Criterion { label, ..only }),
        (Some(last), false) => {
            parts.push(last);
            Ok(Criterion {
                condition: Condition::Any(parts),
                label,
                origin: None,
            })
        }
    }
}
