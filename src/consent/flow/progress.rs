//! The state of a session, which every page of the flow reads. The session's row stores it as encrypted JSON.

use serde::{Deserialize, Serialize};

use super::request::{FlowRequest, Way};

/// The page that the patient sees, or the service for which the patient waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The patient chooses an organization.
    Choose,
    /// The patient is asked to share the records of an endpoint.
    Share {
        /// The id of the endpoint.
        endpoint: String,
    },
    /// The pages of the flow are in a frame, and the patient must open the source or the identity provider in a
    /// separate window.
    Window {
        /// The id of the endpoint. `None` for an identity provider.
        endpoint: Option<String>,
        /// The code of the identity provider. `None` for a source.
        provider: Option<String>,
    },
    /// The patient was sent to a source and will return.
    Away {
        /// The id of the endpoint.
        endpoint: String,
    },
    /// The patient sees why a source could not be connected.
    Trouble {
        /// The id of the endpoint.
        endpoint: String,
        /// Why the source was not connected.
        trouble: Trouble,
    },
    /// The patient sees the connected sources, and adds another one or finishes.
    Hub,
    /// The patient verifies their identity at an identity provider.
    Identity {
        /// Why the last attempt failed. `None` if no attempt has failed.
        trouble: Option<Trouble>,
        /// The code of the identity provider of the attempt that failed. `None` if no attempt has failed.
        #[serde(default)]
        provider: Option<String>,
    },
    /// The patient enters details for the record locator.
    Details {
        /// Whether the last search with details got no usable answer.
        down: bool,
    },
    /// The patient chooses among the facilities that were found.
    Places,
    /// The patient sees that no facility was found.
    Nothing,
    /// The patient waits for the answer of another service.
    Waiting {
        /// The request for whose answer the patient waits.
        on: Asked,
        /// The time at which the session stops waiting, in seconds since the Unix epoch.
        until: i64,
    },
}

/// The request for whose answer the patient waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// The source from which the patient has returned must exchange the code for tokens.
    Source {
        /// The id of the endpoint.
        endpoint: String,
    },
    /// The identity provider from which the patient has returned must exchange the code for tokens. Then the record
    /// locator searches with the verified identity.
    Provider {
        /// The provider's code.
        code: String,
    },
    /// The search of the record locator with the details that the patient entered.
    Search,
    /// The requests to the facilities that the patient has chosen.
    Places,
}

impl Asked {
    /// Returns the step that follows if the request gets no usable answer.
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
    /// The source or the patient refused the access.
    Refused,
    /// The source granted access, but it named no Patient. The page says that the source has no records of the patient.
    NoPatient,
    /// The source did not answer, reported a failure, or sent no valid answer.
    Down,
    /// The source rejected the service's registration or request.
    Rejected,
    /// The service cannot read the source's records, as the source's CapabilityStatement shows.
    Unreadable,
}

/// A facility that a record locator found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordLocation {
    /// The id of the facility's endpoint in the directory.
    pub endpoint: String,
    /// The facility's name.
    pub name: String,
    /// The id of the person's Patient at the facility.
    pub patient: String,
}

/// An identity that an identity provider has verified.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// The code of the identity provider.
    pub provider: String,
    /// The provider's ID token, sealed, in base64.
    pub sealed: String,
}

/// The details that the patient enters for the record locator.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// The first name.
    pub given: String,
    /// The last name.
    pub family: String,
    /// The date of birth, as `YYYY-MM-DD`.
    pub birth_date: String,
    /// A code of FHIR's administrative gender, or empty.
    pub gender: String,
    /// The postal code, or empty.
    pub postal_code: String,
}

/// The state of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The current step.
    pub step: Step,
    /// A counter that increases with each step. A page contains the counter's value from the time at which the page was
    /// made. If the session has another value now, the page is outdated.
    pub turn: u64,
    /// The facilities that a record locator found.
    #[serde(default)]
    pub places: Vec<RecordLocation>,
    /// The identity that an identity provider has verified.
    #[serde(default)]
    pub verified: Option<Verified>,
    /// The details that the patient entered for the record locator.
    #[serde(default)]
    pub details: Details,
    /// The id of the endpoint that the patient chose and that has no sign-in page. The record locator must find this
    /// endpoint by the patient's details.
    #[serde(default)]
    pub sought: Option<String>,
    /// The digest of the cookie of the window that was opened beside the frame, in base64url. `None` if there is no
    /// such window.
    #[serde(default)]
    pub window: Option<String>,
    /// Whether the application was told how the flow ended. It is told only once.
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
    /// Returns the state at the beginning of a flow for this request.
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

    /// If the waiting time is over, goes to the step for a missing answer. The answer will not come if the server that
    /// sent the request was stopped.
    pub(super) fn settle(&mut self, now: i64) {
        if let Step::Waiting { on, until } = &self.step
            && *until <= now
        {
            self.go(on.in_vain());
        }
    }

    /// Whether the patient waits until the service has connected the chosen facilities.
    pub(super) fn connects_places(&self) -> bool {
        matches!(self.step, Step::Waiting { on: Asked::Places, .. })
    }
}
