//! Responses match `/openapi.json`: the tests request each declared response of each operation and validate it against
//! its schema. So clients generated from the document can read the service's responses.

use std::cell::RefCell;
use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tabularium::consent::Usage;
use tabularium::lake::Mode;

use crate::harness::consented::{App, Flow, PAYER, REDIRECT_URI, TestEndpoint};
use crate::harness::schema::faults;
use crate::harness::server::Server;

const JSON: &str = "application/json";
const FHIR: &str = "application/fhir+json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Headers that responses of HTTP have in general, and those that tell browsers what they may do.
const COMMON: [&str; 17] = [
    "access-control-allow-origin",
    "access-control-expose-headers",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-security-policy",
    "content-type",
    "cross-origin-resource-policy",
    "date",
    "permissions-policy",
    "pragma",
    "referrer-policy",
    "transfer-encoding",
    "vary",
    "x-content-type-options",
    "x-frame-options",
];

struct Walk {
    server: Server,
    document: Value,
    /// The declared responses that occurred: `method path status media`.
    seen: RefCell<BTreeSet<String>>,
    /// Headers that occurred and are not declared.
    undeclared: RefCell<BTreeSet<String>>,
}

impl Walk {
    fn new() -> Walk {
        let records = [
            json!({"resourceType": "Patient", "id": "anna", "birthDate": "1970", "identifier": [{"value": "a1"}]}),
            json!({"resourceType": "Patient", "id": "bert"}),
            json!({"resourceType": "Binary", "id": "hi", "contentType": "text/plain", "data": "aGk="}),
            json!({"resourceType": "Observation", "id": "o1", "status": "final", "code": {"text": "x"},
                "subject": {"reference": "Patient/anna"}}),
        ];
        let server = Server::impatient(&records);
        let document = server.send("GET", "/openapi.json", &[], "").json();
        Walk {
            server,
            document,
            seen: RefCell::default(),
            undeclared: RefCell::default(),
        }
    }

    /// Sends a request to a route and checks that the response is declared. Returns the response if it is JSON.
    fn ask(&self, method: &str, route: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Value {
        let (status, head, bytes) = self
            .server
            .send_bytes(&method.to_uppercase(), path, headers, body.as_bytes());
        let operation = &self.document["paths"][route][method];
        assert!(operation.is_object(), "{method} {route} is not declared");
        let responses = &operation["responses"];
        let (declared, response) = match responses.get(status.to_string()) {
            // A refusal that is declared by itself has the form of all refusals.
            Some(response) if response.get("$ref").is_some() => ("default".to_owned(), response),
            Some(response) => (status.to_string(), response),
            None => ("default".to_owned(), &responses["default"]),
        };
        assert!(
            status >= 400 || declared != "default",
            "{method} {path}: {status} is not declared"
        );
        let response = match response["$ref"].as_str() {
            Some(target) => self.document.pointer(&target[1..]).unwrap(),
            None => response,
        };
        let undeclared = |name: &&str| {
            let names = response["headers"].as_object().unwrap().keys();
            !COMMON.contains(name) && !names.into_iter().any(|declared| declared.eq_ignore_ascii_case(name))
        };
        let names = head.keys().map(|name| name.as_str()).filter(undeclared);
        let found = names.map(|name| format!("{method} {route} {status} {name}"));
        self.undeclared.borrow_mut().extend(found);
        assert!(head.contains_key("x-request-id"));
        if status == 204 {
            assert!(response["content"].is_null() && bytes.is_empty(), "{method} {path}");
            return Value::Null;
        }
        let media = head.get("content-type").map_or("", |value| value.to_str().unwrap());
        let media = media.split(';').next().unwrap();
        // Some routes return stored media types.
        let is_any = response["content"][media].is_null() && !response["content"]["*/*"].is_null();
        let media = if is_any { "*/*" } else { media };
        let content = &response["content"][media];
        assert!(
            content.is_object(),
            "{method} {path}: {media} is not declared for {status}"
        );
        self.seen
            .borrow_mut()
            .insert(format!("{method} {route} {declared} {media}"));
        if media != JSON && media != FHIR {
            assert_eq!(content["schema"]["type"], "string", "{method} {route} {media}");
            assert!(!bytes.is_empty());
            return Value::Null;
        }
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        let found = faults(&self.document, &content["schema"], &value);
        assert!(found.is_empty(), "{method} {path}: {}\n{value}", found.join("\n"));
        value
    }

    fn get(&self, route: &str, path: &str, token: &str) -> Value {
        let bearer = format!("Bearer {token}");
        self.ask("get", route, path, &[("authorization", &bearer)], "")
    }

    /// Posts a JSON object to a route without parameters in its path.
    fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Value {
        let headers = [&[("content-type", JSON)], headers].concat();
        self.ask("post", path, path, &headers, &body.to_string())
    }

    /// The declared responses that did not occur.
    fn left(&self) -> Vec<String> {
        let seen = self.seen.borrow();
        let mut left = Vec::new();
        for (path, methods) in self.document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                // The response to HEAD has no body.
                if method == "head" {
                    continue;
                }
                for (status, response) in operation["responses"].as_object().unwrap() {
                    if response.get("$ref").is_some() && status != "default" {
                        continue;
                    }
                    let response = match response["$ref"].as_str() {
                        Some(target) => self.document.pointer(&target[1..]).unwrap(),
                        None => response,
                    };
                    for media in response["content"]
                        .as_object()
                        .into_iter()
                        .flatten()
                        .map(|(media, _)| media)
                    {
                        let one = format!("{method} {path} {status} {media}");
                        if !seen.contains(&one) {
                            left.push(one);
                        }
                    }
                }
            }
        }
        left
    }
}

