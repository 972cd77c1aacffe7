//! Clients' preferences for a search's response: its size, its form, and strict handling.

use serde_json::{Value, json};

use crate::harness::server::{Answer, Server};

fn server() -> Server {
    let patient = |at: usize| json!({"resourceType": "Patient", "id": format!("p{at:04}")});
    let mut records: Vec<Value> = (0..1_005).map(patient).collect();
    records.push(
        json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"},
        "subject": {"reference": "Patient/p0000"}}),
    );
    Server::start(&records)
}

fn get(server: &Server, path: &str, more: &[(&str, &str)]) -> Answer {
    let bearer = format!("Bearer {}", server.application_token());
    server.send("GET", path, &[&[("authorization", bearer.as_str())], more].concat(), "")
}

fn modes(bundle: &Value) -> Vec<&str> {
    let entries = bundle["entry"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .map(|entry| entry["search"]["mode"].as_str().unwrap())
        .collect()
}

#[test]
fn a_count_over_the_largest_page_is_served_as_that_and_says_so() {
    let server = server();
    for count in ["1001", "5000", "99999999999999999999999999"] {
        let bundle = get(&server, &format!("/fhir/Patient?_count={count}"), &[]).json();
        let modes = modes(&bundle);
        assert_eq!(modes.iter().filter(|mode| **mode == "match").count(), 1_000);
        assert_eq!(modes.last(), Some(&"outcome"));
        let outcome = &bundle["entry"][1_000]["resource"];
        assert_eq!(outcome["resourceType"], "OperationOutcome");
        assert_eq!(
            (&outcome["issue"][0]["severity"], &outcome["issue"][0]["expression"]),
            (&json!("warning"), &json!(["_count"]))
        );
        assert!(
            outcome["issue"][0]["details"]["text"]
                .as_str()
                .unwrap()
                .contains("1000")
        );
        let url = |relation: &str| {
            let mut links = bundle["link"].as_array().unwrap().iter();
            let link = links.find(|link| link["relation"] == relation).unwrap();
            link["url"].as_str().unwrap().to_owned()
        };
        assert!(url("self").contains("_count=1000"), "{}", url("self"));
        // The links contain the served size, so the next page has no warning.
        let next = url("next");
        let next = get(
            &server,
            next.strip_prefix(&format!("http://{}", server.address)).unwrap(),
            &[],
        )
        .json();
        assert_eq!(self::modes(&next), ["match"; 5]);
    }
    let whole = get(&server, "/fhir/Patient?_count=1000", &[]).json();
    assert_eq!(modes(&whole), ["match"; 1_000]);
    let none = get(&server, "/fhir/Patient?birthdate=1900&_count=1001", &[]).json();
    assert_eq!(modes(&none), ["outcome"]);
    let system = get(&server, "/fhir?_type=Observation&_count=1001", &[]).json();
    assert_eq!(modes(&system), ["match", "outcome"]);
}

#[test]
fn a_count_of_nothing_is_a_number_alone() {
    let server = server();
    for query in ["_count=0", "_summary=count", "_summary=count&_count=5000"] {
        let bundle = get(&server, &format!("/fhir/Patient?{query}"), &[]).json();
        assert_eq!(bundle["total"], 1_005, "{query}");
        assert!(bundle.get("entry").is_none(), "{query}");
    }
    for count in ["-1", "+1", "1.5", "many", "", "1,2", "0x10"] {
        let strict = [("prefer", "handling=strict")];
        let answer = get(&server, &format!("/fhir/Patient?_count={count}"), &strict);
        assert_eq!((answer.status, answer.issue().as_str()), (400, "invalid"), "{count}");
        let text = answer.json()["issue"][0]["details"]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        let shown = count.replace('+', " ");
        assert!(
            text.starts_with("_count: ") && text.contains(&format!("'{shown}'")),
            "{text}"
        );
    }
}

#[test]
fn how_strictly_a_request_was_taken_is_confirmed() {
    let server = server();
    for (prefer, status, applied) in [
        ("handling=strict", 400, ""),
        ("handling=lenient", 200, "handling=lenient"),
        ("return=minimal", 200, ""),
        ("handling=harsh", 200, ""),
    ] {
        let answer = get(&server, "/fhir/Patient?colour=red&_count=1", &[("prefer", prefer)]);
        assert_eq!(
            (answer.status, answer.header("preference-applied")),
            (status, applied),
            "{prefer}"
        );
    }
    let answer = get(&server, "/fhir/Patient?_id=p0001", &[("prefer", "handling=strict")]);
    assert_eq!(
        (answer.status, answer.header("preference-applied")),
        (200, "handling=strict")
    );
}

#[test]
fn the_form_of_an_answer_is_json_by_any_of_its_names() {
    let server = server();
    for accept in [
        "application/fhir+json",
        "application/json",
        "application/json+fhir",
        "text/json",
        "application/fhir+json; charset=utf-8; fhirVersion=4.0",
        "application/*",
        "application/fhir+xml;q=0.9, */*;q=0.1",
    ] {
        let answer = get(&server, "/fhir/Patient/p0001", &[("accept", accept)]);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, "application/fhir+json; charset=utf-8"),
            "{accept}"
        );
    }
    for format in [
        "json",
        "application/json",
        "application/fhir%2Bjson",
        "application/fhir+json",
        "text/json",
        "JSON",
    ] {
        for path in ["/fhir/Patient/p0001", "/fhir/Patient", "/fhir/metadata", "/fhir"] {
            let xml = [("accept", "application/fhir+xml")];
            let answer = get(&server, &format!("{path}?_format={format}&_count=1"), &xml);
            assert_eq!(answer.status, 200, "{path} {format}");
        }
    }
    for path in ["/fhir/Patient/p0001", "/fhir/Patient", "/fhir/metadata", "/fhir"] {
        for accept in [
            "application/fhir+xml",
            "text/xml",
            "application/xml",
            "text/html",
            "text/turtle",
            "application/json;q=0",
        ] {
            let answer = get(&server, path, &[("accept", accept)]);
            assert_eq!(
                (answer.status, answer.issue().as_str()),
                (406, "not-supported"),
                "{path} {accept}"
            );
            assert_eq!(answer.header("content-type"), "application/fhir+json; charset=utf-8");
        }
        for format in ["xml", "ttl", "html", "application/fhir%2Bxml", "text/xml"] {
            let answer = get(
                &server,
                &format!("{path}?_format={format}"),
                &[("accept", "application/json")],
            );
            assert_eq!(
                (answer.status, answer.issue().as_str()),
                (406, "not-supported"),
                "{path} {format}"
            );
        }
        let pretty = get(&server, &format!("{path}?_pretty=true&_count=1"), &[]);
        assert!(pretty.status == 200 && pretty.text.contains("\n  \""), "{path}");
        let answer = get(&server, &format!("{path}?_pretty=maybe"), &[]);
        assert_eq!((answer.status, answer.issue().as_str()), (400, "invalid"), "{path}");
    }
}

