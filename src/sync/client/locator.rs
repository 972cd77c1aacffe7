//! Record locators: services that know which facilities hold a person's records.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calls::Client;
use super::error::Error;
use super::http::malformed;
use super::token::patient_id;
use crate::fhir::hidden::is_hidden;

/// The maximum number of facilities that are used from one answer.
const MAX_FACILITIES: usize = 200;
/// The maximum number of characters of a facility's name.
const LONGEST_NAME: usize = 200;

/// The person whose records are looked for: verified details, or details that the person entered.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Demographics {
    /// Given name.
    pub given: String,
    /// Family name.
    pub family: String,
    /// `YYYY-MM-DD`.
    pub birth_date: String,
    /// The gender, as one of FHIR's codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gender: Option<String>,
    /// The postal code of the person's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
}

impl std::fmt::Debug for Demographics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Demographics").finish_non_exhaustive()
    }
}

/// A facility that holds records of the person.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Facility {
    /// The facility's name.
    pub name: String,
    /// The facility's FHIR base. The directory finds the facility's endpoint by this address.
    pub fhir_base: String,
    /// The id of the person's Patient at the facility.
    pub patient: String,
}

impl std::fmt::Debug for Facility {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facility")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Asks a record locator which facilities hold records of a person. `id_token` proves a verified identity.
    pub async fn locate(
        &self,
        locator: &str,
        demographics: &Demographics,
        id_token: Option<&str>,
    ) -> Result<Vec<Facility>, Error> {
        let body = serde_json::to_value(demographics).map_err(|_| Error::Setup)?;
        let answer = self.http.post_json(locator, &body, id_token).await?;
        if answer.status != 200 {
            return Err(answer.refusal());
        }
        let json: Value = answer.json()?;
        let list = json["facilities"]
            .as_array()
            .ok_or_else(|| malformed(&answer.url, "no list of facilities"))?;
        let mut facilities = Vec::new();
        for one in list.iter().take(MAX_FACILITIES) {
            let facility =
                Facility::deserialize(one).map_err(|_| malformed(&answer.url, "a facility that cannot be read"))?;
            // Records can be requested only for a Patient with a usable id, so other facilities are left out.
            if let Some(patient) = patient_id(&facility.patient).map(str::to_owned) {
                let name = facility.name.chars().filter(|letter| !is_hidden(*letter));
                facilities.push(Facility {
                    name: name.take(LONGEST_NAME).collect(),
                    patient,
                    ..facility
                });
            }
        }
        Ok(facilities)
    }
}