/// Walks FHIR's routes.
fn fhir(walk: &Walk) {
    let token = walk.server.application_token();
    let get = |route: &str, path: &str| walk.get(route, path, &token);
    get("/fhir/metadata", "/fhir/metadata");
    get("/fhir/{type}/{id}", "/fhir/Patient/anna");
    get("/fhir/{type}/{id}", "/fhir/Patient/nobody");
    get("/fhir/Binary/{id}", "/fhir/Binary/hi");
    get("/fhir/Binary/{id}", "/fhir/Binary/hi?_format=json");
    get("/fhir/Binary/{id}", "/fhir/Binary/nothing");
    let part = [
        ("authorization", format!("Bearer {token}")),
        ("range", "bytes=0-0".to_owned()),
    ];
    let part = part.each_ref().map(|(name, value)| (*name, value.as_str()));
    walk.ask("get", "/fhir/Binary/{id}", "/fhir/Binary/hi", &part, "");
    let includes = "/fhir/Observation?_include=Observation:subject&_total=accurate&_count=1";
    let page = get("/fhir/{type}", includes);
    assert_eq!(page["entry"][1]["search"]["mode"], "include");
    get("/fhir/{type}", "/fhir/Patient?_summary=count");
    get("/fhir/{type}", "/fhir/Patient?birthdate=soon");
    get("/fhir", "/fhir?_type=Patient,Observation");
    get("/fhir/Patient/{id}/{type}", "/fhir/Patient/anna/Observation");
    let everything = "/fhir/Patient/{id}/$everything";
    get(everything, "/fhir/Patient/anna/$everything?_total=accurate");
    get(everything, "/fhir/Patient/anna/$everything?_count=0");
    get(everything, "/fhir/Patient/nobody/$everything");
    let (summary, by_identifier) = ("/fhir/Patient/{id}/$summary", "/fhir/Patient/$summary");
    get(summary, "/fhir/Patient/anna/$summary?_section=problems");
    get(summary, "/fhir/Patient/nobody/$summary");
    get(by_identifier, "/fhir/Patient/$summary?identifier=a1");
    get(by_identifier, "/fhir/Patient/$summary?identifier=nobodys");
    let drawn = "/fhir/Patient/{id}/$pdf";
    get(drawn, "/fhir/Patient/anna/$pdf");
    get(drawn, "/fhir/Patient/anna/$pdf?_format=zip");
    get(drawn, "/fhir/Patient/nobody/$pdf");
    let bearer = format!("Bearer {token}");
    let form = [("authorization", bearer.as_str()), ("content-type", FORM)];
    for (route, path) in [
        ("/fhir/_search", "/fhir/_search"),
        ("/fhir/{type}/_search", "/fhir/Patient/_search"),
        ("/fhir/Patient/{id}/{type}/_search", "/fhir/Patient/anna/*/_search"),
    ] {
        walk.ask("post", route, path, &form, "_count=5");
    }
    walk.ask("post", everything, "/fhir/Patient/anna/$everything", &form, "_count=1");
    walk.ask(
        "post",
        everything,
        "/fhir/Patient/nobody/$everything",
        &form,
        "_count=1",
    );
    walk.ask(
        "post",
        summary,
        "/fhir/Patient/anna/$summary",
        &form,
        "_section=problems",
    );
    walk.ask(
        "post",
        summary,
        "/fhir/Patient/nobody/$summary",
        &form,
        "_section=problems",
    );
    walk.ask("post", by_identifier, by_identifier, &form, "identifier=a1");
    walk.ask("post", by_identifier, by_identifier, &form, "identifier=nobodys");
    cards(walk);
    let resource = [("authorization", bearer.as_str()), ("content-type", FHIR)];
    let view = json!({"resourceType": "ViewDefinition", "resource": "Patient", "status": "active",
        "select": [{"column": [{"name": "id", "path": "id"}, {"name": "born", "path": "birthDate"}]}]});
    let run = json!({"resourceType": "Parameters", "parameter": [{"name": "viewResource", "resource": view}]});
    for route in [
        "/fhir/ViewDefinition/$run",
        "/fhir/ViewDefinition/$viewdefinition-run",
        "/fhir/$viewdefinition-run",
        "/fhir/$sql-run",
    ] {
        for format in ["json", "json&_count=1", "csv", "ndjson", "parquet", "parquet-text"] {
            let path = format!("{route}?_format={format}");
            walk.ask("post", route, &path, &resource, &run.to_string());
        }
        walk.ask("post", route, route, &resource, "{}");
    }
    let validate = "/fhir/ViewDefinition/$validate";
    for query in ["", "?columns=true", "?columns=maybe"] {
        let path = format!("{validate}{query}");
        walk.ask("post", validate, &path, &resource, &view.to_string());
    }
}

