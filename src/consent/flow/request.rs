//! The checked request with which the application sent the patient into the flow. The session keeps the request,
//! because all later steps depend on it.

use serde::{Deserialize, Serialize};

use crate::consent::record::Usage;

/// The address at which the flow began. It decides how the flow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// `/oauth/authorize`: ends with an authorization code for `/oauth/token`.
    Oauth,
    /// `/link/auth`, which SMART clients discover: ends with an authorization code for `/link/token`.
    Smart,
    /// `/link/start`: ends with a public token for `/link/exchange`. The page with the link component gets this token.
    Link,
}

/// How the patient finds sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The patient chooses one organization in the directory.
    Choose,
    /// The patient chooses several organizations. They come from the directory or from a search with the patient's
    /// details.
    Search,
    /// The patient chooses several organizations. They come from a search with an identity that a provider has
    /// verified.
    Identity,
}

/// Where the browser shows the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    /// In the browser window that the application redirected to the flow.
    Page,
    /// In a window that the link component opened.
    Popup,
    /// In a frame of the page with the link component.
    Frame,
}

/// What the application knows of the patient. It fills the form for the details, and the patient can correct it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// The first name: `svc_hint_first_name`.
    pub given: Option<String>,
    /// The last name: `svc_hint_last_name`.
    pub family: Option<String>,
    /// The date of birth: `svc_hint_dob`, as `YYYY-MM-DD`.
    pub birth_date: Option<String>,
}

/// The page that contains the link component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The page's origin. The application has registered it.
    pub origin: String,
    /// A random name that the component chooses each time it is opened. All messages from the flow's pages to the
    /// component have this name until the component is closed.
    pub channel: String,
}

/// The application's request after all checks. A flow begins with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRequest {
    /// The address at which the flow began.
    pub door: Door,
    /// The publishable key of the client.
    pub client: String,
    /// The redirect URI. `None` for the link component.
    pub redirect_uri: Option<String>,
    /// The application's `state`, which the answer repeats.
    pub state: Option<String>,
    /// The S256 code challenge. `None` for the link component.
    pub challenge: Option<String>,
    /// Whether the application requests lasting access: by the scope `offline_access`, or by `MULTIPLE` for the link
    /// component.
    pub offline: bool,
    /// The application's identifier for the user.
    pub external_id: Option<String>,
    /// The id of the endpoint to connect, if the application has chosen it.
    pub endpoint: Option<String>,
    /// How the patient finds sources.
    pub way: Way,
    /// What the application knows of the patient.
    pub hints: Hints,
    /// Where the browser shows the pages.
    pub display: Display,
    /// The page with the link component, which gets the answer. `None` without the component.
    pub holder: Option<Holder>,
    /// A digest of all parameters except `svc_resume`. Only a request with the same digest can resume the flow.
    pub fingerprint: String,
}

impl FlowRequest {
    /// Returns the scopes that the application gets. Other requested scopes are ignored.
    pub fn scope(&self) -> &'static str {
        if self.offline {
            "launch/patient offline_access"
        } else {
            "launch/patient"
        }
    }

    /// Returns the requested usage.
    pub fn usage(&self) -> Usage {
        if self.offline { Usage::Multiple } else { Usage::OneTime }
    }
}
