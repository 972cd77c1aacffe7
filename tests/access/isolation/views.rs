//! Views by `$run`.

use serde_json::{Value, json};

use tabularium::search::SnapshotToken;

use super::family::{family, ids, visible};
use crate::harness::records::{self, Record};
use crate::harness::server::{Answer, Server};

#[test]
fn views_tabulate_only_what_the_token_shows() {
    let server = Server::imported(&family());
    let run = |token: &str, extra: Value| {
        let mut parameters = vec![
            json!({"name":"viewResource","resource":{"resourceType":"ViewDefinition","name":"v",
            "status":"active","resource":"Observation","select":[{"column":[{"name":"id","path":"id"}]}]}}),
        ];
        parameters.extend(extra.as_array().cloned().unwrap_or_default());
        let body = json!({"resourceType":"Parameters","parameter":parameters}).to_string();
        let headers = [
            ("authorization", format!("Bearer {token}")),
            ("content-type", "application/fhir+json".to_owned()),
        ];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = server.send("POST", "/fhir/ViewDefinition/$run", &headers, &body);
        assert_eq!(answer.status, 200, "{}", answer.text);
        ids(answer.json()["rows"].as_array().unwrap())
    };
    let ann = server.patient_token("ann");
    assert_eq!(run(&ann, json!([])), ["obs-ann"]);
    let other = json!([{"name":"patient","valueReference":{"reference":"Patient/ben"}}]);
    assert!(run(&ann, other.clone()).is_empty());
    let application = server.application_token();
    assert_eq!(run(&application, json!([])), ["obs-ann", "obs-ben"]);
    assert_eq!(run(&application, other), ["obs-ben"]);
}

const RUNS: [&str; 4] = [
    "/fhir/ViewDefinition/$run",
    "/fhir/ViewDefinition/$viewdefinition-run",
    "/fhir/$viewdefinition-run",
    "/fhir/$sql-run",
];

/// Runs a view of the ids of a type, with these additional parameters.
fn run(server: &Server, token: &str, path: &str, resource_type: &str, more: &[Value]) -> Answer {
    let view = json!({"resourceType":"ViewDefinition","status":"active","resource":resource_type,
        "select":[{"column":[{"name":"id","path":"id"}]}]});
    let mut parameters = vec![json!({"name":"viewResource","resource":view})];
    parameters.extend(more.iter().cloned());
    let body = json!({"resourceType":"Parameters","parameter":parameters}).to_string();
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/fhir+json"),
    ];
    server.send("POST", path, &headers, &body)
}

fn rows(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    ids(answer.json()["rows"].as_array().unwrap())
}

fn reference(name: &str, to: &str) -> Value {
    json!({"name":name,"valueReference":{"reference":to}})
}

#[test]
fn views_show_the_tokens_rows_by_every_name_and_page() {
    let server = Server::imported(&family());
    for id in ["ann", "ben"] {
        let token = server.patient_token(id);
        for (resource_type, expected) in visible(id) {
            for path in RUNS {
                let answer = run(&server, &token, path, resource_type, &[]);
                assert_eq!(rows(&answer), expected, "{id}: {resource_type} by {path}");
                assert_eq!(answer.header("x-resource-count"), expected.len().to_string());
            }
            // Pages reached by offset show no more than pages reached by links.
            let mut walked = Vec::new();
            for offset in 0..12 {
                let path = format!("{}?_count=1&_offset={offset}", RUNS[0]);
                walked.extend(rows(&run(&server, &token, &path, resource_type, &[])));
            }
            walked.sort();
            assert_eq!(walked, expected, "{id}: {resource_type} page by page");
        }
    }
}

#[test]
fn parameters_of_a_view_lead_to_no_row_of_another() {
    let server = Server::imported(&family());
    let ann = server.patient_token("ann");
    for path in RUNS {
        for resource_type in [
            "Patient",
            "Observation",
            "ExplanationOfBenefit",
            "Coverage",
            "Appointment",
        ] {
            let other = [reference("patient", "Patient/ben")];
            assert!(
                rows(&run(&server, &ann, path, resource_type, &other)).is_empty(),
                "{resource_type}"
            );
            let by_query = format!("{path}?patient=Patient/ben&_since=1970-01-01T00:00:00Z");
            assert!(
                rows(&run(&server, &ann, &by_query, resource_type, &[])).is_empty(),
                "{resource_type}"
            );
            let both = [
                reference("patient", "Patient/ben"),
                reference("patient", "Patient/$PATIENT_ID"),
            ];
            let found = rows(&run(&server, &ann, path, resource_type, &both));
            assert!(found.iter().all(|id| !id.contains("ben")), "{resource_type}: {found:?}");
        }
        for group in ["household", "nobody"] {
            let grouped = run(
                &server,
                &ann,
                path,
                "Observation",
                &[reference("group", &format!("Group/{group}"))],
            );
            assert_eq!(
                (grouped.status, grouped.issue().as_str()),
                (422, "processing"),
                "{}",
                grouped.text
            );
            let by_query = run(&server, &ann, &format!("{path}?group={group}"), "Observation", &[]);
            assert_eq!((by_query.status, by_query.issue().as_str()), (422, "processing"));
        }
    }
}

