//! From the authorization request to tokens: required parameters, the person's pages, and the issued tokens.

use url::Url;

use super::{BACK, EVERYTHING, connected, exchange, text};
use crate::harness::payer::{Payer, Visit, parameter};
use tabularium::sandbox::payer::{CLIENT_ID, CLIENT_SECRET, Organization};

#[test]
fn a_login_ends_with_tokens_for_the_persons_own_patient() {
    let payer = Payer::start(3);
    for organization in ["lakeshore", "riverbend"] {
        let person = payer.person(1);
        let tokens = connected(&payer, organization, &person.user);
        assert_eq!(text(&tokens["patient"]), person.patient);
        assert_eq!(
            (text(&tokens["token_type"]), &tokens["expires_in"]),
            ("Bearer", &3600.into())
        );
        assert_eq!(text(&tokens["scope"]), EVERYTHING);
        assert!(tokens["refresh_token"].is_string());
        let path = format!("/{organization}/fhir/Patient/{}", person.patient);
        let patient = payer.get(&path, tokens["access_token"].as_str());
        assert_eq!(
            (patient.status, text(&patient.value()["id"])),
            (200, person.patient.as_str())
        );
    }
}

#[test]
fn state_comes_back_and_a_code_is_good_once() {
    let payer = Payer::start(2);
    let (url, verifier) = payer.authorization_url("lakeshore", &format!("{BACK}?kept=1"), EVERYTHING);
    let back = payer.log_in(&url, &payer.person(0).user);
    assert_eq!(parameter(&back, "state").unwrap(), "state of the test");
    assert_eq!(parameter(&back, "kept").unwrap(), "1");
    let code = parameter(&back, "code").unwrap();
    let uri = format!("{BACK}?kept=1");
    let mut form = exchange(&code, &verifier);
    form[2].1 = &uri;
    assert_eq!(payer.form("/lakeshore/token", &form).status, 200);
    let again = payer.form("/lakeshore/token", &form);
    assert_eq!((again.status, text(&again.value()["error"])), (400, "invalid_grant"));
}

#[test]
fn a_code_goes_with_its_verifier_and_redirect_uri_only() {
    let payer = Payer::start(1);
    for (field, wrong) in [
        (2, "http://127.0.0.1:9/other"),
        (3, "another-verifier-of-fortythree-letters-or-more"),
    ] {
        let (url, verifier) = payer.authorization_url("lakeshore", BACK, EVERYTHING);
        let code = parameter(&payer.log_in(&url, &payer.person(0).user), "code").unwrap();
        let mut form = exchange(&code, &verifier);
        form[field].1 = wrong;
        let refused = payer.form("/lakeshore/token", &form);
        assert_eq!(
            (refused.status, text(&refused.value()["error"])),
            (400, "invalid_grant")
        );
    }
}

#[test]
fn a_wrong_login_is_said_on_the_page_and_may_be_mended() {
    let payer = Payer::start(2);
    let (url, _) = payer.authorization_url("riverbend", BACK, EVERYTHING);
    let page = payer.get(&url, None).location().unwrap();
    let flow = payer.get(&page, None).hidden("flow");
    let user = payer.person(1).user;
    for (user, password) in [
        (user.as_str(), "wrong"),
        ("nobody7", "sandbox"),
        ("<b>\"", "x"),
        ("", ""),
    ] {
        let wrong = payer.form(&page, &[("flow", &flow), ("user", user), ("password", password)]);
        assert_eq!(wrong.status, 422);
        assert!(
            wrong.text.contains("The user name or the password is wrong") && !wrong.text.contains("<b>"),
            "{}",
            wrong.text
        );
    }
    let right = payer.form(&page, &[("flow", &flow), ("user", &user), ("password", "sandbox")]);
    assert!(right.location().unwrap().contains("/consent?flow="));
    // A person who has not logged in cannot agree.
    let (url, _) = payer.authorization_url("riverbend", BACK, EVERYTHING);
    let flow = payer
        .get(&payer.get(&url, None).location().unwrap(), None)
        .hidden("flow");
    let skipped = payer.form(
        "/riverbend/consent",
        &[("flow", &flow), ("decision", "agree"), ("type", "Patient")],
    );
    assert!(skipped.location().unwrap().contains("/login?flow="));
    let unknown = payer.form("/riverbend/consent", &[("flow", "x"), ("decision", "agree")]);
    assert_eq!(unknown.status, 400);
}

