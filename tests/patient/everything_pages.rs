//! Pages of `$everything`: at any size they are parts of one list, and the walk ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::http::Limits;
use tabularium::ingest::{Options, Session};
use tabularium::lake::{Lake, Mode, PatientScope, Scope};
use tabularium::patient::{REFERRED, record};
use tabularium::search::Engine;

use super::{all, entries, link, name, names, ok, walk};
use crate::harness::server::Server;

const EVERYTHING: &str = "/fhir/Patient/$PATIENT_ID/$everything";

/// A patient with this many Observations, a Condition and a Procedure. The performers alternate between three doctors.
fn records(id: &str, observations: usize) -> Vec<Value> {
    let me = json!({"reference": format!("Patient/{id}")});
    let mut all =
        vec![json!({"resourceType":"Patient","id":id,"managingOrganization":{"reference":"Organization/home"}})];
    for at in 0..observations {
        all.push(
            json!({"resourceType":"Observation","id":format!("{id}-o{at:04}"),"status":"final","code":{"text":"c"},"subject":me,
            "effectiveDateTime":format!("20{:02}-01-01", at % 20),
            "performer":[{"reference":format!("Practitioner/doc{}", at % 3)}]}),
        );
    }
    all.push(json!({"resourceType":"Condition","id":format!("{id}-c"),"subject":me,"code":{"text":"c"}}));
    all.push(json!({"resourceType":"Procedure","id":format!("{id}-p"),"subject":me,"status":"completed"}));
    all
}

fn surroundings() -> Vec<Value> {
    let mut all: Vec<Value> = (0..4)
        .map(|at| json!({"resourceType":"Practitioner","id":format!("doc{at}")}))
        .collect();
    all.push(json!({"resourceType":"Organization","id":"home"}));
    all
}

fn lake(resources: &[Value]) -> (tempfile::TempDir, Lake) {
    let folder = tempfile::tempdir().unwrap();
    let lake = crate::harness::kind::open_or_create(folder.path());
    import(&lake, resources);
    (folder, lake)
}

fn import(lake: &Lake, resources: &[Value]) {
    let mut writer = lake.writer().unwrap();
    let mut session = Session::begin(&mut writer, Options::default()).unwrap();
    for resource in resources {
        session.add_document(resource.to_string().as_bytes()).unwrap();
    }
    assert_eq!(session.finish().unwrap().refused, 0);
}

fn server(ann: usize) -> Server {
    let resources = [records("ann", ann), records("ben", 7), surroundings()].concat();
    let (folder, lake) = lake(&resources);
    Server::over(folder, lake, Limits::default())
}

#[test]
fn pages_of_any_size_are_parts_of_one_list() {
    let server = server(9);
    let (ann, application) = (server.patient_token("ann"), server.application_token());
    let whole = all(&server, &ann, EVERYTHING);
    assert_eq!((names(&whole, "match").len(), names(&whole, "include").len()), (12, 4));
    assert_eq!(whole.iter().collect::<BTreeSet<_>>().len(), whole.len(), "each once");
    for (path, token) in [(EVERYTHING, &ann), ("/fhir/Patient/ann/$everything", &application)] {
        for count in (1..=18).chain([1_000]) {
            let pages = walk(
                &server,
                token,
                &format!("{path}?_count={count}&_total=accurate"),
                "next",
            );
            let found: Vec<_> = pages.iter().flat_map(|page| entries(&server, page)).collect();
            assert_eq!(found, whole, "{path} by {count}");
            assert_eq!(
                pages.len(),
                whole.len().div_ceil(count),
                "{path} by {count}: no empty page"
            );
            for page in &pages {
                // The matches are counted, as in each search.
                assert_eq!(page["total"], 12);
                assert!(link(&server, page, "first").is_some());
            }
            // The walk back.
            let last = link(&server, &pages[pages.len() - 1], "self").unwrap();
            let mut back = walk(&server, token, &last, "previous");
            back.reverse();
            let found: Vec<_> = back.iter().flat_map(|page| entries(&server, page)).collect();
            assert_eq!(found, whole, "{path} back by {count}");
        }
        // The same by offsets.
        for offset in 0..17 {
            let page = ok(&server.get(&format!("{path}?_count=3&_offset={offset}"), token));
            let until = (offset + 3).min(whole.len());
            assert_eq!(
                entries(&server, &page),
                whole[offset.min(until)..until],
                "{path} from {offset}"
            );
        }
    }
}

