//! The application's checked request that sent a patient into the flow. It is kept with the session and applies to
//! every later step.

use serde::{Deserialize, Serialize};

use crate::consent::record::Usage;

/// The way that the flow was entered, and so the way that it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// `/oauth/authorize`: an authorization code for `/oauth/token`.
    Oauth,
    /// `/link/auth`: an authorization code for `/link/token`, as SMART clients find it by discovery.
    Smart,
    /// `/link/start`: a public token for `/link/exchange`, handed to the page that holds the link component.
    Link,
}

/// How the patient finds sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// One organization, chosen from the directory.
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
    /// In a separate window, to which the application sent the browser.
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

/// The page that holds the link component, and how it knows an answer as its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The page's origin, one of those registered with the application.
    pub origin: String,
    /// Made up by the component for this one opening.
    pub channel: String,
}

/// A request that may begin a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRequest {
    /// How it came in.
    pub door: Door,
    /// The publishable key.
    pub client: String,
    /// The address for the answer. `None` for the link component.
    pub redirect_uri: Option<String>,
    /// To be echoed.
    pub state: Option<String>,
    /// The PKCE challenge. `None` for the link component.
    pub challenge: Option<String>,
    /// Whether `offline_access`, or the link component's like, was asked for.
    pub offline: bool,
    /// The application's identifier for the user.
    pub external_id: Option<String>,
    /// The endpoint to connect without a choice.
    pub endpoint: Option<String>,
    /// How the patient finds sources.
    pub way: Way,
    /// The known facts about the patient.
    pub hints: Hints,
    /// The place of the pages.
    pub display: Display,
    /// The page to answer to, for the link component.
    pub holder: Option<Holder>,
    /// A digest of all parameters but `svc_resume`: a flow is resumed by the same ones only.
    pub fingerprint: String,
}

impl FlowRequest {
    /// The scopes granted to the application. Other requested scopes are left out.
    pub fn scope(&self) -> &'static str {
        match self.offline {
            true => "launch/patient offline_access",
            false => "launch/patient",
        }
    }

    /// The requested usage.
    pub fn usage(&self) -> Usage {
        match self.offline {
            true => Usage::Multiple,
            false => Usage::OneTime,
        }
    }
}
