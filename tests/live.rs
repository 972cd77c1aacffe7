//! Live mode from the first command to a read: an operator's application and source, a patient's consent, and who may
//! read the records.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::Digest;

use crate::harness::consented::basic;
use crate::harness::process::{PROGRAM, Process};
use crate::harness::surfer::Surfer;

const REDIRECT: &str = "https://app.example/back";
const VERIFIER: &str = "an-application-verifier-of-forty-three-letters";
const PATIENCE: Duration = Duration::from_secs(120);

fn command(data: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(PROGRAM)
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    output
}

fn object(data: &Path, arguments: &[&str]) -> Value {
    let output = command(data, &[arguments, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A service with live records, and a payer.
struct World {
    service: Process,
    payer: Process,
    /// The key pairs of the application, by mode.
    keys: Value,
    endpoint: String,
    agent: ureq::Agent,
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let data = &folder.path().join("data");
        let payer = Process::start(&["sandbox", "--listen", "127.0.0.1:0", "--patients", "2"]);
        let app = object(data, &["app", "create", "My App", "--redirect-uri", REDIRECT]);
        let smart = format!("{}/lakeshore/fhir/.well-known/smart-configuration", payer.base_url());
        let mut add = vec!["endpoint", "add", &smart, "--client-id", "tabularium-sandbox"];
        add.extend(["--label", "Lakeshore", "--mode", "live", "--allow-private-sources"]);
        let added = object(data, &add);
        let serve = ["serve", "--listen", "127.0.0.1:0", "--allow-private-sources", "--data"];
        let service = Process::start(&[&serve[..], &[data.to_str().unwrap()]].concat());
        World {
            service,
            payer,
            keys: app["keys"].clone(),
            endpoint: added["id"].as_str().unwrap().to_owned(),
            agent: ureq::Agent::config_builder().http_status_as_error(false).build().into(),
            folder,
        }
    }

    fn key(&self, mode: &str, kind: &str) -> &str {
        let keys = self.keys.as_array().unwrap();
        let pair = keys.iter().find(|pair| pair["mode"] == mode).unwrap();
        pair[kind].as_str().unwrap()
    }

    fn ask(&self, method: &str, path: &str, authorization: &str, body: Option<&Value>) -> (u16, Value) {
        let agent = &self.agent;
        let url = format!("{}{path}", self.service.base_url());
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        if !authorization.is_empty() {
            request = request.header("authorization", authorization);
        }
        let answer = match body {
            Some(body) => agent.run(
                request
                    .header("content-type", "application/json")
                    .body(body.to_string())
                    .unwrap(),
            ),
            None => agent.run(request.body(()).unwrap()),
        };
        let mut answer = answer.unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        (
            answer.status().as_u16(),
            serde_json::from_str(&text).unwrap_or(Value::Null),
        )
    }

    fn read(&self, path: &str, token: &str) -> (u16, Value) {
        self.ask("GET", path, &format!("Bearer {token}"), None)
    }

    /// A token of the application itself.
    fn application_token(&self, mode: &str) -> String {
        let pair = basic(self.key(mode, "publishableKey"), self.key(mode, "secretKey"));
        let body = json!({"grant_type": "client_credentials"});
        let (status, answer) = self.ask("POST", "/link/token", &pair, Some(&body));
        assert_eq!((status, &answer["expires_in"]), (200, &json!(1_800)), "{answer}");
        answer["access_token"].as_str().unwrap().to_owned()
    }

    /// Opens the flow with a key of the application.
    fn enter(&self, mode: &str) -> Surfer {
        let challenge = URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(VERIFIER));
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("response_type", "code"),
                ("client_id", self.key(mode, "publishableKey")),
                ("redirect_uri", REDIRECT),
                ("code_challenge", &challenge),
                ("code_challenge_method", "S256"),
                ("scope", "launch/patient offline_access"),
                ("svc_external_id", "user-1"),
            ])
            .finish();
        Surfer::open_until(
            REDIRECT,
            &format!("{}/oauth/authorize?{query}", self.service.base_url()),
        )
    }

    /// A person connects the payer, the application gets its tokens, and the records arrive.
    fn connected(&self) -> Value {
        let logins = Surfer::open(&format!("{}/admin/logins?count=1", self.payer.base_url()));
        let logins: Value = serde_json::from_str(&logins.text).unwrap();
        let user = logins["logins"][0]["user"].as_str().unwrap();
        let mut surfer = self.enter("live");
        surfer.press("/connect/choose", "Lakeshore", &[]);
        surfer.press("/connect/share", "", &[]);
        let login = [("user", user), ("password", "sandbox")];
        surfer.press("/lakeshore/login", "Sign in", &login);
        surfer.press("/lakeshore/consent", "Share", &[]);
        let code = crate::harness::payer::parameter(&surfer.url, "code").unwrap();
        let body = json!({"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER, "client_id": self.key("live", "publishableKey")});
        let (status, tokens) = self.ask("POST", "/oauth/token", "", Some(&body));
        assert_eq!(status, 200, "{tokens}");
        let token = tokens["access_token"].as_str().unwrap();
        until("the records", || {
            let (_, told) = self.read("/oauth/introspect", token);
            assert_ne!(told["sync"]["state"], "FAILED", "{told}");
            told["sync"]["state"] == "COMPLETED"
        });
        tokens
    }
}

/// Waits until a condition holds.
fn until(what: &str, so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn a_live_endpoints_records_are_the_patients_and_the_live_applications() {
    let world = World::new();
    let (_, listed) = world.ask("GET", "/endpoints", "", None);
    assert_eq!(
        (&listed[0]["id"], &listed[0]["mode"], &listed[0]["status"]),
        (&json!(world.endpoint), &json!("LIVE"), &json!("AVAILABLE"))
    );
    let tokens = world.connected();
    let token = tokens["access_token"].as_str().unwrap();
    let (status, patient) = world.read("/fhir/Patient/$PATIENT_ID", token);
    assert_eq!((status, &patient["id"]), (200, &tokens["patient"]));
    let tags = patient["meta"]["tag"].as_array().unwrap();
    let tag = |name: &str| {
        let system = format!("{}/tags/{name}", world.service.base_url());
        tags.iter().find(|tag| tag["system"] == system).unwrap()["code"].clone()
    };
    assert_eq!(tag("PatientAuthorizationMode"), "LIVE");
    assert_eq!(
        (tag("EndpointId"), tag("ApplicationId")),
        (json!(world.endpoint), json!("my-app"))
    );

    // The application itself reads the records by id, in live mode only.
    let path = format!("/fhir/Patient/{}", tokens["patient"].as_str().unwrap());
    let live = world.application_token("live");
    assert_eq!(world.read(&path, &live), (200, patient.clone()));
    let (_, coverage) = world.read("/fhir/Coverage?_total=accurate", &live);
    assert!(coverage["total"].as_u64().unwrap() > 0, "{coverage}");
    let (status, outcome) = world.read("/fhir/Patient/$PATIENT_ID", &live);
    assert_eq!((status, &outcome["issue"][0]["code"]), (422, &json!("processing")));
    let (status, outcome) = world.read(&path, &world.application_token("test"));
    assert_eq!((status, &outcome["issue"][0]["code"]), (403, &json!("forbidden")));

    // Its test mode sees neither the consent nor the source.
    let (_, consents) = world.read("/rest/consents", &live);
    assert_eq!(consents["consents"].as_array().unwrap().len(), 1, "{consents}");
    let (_, consents) = world.read("/rest/consents", &world.application_token("test"));
    assert_eq!(consents["consents"], json!([]), "{consents}");
    assert!(!world.enter("test").text.contains("Lakeshore"));
    assert!(world.enter("live").text.contains("Lakeshore"));

    // Another application's live token finds none of it on the running server.
    let data = world.folder.path().join("data");
    command(&data, &["app", "create", "Other"]);
    let other = command(&data, &["token", "--application", "other"]);
    let other = String::from_utf8(other.stdout).unwrap();
    assert_eq!(world.read(&path, other.trim()).0, 404);

    let (_, listed) = world.ask("GET", "/endpoints", "", None);
    assert_eq!(listed[0]["status"], "USER_VALIDATED");
    let secret = json!({"secret_key": world.key("live", "secretKey")});
    let bearer = format!("Bearer {token}");
    assert_eq!(
        world.ask("POST", "/link/revoke", &bearer, Some(&secret)),
        (200, json!({"count": 1}))
    );
    assert_eq!(world.read(&path, token).0, 401);
    // A revocation waits for the erasure, but only for a limited time.
    until("the erasure", || world.read(&path, &live).0 == 404);
}

#[test]
fn an_operator_is_warned_of_live_applications_without_a_live_source() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let said = || {
        let output = command(data, &["serve", "--listen", "127.0.0.1:0", "--until-stdin-ends"]);
        String::from_utf8(output.stderr).unwrap()
    };
    let warned = |said: &str| {
        said.lines()
            .any(|line| line.contains("WARN") && line.contains("no live source"))
    };
    object(data, &["app", "create", "Nowhere to send anybody back to"]);
    assert!(!warned(&said()));
    object(data, &["app", "create", "My App", "--redirect-uri", REDIRECT]);
    let told = said();
    assert!(
        warned(&told) && told.contains("my-app") && told.contains("endpoint add"),
        "{told}"
    );
    let payer = Process::start(&["sandbox", "--listen", "127.0.0.1:0", "--patients", "1"]);
    let base = format!("{}/lakeshore/fhir", payer.base_url());
    let add = |mode: &str| {
        let mut add = vec!["endpoint", "add", &base, "--client-id", "tabularium-sandbox"];
        add.extend(["--name", mode, "--mode", mode, "--allow-private-sources"]);
        object(data, &add)["id"].as_str().unwrap().to_owned()
    };
    add("test");
    assert!(warned(&said()));
    let live = add("live");
    assert!(!warned(&said()));
    command(data, &["endpoint", "set-status", &live, "unavailable"]);
    assert!(warned(&said()), "nobody is offered it");
}