#[test]
fn a_person_may_refuse_or_share_a_part() {
    let payer = Payer::start(1);
    let user = payer.person(0).user;
    let (url, verifier) = payer.authorization_url("lakeshore", BACK, EVERYTHING);
    let refused = payer.visit(
        &url,
        &Visit {
            agree: false,
            ..Visit::of(&user)
        },
    );
    assert_eq!(parameter(&refused, "error").unwrap(), "access_denied");
    assert_eq!(parameter(&refused, "state").unwrap(), "state of the test");
    let part = Visit {
        types: Some(vec!["Coverage".into(), "Patient".into()]),
        offline: false,
        ..Visit::of(&user)
    };
    let code = parameter(&payer.visit(&url, &part), "code").unwrap();
    let tokens = payer.form("/lakeshore/token", &exchange(&code, &verifier)).value();
    let scope = text(&tokens["scope"]);
    assert!(
        scope.contains("patient/Coverage.read") && !scope.contains("ExplanationOfBenefit"),
        "{scope}"
    );
    assert!(!scope.contains("offline_access") && tokens["refresh_token"].is_null());
    let token = tokens["access_token"].as_str();
    assert_eq!(payer.get("/lakeshore/fhir/Coverage", token).status, 200);
    let forbidden = payer.get("/lakeshore/fhir/ExplanationOfBenefit", token);
    assert_eq!(
        (forbidden.status, text(&forbidden.value()["issue"][0]["code"])),
        (403, "forbidden")
    );
}

#[test]
fn what_is_missing_or_wrong_in_a_request_goes_back_to_the_application() {
    let payer = Payer::start(1);
    let (url, _) = payer.authorization_url("lakeshore", BACK, EVERYTHING);
    let with = |name: &str, value: Option<&str>| {
        let url = Url::parse(&url).unwrap();
        let mut pairs: Vec<(String, String)> = url.query_pairs().into_owned().filter(|(one, _)| one != name).collect();
        pairs.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        let mut other = url.clone();
        other.query_pairs_mut().clear().extend_pairs(pairs);
        payer.get(other.as_str(), None)
    };
    for (name, value, error) in [
        ("aud", None, "invalid_request"),
        ("aud", Some("https://elsewhere.example/fhir"), "invalid_request"),
        ("response_type", Some("token"), "unsupported_response_type"),
        ("response_type", None, "invalid_request"),
        ("code_challenge", None, "invalid_request"),
        ("code_challenge", Some("short"), "invalid_request"),
        ("code_challenge_method", Some("plain"), "invalid_request"),
        ("state", None, "invalid_request"),
        ("scope", Some("launch/patient"), "invalid_scope"),
    ] {
        let back = Url::parse(&with(name, value).location().unwrap()).unwrap();
        assert!(back.as_str().starts_with(BACK), "{back}");
        assert_eq!(parameter(&back, "error").as_deref(), Some(error), "{name}");
        assert_eq!(parameter(&back, "state").is_some(), name != "state");
    }
    // Nobody is redirected to an unregistered address.
    for (name, value) in [
        ("client_id", None),
        ("client_id", Some("somebody")),
        ("redirect_uri", Some("https://evil.example/")),
        ("redirect_uri", None),
    ] {
        let page = with(name, value);
        assert_eq!((page.status, page.location()), (400, None), "{name}");
    }
    let tolerated = with("aud", Some(&format!("{}/", payer.fhir_base("lakeshore"))));
    assert!(tolerated.location().unwrap().contains("/login"));
}

#[test]
fn a_redirect_uri_elsewhere_is_registered_to_the_letter() {
    let payer = Payer::start(1);
    let uri = "https://app.example/back";
    let (url, _) = payer.authorization_url("cedarway", uri, EVERYTHING);
    assert_eq!(payer.get(&url, None).status, 400);
    let body = serde_json::json!({"redirect_uri": uri});
    assert_eq!(payer.json("POST", "/admin/cedarway/redirect-uris", &body).status, 201);
    assert!(payer.log_in(&url, &payer.person(0).user).as_str().starts_with(uri));
    let (url, _) = payer.authorization_url("cedarway", &format!("{uri}/x"), EVERYTHING);
    assert_eq!(payer.get(&url, None).status, 400);
}

