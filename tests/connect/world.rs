//! A service, the sandbox's organizations in its directory, and an application that starts flows.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::Digest;
use tabularium::consent::{
    Actor, Authorization, AuthorizationType, Clock, Consent, EndpointStatus, IdentityProvider, NewApplication,
    NewEndpoint, Organization, Store,
};
use tabularium::http::Pages;
use tabularium::lake::Mode;
use tabularium::sandbox::payer::{CLIENT_ID, Kind, ORGANIZATIONS};

use super::browser::{Browser, Page};
use crate::harness::payer::{Payer, Visit};
use crate::harness::server::Server;

pub(crate) const REDIRECT: &str = "https://app.example/callback?tenant=7";
pub(crate) const ORIGIN: &str = "https://app.example";
const VERIFIER: &str = "a-verifier-of-the-application-that-is-long-enough";

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) payer: Payer,
    pub(crate) client: String,
    pub(crate) secret: String,
    pub(crate) live: String,
}

impl World {
    pub(crate) fn new() -> World {
        World::of(Payer::start(12))
    }

    /// A world whose pages wait for sources for an hour.
    pub(crate) fn of(payer: Payer) -> World {
        World::with(payer, Duration::from_secs(3_600))
    }

    /// A world whose pages never wait for sources.
    pub(crate) fn hasty() -> World {
        World::with(Payer::start(12), Duration::ZERO)
    }

    /// A service with the machine's current time, because the sandbox uses that.
    fn with(payer: Payer, interim: Duration) -> World {
        World::on(
            payer,
            Server::starting_at(Clock::at(chrono::Utc::now().timestamp()), interim),
        )
    }

    /// A world with these pages.
    pub(crate) fn showing(pages: Pages) -> World {
        let clock = Clock::at(chrono::Utc::now().timestamp());
        World::on(
            Payer::start(12),
            Server::showing(clock, Duration::from_secs(3_600), pages),
        )
    }

