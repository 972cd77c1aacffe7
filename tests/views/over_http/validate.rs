//! `ViewDefinition/$validate` over HTTP: all faults with their places, and the columns.

use serde_json::{Value, json};

use super::run::{post, server, view};

const PATH: &str = "/fhir/ViewDefinition/$validate";

fn texts(outcome: &Value, severity: &str) -> Vec<String> {
    assert_eq!(outcome["resourceType"], "OperationOutcome");
    let issues = outcome["issue"].as_array().unwrap().iter();
    let of_it = issues.filter(|issue| issue["severity"] == severity);
    of_it
        .map(|issue| issue["details"]["text"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_sound_view_gives_its_columns() {
    let server = server();
    let token = server.application_token();
    let alone = post(&server, &token, PATH, "*/*", &view().to_string());
    assert_eq!(alone.status, 200);
    assert!(alone.header("content-type").starts_with("application/fhir+json"));
    assert_eq!(texts(&alone.json(), "error"), Vec::<String>::new());
    let said = texts(&alone.json(), "information");
    assert_eq!(said[0], "the ViewDefinition can be run; columns: 2");
    assert!(
        said.iter().any(|text| text.starts_with("column 'value': decimal")),
        "{said:?}"
    );
    let wrapped = json!({"resourceType": "Parameters", "parameter": [
        {"name": "resource", "resource": view()}, {"name": "mode", "valueCode": "create"}]});
    for path in [PATH, "/fhir/ViewDefinition/%24validate"] {
        assert_eq!(
            post(&server, &token, path, "*/*", &wrapped.to_string()).text,
            alone.text
        );
    }
    let pretty = post(
        &server,
        &token,
        &format!("{PATH}?_pretty=true"),
        "*/*",
        &view().to_string(),
    );
    assert_eq!(pretty.json(), alone.json());
    assert!(pretty.text.lines().count() > 5);
}

#[test]
fn columns_come_as_parameters_when_asked_for() {
    let server = server();
    let token = server.application_token();
    let mut described = view();
    described["select"][0]["column"][0]["description"] = json!("its id");
    described["select"][0]["column"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "codes", "path": "code.coding.code", "type": "code", "collection": true}));
    let answer = post(
        &server,
        &token,
        &format!("{PATH}?columns=true"),
        "*/*",
        &described.to_string(),
    );
    let parameters = answer.json()["parameter"].as_array().unwrap().clone();
    assert!(answer.text.starts_with(r#"{"resourceType":"Parameters","#));
    assert_eq!(answer.json()["resourceType"], "Parameters");
    assert_eq!(parameters[0]["name"], "return");
    assert_eq!(texts(&parameters[0]["resource"], "error"), Vec::<String>::new());
    let part = |place: usize, name: &str| {
        assert_eq!(parameters[place]["name"], "column");
        let parts = parameters[place]["part"].as_array().unwrap();
        let part = parts
            .iter()
            .find(|part| part["name"] == name)
            .cloned()
            .unwrap_or_default();
        part.as_object()
            .and_then(|part| {
                part.iter()
                    .find(|(key, _)| key.starts_with("value"))
                    .map(|(_, value)| value.clone())
            })
            .unwrap_or_default()
    };
    assert_eq!(parameters.len(), 4);
    assert_eq!(
        (part(1, "name"), part(1, "description")),
        (json!("id"), json!("its id"))
    );
    assert_eq!(
        (part(2, "type"), part(2, "collection")),
        (json!("decimal"), json!(false))
    );
    assert_eq!(
        (part(3, "name"), part(3, "type"), part(3, "collection")),
        (json!("codes"), json!("code"), json!(true))
    );
    assert_ne!(part(3, "sqlType"), Value::Null);
    let body = json!({"resourceType": "Parameters", "parameter": [
        {"name": "resource", "resource": described}, {"name": "columns", "valueBoolean": true}]});
    assert_eq!(
        post(&server, &token, PATH, "*/*", &body.to_string()).json(),
        answer.json()
    );
}

#[test]
fn every_fault_has_its_place() {
    let server = server();
    let token = server.application_token();
    let mut faulty = view();
    faulty["select"][0]["column"][0]["path"] = json!("identifer");
    let answer = post(&server, &token, PATH, "*/*", &faulty.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text);
    let outcome = answer.json();
    let issues = outcome["issue"].as_array().unwrap();
    let fault = issues.iter().find(|issue| issue["severity"] == "error").unwrap();
    assert_eq!(fault["expression"], json!(["ViewDefinition.select[0].column[0].path"]));
    assert!(
        fault["details"]["text"].as_str().unwrap().contains("column 'id'"),
        "{fault}"
    );
    assert_eq!(fault["diagnostics"], "in the FHIRPath: line 1, column 1");
    assert_eq!(texts(&outcome, "information"), Vec::<String>::new());
    assert_eq!(issues[0]["severity"], "error");
    let with_columns = post(
        &server,
        &token,
        &format!("{PATH}?columns=true"),
        "*/*",
        &faulty.to_string(),
    );
    assert_eq!(with_columns.json()["parameter"].as_array().unwrap().len(), 1);
    for body in [r#"{"resourceType":"Patient"}"#, "{}"] {
        let answer = post(&server, &token, PATH, "*/*", body);
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(!texts(&answer.json(), "error").is_empty());
    }
}

#[test]
fn requests_that_cannot_be_understood_are_refused() {
    let server = server();
    let token = server.application_token();
    let parameters = |parameter: Value| json!({"resourceType": "Parameters", "parameter": parameter}).to_string();
    for (path, accept, body, status, code) in [
        (PATH, "*/*", "nonsense".to_owned(), 400, "invalid"),
        (PATH, "*/*", "[]".to_owned(), 400, "invalid"),
        (PATH, "*/*", parameters(json!([])), 400, "required"),
        (
            PATH,
            "*/*",
            parameters(json!([{"name": "resource", "valueString": "x"}])),
            400,
            "invalid",
        ),
        (
            PATH,
            "*/*",
            parameters(json!([{"name": "colour", "valueString": "x"}])),
            400,
            "invalid",
        ),
        (
            PATH,
            "*/*",
            parameters(json!([{"name": "profile", "valueUri": "x"}])),
            400,
            "not-supported",
        ),
        (
            "/fhir/ViewDefinition/$validate?columns=maybe",
            "*/*",
            view().to_string(),
            400,
            "invalid",
        ),
        (
            "/fhir/ViewDefinition/$validate?mode=delete",
            "*/*",
            view().to_string(),
            400,
            "invalid",
        ),
        (PATH, "application/fhir+xml", view().to_string(), 406, "not-supported"),
        (
            "/fhir/ViewDefinition/v/$validate",
            "*/*",
            view().to_string(),
            404,
            "not-supported",
        ),
        (
            "/fhir/Patient/$validate",
            "*/*",
            view().to_string(),
            404,
            "not-supported",
        ),
    ] {
        let answer = post(&server, &token, path, accept, &body);
        assert_eq!(
            (answer.status, answer.issue().as_str()),
            (status, code),
            "{path} {body}: {}",
            answer.text
        );
    }
    let stranger = post(&server, "no token", PATH, "*/*", &view().to_string());
    assert_eq!((stranger.status, stranger.issue().as_str()), (401, "login"));
    let read = server.get(PATH, &token);
    assert_eq!(
        (read.status, read.issue().as_str(), read.header("allow")),
        (404, "not-supported", "POST")
    );
}
