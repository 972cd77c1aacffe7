//! The application's browser sessions: the user, a pending connection, and tokens. The browser holds only the id of
//! its session; tokens stay on the server.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cookie::{Cookie, SameSite};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::client::Way;

const NAME: &str = "sample_session";
/// The maximum number of sessions. If a new session would exceed it, the oldest session is dropped.
const MOST: usize = 10_000;

/// A browser's session.
#[derive(Clone, Debug)]
pub(super) struct Session {
    /// The application's own identifier of the user. The service gets it with the authorization request.
    pub(super) user: String,
    pub(super) pending: Option<Pending>,
    pub(super) connection: Option<Connection>,
    /// The name of the person whose records the connection has. `None` until these records were shown, and if they
    /// have no name.
    pub(super) name: Option<String>,
    /// The call of the button that was pressed last on the developer page, with the answer of the service.
    pub(super) last: Option<Deed>,
    /// The health link that was created last. Only this session has the link's key.
    pub(super) link: Option<NewLink>,
    /// The reason why the last link could not be created or revoked. `None` if the last attempt succeeded.
    pub(super) problem: Option<String>,
    number: u64,
}

/// A health link as the service created it.
#[derive(Clone, Debug)]
pub(super) struct NewLink {
    pub(super) id: String,
    /// The address of the page that opens the link. It contains the link's key.
    pub(super) address: String,
    /// The QR code of the link, as a `data:` URL.
    pub(super) picture: String,
}

impl NewLink {
    /// Reads the answer to the creation of a link. `None` if a part is missing or has an unexpected form.
    pub(super) fn read(answer: &serde_json::Value) -> Option<NewLink> {
        let picture = answer["qr"]["svg"].as_str()?;
        let address = answer["viewerUrl"].as_str()?;
        let is_page = address.starts_with("https://") || address.starts_with("http://");
        (picture.starts_with("data:image/svg+xml;base64,") && is_page).then_some(NewLink {
            id: answer["id"].as_str()?.to_owned(),
            address: address.to_owned(),
            picture: picture.to_owned(),
        })
    }
}

/// The secrets of a pending connection. The redirect to the callback must have the same `state`. `verifier` proves, in
/// the exchange of the code, that this application began the connection (PKCE).
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) state: String,
    pub(super) verifier: String,
}

/// The tokens of a connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) way: Way,
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// The whole token response.
    pub(super) response: serde_json::Value,
}

/// A call that a button of the developer page made, and the answer of the service.
#[derive(Clone, Debug)]
pub(super) struct Deed {
    pub(super) what: &'static str,
    pub(super) status: u16,
    pub(super) body: serde_json::Value,
}

/// All sessions.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    sessions: HashMap<String, Session>,
    begun: u64,
}

impl Sessions {
    /// Returns the id and the session that a request's cookie names. `None` if there is no such session.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<(String, Session)> {
        let name = name(headers)?;
        let session = self.lock().sessions.get(&name).cloned()?;
        Some((name, session))
    }

    /// Returns the id and the session of a request. If the request has no session, creates one. The third value is then
    /// the cookie of the new session, which the response must set. It is `None` otherwise.
    pub(super) fn of_or_new(&self, headers: &HeaderMap) -> (String, Session, Option<String>) {
        if let Some((name, session)) = self.of(headers) {
            return (name, session, None);
        }
        let name = random();
        let mut kept = self.lock();
        if kept.sessions.len() >= MOST {
            let oldest = kept.sessions.iter().min_by_key(|(_, session)| session.number);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                kept.sessions.remove(&oldest);
            }
        }
        kept.begun += 1;
        let session = Session {
            user: format!("sample-user-{}", &Uuid::new_v4().simple().to_string()[..8]),
            pending: None,
            connection: None,
            name: None,
            last: None,
            link: None,
            problem: None,
            number: kept.begun,
        };
        kept.sessions.insert(name.clone(), session.clone());
        let cookie = Cookie::build((NAME, name.clone()))
            .path("/app")
            .http_only(true)
            .same_site(SameSite::Lax);
        (name, session, Some(cookie.to_string()))
    }

    /// Changes a session if it still exists.
    pub(super) fn change(&self, name: &str, change: impl FnOnce(&mut Session)) {
        if let Some(session) = self.lock().sessions.get_mut(name) {
            change(session);
        }
    }

    /// Removes the pending connection from the session and returns it. So each connection has only one callback.
    pub(super) fn take_pending(&self, name: &str) -> Option<Pending> {
        self.lock().sessions.get_mut(name)?.pending.take()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Returns the name of the person for the header of a page with records. It is empty if it is unknown.
    pub(super) fn who(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

impl Pending {
    /// Creates a random state and a random verifier.
    pub(super) fn new() -> Pending {
        Pending {
            state: random(),
            verifier: format!("{}{}", random(), random()),
        }
    }

    /// Returns the S256 challenge of PKCE.
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier))
    }
}

fn name(headers: &HeaderMap) -> Option<String> {
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = texts.flat_map(|text| Cookie::split_parse(text.to_owned())).flatten();
    let found = cookies.find(|cookie| cookie.name() == NAME)?;
    Some(found.value().to_owned())
}

fn random() -> String {
    let halves = [Uuid::new_v4(), Uuid::new_v4()];
    URL_SAFE_NO_PAD.encode(halves.map(Uuid::into_bytes).concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_its_cookie() {
        let sessions = Sessions::default();
        let (name, session, cookie) = sessions.of_or_new(&HeaderMap::new());
        let cookie = cookie.unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/app"));
        let mut headers = HeaderMap::new();
        let pair = cookie.split(';').next().unwrap();
        headers.insert(COOKIE, format!("svc_session=x; {pair}").parse().unwrap());
        sessions.change(&name, |session| session.pending = Some(Pending::new()));
        let (again, found, none) = sessions.of_or_new(&headers);
        assert_eq!((again, found.user, none), (name.clone(), session.user, None));
        assert!(sessions.take_pending(&name).is_some() && sessions.take_pending(&name).is_none());
        headers.insert(COOKIE, format!("{NAME}=other").parse().unwrap());
        assert!(sessions.of(&headers).is_none());
    }
}
