//! Replaces the wildcard `$PATIENT_ID` in paths, bodies and query values. It stands for the patient of the caller's
//! token.

use std::collections::HashSet;

use super::super::error::Error;
use crate::consent::Access;
use crate::search::raw::RawParameter;
use crate::search::{shortened, with_alternatives};

/// The maximum length of a value after the wildcard was replaced, in bytes. A value may have the wildcard many times.
const MAX_REPLACED: usize = 4 << 20;

pub(in crate::http) const WILDCARD: &str = "$PATIENT_ID";

/// Replaces the wildcard in a path by the primary Patient of the caller's consent. An error for an application token.
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

/// For the wildcard, returns all Patients of the caller's consent. Returns any other id unchanged.
pub(in crate::http) fn in_body(id: &str, access: &Access) -> Result<Vec<String>, Error> {
    match id {
        WILDCARD => access.patients().map(<[String]>::to_vec).ok_or_else(needs_patient),
        id => Ok(vec![id.to_owned()]),
    }
}

/// Replaces the wildcard in query values by all Patients of the caller's consent. In a list of alternatives, each
/// alternative with the wildcard becomes one alternative for each Patient.
pub(in crate::http) fn in_query(parameters: &mut [RawParameter], access: &Access) -> Result<(), Error> {
    for RawParameter { name, value, .. } in parameters
        .iter_mut()
        .filter(|parameter| parameter.value.contains(WILDCARD))
    {
        let patients = access.patients().ok_or_else(needs_patient)?;
        if name == "_filter" {
            // If the filter is invalid, the search refuses it later.
            if let Some(filter) = with_alternatives(value, WILDCARD, patients) {
                *value = filter;
            }
            continue;
        }
        let mut replaced = Vec::new();
        let (mut met, mut length) = (HashSet::new(), 0);
        for alternative in value.split(',') {
            if alternative.contains(WILDCARD) {
                // Equal alternatives are one condition.
                if !met.insert(alternative) {
                    continue;
                }
                for patient in patients {
                    let one = alternative.replace(WILDCARD, patient);
                    length += one.len();
                    if length > MAX_REPLACED {
                        let problem = format!(
                            "{}: the values would be too long with the ids for {WILDCARD}",
                            shortened(name)
                        );
                        return Err(Error::Invalid(problem));
                    }
                    replaced.push(one);
                }
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
