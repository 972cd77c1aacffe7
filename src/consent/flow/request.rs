//! The application's checked request that sent a patient into the flow. The session keeps it, and it applies to every
//! later step.

use serde::{Deserialize, Serialize};

use crate::consent::record::Usage;

/// How the flow was entered, and so how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// `/oauth/authorize`: an authorization code for `/oauth/token`.
    Oauth,
    /// `/link/auth`: an authorization code for `/link/token`. SMART clients find it by discovery.
    Smart,
    /// `/link/start`: a public token for `/link/exchange`. The page with the link component gets it.
    Link,
}

/// How the patient finds sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The patient chooses one organization from the directory.
    Choose,
    /// Several, found in the directory or by the patient's details.
    Search,
    /// Several, found after an identity provider has verified the patient.
    Identity,
}

/// The place of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    /// A separate window. The application sent its browser to it.
    Page,
    /// In a window that the link component opened.
    Popup,
    /// In a frame of the page that holds the link component.
    Frame,
}

/// The application's knowledge of the patient, which the patient may correct.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// `svc_hint_first_name`.
    pub given: Option<String>,
    /// `svc_hint_last_name`.
    pub family: Option<String>,
    /// `svc_hint_dob`, a date of the form `YYYY-MM-DD`.
    pub birth_date: Option<String>,
}

/// The page with the link component, and how it recognizes its own answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The page's origin, which is registered with the application.
    pub origin: String,
    /// A name that the component makes up for each opening.
    pub channel: String,
}

/// A request that may begin a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRequest {
    /// How the request came in.
    pub door: Door,
    /// The publishable key.
    pub client: String,
    /// The address for the answer. `None` for the link component.
    pub redirect_uri: Option<String>,
    /// To be echoed.
    pub state: Option<String>,
    /// The PKCE challenge. `None` for the link component.
    pub challenge: Option<String>,
    /// Whether the request has `offline_access`, or the link component's equivalent.
    pub offline: bool,
    /// The application's identifier for the user.
    pub external_id: Option<String>,
    /// The endpoint to connect. The patient then makes no choice.
    pub endpoint: Option<String>,
    /// How the patient finds sources.
    pub way: Way,
    /// The application's hints about the patient.
    pub hints: Hints,
    /// The place of the pages.
    pub display: Display,
    /// The page that gets the answer, for the link component.
    pub holder: Option<Holder>,
    /// A digest of all parameters but `svc_resume`. A flow is resumed only with the same parameters.
    pub fingerprint: String,
}

impl FlowRequest {
    /// The scopes that the application gets. Other requested scopes are ignored.
    pub fn scope(&self) -> &'static str {
        if self.offline {
            "launch/patient offline_access"
        } else {
            "launch/patient"
        }
    }

    /// The requested usage.
    pub fn usage(&self) -> Usage {
        if self.offline { Usage::Multiple } else { Usage::OneTime }
    }
}
