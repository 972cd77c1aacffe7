//! The pages about records.

use serde_json::json;
use tabularium::ingest::{self, Session};

use crate::harness::server::Server;

use super::world::{Kept, Visitor, between, links, pages, records};

#[test]
fn every_page_is_bounded_and_none_takes_records_for_markup() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let mut all = pages(&Kept::of(&server));
    all.extend(
        [
            "/console/patient/live/local/ben",
            "/console/data/live/local/Patient/ben",
        ]
        .map(str::to_owned),
    );
    all.extend(["everything", "summary"].map(|name| format!("/console/patient/live/local/ben/{name}")));
    for path in &all {
        let answer = visitor.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
        let is_json = answer.header("content-type").contains("json");
        assert!(is_json || !answer.text.contains("<script"), "{path}");
        if answer.header("content-type").starts_with("text/html") {
            let policy = answer.header("content-security-policy");
            assert!(
                policy.starts_with("default-src 'none'; style-src 'self'; img-src 'self'"),
                "{path}: {policy}"
            );
            for part in [
                "<html lang=\"en\">",
                "<main",
                "<nav aria-label",
                "class=\"skip\"",
                "<h1>",
            ] {
                assert!(answer.text.contains(part), "{path} has no {part}");
            }
            assert!(
                !answer.text.contains(" style=") && !answer.text.contains("<style"),
                "{path}"
            );
            assert!(
                !answer.text.contains("src=\"http") && !answer.text.contains("href=\"http"),
                "{path}"
            );
        }
    }
}

#[test]
fn what_is_stored_is_counted() {
    let server = Server::imported(&records());
    let page = Visitor::enter(&server).page("/console");
    let row = between(&page, "/console/data/live/local/Observation\">", "</tr>");
    assert!(row.contains("<td class=\"number\">7</td>"), "{row}");
    assert!(page.contains("<dt>Resources</dt><dd>10</dd>"), "{page}");
    assert!(page.contains("+10"), "the growth of the import: {page}");
}

#[test]
fn a_table_is_walked_by_the_engines_links() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let table = "/console/data/live/local/Observation";
    let (mut found, mut next) = (Vec::new(), Some(format!("{table}?q=_count%3D3%26_sort%3Ddate")));
    while let Some(path) = next.take() {
        let page = visitor.page(&path);
        found.extend(links(&page, &format!("{table}/")));
        let nav = between(&page, "aria-label=\"Pages of the search\"", "</nav>");
        next = nav
            .split("<a ")
            .find(|link| link.contains("Next page"))
            .map(|link| links(link, table).remove(0));
    }
    let expected: Vec<String> = (0..7).map(|at| format!("{table}/o{at}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_table_says_which_search_it_stands_for_and_what_is_wrong_with_it() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let page = visitor.page("/console/data/live/local/Observation?q=value-quantity%3Dgt114%26_total%3Daccurate");
    assert!(
        page.contains("value=\"value-quantity=gt114&#38;_total=accurate\""),
        "{page}"
    );
    assert!(
        page.contains("2 in all") && page.contains("116 mmHg") && !page.contains("112 mmHg"),
        "{page}"
    );
    assert!(page.contains("<code>value-quantity</code>"), "its parameters are named");
    let wrong = visitor.get("/console/data/live/local/Observation?q=colour%3Dred");
    assert_eq!(wrong.status, 400);
    assert!(
        wrong.text.contains("colour") && wrong.text.contains("role=\"alert\""),
        "{}",
        wrong.text
    );
    assert_eq!(visitor.get("/console/data/live/local/Nonsense").status, 404);
}

#[test]
fn a_resource_leads_on_and_shows_what_changed() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let path = "/console/data/live/local/Observation/o0";
    let page = visitor.page(path);
    for link in ["Patient/ann", "Practitioner/doc"] {
        assert!(
            page.contains(&format!("<a href=\"/console/data/live/local/{link}\">{link}</a>")),
            "{page}"
        );
    }
    let mut changed = records().remove(3);
    assert_eq!(changed["id"], "o0");
    changed["status"] = json!("amended");
    let mut writer = server.lake.writer().unwrap();
    let mut session = Session::begin(&mut writer, ingest::Options::default()).unwrap();
    session.add_document(changed.to_string().as_bytes()).unwrap();
    assert_eq!(session.finish().unwrap().refused, 0);
    drop(writer);
    let page = visitor.page(&format!("{path}?version=2&since=1"));
    let changes = between(&page, "class=\"difference\"", "</pre>");
    assert!(
        changes.contains("class=\"removed\">-   &#34;status&#34;: &#34;final&#34;"),
        "{changes}"
    );
    assert!(
        changes.contains("class=\"added\">+   &#34;status&#34;: &#34;amended&#34;"),
        "{changes}"
    );
    let earlier = visitor.page(&format!("{path}?version=1"));
    assert!(between(&earlier, "class=\"json\"", "</pre>").contains("final"));
    assert_eq!(visitor.get(&format!("{path}?version=9")).status, 404);
    assert_eq!(visitor.get("/console/data/live/local/Observation/nobody").status, 404);
}

