//! The commands about sources, identity providers and record locators, as processes: their requests, their stored
//! results, and their refusals.

use serde_json::{Value, json};
use tabularium::consent::{Clock, Store};
use tabularium::lake::{Lake, Mode};

use crate::commands::service_commands::{done, folder, json, refused, run};
use crate::harness::payer::Payer;

/// The arguments of `endpoint add` for a source on this machine.
fn add<'a>(base: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let plain = ["endpoint", "add", base, "--client-id", "c", "--allow-private-sources"];
    [&plain[..], more].concat()
}

#[test]
fn an_endpoint_is_added_from_its_smart_configuration_and_checked() {
    let payer = Payer::start(2);
    let folder = folder();
    let data = &folder.path().join("new");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "hush\n").unwrap();
    let base = format!("{}/lakeshore/fhir", payer.base);
    let smart = format!("{base}/.well-known/smart-configuration");
    let add = |more: &[&str]| {
        let plain = [
            "endpoint",
            "add",
            &smart,
            "--client-id",
            "tabularium",
            "--mode",
            "test",
            "--allow-private-sources",
        ];
        json(data, &[&plain, more].concat())
    };
    let secret_file = [
        "--client-secret-file",
        secret.to_str().unwrap(),
        "--label",
        "Lakeshore",
        "--name",
        "lakeshore",
    ];
    let made = add(&secret_file);
    let id = made["id"].as_str().unwrap();
    assert_eq!(
        made["redirectUri"],
        format!("http://127.0.0.1:8080/connect/callback/{id}")
    );
    let store = Store::open(data, Clock::System).unwrap();
    let stored = store.endpoints().by_base(Mode::Test, &base).unwrap().unwrap();
    assert_eq!(
        (stored.id.as_str(), stored.name.as_str(), &stored.label[0]),
        (id, "lakeshore", &"Lakeshore".to_owned())
    );
    assert_eq!(
        (stored.organization.name.as_str(), stored.refreshable),
        ("Lakeshore", true)
    );
    assert!(
        stored.resources.contains(&"Patient".to_owned()),
        "{:?}",
        stored.resources
    );
    assert!(stored.configuration.unwrap().contains("token_endpoint"));
    assert_eq!(store.endpoints().secret(id).unwrap().as_deref(), Some("hush"));
    let again = add(&["--label", "Lakeshore", "--name", "renamed", "--refreshable", "false"]);
    assert_eq!(
        (&again["id"], &again["refreshable"]),
        (&made["id"], &Value::from(false))
    );
    assert_eq!(store.organizations().all().unwrap().len(), 1);
    assert_eq!(
        store.endpoints().secret(id).unwrap().as_deref(),
        Some("hush"),
        "a secret that is not given again stays"
    );

    let listed = json(data, &["endpoint", "list", "--mode", "test"]);
    assert_eq!(
        (&listed[0]["name"], &listed[0]["scope"]),
        (&Value::from("renamed"), &Value::from("launch/patient patient/*.read"))
    );
    assert!(done(data, &["endpoint", "list"]).contains("renamed"));
    let checked = done(data, &["endpoint", "check", "--allow-private-sources"]);
    // The findings follow.
    assert!(
        checked.starts_with("renamed: ok\n") && checked.contains("FHIR 4.0.1: 13 resource types can be searched"),
        "{checked}"
    );
    assert!(checked.contains("it refuses the client id and secret"), "{checked}");
    assert_eq!(
        json(data, &["endpoint", "check", id, "--allow-private-sources"])[0]["ok"],
        true
    );
    let set = json(data, &["endpoint", "set-status", id, "unavailable"]);
    assert_eq!((&set["id"], &set["status"]), (&id.into(), &"UNAVAILABLE".into()));
    assert_eq!(json(data, &["endpoint", "list"])[0]["status"], "UNAVAILABLE");
    let audit = done(data, &["audit"]);
    let line = audit.lines().find(|line| line.contains("endpoint.status-set")).unwrap();
    assert!(line.ends_with(&format!("  {} UNAVAILABLE", &id[..8])), "{line}");
    assert_eq!(
        json(data, &["audit", "--limit", "1"])[0]["detail"],
        format!("{id} UNAVAILABLE")
    );
    drop(payer);
    let gone = run(data, &["endpoint", "check", "--allow-private-sources"]);
    assert_eq!(gone.status.code(), Some(3));
    let said = String::from_utf8(gone.stdout).unwrap();
    assert!(
        said.contains("renamed: ") && said.contains("cannot be reached"),
        "{said}"
    );
}