/// Walks the routes of health cards and their verifiers.
fn cards(walk: &Walk) {
    let issue = "/fhir/Patient/{id}/$health-cards-issue";
    let bearer = format!("Bearer {}", walk.server.patient_token("anna"));
    let headers = [("authorization", bearer.as_str()), ("content-type", FHIR)];
    let everything = json!({"name": "credentialType", "valueUri": "Patient/$everything"});
    let asked = json!({"resourceType": "Parameters", "parameter": [everything]}).to_string();
    walk.ask(
        "post",
        issue,
        "/fhir/Patient/anna/$health-cards-issue",
        &headers,
        &asked,
    );
    walk.ask(
        "post",
        issue,
        "/fhir/Patient/bert/$health-cards-issue",
        &headers,
        &asked,
    );
    let keys = "/health-cards/.well-known/jwks.json";
    let set = walk.ask("get", keys, keys, &[], "");
    let lists = "/health-cards/.well-known/crl";
    let list = format!("{lists}/{}.json", set["keys"][0]["kid"].as_str().unwrap());
    let route = format!("{lists}/{{file}}");
    walk.ask("get", &route, &list, &[], "");
    walk.ask("get", &route, &format!("{lists}/none.json"), &[], "");
}

/// Walks the routes of tokens of both APIs.
fn tokens(walk: &Walk) {
    let server = &walk.server;
    let app = App::register(&server.store, "app");
    let (basic, secret) = (app.test.basic(), json!({"secret_key": app.test.secret}));
    let own = json!({"grant_type": "client_credentials"});
    let refresh = |tokens: &Value| json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
    let text = |tokens: &Value| tokens["access_token"].as_str().unwrap().to_owned();
    let again = TestEndpoint {
        name: "once",
        refreshable: false,
        max_auth_period: None,
        ..PAYER
    };
    for (place, usage, user) in [(PAYER, Usage::Multiple, Some("user-1")), (again, Usage::OneTime, None)] {
        let places = [place];
        let flow = |flow| Flow {
            usage,
            user,
            places: &places,
            ..flow
        };
        for path in ["/oauth/token", "/link/token"] {
            let finished = flow(Flow::of(&app)).finish(server);
            let first = walk.post(path, &[], &finished.exchange());
            let second = walk.post(path, &[], &refresh(&first));
            let application = walk.post(path, &[("authorization", &basic)], &own);
            walk.post(path, &[("authorization", &basic)], &json!({}));
            for route in ["/oauth/introspect", "/link/introspect"] {
                walk.get(route, route, &text(&second));
                walk.get(route, route, "none");
            }
            for query in ["", "?skipResourceCounts=true", "?skipResourceCounts=maybe"] {
                walk.get("/rest/consent", &format!("/rest/consent{query}"), &text(&second));
            }
            let by_id = format!("/rest/consent/{}", finished.consent);
            walk.get("/rest/consent/{id}", &by_id, &text(&application));
            walk.get("/rest/consent/{id}", "/rest/consent/none", &text(&application));
            walk.get("/rest/consents", "/rest/consents?limit=1", &text(&application));
            walk.get("/rest/consents", "/rest/consents", &text(&second));
            let bearer = format!("Bearer {}", text(&second));
            walk.post(
                "/oauth/revoke",
                &[("authorization", &bearer)],
                &json!({"secret_key": "none"}),
            );
            walk.post("/oauth/revoke", &[("authorization", &bearer)], &secret);
            let keys = [("authorization", basic.as_str())];
            for id in [&*finished.consent, "none"] {
                let path = format!("/rest/consent/{id}/revoke");
                walk.ask("post", "/rest/consent/{id}/revoke", &path, &keys, "");
            }
            let dead = walk.get("/oauth/introspect", "/oauth/introspect", &text(&second));
            assert_eq!(dead["active"], false);
        }
        let finished = flow(Flow::link(&app)).finish(server);
        let public = json!({"public_token": finished.code, "secret_key": app.test.secret});
        let linked = walk.post("/link/exchange", &[], &public);
        walk.post("/link/exchange", &[], &public);
        let bearer = format!("Bearer {}", text(&linked));
        walk.post("/link/revoke", &[("authorization", &bearer)], &json!({}));
        walk.post("/link/revoke", &[("authorization", &bearer)], &secret);
    }
    let live = [TestEndpoint {
        name: "live",
        mode: Mode::Live,
        ..PAYER
    }];
    let flow = Flow {
        mode: Mode::Live,
        places: &live,
        ..Flow::of(&app)
    };
    // A consent that is not finished.
    flow.begin(&server.store, &server.lake);
    let live = walk.post("/oauth/token", &[("authorization", &app.live.basic())], &own);
    walk.get("/rest/consents", "/rest/consents", &text(&live));
    let imported = server.patient_token("anna");
    for route in ["/oauth/introspect", "/link/introspect", "/rest/consent"] {
        walk.get(route, route, &imported);
    }
    for method in ["client_secret_basic", "client_secret_post", "none", "private_key_jwt"] {
        let client = json!({"client_name": "A client", "redirect_uris": [REDIRECT_URI], "contacts": ["me@client.example"],
            "client_uri": "https://client.example", "software_id": "s", "token_endpoint_auth_method": method});
        let registered = walk.post("/oauth/register", &[], &client);
        if method != "private_key_jwt" {
            manage(walk, &registered, client);
        }
    }
}

