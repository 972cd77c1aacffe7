//! `$PATIENT_ID` in paths and query values: the patient of the caller's token.

use super::super::error::Error;
use crate::consent::Access;
use crate::search::raw::RawParameter;
use crate::search::with_alternatives;

pub(in crate::http) const WILDCARD: &str = "$PATIENT_ID";

/// The id in a path, with the wildcard replaced by the primary Patient of the caller's consent.
pub(in crate::http) fn in_path(id: String, access: &Access) -> Result<String, Error> {
    if id != WILDCARD {
        return Ok(id);
    }
    access
        .patients()
        .and_then(<[String]>::first)
        .cloned()
        .ok_or_else(needs_patient)
}

/// The ids that an id in a body means: the id itself, or all Patients of the caller's consent for the wildcard.
pub(in crate::http) fn in_body(id: &str, access: &Access) -> Result<Vec<String>, Error> {
    match id {
        WILDCARD => access.patients().map(<[String]>::to_vec).ok_or_else(needs_patient),
        id => Ok(vec![id.to_owned()]),
    }
}

/// Query values with the wildcard replaced by all Patients of the caller's consent. An alternative that contains it is
/// repeated once per Patient.
pub(in crate::http) fn in_query(parameters: &mut [RawParameter], access: &Access) -> Result<(), Error> {
    for RawParameter { name, value, .. } in parameters
        .iter_mut()
        .filter(|parameter| parameter.value.contains(WILDCARD))
    {
        let patients = access.patients().ok_or_else(needs_patient)?;
        if name == "_filter" {
            // The search itself refuses an invalid filter.
            if let Some(filter) = with_alternatives(value, WILDCARD, patients) {
                *value = filter;
            }
            continue;
        }
        let mut replaced = Vec::new();
        for alternative in value.split(',') {
            if alternative.contains(WILDCARD) {
                replaced.extend(patients.iter().map(|patient| alternative.replace(WILDCARD, patient)));
            } else {
                replaced.push(alternative.to_owned());
            }
        }
        *value = replaced.join(",");
    }
    Ok(())
}

fn needs_patient() -> Error {
    Error::Processing(format!(
        "{WILDCARD} stands for a patient token's patient; with an application token name the patient"
    ))
}