/// The refusal of an invalid value names the parameter and the value. The same holds for a modifier that the type does
/// not support.
#[test]
fn wrong_values_and_modifiers_are_named() {
    let server = server();
    let values = [
        // All types of parameters, empty and malformed.
        (
            "Patient",
            "birthdate",
            ["", "soon", "1970-13", "ge", "xx1970"].as_slice(),
        ),
        ("RiskAssessment", "probability", &["", "much", "gt", "1,", "1e"]),
        ("Patient", "name", &["", "a,"]),
        ("Patient", "gender", &["", "|", "a|b|c"]),
        ("Patient", "_id", &["", "a,"]),
        ("Patient", "active", &["foo", "true,yes", "x|maybe"]),
        ("Patient", "active:not", &["foo"]),
        ("Patient", "deceased", &["foo"]),
        ("Patient", "_pretty", &["foo"]),
        ("Observation", "_elements", &["valueQuantity", "value[x]"]),
        (
            "Observation",
            "_filter",
            &["value-quantity gt \"abc\"", "subject.active eq foo"],
        ),
        ("Observation", "subject", &[""]),
        ("Observation", "subject:Patient", &["Practitioner/1"]),
        ("Observation", "subject:identifier", &["", "|"]),
        ("Observation", "value-quantity", &["", "much", "5.4|a|b|c", "gt|u|mg"]),
        ("Observation", "code-value-quantity", &["", "a", "a$5$6", "a$much"]),
        ("Observation", "code-value-date", &["a$soon"]),
        ("ValueSet", "url", &[""]),
        ("Location", "near", &["", "here", "91|0", "1|2|3|league", "1|2|x"]),
        ("Patient", "_lastUpdated", &["", "yesterday"]),
        ("Patient", "identifier:of-type", &["", "a|b", "a||c"]),
        ("Observation", "code:text", &[""]),
        ("Patient", "birthdate:missing", &["", "maybe"]),
        ("Patient", "_has:Observation:patient:code", &[""]),
        ("Observation", "subject:Patient.birthdate", &["soon"]),
        ("Patient", "_list", &["", "Patient/1", "a b"]),
        ("Patient", "_filter", &["", "name", "name zz x", "(name eq x"]),
        ("Patient", "_sort", &["nonsense", "-", "_has", "-_filter"]),
        ("Patient", "_summary", &["", "most"]),
        ("Patient", "_elements", &["nonsense"]),
        ("Patient", "_total", &["", "some"]),
        ("Patient", "_offset", &["", "-1", "+1", "x"]),
        (
            "Patient",
            "_include",
            &["", "Patient", "Patient:nonsense", "Nonsense:*", "Patient:birthdate"],
        ),
        (
            "Patient",
            "_revinclude",
            &["", "Observation:code", "Observation:subject:Nonsense"],
        ),
        ("Patient", "_tag", &["~~nonsense", "~~1.zz"]),
    ];
    let mut wrong = Vec::new();
    for (resource_type, parameter, values) in values {
        for value in values {
            let query: String = form_urlencoded::Serializer::new(String::new())
                .append_pair(parameter, value)
                .finish();
            // Empty parameters are ignored unless the client is strict.
            let strict = [("prefer", "handling=strict")];
            let wishes = if value.is_empty() { strict.as_slice() } else { &[] };
            if value.is_empty() && parameter != "_pretty" {
                let answer = get(&server, &format!("/fhir/{resource_type}?{query}&_count=1"), &[]);
                let bundle = answer.json();
                let left = format!("http://{}/fhir/{resource_type}?_count=1", server.address);
                if answer.status != 200 || bundle["link"][0]["url"] != left {
                    wrong.push(format!("{resource_type}?{parameter}= is not left out: {bundle}"));
                }
            }
            let answer = get(&server, &format!("/fhir/{resource_type}?{query}"), wishes);
            let text = answer.json()["issue"][0]["details"]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            // For a list, a composite or a chain, the message names the faulty part; for `-code` in `_sort`, the code.
            let part = |part: &str| text.contains(&format!("'{part}'"));
            let named = part(value) || value.split([',', '$', ' ', ':', '-', '|']).any(part);
            let code = parameter.rsplit(['.', ':']).next().unwrap();
            let about = parameter.split(':').next().unwrap();
            if answer.status != 400 || !named || !(text.contains(about) || text.contains(code)) {
                wrong.push(format!("{resource_type}?{parameter}={value}: {} {text}", answer.status));
            }
        }
    }
    for (resource_type, parameter) in [
        ("Patient", "birthdate:exact"),
        ("RiskAssessment", "probability:contains"),
        ("Patient", "name:below"),
        ("Patient", "gender:exact"),
        ("Patient", "gender:colour"),
        ("Observation", "subject:Nonsense"),
        ("Observation", "value-quantity:text"),
        ("Observation", "code-value-quantity:exact"),
        ("ValueSet", "url:contains"),
        ("Location", "near:missing"),
        ("Patient", "_has:Observation"),
        ("Patient", "_has:Observation:nonsense:code"),
        ("Patient", "_has:Nonsense:subject:code"),
        ("Patient", "_filter:exact"),
        ("Patient", "_list:not"),
        ("Patient", "_text:exact"),
        ("Patient", "_id:nonsense"),
        ("Patient", "_include:sometimes"),
        ("Patient", "_count:exact"),
        ("Patient", "_sort:desc"),
        ("Patient", "_summary:text"),
    ] {
        let answer = get(&server, &format!("/fhir/{resource_type}?{parameter}=a"), &[]);
        let text = answer.json()["issue"][0]["details"]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let modifier = parameter.split(':').nth(1).unwrap();
        if answer.status != 400 || !text.contains(parameter.split(':').next().unwrap()) || !text.contains(modifier) {
            wrong.push(format!("{resource_type}?{parameter}=a: {} {text}", answer.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// R4 writes some searches with a slash before the query; links omit it.
#[test]
fn a_slash_before_the_query_changes_nothing() {
    let server = server();
    for (with, without) in [
        (
            "/fhir/Observation/?subject=p0000&_format=&_pretty=",
            "/fhir/Observation?subject=p0000&_count=20",
        ),
        ("/fhir/?_type=Observation", "/fhir?_type=Observation&_count=20"),
    ] {
        let bundle = get(&server, with, &[]).json();
        assert_eq!(modes(&bundle), ["match"], "{with}");
        assert_eq!(bundle["link"][0]["url"], format!("http://{}{without}", server.address));
    }
    assert_eq!(get(&server, "/fhir/Nonsense/?_count=1", &[]).status, 404);
}

#[test]
fn what_is_at_fault_is_said_as_it_was_sent() {
    let server = server();
    let said = |path: &str, headers: &[(&str, &str)], status: u16| {
        let answer = get(&server, path, headers);
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
        answer.json()["issue"][0]["details"]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let filter = |text: &str| {
        let query: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("_filter", text)
            .finish();
        said(&format!("/fhir/Observation?{query}"), &[], 400)
    };
    assert!(filter("value-quantity gt \"abc\"").starts_with("_filter: '\"abc\"' is not a quantity"));
    assert!(filter("status eq final and code zz \"a\"").starts_with("_filter: 'zz' is not what may stand there"));
    assert!(said("/fhir/Patient?_sort=-", &[], 400).starts_with("_sort: '-' is not"));
    assert!(said("/fhir/Patient?_pretty=foo", &[], 400).starts_with("_pretty: 'foo' is not"));
    assert!(said("/fhir/Patient/p0000?_pretty=foo", &[], 400).starts_with("_pretty: 'foo' is not"));
    assert!(said("/fhir/Patient", &[("x-explain", "foo")], 400).starts_with("X-Explain: 'foo' is not"));
    assert!(said("/fhir/Observation?_elements=valueQuantity", &[], 400).contains("'value' for valueQuantity"));
    // Invalid UTF-8 is refused. It is not replaced by another text.
    assert_eq!(
        said("/fhir/Patient?family=%FF", &[], 400),
        "family: '%FF' is not percent-encoded UTF-8"
    );
    for operation in ["_history", "$lastn"] {
        let text = said(&format!("/fhir/Patient/p0000/{operation}"), &[], 404);
        assert_eq!(text, format!("Patient/[id]/{operation} is not supported"));
    }
}

/// A misspelt name in a path or in a parameter's value is answered with the nearest known one.
#[test]
fn a_misspelt_name_has_a_suggestion() {
    let server = server();
    for (path, status, end) in [
        ("Observatoin", 404, "\"Observatoin\"; did you mean 'Observation'?"),
        ("Observatoin/x", 404, "\"Observatoin\"; did you mean 'Observation'?"),
        (
            "Patient/p0000/$everthing",
            404,
            "is not supported; did you mean '$everything'?",
        ),
        (
            "Observation/$everthing",
            404,
            "is not supported; did you mean 'Patient/[id]/$everything'?",
        ),
        (
            "ViewDefinition/$rn",
            404,
            "GET ViewDefinition/$rn is not supported; did you mean '$run'?",
        ),
        ("Observation?_sort=dat", 400, "sorted by; did you mean 'date'?"),
        (
            "Observation?_include=Observation:subjct",
            400,
            "of the type; did you mean 'Observation:subject'?",
        ),
        (
            "Patient?_has:Observation:patint:code=x",
            400,
            "type searched; did you mean 'Observation:patient:code'?",
        ),
        ("Observation?_elements=cod", 400, "and its like; did you mean 'code'?"),
        ("Observation?_elements=valueQuantity", 400, "; did you mean 'value'?"),
        (
            "?_type=Patient,Observation&_elements=birthdat",
            400,
            "; did you mean 'birthDate'?",
        ),
    ] {
        let answer = get(&server, &format!("/fhir/{path}"), &[]);
        let text = answer.json()["issue"][0]["details"]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(answer.status, status, "{path}: {text}");
        assert!(text.ends_with(end), "{path}: {text}");
    }
    for (path, meant) in [
        ("Observation?patient.nme=x", "patient.name"),
        ("Condition?onsetDateTime=2020", "onset-date"),
    ] {
        let answer = get(&server, &format!("/fhir/{path}"), &[("prefer", "handling=strict")]);
        let text = answer.json()["issue"][0]["details"]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            answer.status == 400 && text.ends_with(&format!("; did you mean '{meant}'?")),
            "{path}: {text}"
        );
    }
}

#[test]
fn another_version_of_fhir_is_not_to_be_had() {
    let server = server();
    let of = |accept: &str| get(&server, "/fhir/Patient/p0000", &[("accept", accept)]).status;
    assert_eq!(of("application/fhir+json; fhirVersion=4.0"), 200);
    assert_eq!(of("application/fhir+json;fhirversion=\"4.0\""), 200);
    assert_eq!(of("application/fhir+json; fhirVersion=3.0"), 406);
    assert_eq!(
        of("application/fhir+json; fhirVersion=5.0, application/json;q=0.5"),
        200
    );
    let format = "application%2Ffhir%2Bjson%3B%20fhirVersion%3D3.0";
    assert_eq!(
        get(&server, &format!("/fhir/Patient/p0000?_format={format}"), &[]).status,
        406
    );
}