    fn on(payer: Payer, server: Server) -> World {
        let new = NewApplication {
            id: Some("app"),
            name: "Well & <b>Good</b>",
            redirect_uris: &[
                REDIRECT.to_owned(),
                "http://127.0.0.1/cb".to_owned(),
                "com.example.app:/cb".to_owned(),
            ],
            origins: &[ORIGIN.to_owned()],
            ..NewApplication::default()
        };
        let (_, keys) = server.store.applications().create(&new, Actor::Operator).unwrap();
        let key = |mode: Mode| keys.iter().find(|key| key.mode == mode).unwrap();
        directory(&server.store, &payer);
        World {
            client: key(Mode::Test).publishable.clone(),
            secret: key(Mode::Test).secret.clone().unwrap(),
            live: key(Mode::Live).publishable.clone(),
            server,
            payer,
        }
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.server.store
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.server.address)
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser::new(&self.base())
    }

    /// A valid authorization request with some parameters changed; an empty value removes one.
    pub(crate) fn authorize(&self, changes: &[(&str, &str)]) -> String {
        format!("/oauth/authorize?{}", self.query(changes))
    }

    pub(crate) fn query(&self, changes: &[(&str, &str)]) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(VERIFIER));
        let mut pairs = vec![
            ("client_id", self.client.as_str()),
            ("redirect_uri", REDIRECT),
            ("response_type", "code"),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
            ("scope", "launch/patient offline_access"),
            ("svc_external_id", "user-1"),
            ("state", "the state"),
        ];
        for (name, value) in changes {
            pairs.retain(|(known, _)| known != name);
            if !value.is_empty() {
                pairs.push((name, value));
            }
        }
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs)
            .finish()
    }

    /// A browser in a new flow.
    pub(crate) fn enter(&self, changes: &[(&str, &str)]) -> Browser {
        let mut browser = self.browser();
        browser.go(&self.authorize(changes));
        assert_eq!(
            browser.page.status,
            200,
            "{} {}",
            browser.page.header("location"),
            browser.page.text
        );
        browser
    }

    /// The newest consent.
    pub(crate) fn consent(&self) -> Consent {
        let audit = self.store().audit().newest(None, 10_000).unwrap();
        let newest = audit.iter().find(|entry| entry.action == "consent.created").unwrap();
        self.store()
            .consents()
            .get(newest.consent.as_ref().unwrap())
            .unwrap()
            .unwrap()
    }

    pub(crate) fn authorizations(&self) -> Vec<Authorization> {
        self.store().authorizations().of_consent(&self.consent().id).unwrap()
    }

    /// Endpoint, type and state of the newest consent's authorizations, in order.
    pub(crate) fn states(&self) -> Vec<String> {
        let all = self.authorizations().into_iter();
        all.map(|one| format!("{} {} {}", one.endpoint, one.authorization_type, one.state))
            .collect()
    }

    /// Agrees on the current page, logs in at the source as the first person, and comes back.
    pub(crate) fn connect<'b>(&self, browser: &'b mut Browser) -> &'b Page {
        let person = self.payer.person(0);
        self.connect_as(browser, &Visit::of(&person.user))
    }

    pub(crate) fn connect_as<'b>(&self, browser: &'b mut Browser, visit: &Visit) -> &'b Page {
        let back = self.away(browser, visit);
        browser.go(&back)
    }

    /// The callback address that a source redirects to.
    pub(crate) fn away(&self, browser: &mut Browser, visit: &Visit) -> String {
        let there = browser.press("share", &[]).location();
        self.payer.visit(there.as_str(), visit).into()
    }

    /// Exchanges a code, as the application does.
    pub(crate) fn exchange(&self, code: &str) -> serde_json::Value {
        let body = serde_json::json!({"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER, "client_id": self.client});
        let headers = [("content-type", "application/json")];
        let answer = self.server.send("POST", "/oauth/token", &headers, &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }
}

/// The sandbox's organizations as test endpoints, its identity provider and its record locator.
fn directory(store: &Store, payer: &Payer) {
    for known in ORGANIZATIONS {
        let organization = Organization {
            id: known.id.to_owned(),
            name: known.name.to_owned(),
            note: String::new(),
            organization_type: "PAYER".to_owned(),
        };
        store.organizations().save(&organization, Actor::Operator).unwrap();
        let label: Vec<String> = known.labels.iter().map(|label| (*label).to_owned()).collect();
        let base = payer.fhir_base(known.id);
        let types: Vec<String> = known.types().into_iter().map(str::to_owned).collect();
        let new = NewEndpoint {
            id: Some(known.id),
            organization: known.id,
            name: known.id,
            mode: Mode::Test,
            label: &label,
            authorization_type: match known.kind {
                Kind::Facility => AuthorizationType::Ial2,
                Kind::Portal => AuthorizationType::Credentials,
                _ => AuthorizationType::Oauth,
            },
            refreshable: known.refreshable,
            refresh_valid_for: None,
            max_auth_period: Some(90 * 86_400),
            status: EndpointStatus::Live,
            resources: &types,
            fhir_base: &base,
            configuration: None,
            client_id: CLIENT_ID,
            client_secret: known.secret,
            scope: match known.kind {
                Kind::Portal => "launch/patient patient/*.rs",
                _ => "launch/patient offline_access patient/*.rs",
            },
            identifier_system: "urn:sandbox",
        };
        store.endpoints().save(&new, Actor::Operator).unwrap();
    }
    let provider = IdentityProvider {
        code: "truename".to_owned(),
        mode: Mode::Test,
        name: "Truename Identity".to_owned(),
        issuer: format!("{}/identity", payer.base),
        client_id: CLIENT_ID.to_owned(),
    };
    store
        .identity_providers()
        .save(&provider, None, Actor::Operator)
        .unwrap();
    let locator = format!("{}/locator/search", payer.base);
    store
        .record_locators()
        .set(Mode::Test, &locator, Actor::Operator)
        .unwrap();
}