/// Walks the routes of a registration.
fn manage(walk: &Walk, registered: &Value, mut client: Value) {
    let route = "/oauth/register/{client_id}";
    let text = |name: &str| registered[name].as_str().unwrap();
    let path = format!("/oauth/register/{}", text("client_id"));
    let bearer = format!("Bearer {}", text("registration_access_token"));
    let headers = [("authorization", bearer.as_str()), ("content-type", JSON)];
    for method in ["get", "put", "delete"] {
        walk.ask(method, route, &path, &[("content-type", JSON)], "");
    }
    walk.ask("get", route, &path, &headers, "");
    walk.ask("put", route, &path, &headers, &client.to_string());
    client["client_id"] = registered["client_id"].clone();
    client["rotate_keys"] = json!(true);
    walk.ask("put", route, &path, &headers, &client.to_string());
    walk.ask("delete", route, &path, &headers, "");
}

/// Walks the routes of a patient's links and their recipients.
fn health_links(walk: &Walk) {
    let bearer = format!("Bearer {}", walk.server.patient_token("anna"));
    let token = [("authorization", bearer.as_str())];
    let rest = "/rest/health-links";
    let address = |body: Value| {
        let made = walk.post(rest, &token, &body);
        let text = made["link"].as_str().unwrap().strip_prefix("shlink:/").unwrap();
        let payload: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
        let url = payload["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        (url, made["id"].as_str().unwrap().to_owned())
    };
    let (plain, id) = address(json!({"label": "For Ada", "exp": 1_800_001_000}));
    let (locked, _) = address(json!({"passcode": "2468"}));
    let (direct, _) = address(json!({"flag": "U"}));
    walk.post(rest, &token, &json!({"flag": "L"}));
    let (route, json) = ("/health-links/{address}", [("content-type", JSON)]);
    let manifest = |address: &str, body: Value| {
        walk.ask(
            "post",
            route,
            &format!("/health-links/{address}"),
            &json,
            &body.to_string(),
        )
    };
    manifest(&plain, json!({"recipient": "Ada"}));
    let beside = manifest(&plain, json!({"recipient": "Ada", "embeddedLengthMax": 0}));
    let location = beside["files"][0]["location"].as_str().unwrap();
    let located = &location[location.find("/health-links/").unwrap()..];
    let file = "/health-links/{address}/file/{ticket}";
    walk.ask("get", file, located, &[], "");
    walk.ask("get", file, "/health-links/a/file/b", &[], "");
    manifest(&locked, json!({"recipient": "Ada"}));
    manifest("none", json!({"recipient": "Ada"}));
    for address in [direct.as_str(), "none"] {
        walk.ask("get", route, &format!("/health-links/{address}?recipient=Ada"), &[], "");
    }
    walk.ask("get", rest, rest, &token, "");
    walk.ask("get", rest, rest, &[], "");
    for _ in 0..2 {
        walk.ask("delete", "/rest/health-links/{id}", &format!("{rest}/{id}"), &token, "");
    }
}

/// Walks the routes without authorization.
fn open(walk: &Walk) {
    let get = |path: &str| walk.ask("get", path, path, &[], "");
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
        "/.well-known/smart-configuration",
        "/fhir/.well-known/smart-configuration",
        "/.well-known/jwks.json",
        "/receipts/.well-known/jwks.json",
        "/openapi.json",
        "/",
        "/docs",
        "/errors",
        "/link/v1/link.js",
        "/health-link",
    ] {
        get(path);
    }
    for (path, length) in [("/organizations", 5), ("/endpoints", 5)] {
        assert_eq!(get(path).as_array().unwrap().len(), length, "{path}");
    }
    let application = json!({"name": "Ada", "email": "ada@example.org", "why": "w", "location": "l",
        "resume": "https://ada.example/cv", "phone": "1"});
    walk.post("/apply", &[], &application);
    walk.post("/apply", &[], &json!({}));
    walk.ask("get", "/errors/{code}", "/errors/access_denied", &[], "");
    walk.ask("get", "/errors/{code}", "/errors/none", &[], "");
    for path in ["/oauth/authorize", "/link/auth", "/link/start"] {
        get(path);
    }
}

