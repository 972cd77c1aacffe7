//! All pages need an operator's session. Tokens of applications and patients do not open one, and a session opens
//! nothing else.

use crate::harness::command;
use crate::harness::process::Process;
use crate::harness::server::{START, Server};
use tabularium::consent::Clock;

use super::world::{Kept, NOT_PAGES, Visitor, ask, between, form, is_of_route, pages, records, sign_in};

/// Forms of the console.
const FORMS: [&str; 3] = [
    "/console/views/live/local",
    "/console/sign-out",
    "/console/kept/deliveries/1/resend",
];

#[test]
fn no_page_is_shown_without_a_session() {
    let server = Server::imported(&records());
    let (application, patient) = (server.application_token(), server.patient_token("ann"));
    let bearers = [format!("Bearer {application}"), format!("Bearer {patient}")];
    let made = server.store.console_sessions().make_token("ada").unwrap();
    let unused = format!("Bearer {made}");
    let guesses = [
        "console_session=x".to_owned(),
        format!("console_session={application}"),
        format!("console_session={patient}"),
        format!("console_session={made}"),
    ];
    let mut attempts: Vec<(&str, &str)> = vec![("accept", "*/*"), ("authorization", &unused)];
    attempts.extend(bearers.iter().map(|bearer| ("authorization", bearer.as_str())));
    attempts.extend(guesses.iter().map(|cookie| ("cookie", cookie.as_str())));
    for header in attempts {
        for path in pages(&Kept::none()) {
            let answer = ask(&server, "GET", &path, &[header], "");
            let came = (answer.status, answer.header("location"), answer.text.as_str());
            let next = form(&[("next", &path)])
                .replace('.', "%2E")
                .replace('-', "%2D")
                .replace('_', "%5F");
            let expected = format!("/console/sign-in?{next}");
            assert_eq!(came, (303, expected.as_str(), ""), "{path} {header:?}");
        }
        for path in FORMS {
            let answer = ask(&server, "POST", path, &[header], "view=x");
            assert_eq!(answer.status, 401, "{path} {header:?}");
            assert!(!answer.text.contains("Hill"));
        }
    }
    // None of this has used the token up.
    assert_eq!(sign_in(&server, &made).status, 303);
}

/// The list of pages was kept by hand, and lacked new ones.
#[test]
fn every_route_is_among_the_pages_that_are_tried() {
    let tried = pages(&Kept::none());
    for route in tabularium::http::console_paths() {
        let is_tried = NOT_PAGES.contains(&route) || tried.iter().any(|page| is_of_route(page, route));
        assert!(is_tried, "{route} is not among the pages");
    }
}

/// Operators got the page for patients, which leads back to an application.
#[test]
fn an_unknown_address_shows_operators_a_page_of_the_console() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    for path in ["/console/nothing", "/console/", "/console/kept/audit/more"] {
        let headers = [("cookie", visitor.cookie.as_str()), ("accept", "text/html")];
        let answer = ask(&server, "GET", path, &headers, "");
        assert_eq!(answer.status, 404, "{path}");
        for part in ["The console has no page at this address", "<nav aria-label=\"Pages\""] {
            assert!(answer.text.contains(part), "{path}: {}", answer.text);
        }
        let outside = ask(&server, "GET", path, &[("accept", "text/html")], "");
        assert_eq!(outside.status, 303, "{path}");
    }
    let headers = [("cookie", visitor.cookie.as_str()), ("accept", "text/html")];
    let other = ask(&server, "GET", "/consoles/nothing", &headers, "");
    assert!(
        other.status == 404 && !other.text.contains("Tabularium console"),
        "{}",
        other.text
    );
}

