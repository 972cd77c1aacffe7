//! The sample application alone: its redirects, and the callbacks that it accepts.

use url::Url;

use crate::harness::payer::{Payer, Reply, parameter};
use tabularium::sandbox::app::AppSettings;

/// An application whose service does not exist.
fn app() -> Payer {
    Payer::with_app(1, |base| AppSettings {
        service: "http://127.0.0.1:1".to_owned(),
        publishable_key: "pk_test_1".to_owned(),
        secret_key: "sk_test_1".to_owned(),
        base_url: base.to_owned(),
    })
}

fn cookie(reply: &Reply) -> String {
    let cookie = reply.headers.get("set-cookie").unwrap().to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

#[test]
fn it_asks_the_service_with_a_challenge_and_a_state_of_its_own() {
    let payer = app();
    let begin = |form: &[(&str, &str)]| {
        let reply = payer.form("/app/connect", form);
        let url = Url::parse(&reply.location().unwrap()).unwrap();
        assert!(url.as_str().starts_with("http://127.0.0.1:1/oauth/authorize?"));
        (url, cookie(&reply))
    };
    let (url, session) = begin(&[("way", "one"), ("offline", "yes")]);
    let get = |name: &str| parameter(&url, name).unwrap();
    assert_eq!(get("client_id"), "pk_test_1");
    assert_eq!(get("redirect_uri"), format!("{}/app/callback", payer.base));
    assert_eq!(
        (get("response_type"), get("code_challenge_method")),
        ("code".into(), "S256".into())
    );
    assert_eq!(
        (get("code_challenge").len(), get("scope")),
        (43, "launch/patient offline_access".into())
    );
    assert!(get("svc_external_id").starts_with("sample-user-"));
    let (other, _) = begin(&[("way", "search")]);
    assert_eq!(parameter(&other, "svc_search_mode").unwrap(), "true");
    assert_eq!(parameter(&other, "scope").unwrap(), "launch/patient");
    assert_ne!(parameter(&other, "state"), parameter(&url, "state"));
    assert_eq!(
        parameter(&begin(&[("way", "ial2")]).0, "svc_ial2_mode").unwrap(),
        "true"
    );
    assert!(session.starts_with("sample_session="));
}

#[test]
fn it_takes_nobody_back_but_who_it_sent_away() {
    let payer = app();
    let reply = payer.form("/app/connect", &[]);
    let session = [("cookie", cookie(&reply))];
    let state = parameter(&Url::parse(&reply.location().unwrap()).unwrap(), "state").unwrap();
    let without = payer.get(&format!("/app/callback?state={state}&error=access_denied"), None);
    assert_eq!(without.status, 400);
    let query =
        format!("state={state}&error=access_denied&error_description=User+%3Cb%3Ecancelled&error_uri=javascript:x");
    let back = payer.send("GET", &format!("/app/callback?{query}"), &session, "");
    assert_eq!(back.status, 200);
    assert!(
        back.text.contains("access_denied") && !back.text.contains("<b>cancelled"),
        "{}",
        back.text
    );
    assert!(!back.text.contains("javascript:"), "{}", back.text);
    // The state is used up.
    assert_eq!(
        payer
            .send("GET", &format!("/app/callback?{query}"), &session, "")
            .status,
        400
    );
    let reply = payer.send("POST", "/app/connect", &session, "way=one");
    assert!(reply.headers.get("set-cookie").is_none());
    assert_eq!(
        payer
            .send("GET", "/app/callback?state=other&code=x", &session, "")
            .status,
        400
    );
}

#[test]
fn it_says_when_the_service_does_not_answer() {
    let payer = app();
    let reply = payer.form("/app/connect", &[]);
    let session = [("cookie", cookie(&reply))];
    let state = parameter(&Url::parse(&reply.location().unwrap()).unwrap(), "state").unwrap();
    let failed = payer.send("GET", &format!("/app/callback?state={state}&code=x"), &session, "");
    assert_eq!(failed.status, 400);
    assert!(failed.text.contains("did not answer"));
    // Without a connection there are no records.
    let records = payer.send("GET", "/app/records", &session, "");
    assert_eq!(records.location().unwrap(), format!("{}/app", payer.base));
    for page in ["medicines", "visits", "results", "overview", "developer"] {
        let reply = payer.send("GET", &format!("/app/{page}"), &session, "");
        assert_eq!(reply.location().unwrap(), format!("{}/app", payer.base), "{page}");
    }
    for way in ["summary", "pdf", "everything"] {
        let record = payer.send("GET", &format!("/app/record/{way}"), &session, "");
        assert_eq!(record.location().unwrap(), format!("{}/app", payer.base), "{way}");
    }
    for (method, way) in [
        ("POST", "record/card"),
        ("GET", "share"),
        ("POST", "share"),
        ("POST", "share/end"),
    ] {
        let shared = payer.send(method, &format!("/app/{way}"), &session, "");
        assert_eq!(shared.location().unwrap(), format!("{}/app", payer.base), "{way}");
    }
}

#[test]
fn the_page_of_the_link_component_loads_scripts_of_the_service_only() {
    let payer = app();
    let page = payer.get("/app/link", None);
    let policy = page.headers.get("content-security-policy").unwrap().to_str().unwrap();
    assert!(policy.contains("script-src 'self' http://127.0.0.1:1;"), "{policy}");
    assert!(page.text.contains(r#"src="http://127.0.0.1:1/link/v1/link.js""#));
    assert!(page.text.contains("pk_test_1") && !page.text.contains("sk_test_1"));
    assert_eq!(payer.get("/app/link.js", None).status, 200);
}

#[test]
fn pages_load_nothing_but_their_own_style() {
    let payer = app();
    let page = payer.get("/app", None);
    let policy = page.headers.get("content-security-policy").unwrap().to_str().unwrap();
    let expected = "default-src 'none'; style-src 'self'; form-action 'self' http://127.0.0.1:1; base-uri 'none'; \
                    frame-ancestors 'none'";
    assert_eq!(policy, expected);
    for inline in ["<style", " style=", "<script", "//cdn", "@import"] {
        assert!(!page.text.contains(inline), "{inline}: {}", page.text);
    }
    let script = payer.get("/app/wait.js", None);
    assert_eq!(
        script.headers.get("content-type").unwrap(),
        "text/javascript; charset=utf-8"
    );
    assert!(!script.text.contains("//cdn") && !script.text.contains("https:"));
    let style = payer.get("/app/style.css", None);
    assert_eq!(style.headers.get("content-type").unwrap(), "text/css; charset=utf-8");
    assert!(
        style.text.contains("prefers-color-scheme: dark") && !style.text.contains("url("),
        "{}",
        style.text
    );
}

#[test]
fn a_code_is_shown_to_who_opened_an_address_by_hand() {
    let payer = app();
    let page = payer.get("/app/code?code=abc%3Cd", None);
    assert!(page.status == 200 && page.text.contains("abc&#60;d"), "{}", page.text);
    assert!(
        payer
            .get("/app/code?error=server_error", None)
            .text
            .contains("server_error")
    );
    assert_eq!(payer.get("/app/code", None).status, 400);
}

#[test]
fn the_start_page_leads_to_it_where_there_is_one() {
    assert!(app().get("/", None).text.contains(r#"href="/app""#));
    let without = Payer::start(1);
    assert!(!without.get("/", None).text.contains(r#"href="/app""#));
    assert_eq!(without.get("/app", None).status, 404);
}

#[test]
fn its_privacy_policy_and_terms_are_pages() {
    let payer = app();
    for (path, heading) in [("privacy", "<h1>Privacy</h1>"), ("terms", "<h1>Terms</h1>")] {
        let page = payer.get(&format!("/app/{path}"), None);
        assert!(page.status == 200 && page.text.contains(heading), "{}", page.text);
        assert!(payer.get("/app", None).text.contains(&format!(r#"href="/app/{path}""#)));
    }
}

#[test]
fn a_path_without_anything_is_a_page_for_browsers_and_an_outcome_for_others() {
    let payer = app();
    for path in ["/nowhere", "/app/nowhere", "/lakeshore/nowhere"] {
        let browser = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8".to_owned())];
        let page = payer.send("GET", path, &browser, "");
        assert_eq!(page.status, 404, "{path}");
        assert_eq!(page.headers.get("content-type").unwrap(), "text/html; charset=utf-8");
        assert!(page.text.contains("<h1>There is no such page</h1>") && page.text.contains(r#"href="/""#));
        let outcome = payer.send("GET", path, &[("accept", "*/*".to_owned())], "");
        assert_eq!(
            (outcome.status, &outcome.value()["resourceType"]),
            (404, &"OperationOutcome".into())
        );
    }
    let icon = payer.get("/favicon.ico", None);
    assert_eq!(
        (icon.status, icon.headers.get("content-type").unwrap()),
        (200, &"image/svg+xml".parse().unwrap())
    );
    assert!(icon.text.starts_with("<svg "), "{}", icon.text);
}

#[test]
fn the_sandboxs_start_page_begins_with_the_logins() {
    let page = app().get("/", None).text;
    let (before, after) = page.split_once("<details").unwrap();
    assert!(
        before.contains("<h2>Logins</h2>") && !before.contains("/lakeshore/"),
        "{page}"
    );
    assert!(
        after.contains("tabularium-sandbox") && after.contains("</details>"),
        "{page}"
    );
}

#[test]
fn the_start_page_leads_with_the_button_and_folds_the_options() {
    let page = app().get("/app", None).text;
    let (before, options) = page.split_once(r#"<details id="options">"#).unwrap();
    assert!(
        before.contains(">Connect</button>") && !before.contains("sample-user-"),
        "{page}"
    );
    assert!(
        options.contains("sample-user-") && options.contains(r#"value="ial2""#),
        "{page}"
    );
}
