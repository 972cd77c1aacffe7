//! Applications with keys, endpoints and finished consents. They are created through the store as the flow does, for
//! tests that begin after the flow.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tabularium::consent::{
    Actor, AuthorizationType, EndpointStatus, Grant, NewApplication, NewAuthorization, NewCode, NewConsent,
    NewEndpoint, NewKeys, Organization, Origin, Store, Usage,
};
use tabularium::lake::{Lake, Mode};

use super::super::server::{Answer, Server};

/// The redirect URI of these applications.
pub(crate) const REDIRECT_URI: &str = "https://app.example/callback";

/// An application with the keys of both modes.
pub(crate) struct App {
    pub(crate) id: String,
    pub(crate) test: Keys,
    pub(crate) live: Keys,
}

/// A key pair.
pub(crate) struct Keys {
    pub(crate) publishable: String,
    pub(crate) secret: String,
}

impl Keys {
    /// The pair as `Authorization: Basic`.
    pub(crate) fn basic(&self) -> String {
        basic(&self.publishable, &self.secret)
    }
}

/// Two parts as `Authorization: Basic`.
pub(crate) fn basic(publishable: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{publishable}:{secret}")))
}

impl App {
    /// Registers an application.
    pub(crate) fn register(store: &Store, id: &str) -> App {
        let redirect_uris = [REDIRECT_URI.to_owned()];
        let new = NewApplication {
            id: Some(id),
            name: id,
            redirect_uris: &redirect_uris,
            ..NewApplication::default()
        };
        let (made, mut keys) = store.applications().create(&new, Actor::Operator).unwrap();
        let mut of = |mode| {
            let at = keys.iter().position(|one| one.mode == mode).unwrap();
            let NewKeys {
                publishable, secret, ..
            } = keys.remove(at);
            Keys {
                publishable,
                secret: secret.unwrap(),
            }
        };
        App {
            id: made.id,
            test: of(Mode::Test),
            live: of(Mode::Live),
        }
    }

    pub(crate) fn keys(&self, mode: Mode) -> &Keys {
        match mode {
            Mode::Test => &self.test,
            Mode::Live => &self.live,
        }
    }
}

/// The properties of an endpoint, identified by its name.
#[derive(Clone)]
pub(crate) struct TestEndpoint {
    pub(crate) name: &'static str,
    pub(crate) mode: Mode,
    pub(crate) authorization_type: AuthorizationType,
    pub(crate) refreshable: bool,
    pub(crate) refresh_valid_for: Option<i64>,
    pub(crate) max_auth_period: Option<i64>,
}

/// A refreshable payer of test mode where patients stay authorized for a year.
pub(crate) const PAYER: TestEndpoint = TestEndpoint {
    name: "payer",
    mode: Mode::Test,
    authorization_type: AuthorizationType::Oauth,
    refreshable: true,
    refresh_valid_for: None,
    max_auth_period: Some(31_536_000),
};

/// A second payer, for consents with two sources.
pub(crate) const SECOND: TestEndpoint = TestEndpoint {
    name: "second",
    ..PAYER
};

impl TestEndpoint {
    /// Adds the endpoint to the directory. Returns its id.
    pub(crate) fn save(&self, store: &Store) -> String {
        let organization = Organization {
            id: format!("org-{}", self.name),
            name: self.name.to_owned(),
            note: String::new(),
            organization_type: "PAYER".to_owned(),
        };
        store.organizations().save(&organization, Actor::Operator).unwrap();
        let id = format!("endpoint-{}", self.name);
        let label = [format!("The {}", self.name)];
        let new = NewEndpoint {
            id: Some(&id),
            organization: &organization.id,
            name: self.name,
            mode: self.mode,
            label: &label,
            authorization_type: self.authorization_type,
            refreshable: self.refreshable,
            refresh_valid_for: self.refresh_valid_for,
            max_auth_period: self.max_auth_period,
            status: EndpointStatus::Live,
            resources: &[],
            fhir_base: &format!("https://{}.example/fhir", self.name),
            configuration: None,
            client_id: "tabularium",
            client_secret: None,
            scope: "patient/*.read offline_access",
            identifier_system: &format!("https://{}.example", self.name),
        };
        store.endpoints().save(&new, Actor::Operator).unwrap().id
    }
}

/// A flow that a patient will finish.
pub(crate) struct Flow<'f> {
    pub(crate) app: &'f App,
    pub(crate) mode: Mode,
    pub(crate) origin: Origin,
    pub(crate) user: Option<&'f str>,
    pub(crate) usage: Usage,
    pub(crate) places: &'f [TestEndpoint],
}