#[test]
fn an_endpoint_that_is_none_is_not_added() {
    let payer = Payer::start(1);
    let folder = folder();
    let data = folder.path();
    Lake::open_or_create(data).unwrap();
    let base = format!("{}/lakeshore/fhir", payer.base);
    let nothing = format!("{}/nobody/fhir", payer.base);
    for (arguments, words) in [
        (
            &["endpoint", "add", &*base, "--client-id", "x"] as &[&str],
            "may not be called",
        ),
        (&["endpoint", "add", "not an address", "--client-id", "x"], "no URL"),
        (
            &["endpoint", "add", "file:///etc/passwd", "--client-id", "x"],
            "may not be called",
        ),
        (
            &[
                "endpoint",
                "add",
                "http://169.254.169.254/fhir",
                "--client-id",
                "x",
                "--allow-private-sources",
            ],
            "may not be called",
        ),
        (
            &[
                "endpoint",
                "add",
                &nothing,
                "--client-id",
                "x",
                "--allow-private-sources",
            ],
            "404",
        ),
        (
            &[
                "endpoint",
                "add",
                &base,
                "--client-id",
                "x",
                "--client-secret-file",
                "/nonexistent",
            ],
            "cannot read the secret",
        ),
    ] {
        let (code, said) = refused(data, arguments);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    assert_eq!(json(data, &["endpoint", "list"]), serde_json::json!([]));
}

#[test]
fn a_located_place_can_be_asked_again_without_a_refresh_token() {
    let payer = Payer::start(1);
    let folder = folder();
    let data = folder.path();
    Lake::open_or_create(data).unwrap();
    let base = format!("{}/northfield/fhir", payer.base);
    let shown = json(data, &add(&base, &["--type", "ial1"]));
    assert_eq!(shown["refreshable"], true);
    let listed = json(data, &["endpoint", "list"]);
    assert_eq!(listed[0]["scope"], "launch/patient patient/*.read");
    let shown = json(data, &add(&base, &["--type", "ial1", "--refreshable", "false"]));
    assert_eq!(shown["refreshable"], false);
}

#[test]
fn of_a_source_that_is_refused_nothing_is_left() {
    // Its organization used to stay in the directory.
    let payer = Payer::start(1);
    let folder = folder();
    let data = folder.path();
    let (lakeshore, cedarway) = (payer.fhir_base("lakeshore"), payer.fhir_base("cedarway"));
    done(data, &add(&lakeshore, &["--name", "one", "--organization", "One"]));
    let escape = "x\u{1b}[2J";
    for (more, words) in [
        (
            &["--name", "one", "--organization", "Two"] as &[&str],
            "is called \"one\"",
        ),
        (&["--name", escape], "control characters"),
        (&["--name", "two", "--label", escape], "control characters"),
        (&["--name", "two", "--organization", escape], "control characters"),
        (&["--name", "two", "--organization-type", escape], "control characters"),
        (&["--name", "two", "--note", escape], "control characters"),
        (&["--name", "two", "--scope", escape], "control characters"),
        (&["--name", "two", "--identifier-system", escape], "control characters"),
        (&["--name", &"x".repeat(201)], "longer than 200"),
        (&["--name", "two", "--note", &"x".repeat(201)], "longer than 200"),
    ] {
        let (code, said) = refused(data, &add(&cedarway, more));
        assert_eq!(code, 2, "{more:?}: {said}");
        assert!(said.contains(words), "{more:?}: {said}");
    }
    assert_eq!(json(data, &["endpoint", "list"]).as_array().unwrap().len(), 1);
    let store = Store::open(data, Clock::System).unwrap();
    let organizations: Vec<String> = store
        .organizations()
        .all()
        .unwrap()
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(organizations, ["One"]);
    // The same for identity providers. An error shows the typed text without control characters.
    let provider = ["endpoint", "identity-provider", "p", "--name", "n"];
    for (issuer, client) in [
        ("https://i.example", escape),
        ("file:///etc/passwd", "c"),
        ("https://i.example/\u{1b}", "c"),
    ] {
        let (code, said) = refused(
            data,
            &[&provider[..], &["--issuer", issuer, "--client-id", client]].concat(),
        );
        assert_eq!(code, 2);
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
    let hostile = format!("http://{escape}");
    let (code, said) = refused(data, &["endpoint", "add", &hostile, "--client-id", "c"]);
    assert!(code == 2 && !said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn identity_providers_and_record_locators_are_set_for_a_mode() {
    let folder = folder();
    let data = folder.path();
    let provider = [
        "endpoint",
        "identity-provider",
        "verify",
        "--name",
        "Verify",
        "--issuer",
        "https://id.example",
    ];
    done(data, &[&provider[..], &["--client-id", "c", "--mode", "test"]].concat());
    done(
        data,
        &[
            "endpoint",
            "record-locator",
            "https://l.example/locator",
            "--mode",
            "test",
        ],
    );
    let store = Store::open(data, Clock::System).unwrap();
    assert_eq!(
        store.identity_providers().all(Mode::Test).unwrap()[0].issuer,
        "https://id.example"
    );
    assert_eq!(
        store.record_locators().get(Mode::Test).unwrap().as_deref(),
        Some("https://l.example/locator")
    );
    assert_eq!(store.record_locators().get(Mode::Live).unwrap(), None);
    assert_eq!(refused(data, &["endpoint", "record-locator", "locator"]).0, 2);
}

#[test]
fn a_patient_portal_is_added_without_lasting_access() {
    let payer = Payer::start(1);
    let folder = folder();
    let data = &folder.path().join("new");
    // Its configuration offers refresh tokens, but a portal's patients do not grant them.
    let base = format!("{}/riverbend/fhir", payer.base);
    let made = json(data, &add(&base, &["--type", "credentials"]));
    assert_eq!(made["refreshable"], false);
    let listed = json(data, &["endpoint", "list"]);
    assert_eq!(
        (&listed[0]["type"], &listed[0]["scope"]),
        (
            &Value::from("CREDENTIALS"),
            &Value::from("launch/patient patient/*.read")
        )
    );
    for (more, why) in [
        (["--refreshable", "true"], "refreshable"),
        (["--scope", "launch/patient offline_access"], "offline_access"),
    ] {
        let (code, said) = refused(data, &add(&base, &[&["--type", "credentials"][..], &more].concat()));
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("CREDENTIALS") && said.contains(why), "{said}");
    }
}

#[test]
fn a_source_that_cannot_be_read_is_refused_clearly() {
    for (knob, words) in [
        ("lakeshore.xml=true", "it gives FHIR as XML only"),
        ("lakeshore.fhir_version=3.0.2", "(STU3), and only R4 is read"),
        ("lakeshore.fhir_version=1.0.2", "(DSTU2), and only R4 is read"),
    ] {
        let folder = folder();
        let data = &folder.path().join("new");
        let payer = Payer::with(1, &[knob]);
        let base = format!("{}/lakeshore/fhir", payer.base);
        let (code, said) = refused(data, &add(&base, &[]));
        assert!(code == 2 && said.contains(words), "{said}");
        payer.turn("lakeshore", &serde_json::json!({"xml": false, "fhir_version": "4.0.1"}));
        done(data, &add(&base, &[]));
        let (name, value) = knob.trim_start_matches("lakeshore.").split_once('=').unwrap();
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        payer.turn("lakeshore", &serde_json::json!({ name: value }));
        let checked = run(data, &["endpoint", "check", "--allow-private-sources"]);
        assert_eq!(checked.status.code(), Some(3));
        let said = String::from_utf8(checked.stdout).unwrap();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_capability_statement_of_many_mebibytes_is_read_and_a_larger_one_is_not() {
    let payer = Payer::with(
        1,
        &[
            "lakeshore.statement_padding=15000000",
            "cedarway.statement_padding=17000000",
        ],
    );
    let folder = folder();
    let data = &folder.path().join("new");
    let base = |id: &str| format!("{}/{id}/fhir", payer.base);
    let said = done(data, &add(&base("lakeshore"), &[]));
    assert!(said.contains("13 resource types can be searched"), "{said}");
    let (code, said) = refused(data, &add(&base("cedarway"), &["--name", "other"]));
    assert!(code == 2 && said.contains("is too large"), "{said}");
}

#[test]
fn what_is_only_read_is_among_the_resources_of_an_endpoint() {
    let payer = Payer::with(1, &[r#"lakeshore.unsearchable=["Patient","Organization"]"#]);
    let folder = folder();
    let data = &folder.path().join("new");
    let made = json(data, &add(&format!("{}/lakeshore/fhir", payer.base), &[]));
    let resources: Vec<&str> = made["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect();
    assert!(
        resources.contains(&"Patient") && resources.contains(&"Organization"),
        "{resources:?}"
    );
    let found = made["found"][0].as_str().unwrap();
    assert!(
        found.contains("2 are read by id only (Organization, Patient)"),
        "{found}"
    );
}

/// A source that requires a secret, and a folder for its endpoint.
struct Confidential {
    payer: Payer,
    folder: tempfile::TempDir,
    base: String,
    secret: String,
}

impl Confidential {
    fn new(knobs: &Value) -> Confidential {
        let payer = Payer::start(1);
        payer.turn("cedarway", knobs);
        let folder = folder();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "sandbox-secret-of-no-worth").unwrap();
        Confidential {
            base: format!("{}/cedarway/fhir", payer.base),
            secret: secret.to_str().unwrap().to_owned(),
            payer,
            folder,
        }
    }

    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let plain = ["endpoint", "add", &self.base, "--client-id", "tabularium-sandbox"];
        let secret = ["--client-secret-file", &self.secret, "--allow-private-sources"];
        [&plain[..], &secret[..], more].concat()
    }

    /// The output of adding it and of checking it, in one line each.
    fn found(&self) -> [String; 2] {
        let data = self.folder.path().join("lake");
        let added = done(&data, &self.arguments(&[]));
        [added, done(&data, &["endpoint", "check", "--allow-private-sources"])]
    }
}

#[test]
fn a_secret_that_cannot_be_tried_keeps_no_source_from_being_added() {
    // A token endpoint that was out of order failed the command, and a gateway's page counted as an accepted secret.
    for (knobs, words) in [
        (json!({"fail_token": true}), "answered with status 500"),
        (json!({"token_page": 403}), "answered with status 403"),
        (json!({"token_page": 404}), "answered with status 404"),
        (json!({"token_page": 200}), "something else than the JSON"),
    ] {
        for said in Confidential::new(&knobs).found() {
            assert!(
                said.contains("whether it takes the client id and secret could not be told") && said.contains(words),
                "{knobs}: {said}"
            );
            assert!(!said.contains("the client secret goes"), "{knobs}: {said}");
        }
    }
    for said in Confidential::new(&json!({})).found() {
        assert!(said.contains("the client secret goes in the header"), "{said}");
    }
    for said in Confidential::new(&json!({"secret": "another"})).found() {
        assert!(said.contains("it refuses the client id and secret"), "{said}");
    }
}

#[test]
fn a_secret_goes_to_another_origin_only_where_the_operator_says_so() {
    // The secret was sent to any address in the SMART configuration.
    let source = Confidential::new(&json!({"token_elsewhere": true}));
    let asked = || source.payer.requests("cedarway")["token"].as_u64().unwrap();
    let data = &source.folder.path().join("lake");
    let (code, said) = refused(data, &source.arguments(&[]));
    let elsewhere = source.payer.base.replace("127.0.0.1", "localhost");
    assert_eq!(code, 2, "{said}");
    assert!(said.contains(&format!("--token-endpoint {elsewhere}")), "{said}");
    assert_eq!(asked(), 0, "the secret was sent");
    let agreed = format!("{elsewhere}/cedarway/token");
    let added = done(data, &source.arguments(&["--token-endpoint", &agreed]));
    assert!(added.contains("the client secret goes in the header"), "{added}");
    assert!(asked() > 0);
    // The operator's confirmation stays when the source is changed.
    let checked = done(data, &["endpoint", "check", "--allow-private-sources"]);
    assert!(checked.contains("the client secret goes in the header"), "{checked}");
    let again = done(data, &source.arguments(&["--name", "renamed"]));
    assert!(again.contains("the client secret goes in the header"), "{again}");
}
