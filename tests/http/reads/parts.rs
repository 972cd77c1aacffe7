//! Parts of one resource: reads with `_summary` and `_elements`.

use serde_json::json;

use crate::harness::server::Server;

#[test]
fn a_read_gives_the_part_that_is_asked_for() {
    let server = Server::start(&[json!({
        "resourceType": "Patient", "id": "anna", "birthDate": "1970", "gender": "female", "active": true,
        "text": {"status": "generated", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\">Anna</div>"},
        "name": [{"family": "Day"}], "maritalStatus": {"text": "married"},
    })]);
    let token = server.application_token();
    let whole = server.get("/fhir/Patient/anna", &token);
    for (query, left) in [
        ("_summary=true", "active birthDate gender id meta name resourceType"),
        ("_summary=text", "id meta resourceType text"),
        (
            "_summary=data",
            "active birthDate gender id maritalStatus meta name resourceType",
        ),
        (
            "_elements=name,maritalStatus",
            "active id maritalStatus meta name resourceType",
        ),
        (
            "_elements=name&_elements=gender",
            "active gender id meta name resourceType",
        ),
        (
            "_elements=birthDate,id,resourceType",
            "active birthDate id meta resourceType",
        ),
        ("_pretty=true&_elements=name", "active id meta name resourceType"),
    ] {
        let part = server.get(&format!("/fhir/Patient/anna?{query}"), &token);
        assert_eq!(part.status, 200, "{query}: {}", part.text);
        let json = part.json();
        let mut names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names.join(" "), left, "{query}");
        let tags = json["meta"]["tag"].as_array().unwrap();
        assert!(tags.iter().any(|tag| tag["code"] == "SUBSETTED"), "{query}");
        assert_eq!(part.header("etag"), whole.header("etag"), "{query}");
    }
    // Requests for all or for no parts return the stored bytes.
    for query in [
        "_summary=false",
        "_summary=",
        "_elements=",
        "_elements=,",
        "_sort=name",
        "other=%ff",
    ] {
        assert_eq!(
            server.get(&format!("/fhir/Patient/anna?{query}"), &token).text,
            whole.text,
            "{query}"
        );
    }
}

#[test]
fn a_part_that_there_is_not_is_refused_by_name() {
    let server = Server::start(&[json!({"resourceType": "Patient", "id": "anna"})]);
    let token = server.application_token();
    for (query, said) in [
        ("_summary=count", "_summary: 'count'"),
        ("_summary=most", "_summary: 'most'"),
        ("_summary:not=true", "_summary"),
        ("_elements=nonsense", "_elements: 'nonsense'"),
        ("_elements=birthDate,code", "_elements: 'code'"),
        ("_elements=%ff", "_elements"),
    ] {
        let refused = server.get(&format!("/fhir/Patient/anna?{query}"), &token);
        assert_eq!(refused.status, 400, "{query}: {}", refused.text);
        assert!(refused.text.contains(said), "{query}: {}", refused.text);
    }
}
