//! An operator's browser over a lake of two people.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tabularium::ingest::{self, Session};
use tabularium::lake::Mode;
use tabularium::maintenance::PersonErasure;

use crate::harness::consented::{App, Flow};
use crate::harness::server::{Answer, Server};

/// Two people with a few records each. One name looks like markup.
pub(crate) fn records() -> Vec<Value> {
    let mut all = vec![
        json!({"resourceType": "Patient", "id": "ann", "gender": "female", "birthDate": "1970-02-03",
               "name": [{"family": "Hill", "given": ["Ann"]}]}),
        json!({"resourceType": "Patient", "id": "ben", "gender": "male", "birthDate": "1980",
               "name": [{"family": "<script>alert(1)</script>"}]}),
        json!({"resourceType": "Practitioner", "id": "doc", "name": [{"family": "Shared"}]}),
    ];
    for at in 0..7 {
        all.push(
            json!({"resourceType": "Observation", "id": format!("o{at}"), "status": "final",
            "category": [{"coding": [{"system": "http://terminology.hl7.org/CodeSystem/observation-category",
                                      "code": "vital-signs"}]}],
            "code": {"coding": [{"system": "http://loinc.org", "code": "8480-6"}], "text": "Systolic"},
            "subject": {"reference": "Patient/ann"}, "performer": [{"reference": "Practitioner/doc"}],
            "effectiveDateTime": format!("2024-01-0{}", at + 1),
            "valueQuantity": {"value": 110 + at, "unit": "mmHg"}}),
        );
    }
    all
}

/// Addresses of the console that an operator can open, over these records.
const PAGES: [&str; 25] = [
    "/console",
    "/console/data/live/local/Patient",
    "/console/data/live/local/Patient/ann",
    "/console/data/live/local/Observation/o0?version=1",
    "/console/patient/live/local/ann",
    "/console/patient/live/local/ann?type=Observation&page=2",
    "/console/patient/live/local/ann/everything",
    "/console/patient/live/local/ann/everything?format=json",
    "/console/patient/live/local/ann/summary",
    "/console/patient/live/local/ann/summary?format=json",
    "/console/patient/live/local/ann/pdf",
    "/console/views/live/local",
    "/console/views/live/local?example=blood-pressure",
    "/console/fhirpath/live/local?type=Patient&expression=name.family",
    "/console/explain/live/local?type=Observation&q=code%3D8480-6",
    "/console/kept/syncs",
    "/console/kept/endpoints",
    "/console/kept/applications",
    "/console/kept/consents",
    "/console/kept/erasures",
    "/console/kept/webhooks",
    "/console/kept/deliveries",
    "/console/kept/audit",
    "/console/kept/slow",
    "/console/kept/syncs?page=2",
];
/// Routes that are open to everybody, or that only take forms.
pub(crate) const NOT_PAGES: [&str; 4] = [
    "/console/sign-in",
    "/console/sign-out",
    "/console/assets/{name}",
    "/console/kept/deliveries/{id}/resend",
];
const VIEW: &str = r#"{"resourceType": "ViewDefinition", "name": "pressure", "status": "active", "resource": "Observation",
  "select": [{"column": [{"name": "id", "path": "id"}, {"name": "value", "path": "value.ofType(Quantity).value"}]}]}"#;

/// The ids of an erasure, a consent and a sync, which have pages of their own.
pub(crate) struct Kept {
    pub(crate) erasure: String,
    pub(crate) consent: String,
    pub(crate) sync: String,
}

impl Kept {
    /// Ids of nothing.
    pub(crate) fn none() -> Kept {
        let id = || "any".to_owned();
        Kept {
            erasure: id(),
            consent: id(),
            sync: id(),
        }
    }

    /// Erases somebody, and makes a consent with a sync.
    pub(crate) fn of(server: &Server) -> Kept {
        let app = App::register(&server.store, "portal");
        let begun = Flow::of(&app).begin(&server.store, &server.lake);
        let sync = server.store.jobs().create(&begun.authorizations[0], "exchange");
        Kept {
            erasure: erased(server),
            consent: begun.consent,
            sync: sync.unwrap(),
        }
    }
}