/// Other servers looped at `_count=0`, lost the query on the second page, returned empty pages at their maximum size,
/// or silently dropped what exceeded a limit.
#[test]
fn the_faults_of_others_are_not_here() {
    let server = server(2_345);
    let ann = server.patient_token("ann");
    let none = ok(&server.get(&format!("{EVERYTHING}?_count=0"), &ann));
    assert_eq!((none["total"].as_u64(), none.get("entry")), (Some(2_348), None));
    assert!(link(&server, &none, "next").is_none() && link(&server, &none, "previous").is_none());
    let narrowed = format!("{EVERYTHING}?_count=0&_type=Observation&start=2010&end=2010");
    assert_eq!(ok(&server.get(&narrowed, &ann))["total"], 117);

    let pages = walk(&server, &ann, EVERYTHING, "next");
    let sizes: Vec<usize> = pages.iter().map(|page| entries(&server, page).len()).collect();
    assert_eq!(
        sizes,
        [1_000, 1_000, 352],
        "without _count a page has 1,000, and nothing is left out"
    );
    assert!(pages.iter().all(|page| page["total"].is_null()));
    let pages = walk(&server, &ann, &format!("{EVERYTHING}?_count=1000"), "next");
    assert_eq!(pages.len(), 3);
    let large = ok(&server.get(&format!("{EVERYTHING}?_count=5000"), &ann));
    let last = large["entry"].as_array().unwrap().last().unwrap();
    assert_eq!(
        last["search"]["mode"], "outcome",
        "a smaller page than was asked for says so"
    );
    assert_eq!(large["entry"].as_array().unwrap().len(), 1_001);

    let query = "start=2010&end=2012-06&_type=Observation%2CPractitioner&_count=50";
    let pages = walk(&server, &ann, &format!("{EVERYTHING}?{query}"), "next");
    let found: Vec<_> = pages.iter().flat_map(|page| entries(&server, page)).collect();
    assert_eq!((names(&found, "match").len(), names(&found, "include").len()), (351, 3));
    for page in &pages {
        for relation in ["self", "first", "next"] {
            let Some(url) = link(&server, page, relation) else {
                continue;
            };
            for part in [
                "start=2010",
                "end=2012-06",
                "_type=Observation%2CPractitioner",
                "_count=50",
            ] {
                assert!(url.contains(part), "{relation}: {url}");
            }
            assert!(url.starts_with("/fhir/Patient/$PATIENT_ID/$everything?"), "{url}");
        }
    }
}

/// A page ends when its resources reach 16 MiB, and links to the rest.
#[test]
fn large_resources_make_shorter_pages() {
    let text = "x".repeat(3 << 20);
    let mut resources = records("ann", 3);
    resources.extend((0..14).map(|at| {
        json!({"resourceType":"Communication","id":format!("m{at:02}"),"status":"completed","subject":{"reference":"Patient/ann"},
            "payload":[{"contentString":text}]})
    }));
    resources.extend(surroundings());
    let (folder, lake) = lake(&resources);
    let server = Server::over(folder, lake, Limits::default());
    let ann = server.patient_token("ann");
    let bearer = format!("Bearer {ann}");
    let (mut next, mut found, mut sizes) = (Some(EVERYTHING.to_owned()), Vec::new(), Vec::new());
    while let Some(path) = next {
        let (status, _, bytes) = server.send_bytes("GET", &path, &[("authorization", &bearer)], b"");
        assert_eq!(status, 200);
        assert!(bytes.len() < 17 << 20);
        let page: Value = serde_json::from_slice(&bytes).unwrap();
        let here = entries(&server, &page);
        sizes.push(here.len());
        found.extend(here);
        next = link(&server, &page, "next");
    }
    assert_eq!(found.len(), 3 + 3 + 14 + 4);
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
    assert!(sizes.len() == 3 && sizes.iter().all(|size| *size > 0), "{sizes:?}");
}

