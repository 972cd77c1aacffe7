//! The commands about applications, keys, consents and the audit log, as processes: their output, their exit codes, and
//! their effect on a running server.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tabularium::consent::{Clock, Store};

use crate::harness::consented::{App, Flow};
use crate::harness::server::Server;

pub(crate) fn run(data: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tabularium"))
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

/// The output of a command that succeeds.
pub(crate) fn done(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn json(data: &Path, arguments: &[&str]) -> Value {
    let text = done(data, &[arguments, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The exit code of a command that fails, and its standard error, which must be one sentence.
pub(crate) fn refused(data: &Path, arguments: &[&str]) -> (i32, String) {
    let output = run(data, arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    (output.status.code().unwrap(), said)
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn an_application_is_made_with_keys_that_work_and_are_shown_once() {
    let folder = folder();
    let data = &folder.path().join("new");
    let made = json(
        data,
        &[
            "app",
            "create",
            "My App",
            "--redirect-uri",
            "https://my.example/cb",
            "--origin",
            "https://my.example/",
            "--sync",
            "daily",
        ],
    );
    assert_eq!(
        (&made["id"], &made["syncFrequency"]),
        (&Value::from("my-app"), &Value::from("daily"))
    );
    assert_eq!(made["origins"][0], "https://my.example");
    let store = Store::open(data, Clock::System).unwrap();
    for keys in made["keys"].as_array().unwrap() {
        let (publishable, secret) = (
            keys["publishableKey"].as_str().unwrap(),
            keys["secretKey"].as_str().unwrap(),
        );
        let mode = keys["mode"].as_str().unwrap();
        assert!(publishable.starts_with(&format!("pk_{mode}_")) && secret.starts_with(&format!("sk_{mode}_")));
        let client = store.clients().with_secret(publishable, secret).unwrap().unwrap();
        assert_eq!((&*client.application, client.mode.schema()), ("my-app", mode));
        for listing in [done(data, &["app", "list"]), json(data, &["app", "list"]).to_string()] {
            assert!(listing.contains(publishable) && !listing.contains(secret));
        }
    }
    let shown = done(data, &["app", "create", "Other"]);
    assert!(
        shown.contains("sk_live_") && shown.contains("sk_test_") && shown.contains("once"),
        "{shown}"
    );
    assert!(shown.contains("tabularium app add-redirect other URI"), "{shown}");
}

#[test]
fn what_is_wrong_with_an_application_is_said_in_a_sentence() {
    let folder = folder();
    let data = folder.path();
    done(data, &["app", "create", "x"]);
    for (arguments, words) in [
        (
            &["app", "create", "x", "--id", "x"] as &[&str],
            "is called \"x\" already",
        ),
        (&["app", "create", " "], "name is empty"),
        (&["app", "create", "y", "--id", "a b"], "id \"a b\""),
        (
            &["app", "create", "y", "--redirect-uri", "http://y.example/cb"],
            "plain http",
        ),
        (&["app", "add-redirect", "x", "https://x.example/#f"], "fragment"),
        (&["app", "add-redirect", "nobody", "https://x.example/"], "\"nobody\""),
        (
            &["app", "remove-redirect", "x", "https://x.example/"],
            "no redirect URI",
        ),
        (&["app", "add-origin", "x", "https://x.example/page"], "origin"),
        (&["app", "remove-origin", "x", "https://x.example"], "no origin"),
        (&["app", "set-sync", "nobody", "daily"], "\"nobody\""),
        (&["app", "rotate-keys", "nobody", "--mode", "test"], "\"nobody\""),
        (&["consents", "--application", "nobody"], "\"nobody\""),
        (&["endpoint", "check", "nobody"], "\"nobody\""),
        (&["endpoint", "set-status", "nobody", "LIVE"], "\"nobody\""),
    ] {
        let (code, said) = refused(data, arguments);
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    assert_eq!(
        json(data, &["app", "list"]).as_array().unwrap().len(),
        2,
        "nothing is left of what was refused"
    );
    let nowhere = folder.path().join("nowhere");
    for arguments in [
        &["app", "list"] as &[&str],
        &["keys", "rotate"],
        &["audit"],
        &["consents"],
        &["endpoint", "list"],
    ] {
        assert_eq!(refused(&nowhere, arguments).0, 2);
    }
    assert!(!nowhere.exists());
}

#[test]
fn addresses_and_syncs_are_changed_and_noted() {
    let folder = folder();
    let data = folder.path();
    done(data, &["app", "create", "x"]);
    done(data, &["app", "add-redirect", "x", "com.example.x:/cb"]);
    let again = done(data, &["app", "add-redirect", "x", "com.example.x:/cb"]);
    assert!(again.contains("already"), "{again}");
    done(data, &["app", "add-origin", "x", "http://localhost:3000"]);
    done(data, &["app", "set-sync", "x", "weekly"]);
    let of = |list: &Value| {
        list.as_array()
            .unwrap()
            .iter()
            .find(|one| one["id"] == "x")
            .unwrap()
            .clone()
    };
    let x = of(&json(data, &["app", "list"]));
    assert_eq!(x["redirectUris"][0], "com.example.x:/cb");
    assert_eq!(
        (&x["origins"][0], &x["syncFrequency"]),
        (&Value::from("http://localhost:3000"), &Value::from("weekly"))
    );
    done(data, &["app", "remove-redirect", "x", "com.example.x:/cb"]);
    done(data, &["app", "remove-origin", "x", "http://localhost:3000"]);
    let x = of(&json(data, &["app", "list"]));
    assert_eq!(
        (
            x["redirectUris"].as_array().unwrap().len(),
            x["origins"].as_array().unwrap().len()
        ),
        (0, 0)
    );
    let audit = json(data, &["audit"]);
    let actions: Vec<&str> = audit
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|one| one["action"].as_str().unwrap())
        .collect();
    assert_eq!(
        actions,
        [
            "application.created",
            "application.redirect-uri-added",
            "application.origin-added",
            "application.sync-frequency-set",
            "application.redirect-uri-removed",
            "application.origin-removed",
        ]
    );
    assert!(audit.as_array().unwrap().iter().all(|one| one["actor"] == "operator"));
    assert_eq!(json(data, &["audit", "--limit", "2"]).as_array().unwrap().len(), 2);
    assert!(done(data, &["audit"]).starts_with("at "));
}

#[test]
fn changes_and_tokens_are_objects_for_programs() {
    let folder = folder();
    let data = folder.path();
    done(data, &["app", "create", "x"]);
    let (uri, origin) = ("com.example.x:/cb", "http://localhost:3000");
    for (arguments, expected) in [
        (
            ["add-redirect", "x", uri],
            json!({"id": "x", "redirectUri": uri, "added": true}),
        ),
        (
            ["add-redirect", "x", uri],
            json!({"id": "x", "redirectUri": uri, "added": false}),
        ),
        (
            ["remove-redirect", "x", uri],
            json!({"id": "x", "redirectUri": uri, "removed": true}),
        ),
        (
            ["add-origin", "x", origin],
            json!({"id": "x", "origin": origin, "added": true}),
        ),
        (
            ["remove-origin", "x", origin],
            json!({"id": "x", "origin": origin, "removed": true}),
        ),
        (
            ["set-sync", "x", "weekly"],
            json!({"id": "x", "syncFrequency": "weekly"}),
        ),
    ] {
        assert_eq!(json(data, &[&["app"], &arguments[..]].concat()), expected);
    }
    assert_eq!(refused(data, &["app", "remove-origin", "x", origin, "--json"]).0, 2);
    let provider = [
        "endpoint",
        "identity-provider",
        "p",
        "--name",
        "P",
        "--issuer",
        "https://p.example",
        "--client-id",
        "c",
    ];
    let expected = json!({"code": "p", "mode": "live", "name": "P", "issuer": "https://p.example"});
    assert_eq!(json(data, &provider), expected);
    let locator = ["endpoint", "record-locator", "https://l.example/find"];
    let expected = json!({"recordLocator": "https://l.example/find", "mode": "live"});
    assert_eq!(json(data, &locator), expected);
    let console = json(data, &["console", "token", "--name", "ann"]);
    assert_eq!(console["signIn"], "http://127.0.0.1:8080/console/sign-in");
    assert!(console["token"].is_string() && console["expiresAt"].as_str().unwrap().ends_with('Z'));
    let people = data.join("people.ndjson");
    std::fs::write(&people, r#"{"resourceType":"Patient","id":"ann"}"#).unwrap();
    let lake = data.join("lake");
    done(&lake, &["import", people.to_str().unwrap()]);
    let mut token = json(&lake, &["token", "--patient", "ann"]);
    let text = token["token"].take();
    assert_eq!(text.as_str().unwrap().split('.').count(), 3);
    assert!(token["expiresAt"].take().as_str().unwrap().ends_with('Z'));
    let expected = json!({"token": null, "expiresAt": null, "application": "local", "mode": "live", "patient": "ann"});
    assert_eq!(token, expected);
}

#[test]
fn rotated_keys_work_on_a_running_server_and_the_earlier_do_not() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let token = |basic: &str| {
        let form = serde_json::json!({"grant_type": "client_credentials"});
        server
            .post_form("/oauth/token", &[("authorization", basic)], &form)
            .status
    };
    assert_eq!(token(&app.live.basic()), 200);
    let new = json(server.folder(), &["app", "rotate-keys", "app", "--mode", "live"]);
    let basic = |keys: &Value| {
        let text = |name: &str| keys[name].as_str().unwrap().to_owned();
        crate::harness::consented::basic(&text("publishableKey"), &text("secretKey"))
    };
    assert_eq!(
        (token(&basic(&new)), token(&app.live.basic()), token(&app.test.basic())),
        (200, 401, 200)
    );
    let shown = done(
        server.folder(),
        &["app", "rotate-keys", "app", "--mode", "test", "--grace", "1"],
    );
    assert!(shown.contains("work until"), "{shown}");
}

#[test]
fn signing_keys_are_rotated_under_a_running_server() {
    let server = Server::start(&[]);
    let rotated = json(server.folder(), &["keys", "rotate"]);
    let kid = rotated["kid"].as_str().unwrap().to_owned();
    assert_eq!(rotated["verifying"].as_array().unwrap().len(), 1);
    // The server checks every second.
    while server.send("GET", "/.well-known/jwks.json", &[], "").json()["keys"][0]["kid"] != *kid {
        std::thread::yield_now();
    }
    let token = server.application_token();
    assert_eq!(jsonwebtoken::decode_header(&token).unwrap().kid.unwrap(), kid);
    assert_eq!(server.get("/fhir/Patient", &token).status, 200);
    let list = done(server.folder(), &["keys", "list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines[0], format!("{kid}  signs"));
    assert!(lines.len() == 2 && lines[1].ends_with("  verifies"), "{list}");
    assert_eq!(json(server.folder(), &["keys", "list"])["keys"][0]["kid"], *kid);
}

#[test]
fn an_initial_access_token_is_good_for_one_registration() {
    let folder = folder();
    let data = folder.path();
    done(data, &["app", "create", "x"]);
    let token = done(data, &["app", "registration-token"]);
    let store = Store::open(data, Clock::System).unwrap();
    assert!(store.registration_tokens().is_valid(token.trim()).unwrap());
    let other = json(data, &["app", "registration-token"]);
    assert!(
        store
            .registration_tokens()
            .is_valid(other["token"].as_str().unwrap())
            .unwrap()
    );
    assert_ne!(other["token"], token.trim());
}

#[test]
fn a_registration_access_token_is_for_one_mode_of_an_application() {
    let folder = folder();
    let data = folder.path();
    done(data, &["app", "create", "x"]);
    let store = Store::open(data, Clock::System).unwrap();
    let registrations = store.managed_registrations();
    for mode in ["live", "test"] {
        let made = json(data, &["app", "registration-token", "x", "--mode", mode]);
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        let client = text("clientId");
        assert!(client.starts_with(&format!("pk_{mode}_")), "{made}");
        assert_eq!(
            text("registrationClientUri"),
            format!("http://127.0.0.1:8080/oauth/register/{client}")
        );
        let token = text("registrationAccessToken");
        assert_eq!(registrations.open(&token, &client).unwrap().application.id, "x");
    }
    let shown = done(data, &["app", "registration-token", "x"]);
    assert!(
        shown.contains("/oauth/register/pk_live_") && shown.contains("rat_"),
        "{shown}"
    );
    for wrong in [&["none"][..], &["local"]] {
        let answer = run(data, &[&["app", "registration-token"], wrong].concat());
        assert_eq!(answer.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn consents_are_listed_by_application_mode_and_state() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let hostile = Flow {
        user: Some("\u{1b}[2J'; DROP TABLE consent; --"),
        ..Flow::of(&app)
    };
    let finished = hostile.finish(&server);
    finished.tokens(&server);
    let waiting = Flow::of(&app).finish(&server);
    let data = server.folder();
    let ids = |arguments: &[&str]| -> Vec<String> {
        let list = json(data, &[&["consents"], arguments].concat());
        list.as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut all = vec![finished.consent.clone(), waiting.consent.clone()];
    all.sort_by(|one, other| other.cmp(one));
    assert_eq!(ids(&[]), all);
    assert_eq!(ids(&["--state", "exchanged"]), [finished.consent.as_str()]);
    assert_eq!(
        ids(&["--application", "app", "--mode", "test", "--state", "AUTHORIZED"]),
        [waiting.consent.as_str()]
    );
    assert_eq!(ids(&["--mode", "live"]), Vec::<String>::new());
    assert_eq!(ids(&["--limit", "1"]).len(), 1);
    let table = done(data, &["consents"]);
    assert!(table.contains("payer (EXCHANGED, sync "), "{table}");
    let audit = json(data, &["audit", "--consent", &finished.consent]);
    let actions: Vec<&str> = audit
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["action"].as_str().unwrap())
        .collect();
    assert!(
        actions.contains(&"consent.exchanged") && actions.contains(&"consent.created"),
        "{actions:?}"
    );
    let listed = done(data, &["consents", "--json"]);
    assert!(!listed.contains('\u{1b}') && !table.contains('\u{1b}'));
}

#[test]
fn the_audit_log_fits_a_terminal_and_finds_a_consent_by_the_beginning_of_its_id() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let finished = Flow::of(&app).finish(&server);
    finished.tokens(&server);
    let other = Flow::of(&app).finish(&server);
    let data = server.folder();
    let (consent, authorization) = (&finished.consent[..8], &finished.authorizations[0][..8]);
    let table = done(data, &["audit", "--consent", consent]);
    let line = table
        .lines()
        .find(|line| line.contains("authorization.exchanged"))
        .unwrap();
    assert!(line.contains(&format!("  {consent}/{authorization}  ")), "{line}");
    assert!(table.lines().all(|line| line.len() <= 100), "{table}");
    assert!(!table.contains(&other.consent[..8]));
    let whole = json(data, &["audit", "--consent", &finished.consent]);
    assert_eq!(json(data, &["audit", "--consent", consent]), whole);
    assert_eq!(whole[0]["consent"], *finished.consent);
    assert!(done(data, &["audit"]).contains(&other.consent[..8]));
    for (beginning, words) in [("", "several consents"), ("nobody", "no consent"), ("%", "no consent")] {
        let (code, said) = refused(data, &["audit", "--consent", beginning]);
        assert!(code == 2 && said.contains(words), "{said}");
    }
}

#[test]
fn who_applied_for_access_is_listed_with_nothing_that_a_terminal_would_obey() {
    let server = Server::start(&[]);
    let applicant = serde_json::json!({"name": "Ada \u{202e}L\u{2066}. ", "email": "ada@example.org", "why": "To help\nmy patients",
        "location": "'; DROP TABLE applicant; --", "resume": "https://ada.example/cv"});
    let sent = |body: &Value| {
        let headers = [("content-type", "application/json")];
        let answer = server.send("POST", "/apply", &headers, &body.to_string()).json();
        answer["id"].as_str().unwrap().to_owned()
    };
    let data = server.folder();
    assert_eq!(json(data, &["app", "applicants"]), serde_json::json!([]));
    let id = sent(&applicant);
    let listed = json(data, &["app", "applicants"]);
    assert_eq!(
        (&listed[0]["id"], &listed[0]["why"]),
        (&Value::from(id.as_str()), &applicant["why"])
    );
    assert!(listed[0]["receivedAt"].is_string());
    let text = done(data, &["app", "applicants"]);
    assert!(text.starts_with(&id), "{text}");
    for line in ["  name      Ada L.", "  why       To help", "            my patients"] {
        assert!(text.lines().any(|one| one == line), "{text}");
    }
    server.store.clock().advance(1);
    let second = sent(&applicant);
    let newest = json(data, &["app", "applicants", "--limit", "1"]);
    assert_eq!(
        (newest.as_array().unwrap().len(), &newest[0]["id"]),
        (1, &Value::from(second))
    );
}

/// Makes a folder that only root can write, and a command that runs as another user.
#[cfg(unix)]
fn read_only(data: &Path, arguments: &[&str]) -> Command {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let set = |path: &Path, mode: u32| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        set(&path, if path.is_dir() { 0o555 } else { 0o444 });
    }
    set(data, 0o555);
    set(data.parent().unwrap(), 0o755);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabularium"));
    command.args(arguments).arg("--data").arg(data);
    if std::fs::metadata(data).unwrap().uid() == 0 {
        command.uid(65_534).gid(65_534);
    }
    command
}

#[cfg(unix)]
#[test]
fn a_store_that_cannot_be_written_is_named() {
    // "the service store failed: attempt to write a readonly database" named neither the file nor the cause.
    use std::os::unix::fs::PermissionsExt;

    let folder = folder();
    let data = &folder.path().join("data");
    done(
        data,
        &["app", "create", "X", "--redirect-uri", "https://app.example/cb"],
    );
    for arguments in [&["consents"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        let output = match read_only(data, arguments).output() {
            Ok(output) => output,
            Err(error) => {
                eprintln!("skipped a_store_that_cannot_be_written_is_named: nobody may start the program: {error}");
                break;
            }
        };
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        let file = data.join("service.sqlite");
        assert!(
            said.contains(file.to_str().unwrap()) && said.contains("readonly"),
            "{said}"
        );
    }
    std::fs::set_permissions(data, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn signing_keys_whose_sealing_key_is_lost_are_given_up_on_request_only() {
    let folder = folder();
    let data = &folder.path().join("data");
    done(
        data,
        &["app", "create", "X", "--redirect-uri", "https://app.example/cb"],
    );
    let kid = json(data, &["keys", "list"])["keys"][0]["kid"].clone();
    std::fs::remove_file(data.join("service.key")).unwrap();
    for arguments in [&["keys", "list"][..], &["keys", "rotate"]] {
        let (code, said) = refused(data, arguments);
        assert_eq!(code, 1, "{said}");
        assert!(
            said.contains("service.key") && said.contains("keys rotate --discard"),
            "{said}"
        );
    }
    // The command reported the key that it had just made as replaced, and did not name the discarded ones.
    let told = json(data, &["keys", "rotate", "--discard"]);
    assert_eq!(told["discarded"], serde_json::json!([kid]));
    assert_eq!(told["verifying"], serde_json::json!([]));
    let keys = json(data, &["keys", "list"]);
    let kids: Vec<&Value> = keys["keys"].as_array().unwrap().iter().map(|key| &key["kid"]).collect();
    assert_eq!(kids, [&told["kid"]]);
    std::fs::remove_file(data.join("service.key")).unwrap();
    let said = done(data, &["keys", "rotate", "--discard"]);
    let discarded = format!(
        "Discarded; what they signed is good no longer: {}\n",
        kids[0].as_str().unwrap()
    );
    assert!(said.ends_with(&discarded), "{said}");
    // If there is nothing to discard, the command rotates as usual and says so.
    let said = done(data, &["keys", "rotate", "--discard"]);
    assert!(
        said.contains("No key was discarded") && said.contains("Keys that verify"),
        "{said}"
    );
}

#[test]
fn the_audit_log_shows_archived_lines_among_the_others() {
    let folder = folder();
    let data = &folder.path().join("data");
    done(
        data,
        &["app", "create", "X", "--redirect-uri", "https://app.example/cb"],
    );
    // An archived audit line of a server, older than all lines in the store.
    let line = r#"{"id":0,"at":1768435200,"actor":"patient","action":"consent.abandoned","application":"x","consent":"c1","authorization":null,"detail":"left"}"#;
    std::fs::create_dir(data.join("audit")).unwrap();
    std::fs::write(data.join("audit/2026-01.ndjson"), format!("{line}\n")).unwrap();
    let store = rusqlite::Connection::open(data.join("service.sqlite")).unwrap();
    store
        .execute_batch("INSERT INTO audit_archive (month, newest) VALUES ('2026-01', 0)")
        .unwrap();
    let all = json(data, &["audit"]);
    let last = all.as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["action"], &last["at"]),
        (&"consent.abandoned".into(), &"2026-01-15T00:00:00Z".into())
    );
    assert!(done(data, &["audit"]).contains("consent.abandoned"));
}

#[test]
fn keys_of_health_cards_are_rotated_apart() {
    let server = Server::start(&[]);
    let published = |path: &str| server.send("GET", path, &[], "").json()["keys"].clone();
    let first = published("/health-cards/.well-known/jwks.json")[0]["kid"].clone();
    let rotated = json(server.folder(), &["keys", "rotate", "--of", "health-card"]);
    assert_eq!(rotated["verifying"], json!([first]));
    // The server reads the keys of cards again each time.
    let keys = published("/health-cards/.well-known/jwks.json");
    assert_eq!((&keys[0]["kid"], &keys[1]["kid"]), (&rotated["kid"], &first));
    let list = done(server.folder(), &["keys", "list", "--of", "health-card"]);
    let expected = [&rotated["kid"], &first].map(|kid| kid.as_str().unwrap().to_owned());
    assert_eq!(list, format!("{}  signs\n{}  verifies\n", expected[0], expected[1]));
    assert_eq!(
        published("/.well-known/jwks.json").as_array().unwrap().len(),
        1,
        "tokens keep their key"
    );
    let receipts = json(server.folder(), &["keys", "list", "--of", "receipt"]);
    assert_eq!(receipts["keys"], json!([]));
}