#[test]
fn a_patient_has_a_timeline_and_documents() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let page = visitor.page("/console/patient/live/local/ann");
    assert!(
        page.contains("<h1>Ann Hill</h1>") && page.contains("1970-02-03"),
        "{page}"
    );
    let days: Vec<&str> = page
        .split("<li><div><time datetime=\"")
        .skip(1)
        .map(|rest| &rest[..10])
        .collect();
    let expected: Vec<String> = (1..=7).rev().map(|day| format!("2024-01-0{day}")).collect();
    assert_eq!(days, expected);
    let documents = links(&page, "/console/patient/live/local/ann/");
    assert_eq!(documents.len(), 3);
    assert!(visitor.page(&documents[0]).starts_with("%PDF-"));
    let page = visitor.page(&documents[1]);
    assert!(
        page.contains("Systolic") && page.contains("<td>116 mmHg</td>"),
        "{page}"
    );
    let link = links(&page, &documents[1]).remove(0);
    let answer = visitor.get(&link);
    assert_eq!(
        answer.header("content-disposition"),
        "attachment; filename=\"ann-summary.json\""
    );
    assert_eq!(answer.json()["type"], "document");
    let page = visitor.page(&documents[2]);
    assert!(page.contains("9 resources on this page. These are all."), "{page}");
    let link = links(&page, &documents[2]).remove(0);
    assert_eq!(visitor.get(&link).json()["entry"].as_array().unwrap().len(), 9);
    let records = "/console/data/live/local/";
    let (mut found, mut next) = (Vec::new(), Some(format!("{}?q=_count%3D4", documents[2])));
    while let Some(path) = next.take() {
        let page = visitor.page(&path);
        let table = between(&page, "<tbody>", "</tbody>");
        found.extend(links(table, records));
        let last = page.split("<a ").find(|link| link.contains(">Next page</a>"));
        next = last.map(|link| between(link, "href=\"", "\"").replace("&amp;", "&"));
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 9, "{found:?}");
    assert_eq!(visitor.get("/console/patient/live/local/nobody").status, 404);
    assert_eq!(visitor.get("/console/patient/live/local/ann/nothing").status, 404);
}