impl<'f> Flow<'f> {
    /// A flow of test mode over `/oauth/authorize` with one payer, for lasting access.
    pub(crate) fn of(app: &'f App) -> Flow<'f> {
        Flow {
            app,
            mode: Mode::Test,
            origin: Origin::Oauth,
            user: Some("user-1"),
            usage: Usage::Multiple,
            places: &[PAYER],
        }
    }

    /// The same for one-time access.
    pub(crate) fn once(app: &'f App) -> Flow<'f> {
        Flow {
            usage: Usage::OneTime,
            ..Flow::of(app)
        }
    }

    /// The same through the link component.
    pub(crate) fn link(app: &'f App) -> Flow<'f> {
        Flow {
            origin: Origin::Link,
            ..Flow::of(app)
        }
    }

    /// Creates the consent with authorized sources, but does not finish it.
    pub(crate) fn begin(&self, store: &Store, lake: &Lake) -> Begun {
        let client = &self.app.keys(self.mode).publishable;
        let scope = match self.usage {
            Usage::Multiple => "launch/patient offline_access",
            Usage::OneTime => "launch/patient",
        };
        let new = NewConsent {
            client,
            application: &self.app.id,
            mode: self.mode,
            made_by: self.origin,
            external_id: self.user,
            usage: self.usage,
            scope,
        };
        let consent = store.consents().create(&new, |id| lake.owner_of_consent(id)).unwrap();
        let mut begun = Begun {
            consent: consent.id.clone(),
            client: client.clone(),
            owner: consent.owner.unwrap(),
            authorizations: Vec::new(),
            patients: Vec::new(),
        };
        for (at, place) in self.places.iter().enumerate() {
            let endpoint = place.save(store);
            let usage = if place.refreshable { self.usage } else { Usage::OneTime };
            let new = NewAuthorization {
                consent: &consent.id,
                endpoint: &endpoint,
                authorization_type: place.authorization_type,
                usage,
                identity_provider: None,
            };
            let authorization = store.authorizations().create(&new).unwrap();
            let hash = lake.seal(&(consent.id.as_str(), at)) >> 2 | 1 << 63;
            let patient = uuid::Uuid::from_u64_pair(begun.owner as u64, hash).to_string();
            let now = store.clock().now();
            let grant = Grant {
                patient: &patient,
                source_patient: "at-the-source",
                scope_requested: "patient/*.read offline_access",
                scope_granted: "patient/*.read",
                refreshable: place.refreshable,
                max_auth_until: place
                    .max_auth_period
                    .filter(|period| *period > 0)
                    .map(|period| now + period),
            };
            store.authorizations().send_to_source(&authorization.id).unwrap();
            store.authorizations().grant(&authorization.id, &grant).unwrap();
            begun.authorizations.push(authorization.id);
            begun.patients.push(patient);
        }
        begun
    }

    /// Finishes the flow. Returns its code.
    pub(crate) fn finish(&self, server: &Server) -> Finished {
        self.finish_in(&server.store, &server.lake)
    }

    /// The same without a server.
    pub(crate) fn finish_in(&self, store: &Store, lake: &Lake) -> Finished {
        let Begun {
            consent,
            client,
            owner,
            authorizations,
            patients,
        } = self.begin(store, lake);
        let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(&consent));
        let code = match self.origin {
            Origin::Link => store.codes().issue_public_token(&consent, &client).unwrap(),
            _ => {
                let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
                let new = NewCode {
                    consent: &consent,
                    client: &client,
                    redirect_uri: REDIRECT_URI,
                    challenge: &challenge,
                };
                store.codes().issue(&new).unwrap()
            }
        };
        Finished {
            consent,
            client,
            owner,
            authorizations,
            patients,
            code,
            verifier,
        }
    }
}

/// A consent whose sources are authorized.
pub(crate) struct Begun {
    pub(crate) consent: String,
    pub(crate) client: String,
    pub(crate) owner: i64,
    pub(crate) authorizations: Vec<String>,
    pub(crate) patients: Vec<String>,
}

/// A consent that is ready to be exchanged.
pub(crate) struct Finished {
    pub(crate) consent: String,
    pub(crate) client: String,
    pub(crate) owner: i64,
    pub(crate) authorizations: Vec<String>,
    pub(crate) patients: Vec<String>,
    /// The authorization code, or the public token of a link.
    pub(crate) code: String,
    pub(crate) verifier: String,
}

impl Finished {
    /// The fields of an exchange by a public client.
    pub(crate) fn exchange(&self) -> Value {
        json!({
            "grant_type": "authorization_code", "code": self.code, "redirect_uri": REDIRECT_URI,
            "code_verifier": self.verifier, "client_id": self.client,
        })
    }

    /// The tokens of the exchange.
    pub(crate) fn tokens(&self, server: &Server) -> Value {
        let answer = server.post("/oauth/token", &[], &self.exchange());
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    /// The answer to the exchange of a link's public token.
    pub(crate) fn link_tokens(&self, server: &Server, keys: &Keys) -> Value {
        let body = json!({"public_token": self.code, "secret_key": keys.secret});
        let answer = server.post("/link/exchange", &[], &body);
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }
}

impl Server {
    /// `POST path` with a JSON body.
    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let headers = [&[("content-type", "application/json")], headers].concat();
        self.send("POST", path, &headers, &body.to_string())
    }

    /// `POST path` with the members of an object as a form.
    pub(crate) fn post_form(&self, path: &str, headers: &[(&str, &str)], fields: &Value) -> Answer {
        let mut form = form_urlencoded::Serializer::new(String::new());
        for (name, value) in fields.as_object().unwrap() {
            form.append_pair(name, value.as_str().unwrap());
        }
        let headers = [&[("content-type", "application/x-www-form-urlencoded")], headers].concat();
        self.send("POST", path, &headers, &form.finish())
    }
}

impl Answer {
    /// The status and the `error` of a token endpoint's refusal, after a check of its form.
    pub(crate) fn oauth_error(&self) -> (u16, String) {
        let body = self.json();
        let description = body["error_description"].as_str().unwrap();
        assert!(
            !description.is_empty()
                && description
                    .bytes()
                    .all(|byte| matches!(byte, b' '..=b'~' if byte != b'"' && byte != b'\\'))
        );
        assert_eq!(body.as_object().unwrap().len(), 2, "{}", self.text);
        assert_eq!(self.header("cache-control"), "no-store");
        assert_eq!(self.header("content-type"), "application/json");
        let error = body["error"].as_str().unwrap();
        assert_eq!(
            error == "invalid_client",
            self.header("www-authenticate").starts_with("Basic "),
            "{}",
            self.text
        );
        (self.status, error.to_owned())
    }
}