/// A tag is valid only for its own request and for callers who may see the records.
#[test]
fn a_link_is_good_for_its_own_request() {
    let server = server(9);
    let (ann, ben) = (server.patient_token("ann"), server.patient_token("ben"));
    let page = ok(&server.get(&format!("{EVERYTHING}?_count=4"), &ann));
    let next = link(&server, &page, "next").unwrap();
    for changed in [
        next.replace("$everything?", "$everything?start=2001&"),
        next.replace("/$PATIENT_ID/", "/ann/"),
        next.replace("/Patient/$PATIENT_ID/$everything", "/Patient/ann/*"),
        next.replace("/Patient/$PATIENT_ID/$everything", "/Observation"),
    ] {
        let answer = server.get(&changed, &ann);
        assert_eq!((answer.status, answer.issue().as_str()), (400, "invalid"), "{changed}");
    }
    // For another patient it leads to a page of their own records, never to these.
    let theirs = entries(&server, &ok(&server.get(&next, &ben)));
    assert!(
        !theirs.is_empty() && theirs.iter().all(|(_, name)| !name.contains("ann")),
        "{theirs:?}"
    );
    // Resources imported meanwhile are in no page of this walk.
    let whole = all(&server, &ann, EVERYTHING);
    import(
        &server.lake,
        &[
            json!({"resourceType":"Observation","id":"ann-o00001","status":"final","code":{"text":"new"},
            "subject":{"reference":"Patient/ann"}}),
        ],
    );
    let rest = all(&server, &ann, &next);
    assert_eq!(rest, whole[4..]);
    assert_eq!(all(&server, &ann, EVERYTHING).len(), whole.len() + 1);
}

/// The Patients of a consent are one record.
#[test]
fn a_record_may_be_that_of_several_patients() {
    let (_folder, lake) = lake(&[records("ann", 3), records("ben", 2), records("cid", 1), surroundings()].concat());
    let ids = ["ann".to_owned(), "ben".to_owned()];
    let patient = PatientScope {
        patients: ids.to_vec(),
        owners: ids.iter().flat_map(|id| lake.owners_of("local", id)).collect(),
        authorizations: Vec::new(),
    };
    let of = |patient| {
        Arc::new(Scope {
            mode: Mode::Live,
            application: "local".into(),
            patient,
        })
    };
    let engine = Engine::new(lake, SearchParameters::builtin());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let gathered = |scope: &Arc<Scope>, ids: &[String]| {
        let record = runtime.block_on(record(&engine, scope, ids, &REFERRED, 0)).unwrap();
        let texts = record.types.iter().flat_map(|gathered| &gathered.rows);
        let texts: Vec<Value> = texts
            .map(|row| serde_json::from_slice(&row.resource).unwrap())
            .collect();
        assert_eq!(record.len(), texts.len());
        assert_eq!(
            record.of("Observation").len(),
            texts
                .iter()
                .filter(|text| text["resourceType"] == "Observation")
                .count()
        );
        assert!(record.get("Organization", "home").is_some() && record.get("Organization", "none").is_none());
        texts.iter().map(name).collect::<Vec<_>>()
    };
    let own = of(Some(Arc::new(patient)));
    let both = gathered(&own, &ids);
    let expected = [
        "Patient/ann",
        "Patient/ben",
        "Condition/ann-c",
        "Condition/ben-c",
        "Observation/ann-o0000",
        "Observation/ann-o0001",
        "Observation/ann-o0002",
        "Observation/ben-o0000",
        "Observation/ben-o0001",
        "Procedure/ann-p",
        "Procedure/ben-p",
        "Organization/home",
        "Practitioner/doc0",
        "Practitioner/doc1",
        "Practitioner/doc2",
    ];
    // Rows are ordered by owner, not by name.
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(both.clone()), sorted(expected.map(str::to_owned).to_vec()));
    assert_eq!(sorted(gathered(&of(None), &ids)), sorted(both));
    assert_eq!(gathered(&own, &ids[1..]).len(), 1 + 1 + 2 + 1 + 1 + 2);
    let nobody = ["dora".to_owned()];
    let error = runtime
        .block_on(record(&engine, &own, &nobody, &REFERRED, 0))
        .unwrap_err();
    assert_eq!(error.to_string(), "there is no Patient with the id \"dora\"");
    assert!(error.is_input());
}
