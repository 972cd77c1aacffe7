//! A person's flow from an application through the pages of the service and a source, back with a code, and to tokens.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tabularium::consent::LOCAL_APPLICATION;
use tabularium::lake::Mode;
use tabularium::sandbox::payer::{Organization, PASSWORD};

use super::world::{PATIENCE, REDIRECT, VERIFIER, World, challenge, text};
use crate::harness::payer::parameter;
use crate::harness::surfer::Surfer;

/// A person with a browser, and the application that starts the flow.
pub(super) struct Journey {
    /// The service's address.
    service: String,
    organization: &'static str,
    source: &'static str,
    user: String,
    client: String,
    surfer: Surfer,
    /// How often the application started the flow.
    pub(super) begun: usize,
}

impl Journey {
    /// The application starts the flow for one of the sandbox's organizations.
    pub(super) fn begin(world: &World, service: &str, organization: &'static str, person: u64) -> Journey {
        let client = world.store().clients().of(LOCAL_APPLICATION, Mode::Live).unwrap().id;
        let mut journey = Journey {
            service: service.to_owned(),
            organization,
            source: Organization::named(organization).unwrap().name,
            user: world.payer.person(person).user,
            surfer: Surfer::open_until(REDIRECT, REDIRECT),
            client: client.to_string(),
            begun: 0,
        };
        journey.begin_again();
        journey
    }

    fn begin_again(&mut self) {
        let challenge = challenge();
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("response_type", "code"),
                ("client_id", &self.client),
                ("redirect_uri", REDIRECT),
                ("code_challenge", &challenge),
                ("code_challenge_method", "S256"),
                ("scope", "launch/patient offline_access"),
                ("svc_external_id", &self.user),
                ("state", &self.user),
            ])
            .finish();
        self.surfer.go(&format!("{}/oauth/authorize?{query}", self.service));
        self.begun += 1;
    }

    /// Continues until the application has its tokens, with retries. Returns the token response. Each finished page is
    /// counted.
    pub(super) fn tokens(&mut self, steps: &AtomicUsize) -> Value {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "{}: {}", self.surfer.url, self.surfer.text);
            if let Some(code) = self.code() {
                match exchange(&self.service, &code, &self.client) {
                    Some((200, granted)) => return granted,
                    // The code was exchanged before the service was killed, and the response was lost.
                    Some((400, refused)) => {
                        assert_eq!(refused["error"], "invalid_grant");
                        self.begin_again();
                    }
                    Some((status, answer)) => panic!("{status}: {answer}"),
                    None => wait(),
                }
            } else if self.surfer.is_cut_off() {
                wait();
                self.return_to_session();
            } else if self.go_on() {
                steps.fetch_add(1, Ordering::Relaxed);
            } else {
                self.return_to_session();
            }
        }
    }

    /// Refreshes tokens until there is a response.
    pub(super) fn refreshed(&self, granted: &Value) -> Refreshed {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", text(granted, "refresh_token")),
            ("client_id", &self.client),
        ];
        let begun = Instant::now();
        let mut asked = 0;
        loop {
            assert!(begun.elapsed() < PATIENCE, "nobody answers");
            asked += 1;
            match ask(&self.service, "/oauth/token", |agent, url| {
                agent.post(url).send_form(fields)
            }) {
                Some((200, granted)) => return Refreshed::Granted(granted),
                Some((400, refused)) if asked > 1 => {
                    assert_eq!(refused["error"], "invalid_grant");
                    return Refreshed::Lost;
                }
                Some((status, answer)) => panic!("{status}: {answer}"),
                None => wait(),
            }
        }
    }

    /// The code in the redirect to the application.
    fn code(&self) -> Option<String> {
        let url = &self.surfer.url;
        if !url.as_str().starts_with(REDIRECT) {
            return None;
        }
        assert_eq!(parameter(url, "state").as_ref(), Some(&self.user));
        Some(parameter(url, "code").unwrap_or_else(|| panic!("no code in {url}")))
    }

    /// Does the page's next step. `false` if there is none.
    fn go_on(&mut self) -> bool {
        let (login, consent) = (
            format!("/{}/login", self.organization),
            format!("/{}/consent", self.organization),
        );
        let ways = [
            ("/connect/choose", self.source),
            ("/connect/share", ""),
            (login.as_str(), "Sign in"),
            (consent.as_str(), "Share"),
        ];
        let surfer = &mut self.surfer;
        let Some((action, button)) = ways.into_iter().find(|(action, button)| surfer.offers(action, button)) else {
            return false;
        };
        let answers = [("user", self.user.as_str()), ("password", PASSWORD)];
        surfer.press(action, button, if action == login { &answers } else { &[] });
        true
    }

    /// Opens the session's current page. If there is no session, the application starts a new flow.
    fn return_to_session(&mut self) {
        let session = format!("{}/connect", self.service);
        if self.surfer.url.as_str() == session && !self.surfer.is_cut_off() {
            self.begin_again();
        } else {
            self.surfer.go(&session);
        }
    }
}

/// The result of a refresh.
pub(super) enum Refreshed {
    Granted(Value),
    /// The token was used before the service was killed, and the response was lost.
    Lost,
}

/// The wait before a retry.
fn wait() {
    std::thread::park_timeout(Duration::from_millis(20));
}

/// Exchanges a code. Returns the status and the response; `None` if the service does not answer.
fn exchange(service: &str, code: &str, client: &str) -> Option<(u16, Value)> {
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
        ("client_id", client),
    ];
    ask(service, "/oauth/token", |agent, url| agent.post(url).send_form(fields))
}

/// The number of a type's resources that a token finds.
pub(super) fn total(service: &str, resource_type: &str, granted: &Value) -> u64 {
    let bearer = format!("Bearer {}", text(granted, "access_token"));
    let path = format!("/fhir/{resource_type}?_summary=count");
    let answer = ask(service, &path, |agent, url| {
        agent.get(url).header("authorization", &bearer).call()
    });
    let (status, bundle) = answer.unwrap();
    assert_eq!(status, 200, "{bundle}");
    bundle["total"].as_u64().unwrap()
}

fn ask(
    service: &str,
    path: &str,
    send: impl FnOnce(&ureq::Agent, String) -> Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Option<(u16, Value)> {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE));
    let mut answer = send(&config.build().into(), format!("{service}{path}")).ok()?;
    let body = answer.body_mut().read_to_string().ok()?;
    Some((answer.status().as_u16(), serde_json::from_str(&body).ok()?))
}