/// A link led to the sign-in form, and from there always to the first page.
#[test]
fn a_link_is_kept_over_the_sign_in() {
    let server = Server::imported(&records());
    let path = "/console/data/live/local/Patient?q=_count%3D50";
    let led = ask(&server, "GET", path, &[], "");
    let shown = ask(&server, "GET", led.header("location"), &[], "");
    assert_eq!(shown.status, 200);
    let next = between(&shown.text, "name=\"next\" value=\"", "\"");
    assert_eq!(next, path);
    let token = || server.store.console_sessions().make_token("ada").unwrap();
    let enter = |next: &str| {
        let fields = form(&[("token", &token()), ("next", next)]);
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let answer = ask(&server, "POST", "/console/sign-in", &headers, &fields);
        assert_eq!(answer.status, 303);
        answer.header("location").to_owned()
    };
    assert_eq!(enter(path), path);
    for hostile in [
        "",
        "//evil.example/console",
        "https://evil.example/console",
        "/console/../fhir/Patient",
        "/console/%2e%2e/rest",
        "/console\\\\evil.example",
        "/console/kept/audit\r\nset-cookie: a=b",
        "/fhir/Patient",
        "javascript:alert(1)",
        "/console/sign-in?token=x",
    ] {
        assert_eq!(enter(hostile), "/console", "{hostile:?}");
        let query = form(&[("next", hostile)]);
        let shown = ask(&server, "GET", &format!("/console/sign-in?{query}"), &[], "");
        assert!(!shown.text.contains("name=\"next\""), "{hostile:?}: {}", shown.text);
    }
    // A refused token keeps the page, too.
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let refused = form(&[("token", "console_guess"), ("next", path)]);
    let refused = ask(&server, "POST", "/console/sign-in", &headers, &refused);
    assert!(refused.status == 401 && refused.text.contains(path), "{}", refused.text);
}

/// The cookie does not come with a link from a chat or an e-mail, and an operator with a session had to sign in again.
#[test]
fn a_link_from_another_site_asks_to_continue() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let path = "/console/patient/live/local/ann";
    let answer = ask(&server, "GET", path, &[("sec-fetch-site", "cross-site")], "");
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .text
            .contains(&format!("<a class=\"button\" href=\"{path}\">Continue</a>")),
        "{}",
        answer.text
    );
    assert!(!answer.text.contains("Hill") && !answer.text.contains("<script"));
    let headers = [("sec-fetch-site", "same-origin"), ("cookie", visitor.cookie.as_str())];
    assert!(ask(&server, "GET", path, &headers, "").text.contains("Hill"));
}

/// A preview after the end of the session threw the typed view away.
#[test]
fn a_view_outlives_the_session() {
    let clock = Clock::at(START);
    let server = Server::imported_at(&records(), clock.clone());
    let visitor = Visitor::enter(&server);
    let csrf = visitor.csrf();
    clock.advance(1_800);
    let view = "{\"resource\": \"Patient\", \"select\": [{\"column\": [{\"name\": \"mine\", \"path\": \"name.family\", \
                \"collection\": true}]}]}";
    let fields = [("csrf", csrf.as_str()), ("view", view), ("kind", "bar"), ("x", "mine")];
    let over = visitor.post("/console/views/live/local", &fields);
    assert_eq!(over.status, 401);
    assert!(
        over.text.contains("&#34;mine&#34;") && !over.text.contains("Hill"),
        "{}",
        over.text
    );
    let next = between(&over.text, "name=\"next\" value=\"", "\"").replace("&#38;", "&");
    let token = server.store.console_sessions().make_token("ada").unwrap();
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let sent = form(&[("token", &token), ("next", &next)]);
    let entered = ask(&server, "POST", "/console/sign-in", &headers, &sent);
    let cookie = entered.header("set-cookie").split(';').next().unwrap().to_owned();
    let shown = ask(&server, "GET", entered.header("location"), &[("cookie", &cookie)], "");
    assert!(
        shown.status == 200 && shown.text.contains("&#34;mine&#34;"),
        "{}",
        shown.text
    );
    assert!(
        shown.text.contains("Hill") && shown.text.contains("<svg"),
        "{}",
        shown.text
    );
}

#[test]
fn a_session_opens_nothing_but_the_console() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let value = visitor.cookie.split_once('=').unwrap().1;
    let token = server.store.console_sessions().make_token("ada").unwrap();
    let (bearer, made) = (format!("Bearer {value}"), format!("Bearer {token}"));
    for path in [
        "/fhir/Patient",
        "/fhir/Patient/ann",
        "/fhir/Patient/ann/$everything",
        "/fhir/Patient/ann/$pdf",
        "/rest/consents",
    ] {
        for header in [
            ("cookie", visitor.cookie.as_str()),
            ("authorization", bearer.as_str()),
            ("authorization", made.as_str()),
        ] {
            let answer = ask(&server, "GET", path, &[header], "");
            assert!(
                [401, 404].contains(&answer.status),
                "{path} {header:?}: {}",
                answer.status
            );
            assert!(!answer.text.contains("Hill"), "{path}");
        }
    }
    assert_eq!(
        ask(&server, "GET", "/fhir/Patient/ann", &[("cookie", &visitor.cookie)], "").status,
        401
    );
}