#[test]
fn resources_that_are_sent_bring_nothing_of_the_lake() {
    let server = Server::imported(&family());
    let ann = server.patient_token("ann");
    let mine = json!({"resourceType":"Observation","id":"mine","status":"final","code":{"text":"c"},
        "subject":{"reference":"Patient/ben"},"hasMember":[{"reference":"Observation/obs-ben"}]});
    let sent = json!({"name":"resource","resource":mine});
    assert_eq!(
        rows(&run(&server, &ann, RUNS[0], "Observation", std::slice::from_ref(&sent))),
        ["mine"]
    );
    // Whatever patient is named, the rows are those in the request.
    let of_ben = [sent.clone(), reference("patient", "Patient/ben")];
    assert_eq!(rows(&run(&server, &ann, RUNS[0], "Observation", &of_ben)), ["mine"]);
    assert!(rows(&run(&server, &ann, RUNS[0], "Patient", &of_ben)).is_empty());
    let grouped = [sent, reference("group", "Group/household")];
    let grouped = run(&server, &ann, RUNS[0], "Observation", &grouped);
    assert_eq!((grouped.status, grouped.issue().as_str()), (422, "processing"));
}

#[test]
fn links_of_a_view_show_their_reader_no_more_than_their_own() {
    let server = Server::imported(&family());
    let (ann, ben) = (server.patient_token("ann"), server.patient_token("ben"));
    let local = |link: &str| format!("/fhir/{}", link.split_once("/fhir/").unwrap().1);
    for token in [&ann, &server.application_token()] {
        let page = run(&server, token, &format!("{}?_count=1", RUNS[0]), "Organization", &[]);
        let next = local(page.header("x-next-link"));
        let seen = rows(&run(&server, &ben, &next, "Organization", &[]));
        assert!(seen.iter().all(|id| id == "clinic" || id == "trust"), "{seen:?}");
        let seen = rows(&run(&server, &ben, &next, "Observation", &[]));
        assert!(seen.is_empty(), "Ben has one, and this is the second page: {seen:?}");
    }
    // Links to snapshots that the token's holder never received: one of another time, and none.
    for snapshot in 0..5 {
        let tag = SnapshotToken { snapshot, erasures: 0 }.text(&server.lake);
        let answer = run(&server, &ben, &format!("{}?_tag={tag}", RUNS[0]), "Observation", &[]);
        match answer.status {
            200 => assert!(rows(&answer).iter().all(|id| id == "obs-ben")),
            status => assert_eq!((status, answer.issue().as_str()), (410, "expired")),
        }
    }
    // Guessed snapshot numbers are refused too.
    for made_up in ["~~1.00", "~~1-0.9e", "~~AQAAAAAAAAAAAAAAAAAAAA"] {
        let answer = run(
            &server,
            &ben,
            &format!("{}?_tag={made_up}", RUNS[0]),
            "Observation",
            &[],
        );
        assert_eq!((answer.status, answer.issue().as_str()), (400, "invalid"), "{made_up}");
    }
}

#[test]
fn another_applications_groups_and_people_are_not_there() {
    let server = Server::imported(&family());
    let theirs = |resource: Value| Record::new(resource).application("other");
    let of_zoe = |resource: Value| {
        let owner = server.lake.owner_of("other", "zoe");
        Record {
            patient: Some("zoe".to_owned()),
            ..theirs(resource).owner(owner)
        }
    };
    records::commit(
        &server.lake,
        &[
            theirs(
                json!({"resourceType":"Group","id":"theirs","type":"person","actual":true,
                "member":[{"entity":{"reference":"Patient/ann"}},{"entity":{"reference":"Patient/zoe"}}]}),
            ),
            of_zoe(json!({"resourceType":"Patient","id":"zoe"})),
            of_zoe(
                json!({"resourceType":"Observation","id":"obs-zoe","status":"final","code":{"text":"c"},
                "subject":{"reference":"Patient/zoe"}}),
            ),
        ],
    );
    let application = server.application_token();
    for path in RUNS {
        for id in ["theirs", "nobodys"] {
            let grouped = run(
                &server,
                &application,
                path,
                "Observation",
                &[reference("group", &format!("Group/{id}"))],
            );
            assert_eq!(
                (grouped.status, grouped.issue().as_str()),
                (404, "not-found"),
                "{}",
                grouped.text
            );
            assert!(!grouped.text.contains("zoe") && !grouped.text.contains("ann"));
        }
        let ours = [reference("group", "Group/household")];
        assert_eq!(
            rows(&run(&server, &application, path, "Observation", &ours)),
            ["obs-ann", "obs-ben"]
        );
        let theirs = [reference("patient", "Patient/zoe")];
        assert!(rows(&run(&server, &application, path, "Observation", &theirs)).is_empty());
        assert_eq!(
            rows(&run(&server, &application, path, "Observation", &[])),
            ["obs-ann", "obs-ben"]
        );
    }
}