/// Walks the routes of erasures and revocations.
fn erased(walk: &Walk) {
    let server = &walk.server;
    let token = server.patient_token("bert");
    let bearer = [("authorization", format!("Bearer {token}"))];
    let bearer = bearer.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (expunge, status) = ("/fhir/Patient/{id}/$expunge", "/fhir/$expunge-status/{id}");
    let accepted = walk.ask("post", expunge, "/fhir/Patient/bert/$expunge", &bearer, "");
    walk.ask("post", expunge, "/fhir/Patient/anna/$expunge", &bearer, "");
    let job = accepted["issue"][0]["diagnostics"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap();
    let path = format!("/fhir/$expunge-status/{job}");
    assert_eq!(walk.get(status, &path, &token)["id"], "in-progress");
    tabularium::sync::carry_out_erasures(&server.store, &server.lake, 0, &crate::harness::server::rules()).unwrap();
    assert_eq!(walk.get(status, &path, &token)["id"], "completed");
    assert_eq!(
        server.get("/fhir/Patient/bert", &server.application_token()).status,
        404
    );
    assert_eq!(
        server.get("/fhir/Patient/anna", &server.application_token()).status,
        200
    );
    walk.get("/oauth/introspect", "/oauth/introspect", &token);
}

#[test]
fn answers_of_every_route_go_by_their_schemas() {
    let walk = Walk::new();
    fhir(&walk);
    for name in ["other", "third"] {
        TestEndpoint { name, ..PAYER }.save(&walk.server.store);
    }
    tokens(&walk);
    health_links(&walk);
    open(&walk);
    erased(&walk);
    // Any route may refuse; the listed content codings are checked here.
    for (route, methods) in walk.document["paths"].as_object().unwrap() {
        let path = route
            .replace("{type}", "Patient")
            .replace("{id}", "anna")
            .replace("{code}", "x")
            .replace("{address}", "x")
            .replace("{ticket}", "x");
        for method in methods.as_object().unwrap().keys().filter(|method| *method != "head") {
            walk.ask(method, route, &path, &[("accept-encoding", "identity;q=0")], "");
        }
    }
    assert_eq!(*walk.undeclared.borrow(), BTreeSet::new());
    let left = walk.left();
    assert!(left.is_empty(), "declared and never seen:\n{}", left.join("\n"));
}

/// A reader of the directory needs the members' names, which the document lacked.
#[test]
fn every_answer_with_a_body_says_what_it_is() {
    let walk = Walk::new();
    let schemas = walk.document["components"]["schemas"].as_object().unwrap();
    for name in [
        "Tokens",
        "LinkTokens",
        "LinkExchange",
        "Introspection",
        "Revoked",
        "RegisteredClient",
        "Consent",
        "Consents",
        "PatientAuthorization",
        "Endpoint",
        "Organization",
        "ReceivedApplication",
        "AuthorizationServer",
        "OpenIdConfiguration",
        "SmartConfiguration",
        "JsonWebKeySet",
        "ReceiptKeySet",
        "Resource",
        "Bundle",
        "OperationOutcome",
        "CapabilityStatement",
        "HealthLink",
        "HealthLinkManifest",
        "Message",
        "OAuthError",
    ] {
        let properties = schemas.get(name).and_then(|schema| schema["properties"].as_object());
        assert!(properties.is_some_and(|properties| !properties.is_empty()), "{name}");
    }
    let exchange = &walk.document["paths"]["/link/exchange"]["post"]["responses"]["200"]["content"][JSON];
    assert_eq!(exchange["schema"]["$ref"], "#/components/schemas/LinkExchange");
}