/// All pages, with those of an erasure, a consent and a sync, and with a view by its link.
pub(crate) fn pages(kept: &Kept) -> Vec<String> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(VIEW.as_bytes()).unwrap();
    let packed = URL_SAFE_NO_PAD.encode(encoder.finish().unwrap());
    let mut pages = PAGES.map(str::to_owned).to_vec();
    pages.push(format!("/console/views/live/local?d={packed}&kind=histogram&x=value"));
    pages.push(format!("/console/views/live/local/rows?d={packed}&format=csv"));
    pages.push(format!("/console/kept/erasures/{}", kept.erasure));
    pages.push(format!("/console/kept/consents/{}", kept.consent));
    pages.push(format!("/console/kept/syncs/{}", kept.sync));
    pages
}

/// The id of an erasure of somebody who is imported for it.
fn erased(server: &Server) -> String {
    let mut writer = server.lake.writer().unwrap();
    let mut session = Session::begin(&mut writer, ingest::Options::default()).unwrap();
    session
        .add_document(br#"{"resourceType":"Patient","id":"zed"}"#)
        .unwrap();
    assert_eq!(session.finish().unwrap().refused, 0);
    let erasure = PersonErasure::new(server.folder(), &server.lake, Mode::Live, "local", "zed");
    erasure.run(&mut writer, |_| ()).unwrap().unwrap();
    let jobs = server.store.erasure_jobs().list(None, 1).unwrap();
    jobs[0].id.clone()
}

/// Whether an address belongs to a route.
pub(crate) fn is_of_route(address: &str, route: &str) -> bool {
    let parts = |path: &str| {
        path.split('?')
            .next()
            .unwrap()
            .split('/')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (address, route) = (parts(address), parts(route));
    let fits = |(part, wanted): (&String, &String)| wanted.starts_with('{') || part == wanted;
    address.len() == route.len() && address.iter().zip(&route).all(fits)
}

/// A browser that has signed in.
pub(crate) struct Visitor<'s> {
    server: &'s Server,
    pub(crate) cookie: String,
}

/// Sends a request without following redirects.
pub(crate) fn ask(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false);
    let agent: ureq::Agent = config.build().into();
    let mut request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("http://{}{path}", server.address));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let sent = match method {
        "POST" => agent.run(request.body(body.to_owned()).unwrap()),
        _ => agent.run(request.body(()).unwrap()),
    };
    let (parts, mut body) = sent.unwrap().into_parts();
    Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        text: String::from_utf8_lossy(&body.read_to_vec().unwrap()).into_owned(),
    }
}

/// Encodes the fields of a form.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Sends the sign-in form.
pub(crate) fn sign_in(server: &Server, token: &str) -> Answer {
    ask(server, "POST", "/console/sign-in", &[FORM], &form(&[("token", token)]))
}

impl Visitor<'_> {
    /// Signs in with a new token.
    pub(crate) fn enter(server: &Server) -> Visitor<'_> {
        let token = server.store.console_sessions().make_token("ada").unwrap();
        let answer = sign_in(server, &token);
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, "/console"),
            "{}",
            answer.text
        );
        let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
        Visitor { server, cookie }
    }

    /// Opens a page.
    pub(crate) fn get(&self, path: &str) -> Answer {
        ask(self.server, "GET", path, &[("cookie", &self.cookie)], "")
    }

    /// Opens a page that must exist.
    pub(crate) fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.text
    }

    /// Sends a form with these fields and no others.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let headers = [("cookie", self.cookie.as_str()), FORM];
        ask(self.server, "POST", path, &headers, &form(fields))
    }

    /// The CSRF token of this session.
    pub(crate) fn csrf(&self) -> String {
        let page = self.page("/console");
        between(&page, r#"name="csrf" value=""#, "\"").to_owned()
    }

    /// Sends a form of the session with its CSRF token.
    pub(crate) fn send(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let csrf = self.csrf();
        let all: Vec<(&str, &str)> = [("csrf", csrf.as_str())]
            .into_iter()
            .chain(fields.iter().copied())
            .collect();
        self.post(path, &all)
    }
}

/// The text between two marks.
pub(crate) fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let rest = text
        .split(before)
        .nth(1)
        .unwrap_or_else(|| panic!("no {before} in {text}"));
    rest.split(after).next().unwrap()
}

/// The links of a page with this beginning, decoded.
pub(crate) fn links(page: &str, beginning: &str) -> Vec<String> {
    let all = page
        .split("href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap());
    let all = all.filter(|link| link.starts_with(beginning));
    all.map(|link| link.replace("&amp;", "&").replace("&#38;", "&"))
        .collect()
}