/// The birth date was under "When", and the gender under "Status".
#[test]
fn patients_have_columns_of_their_own_and_lead_to_the_person() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let heads = |page: &str| {
        let head = between(page, "<thead>", "</thead>").to_owned();
        let heads = head.split("\">").skip(1);
        heads
            .map(|rest| rest.split('<').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let page = visitor.page("/console/data/live/local/Patient");
    assert_eq!(heads(&page), ["Id", "Name", "Born", "Gender", "Updated"]);
    let row = between(&page, "<a href=\"/console/patient/live/local/ann\">", "</tr>");
    assert!(
        row.starts_with("ann</a></th><td>Ann Hill</td><td class=\"time\">1970-02-03</td><td>female</td>"),
        "{row}"
    );
    let person = visitor.page("/console/patient/live/local/ann");
    assert!(
        person.contains("href=\"/console/data/live/local/Patient/ann\""),
        "{person}"
    );
    let card = visitor.page("/console/data/live/local/Patient/ann");
    assert!(
        card.contains("<dt>Born</dt><dd>1970-02-03</dd>") && !card.contains("<dt>When</dt>"),
        "{card}"
    );
    let page = visitor.page("/console/data/live/local/Observation");
    assert_eq!(
        heads(&page),
        ["Id", "What", "Value", "When", "Status", "Patient", "Updated"]
    );
    assert!(page.contains("href=\"/console/patient/live/local/ann\""), "{page}");
    let page = visitor.page("/console/data/live/local/Practitioner");
    assert_eq!(heads(&page), ["Id", "What", "Updated"]);
}

/// The timeline ended after 300 events, and was one long page.
#[test]
fn a_timeline_has_pages_types_and_days() {
    let mut all = records();
    for at in 0..60 {
        all.push(
            json!({"resourceType": "Condition", "id": format!("c{at}"), "subject": {"reference": "Patient/ann"},
            "code": {"text": "Cough"}, "recordedDate": format!("2023-{:02}-01T0{}:00:00Z", 1 + at / 6, at % 6)}),
        );
    }
    all.push(
        json!({"resourceType": "Provenance", "id": "how", "recorded": "2024-05-01T00:00:00Z",
        "target": [{"reference": "Patient/ann"}], "agent": [{"who": {"reference": "Practitioner/doc"}}]}),
    );
    all.push(
        json!({"resourceType": "Observation", "id": "pressure", "status": "final", "code": {"text": "Pressure"},
        "subject": {"reference": "Patient/ann"}, "effectiveDateTime": "2024-02-01", "component": [
            {"code": {"text": "Systolic"}, "valueQuantity": {"value": 120, "unit": "mmHg"}},
            {"code": {"text": "Diastolic"}, "valueQuantity": {"value": 80, "unit": "mmHg"}}]}),
    );
    let server = Server::imported(&all);
    let visitor = Visitor::enter(&server);
    let person = "/console/patient/live/local/ann";
    let first = visitor.page(person);
    assert!(first.contains("Events 1 to 50 of 68, newest first."), "{first}");
    assert!(
        first.contains("Pressure: Systolic 120 mmHg, Diastolic 80 mmHg"),
        "{first}"
    );
    assert!(!first.contains("/Provenance/how"), "{first}");
    assert!(
        first.contains("<option value=\"Condition\">Condition (60)</option>"),
        "{first}"
    );
    assert_eq!(
        first.matches("<time datetime=\"2023-10-01\">").count(),
        1,
        "one heading for six events"
    );
    let (mut events, mut next) = (Vec::new(), Some(format!("{person}?type=Condition")));
    while let Some(path) = next.take() {
        let page = visitor.page(&path);
        let timeline = between(&page, "<ol class=\"timeline\">", "</ol>");
        assert!(!timeline.contains("/Observation/"), "{timeline}");
        events.extend(links(timeline, "/console/data/live/local/Condition/"));
        let earlier = page.split("<a ").find(|link| link.contains(">Earlier events</a>"));
        next = earlier.map(|link| between(link, "href=\"", "#").replace("&amp;", "&"));
    }
    events.sort();
    events.dedup();
    assert_eq!(events.len(), 60);
    let last = visitor.page(&format!("{person}?type=Condition&page=2"));
    assert!(
        last.contains(">Later events</a>") && last.contains("Events 51 to 60 of 60"),
        "{last}"
    );
    for page in ["0", "x", "-1"] {
        assert_eq!(visitor.get(&format!("{person}?page={page}")).status, 404, "{page}");
    }
}

#[test]
fn an_expression_is_tried_and_a_search_explained() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let page = visitor.page("/console/fhirpath/live/local?type=Patient&expression=name.family");
    assert!(
        page.contains("&#34;Hill&#34;") && page.contains("<code>name.family</code>"),
        "{page}"
    );
    assert!(page.contains("<b>family</b>"), "the parts of the expression: {page}");
    let page = visitor.page("/console/fhirpath/live/local?type=Patient&expression=name.fmily");
    assert!(page.contains("role=\"alert\"") && page.contains("fmily"), "{page}");
    let page = visitor.page("/console/explain/live/local?type=Observation&q=code%3D8480-6");
    let tree = between(&page, "class=\"tree\"", "</div>");
    for part in [
        "<details open><summary><b>steps</b>",
        " rows, ",
        "<b>match</b>",
        "<b>fetch</b>",
        "code.coding.code",
        " ms</li>",
    ] {
        assert!(tree.contains(part), "{part}: {tree}");
    }
    let page = visitor.page("/console/explain/live/local?type=Observation&q=colour%3Dred");
    assert!(page.contains("role=\"alert\""));
}