#[test]
fn a_confidential_organization_wants_the_secret_in_one_place() {
    let payer = Payer::start(1);
    let basic = |id: &str, secret: &str| {
        use base64::Engine;
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}"));
        format!("Basic {pair}")
    };
    let ask = |fields: &[(&str, &str)], authorization: Option<String>| {
        let (url, verifier) = payer.authorization_url("cedarway", BACK, EVERYTHING);
        let code = parameter(&payer.log_in(&url, &payer.person(0).user), "code").unwrap();
        let mut form = exchange(&code, &verifier);
        form.pop();
        form.extend(fields);
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let mut headers = vec![("content-type", "application/x-www-form-urlencoded".to_owned())];
        headers.extend(authorization.map(|value| ("authorization", value)));
        payer.send("POST", "/cedarway/token", &headers, &body)
    };
    assert_eq!(ask(&[], Some(basic(CLIENT_ID, CLIENT_SECRET))).status, 200);
    // Both parts of Basic are percent-encoded.
    assert_eq!(
        ask(&[], Some(basic(&CLIENT_ID.replace('-', "%2D"), CLIENT_SECRET))).status,
        200
    );
    assert_eq!(
        ask(&[("client_id", CLIENT_ID), ("client_secret", CLIENT_SECRET)], None).status,
        200
    );
    for (fields, authorization) in [
        (vec![("client_id", CLIENT_ID)], None),
        (vec![], Some(basic(CLIENT_ID, "wrong"))),
        (vec![], Some(basic("somebody", CLIENT_SECRET))),
        (vec![], Some("Basic ?".to_owned())),
        (vec![], None),
    ] {
        let refused = ask(&fields, authorization);
        assert_eq!(
            (refused.status, text(&refused.value()["error"])),
            (401, "invalid_client")
        );
    }
    let twice = ask(
        &[("client_secret", CLIENT_SECRET)],
        Some(basic(CLIENT_ID, CLIENT_SECRET)),
    );
    assert_eq!((twice.status, text(&twice.value()["error"])), (400, "invalid_request"));
}

#[test]
fn refresh_tokens_rotate_and_only_where_they_are_granted() {
    let payer = Payer::start(1);
    let user = payer.person(0).user;
    let refresh = |organization: &str, token: &str| {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", CLIENT_ID),
        ];
        payer.form(&format!("/{organization}/token"), &form)
    };
    let tokens = connected(&payer, "lakeshore", &user);
    let first = text(&tokens["refresh_token"]).to_owned();
    let second = refresh("lakeshore", &first).value();
    assert_ne!(text(&second["refresh_token"]), first);
    assert_eq!(second["patient"], tokens["patient"]);
    assert_eq!(second["scope"], tokens["scope"]);
    assert_eq!(
        payer
            .get("/lakeshore/fhir/Coverage", second["access_token"].as_str())
            .status,
        200
    );
    let reused = refresh("lakeshore", &first);
    assert_eq!((reused.status, text(&reused.value()["error"])), (400, "invalid_grant"));
    assert_eq!(refresh("lakeshore", text(&second["refresh_token"])).status, 200);

    let tokens = connected(&payer, "hilltop", &user);
    assert!(tokens["refresh_token"].is_null());
    assert_eq!(text(&tokens["scope"]), "launch/patient patient/*.read");
    let configuration = payer.get(&payer.smart("hilltop"), None).value();
    assert!(
        !configuration["grant_types_supported"]
            .to_string()
            .contains("refresh_token")
    );
}

#[test]
fn pages_load_nothing_and_cannot_be_framed() {
    let payer = Payer::start(1);
    let (url, _) = payer.authorization_url("lakeshore", BACK, EVERYTHING);
    let login = payer.get(&url, None).location().unwrap();
    for page in [payer.get("/", None), payer.get(&login, None)] {
        let policy = page.headers.get("content-security-policy").unwrap().to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert_eq!(page.headers.get("referrer-policy").unwrap(), "no-referrer");
        assert!(page.text.contains("<html lang=\"en\">") && page.text.contains("name=\"viewport\""));
        assert!(!page.text.contains("<script") && !page.text.contains("src="));
    }
    // The page looks like the organization.
    let logo = Organization::named("lakeshore").unwrap().mark.trim();
    assert!(payer.get(&login, None).text.contains(logo));
}
