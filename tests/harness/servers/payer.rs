//! A sandbox in this process, and a person at its pages who logs in, agrees and comes back with the payer's answer.

use std::thread::JoinHandle;

use serde_json::Value;
use tabularium::sandbox::app::AppSettings;
use tabularium::sandbox::payer::{CLIENT_ID, PASSWORD, Person, Sandbox, Settings};
use tokio::sync::oneshot;
use ureq::http::{HeaderMap, Response};
use url::Url;

/// A sandbox on its own port.
pub(crate) struct Payer {
    pub(crate) base: String,
    sandbox: Sandbox,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

/// A response. Redirects are not followed.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// A person's choices on an organization's pages.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) user: String,
    pub(crate) password: String,
    /// Resource types whose boxes stay checked; `None` for all.
    pub(crate) types: Option<Vec<String>>,
    /// Whether the box for lasting access stays checked.
    pub(crate) offline: bool,
    pub(crate) agree: bool,
}

impl Visit {
    /// A person who leaves all boxes as they are and agrees.
    pub(crate) fn of(user: &str) -> Visit {
        Visit {
            user: user.to_owned(),
            password: PASSWORD.to_owned(),
            types: None,
            offline: true,
            agree: true,
        }
    }
}

impl Payer {
    /// A sandbox with this many people.
    pub(crate) fn start(patients: u64) -> Payer {
        Payer::with(patients, &[])
    }

    /// A sandbox with knobs set as on the command line, such as `lakeshore.slow=200`.
    pub(crate) fn with(patients: u64, knobs: &[&str]) -> Payer {
        Payer::serve(patients, knobs, |_| None)
    }

    /// A sandbox with the sample application. The closure gets the sandbox's address and returns the application's
    /// settings.
    pub(crate) fn with_app(patients: u64, app: impl FnOnce(&str) -> AppSettings) -> Payer {
        Payer::serve(patients, &[], |base| Some(app(base)))
    }

    fn serve(patients: u64, knobs: &[&str], app: impl FnOnce(&str) -> Option<AppSettings>) -> Payer {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let sandbox = Sandbox::new(Settings {
            patients,
            seed: 1,
            base_url: base.clone(),
            redirect_uris: Vec::new(),
            knobs: knobs.iter().map(|knob| knob.parse().unwrap()).collect(),
        })
        .unwrap();
        let sandbox = match app(&base) {
            Some(settings) => sandbox.with_app(settings).unwrap(),
            None => sandbox,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = sandbox.clone();
        let thread = std::thread::spawn(move || {
            let served = runtime.block_on(async {
                tokio::select! {
                    served = serving.serve(listener, std::future::pending()) => served,
                    _ = stopped => Ok(()),
                }
            });
            // Does not wait for requests that a knob delays.
            runtime.shutdown_background();
            served
        });
        Payer {
            base,
            sandbox,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The person of a number, from 0.
    pub(crate) fn person(&self, index: u64) -> Person {
        self.sandbox.person(index).unwrap()
    }

    /// The FHIR base, such as `http://127.0.0.1:port/lakeshore/fhir`.
    pub(crate) fn fhir_base(&self, organization: &str) -> String {
        format!("{}/{organization}/fhir", self.base)
    }

    /// The address of an organization's SMART configuration.
    pub(crate) fn smart(&self, organization: &str) -> String {
        format!("{}/.well-known/smart-configuration", self.fhir_base(organization))
    }

    /// Sets knobs of one organization, or of `all`.
    pub(crate) fn turn(&self, organization: &str, knobs: &Value) {
        let reply = self.json("PATCH", &format!("/admin/{organization}/knobs"), knobs);
        assert_eq!(reply.status, 200, "{}", reply.text);
    }

    /// The request counts of an organization: `fhir`, `pages`, `token`, `max_at_once`.
    pub(crate) fn requests(&self, organization: &str) -> Value {
        self.get(&format!("/admin/{organization}/requests"), None).value()
    }

    /// Invalidates all access tokens of an organization.
    pub(crate) fn expire(&self, organization: &str) {
        let path = format!("/admin/{organization}/expire");
        assert_eq!(self.json("POST", &path, &Value::Null).status, 200);
    }

    /// Changes one record of a person. Returns its reference.
    pub(crate) fn bump(&self, organization: &str, user: &str, record: Option<&str>) -> String {
        let body = serde_json::json!({"user": user, "record": record});
        let reply = self.json("POST", &format!("/admin/{organization}/bump"), &body);
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.value()["record"].as_str().unwrap().to_owned()
    }

    /// Adds a record to a person's, or replaces one.
    pub(crate) fn put(&self, organization: &str, user: &str, resource: &Value) {
        let body = serde_json::json!({"user": user, "resource": resource});
        let reply = self.json("POST", &format!("/admin/{organization}/records"), &body);
        assert_eq!(reply.status, 201, "{}", reply.text);
    }

    /// Sends `GET` to a path or URL.
    pub(crate) fn get(&self, path: &str, token: Option<&str>) -> Reply {
        let headers: Vec<(&str, String)> = token
            .map(|token| ("authorization", format!("Bearer {token}")))
            .into_iter()
            .collect();
        self.send("GET", path, &headers, "")
    }

    /// Sends a form to a path or URL.
    pub(crate) fn form(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let headers = [("content-type", "application/x-www-form-urlencoded".to_owned())];
        self.send("POST", path, &headers, &body)
    }

    /// Sends JSON to a path or URL.
    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.send(
            method,
            path,
            &[("content-type", "application/json".to_owned())],
            &body.to_string(),
        )
    }

    /// Sends a request without following redirects.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, String)], body: &str) -> Reply {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .max_redirects(0)
            .max_redirects_will_error(false);
        let agent: ureq::Agent = config.build().into();
        let url = if path.starts_with('/') {
            format!("{}{path}", self.base)
        } else {
            path.to_owned()
        };
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let sent: Response<ureq::Body> = match body {
            "" => agent.run(request.body(()).unwrap()).unwrap(),
            body => agent.run(request.body(body.to_owned()).unwrap()).unwrap(),
        };
        let (parts, mut body) = sent.into_parts();
        Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text: body.with_config().limit(1 << 30).read_to_string().unwrap(),
        }
    }

