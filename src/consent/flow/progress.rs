//! The state of a session. The session's row holds it as JSON, and every page reads it.

use serde::{Deserialize, Serialize};

use super::request::{FlowRequest, Way};

/// The next step of the patient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The patient chooses an organization.
    Choose,
    /// The patient is asked to agree to share the records of an endpoint.
    Share {
        /// The endpoint.
        endpoint: String,
    },
    /// The patient must open the source in a window beside the frame with the pages.
    Window {
        /// The endpoint. `None` opens an identity provider.
        endpoint: Option<String>,
        /// The identity provider.
        provider: Option<String>,
    },
    /// The patient is at a source and will return.
    Away {
        /// The endpoint.
        endpoint: String,
    },
    /// The step after a source could not be connected.
    Trouble {
        /// The endpoint.
        endpoint: String,
        /// The error.
        trouble: Trouble,
    },
    /// The patient adds another source, or finishes.
    Hub,
    /// The patient proves their identity at an identity provider.
    Identity {
        /// The fault of an earlier attempt.
        trouble: Option<Trouble>,
        /// The code of the provider.
        #[serde(default)]
        provider: Option<String>,
    },
    /// The patient enters their details for a search.
    Details {
        /// Whether the search did not work.
        down: bool,
    },
    /// The patient chooses among the found places.
    Places,
    /// A search found nothing.
    Nothing,
    /// The patient waits while other services answer.
    Waiting {
        /// The services that were asked.
        on: Asked,
        /// The time after which no answer is expected.
        until: i64,
    },
}

/// The request whose answer the patient waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// The source from which the patient came back.
    Source {
        /// The endpoint.
        endpoint: String,
    },
    /// The identity provider from which the patient came back, and then the record locator.
    Provider {
        /// The provider's code.
        code: String,
    },
    /// The record locator, by details.
    Search,
    /// The places that the patient agreed to connect.
    Places,
}

impl Asked {
    /// The next step if there is no answer.
    fn in_vain(&self) -> Step {
        let trouble = Trouble::Down;
        match self {
            Asked::Source { endpoint } => Step::Trouble {
                endpoint: endpoint.clone(),
                trouble,
            },
            Asked::Provider { code } => Step::Identity {
                trouble: Some(trouble),
                provider: Some(code.clone()),
            },
            Asked::Search => Step::Details { down: true },
            Asked::Places => Step::Hub,
        }
    }
}

/// Why a source is not connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// The source or the patient refused.
    Refused,
    /// The source knows no records of the patient.
    NoPatient,
    /// The source gave no valid answer.
    Down,
    /// The source rejected the service's registration or request.
    Rejected,
    /// The service cannot read the form of the source's records.
    Unreadable,
}

/// A place that a record locator found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordLocation {
    /// The endpoint of the directory.
    pub endpoint: String,
    /// The facility's name.
    pub name: String,
    /// The id of the person's Patient there.
    pub patient: String,
}

/// A verified identity.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// The provider's code.
    pub provider: String,
    /// Its ID token, sealed, in base64.
    pub sealed: String,
}

/// The patient's own details.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// First name.
    pub given: String,
    /// Last name.
    pub family: String,
    /// `YYYY-MM-DD`.
    pub birth_date: String,
    /// One of FHIR's codes, or empty.
    pub gender: String,
    /// The postal code, or empty.
    pub postal_code: String,
}

/// The state of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The next step.
    pub step: Step,
    /// Counts the changes. A page compares it to see whether it is still the newest.
    pub turn: u64,
    /// The results of a record locator.
    #[serde(default)]
    pub places: Vec<RecordLocation>,
    /// The identity that an identity provider has verified, if any.
    #[serde(default)]
    pub verified: Option<Verified>,
    /// The patient's own details.
    #[serde(default)]
    pub details: Details,
    /// The endpoint of the facility that the patient chose by name. It will be found by the patient's details.
    #[serde(default)]
    pub sought: Option<String>,
    /// The digest of the cookie of the window beside the frame, in base64.
    #[serde(default)]
    pub window: Option<String>,
    /// A step ended the flow, and the application was notified.
    #[serde(default)]
    pub told: bool,
}

impl std::fmt::Debug for Verified {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verified")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Details {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Details").finish_non_exhaustive()
    }
}

impl Progress {
    /// The first step of a flow for this request.
    pub fn first(request: &FlowRequest) -> Progress {
        let step = match (&request.endpoint, request.way) {
            (Some(endpoint), _) => Step::Share {
                endpoint: endpoint.clone(),
            },
            (None, Way::Identity) => Step::Identity {
                trouble: None,
                provider: None,
            },
            (None, Way::Choose | Way::Search) => Step::Choose,
        };
        Progress {
            step,
            turn: 0,
            places: Vec::new(),
            verified: None,
            details: Details {
                given: request.hints.given.clone().unwrap_or_default(),
                family: request.hints.family.clone().unwrap_or_default(),
                birth_date: request.hints.birth_date.clone().unwrap_or_default(),
                ..Details::default()
            },
            sought: None,
            window: None,
            told: false,
        }
    }

    pub(super) fn go(&mut self, step: Step) {
        self.step = step;
        self.turn += 1;
    }

    /// Stop waiting after this time, because the server that sent the request may have been stopped.
    pub(super) fn settle(&mut self, now: i64) {
        if let Step::Waiting { on, until } = &self.step
            && *until <= now
        {
            self.go(on.in_vain());
        }
    }

    /// Whether the patient waits for places that are being connected.
    pub(super) fn connects_places(&self) -> bool {
        matches!(self.step, Step::Waiting { on: Asked::Places, .. })
    }
}