#[test]
fn a_token_signs_in_once_and_in_time() {
    let clock = Clock::at(START);
    let server = Server::imported_at(&records(), clock.clone());
    let token = server.store.console_sessions().make_token("ada").unwrap();
    // Opening the address does not use the token up.
    let shown = ask(&server, "GET", &format!("/console/sign-in?token={token}"), &[], "");
    assert!(shown.status == 200 && shown.text.contains(&token));
    assert_eq!(shown.header("referrer-policy"), "no-referrer");
    let answer = sign_in(&server, &token);
    assert_eq!(answer.status, 303);
    let cookie = answer.header("set-cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    for refused in [token.as_str(), "console_guess", ""] {
        let answer = sign_in(&server, refused);
        assert_eq!((answer.status, answer.header("set-cookie")), (401, ""));
    }
    let late = server.store.console_sessions().make_token("ada").unwrap();
    clock.advance(600);
    assert_eq!(sign_in(&server, &late).status, 401);
}

#[test]
fn a_session_ends_when_it_is_left_or_not_used() {
    let clock = Clock::at(START);
    let server = Server::imported_at(&records(), clock.clone());
    let left = Visitor::enter(&server);
    let gone = left.send("/console/sign-out", &[]);
    assert_eq!(gone.status, 303);
    assert!(gone.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(left.get("/console").status, 303);
    let idle = Visitor::enter(&server);
    clock.advance(1_799);
    idle.page("/console");
    clock.advance(1_800);
    assert_eq!(idle.get("/console").status, 303);
}

#[test]
fn a_form_of_another_page_does_nothing() {
    let server = Server::imported(&records());
    let (own, other) = (Visitor::enter(&server), Visitor::enter(&server));
    let foreign = other.csrf();
    for fields in [&[][..], &[("csrf", "x")], &[("csrf", foreign.as_str())]] {
        for path in FORMS {
            assert_eq!(own.post(path, fields).status, 403, "{path}");
        }
    }
    own.page("/console");
    let csrf = own.csrf();
    let headers = [
        ("cookie", own.cookie.as_str()),
        ("content-type", "application/x-www-form-urlencoded"),
        ("sec-fetch-site", "cross-site"),
    ];
    let answer = ask(
        &server,
        "POST",
        "/console/sign-out",
        &headers,
        &form(&[("csrf", &csrf)]),
    );
    assert_eq!(answer.status, 403);
    own.page("/console");
}

#[test]
fn a_place_shows_the_records_of_its_application_alone() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    for place in ["live/other", "test/local"] {
        let page = visitor.page(&format!("/console/data/{place}/Patient"));
        assert!(page.contains("0 on this page") && !page.contains("Hill"), "{page}");
        for path in [
            format!("/console/data/{place}/Patient/ann"),
            format!("/console/patient/{place}/ann"),
            format!("/console/patient/{place}/ann/everything"),
            format!("/console/patient/{place}/ann/summary"),
            format!("/console/patient/{place}/ann/pdf"),
        ] {
            let answer = visitor.get(&path);
            assert_eq!(answer.status, 404, "{path}");
            assert!(!answer.text.contains("Hill"));
        }
    }
    assert_eq!(visitor.get("/console/data/all/local/Patient").status, 404);
}

#[test]
fn the_console_is_off_unless_it_is_asked_for_and_the_command_lets_one_in() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("lake");
    let lines: Vec<String> = records().iter().map(ToString::to_string).collect();
    command::imported(&data, &lines.join("\n"));
    let data = data.to_str().unwrap();
    let serve = ["serve", "--data", data, "--listen", "127.0.0.1:0"];
    let status = |base: &str, path: &str| {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        agent.get(format!("{base}{path}")).call().unwrap().status().as_u16()
    };
    let off = Process::start(&serve);
    for path in [
        "/console",
        "/console/sign-in",
        "/console/assets/console.css",
        "/console/kept/audit",
    ] {
        assert_eq!(status(&off.base_url(), path), 404, "{path}");
    }
    drop(off);
    let on = Process::start(&[&serve[..], &["--console"]].concat());
    assert_eq!(status(&on.base_url(), "/console/assets/console.css"), 200);
    let token = command::done(&["console", "token", "--data", data, "--name", "ada"]);
    let token = String::from_utf8(token).unwrap();
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .max_redirects(0)
        .max_redirects_will_error(false)
        .build()
        .into();
    let sent = agent
        .post(format!("{}/console/sign-in", on.base_url()))
        .header("content-type", "application/x-www-form-urlencoded")
        .send(form(&[("token", token.trim())]));
    assert_eq!(sent.unwrap().status().as_u16(), 303);
    let refused = command::run(&["console", "token", "--data", data, "--name", " "]);
    assert_eq!(refused.status.code(), Some(2));
}