    /// Logs a person in and agrees to everything. Returns the final redirect with its query.
    pub(crate) fn log_in(&self, authorization_url: &str, user: &str) -> Url {
        self.visit(authorization_url, &Visit::of(user))
    }

    /// Goes through an organization's pages. Returns the final redirect.
    pub(crate) fn visit(&self, authorization_url: &str, visit: &Visit) -> Url {
        let mut reply = self.get(authorization_url, None);
        for _ in 0..6 {
            if let Some(location) = reply.location() {
                if !location.starts_with(&format!("{}/", self.base)) {
                    return Url::parse(&location).unwrap();
                }
                reply = self.answer_form(&location, visit);
            } else {
                panic!("no redirect but {}: {}", reply.status, reply.text);
            }
        }
        panic!("the pages do not end");
    }

    /// Fills in the form of a page and sends it.
    fn answer_form(&self, address: &str, visit: &Visit) -> Reply {
        let shown = self.get(address, None);
        if shown.location().is_some() {
            return shown;
        }
        assert_eq!(shown.status, 200, "{}", shown.text);
        let flow = shown.hidden("flow");
        let mut fields = vec![("flow", flow.as_str())];
        let types = shown.values("type");
        if shown.text.contains(r#"name="password""#) {
            fields.extend([("user", visit.user.as_str()), ("password", visit.password.as_str())]);
        } else {
            let kept =
                |resource_type: &&String| visit.types.as_ref().is_none_or(|chosen| chosen.contains(resource_type));
            fields.extend(
                types
                    .iter()
                    .filter(kept)
                    .map(|resource_type| ("type", resource_type.as_str())),
            );
            if visit.offline && shown.text.contains(r#"name="offline""#) {
                fields.push(("offline", "yes"));
            }
            fields.push(("decision", if visit.agree { "agree" } else { "refuse" }));
        }
        self.form(address, &fields)
    }

    /// An authorization URL of an organization for a redirect URI, with its verifier.
    pub(crate) fn authorization_url(&self, organization: &str, redirect_uri: &str, scope: &str) -> (String, String) {
        let verifier = "a-verifier-of-fortythree-letters-or-more-123".to_owned();
        let challenge = challenge(&verifier);
        let base = self.fhir_base(organization);
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("response_type", "code"),
                ("client_id", CLIENT_ID),
                ("redirect_uri", redirect_uri),
                ("scope", scope),
                ("state", "state of the test"),
                ("aud", base.as_str()),
                ("code_challenge", challenge.as_str()),
                ("code_challenge_method", "S256"),
            ])
            .finish();
        (format!("{}/{organization}/authorize?{query}", self.base), verifier)
    }
}

impl Reply {
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The target of a redirect.
    pub(crate) fn location(&self) -> Option<String> {
        let location = self.headers.get("location")?;
        Some(location.to_str().unwrap().to_owned())
    }

    /// The value of a hidden field.
    pub(crate) fn hidden(&self, name: &str) -> String {
        let values = self.values(name);
        values
            .first()
            .unwrap_or_else(|| panic!("no field {name}: {}", self.text))
            .clone()
    }

    /// The values of the fields with a name, as written in the page.
    fn values(&self, name: &str) -> Vec<String> {
        let mark = format!(r#"name="{name}" value=""#);
        let rest = self.text.split(&mark).skip(1);
        rest.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    }
}

impl Drop for Payer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The S256 challenge of a verifier.
fn challenge(verifier: &str) -> String {
    use base64::Engine;
    use sha2::Digest;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(verifier))
}

/// A parameter of a URL's query.
pub(crate) fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs.find(|(one, _)| one == name).map(|(_, value)| value.into_owned())
}
