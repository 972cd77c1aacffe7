//! Walks over all pages of a search in both directions: each match once, in one order, with any page size. Also tags
//! that belong to other searches.

use std::sync::Arc;

use serde_json::{Value, json};
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::lake::Scope;
use tabularium::search::raw;
use tabularium::search::{Engine, Handling, Request, SearchError};

use super::super::corpus::{BASE, Corpus, corpus, link, name, resources};
use crate::harness::records::{self, Record};

/// Searches of one and of several types, unsorted and sorted, with all kinds of criteria.
const SEARCHES: &[&str] = &[
    "Encounter?",
    "Encounter?class=AMB",
    "Encounter?_sort=-date",
    "Encounter?_sort=date&class:not=AMB",
    "Encounter?_sort=length,-type",
    "Encounter?_sort=-reason-code,date",
    "Patient?_sort=-given,birthdate",
    "Patient?_sort=death-date",
    "Patient?gender=female&_sort=-death-date,family",
    "Condition?subject.gender=male",
    "Observation?value-quantity=gt100&_sort=-value-quantity",
    "?_type=Patient,Condition,Goal",
    "?_type=Goal,Patient&_lastUpdated=gt2000",
];

fn page(corpus: &Corpus, scope: &Arc<Scope>, url: &str) -> Result<Value, SearchError> {
    let query = url.strip_prefix(BASE).unwrap_or(url);
    match query.strip_prefix(BASE.trim_end_matches('/')).unwrap_or(query) {
        system if system.starts_with('?') => corpus.system(scope, system, Handling::Strict),
        query => corpus.page(scope, query),
    }
}

fn names(page: &Value) -> Vec<String> {
    resources(page, "match").iter().map(name).collect()
}

/// The pages reached from one by a relation, as names of their matches, and the last page's address.
fn walk(corpus: &Corpus, scope: &Arc<Scope>, from: &str, relation: &str) -> (Vec<Vec<String>>, String) {
    let (mut pages, mut url) = (Vec::new(), from.to_owned());
    loop {
        let page = page(corpus, scope, &url).unwrap_or_else(|error| panic!("{url}: {error}"));
        pages.push(names(&page));
        match link(&page, relation) {
            Some(further) => url = further,
            None => return (pages, url),
        }
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn pages_are_parts_of_one_list_forwards_and_back() {
    let corpus = corpus();
    let scope = corpus.application();
    for search in SEARCHES {
        let (whole, _) = walk(corpus, &scope, &format!("{search}&_count=1000"), "next");
        let whole = whole.concat();
        assert!(whole.len() > 5, "{search}: {}", whole.len());
        let size = (whole.len() / 7).max(3);
        let (pages, last) = walk(corpus, &scope, &format!("{search}&_count={size}"), "next");
        assert!(pages.concat() == whole, "{search}");
        assert!(pages.iter().rev().skip(1).all(|page| page.len() == size), "{search}");
        let (mut back, first) = walk(corpus, &scope, &last, "previous");
        back.reverse();
        assert!(
            back == pages,
            "{search}: {:?}",
            back.iter().map(Vec::len).collect::<Vec<_>>()
        );
        assert!(!first.contains("_offset"), "{first}");
        // A page begins at its offset, with any tag or none.
        let offset = last
            .split("_offset=")
            .nth(1)
            .unwrap()
            .split('&')
            .next()
            .unwrap()
            .to_owned();
        let nearer = last.replace(&format!("_offset={offset}"), "_offset=2");
        assert_eq!(
            names(&page(corpus, &scope, &nearer).unwrap())[..],
            whole[2..size + 2],
            "{nearer}"
        );
        let unplaced = format!("{search}&_count={size}&_offset={offset}");
        assert_eq!(
            &names(&page(corpus, &scope, &unplaced).unwrap()),
            pages.last().unwrap(),
            "{search}"
        );
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn a_person_walks_their_own() {
    let corpus = corpus();
    let patient = "3e26303e-a72a-4c60-866f-e5b81a9f1989";
    let application = corpus.application();
    for search in [
        "Observation?",
        "Observation?_sort=-date",
        "?_type=Condition,Encounter,Observation",
    ] {
        let scope = corpus.patient(patient);
        let (pages, last) = walk(corpus, &scope, &format!("{search}&_count=13"), "next");
        let (whole, _) = walk(corpus, &scope, &format!("{search}&_count=1000"), "next");
        assert!(pages.concat() == whole.concat(), "{search}");
        let (mut back, _) = walk(corpus, &scope, &last, "previous");
        back.reverse();
        assert!(
            back == pages,
            "{search}: {:?}",
            back.iter().map(Vec::len).collect::<Vec<_>>()
        );
        // Another token's holder who follows a link sees their own matches from the link's offset on.
        let (of_all, theirs) = (
            page(corpus, &application, &format!("{search}&_count=5&_total=accurate")).unwrap(),
            whole.concat(),
        );
        let next = link(&of_all, "next").unwrap();
        let seen = page(corpus, &scope, &next).unwrap();
        assert_eq!(names(&seen)[..], theirs[5..10], "{search}");
        assert_eq!(seen["total"], theirs.len(), "{search}");
        let mine = link(
            &page(corpus, &scope, &format!("{search}&_count=5&_total=accurate")).unwrap(),
            "next",
        )
        .unwrap();
        let seen = page(corpus, &application, &mine).unwrap();
        let (all, _) = walk(corpus, &application, &format!("{search}&_count=1000"), "next");
        assert_eq!(names(&seen)[..], all.concat()[5..10], "{search}");
        assert_eq!(seen["total"], of_all["total"], "{search}");
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn a_total_is_carried_from_page_to_page() {
    let corpus = corpus();
    let scope = corpus.application();
    for search in [
        "Encounter?class=AMB",
        "?_type=Patient,Goal",
        "Condition?_sort=recorded-date",
    ] {
        let mut url = format!("{search}&_count=9&_total=accurate");
        let (whole, _) = walk(corpus, &scope, &format!("{search}&_count=1000"), "next");
        for _ in 0..3 {
            let page = page(corpus, &scope, &url).unwrap();
            assert_eq!(page["total"], whole.concat().len(), "{url}");
            url = link(&page, "next").unwrap();
        }
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn a_tag_is_good_for_its_own_search_only() {
    let corpus = corpus();
    let scope = corpus.application();
    let first = page(corpus, &scope, "Encounter?class=AMB&_sort=date&_count=10").unwrap();
    let next = link(&first, "next").unwrap();
    let tag = next.split("_tag=").nth(1).unwrap().to_owned();
    let here = format!("_count=10&_offset=10&_tag={tag}");
    let same = page(corpus, &scope, &format!("Encounter?_sort=date&{here}&class=AMB")).unwrap();
    assert_eq!(names(&same), names(&page(corpus, &scope, &next).unwrap()));
    for other in [
        "Encounter?class=AMB",
        "Encounter?class=IMP&_sort=date",
        "Encounter?class=AMB&_sort=-date",
        "Encounter?class=AMB&_sort=date&status=finished",
        "Patient?",
        "?_type=Encounter&class=AMB",
    ] {
        let error = page(corpus, &scope, &format!("{other}&{here}")).unwrap_err();
        assert!(
            error.is_input() && error.to_string().starts_with("_tag: "),
            "{other}: {error}"
        );
    }
    let sealed = percent_encoding::percent_decode_str(&tag)
        .decode_utf8()
        .unwrap()
        .into_owned();
    for at in 2..sealed.len() {
        let mut damaged = sealed.clone().into_bytes();
        damaged[at] = if damaged[at] == b'x' { b'y' } else { b'x' };
        let damaged = String::from_utf8(damaged).unwrap();
        let url = format!("Encounter?class=AMB&_sort=date&_count=10&_offset=10&_tag={damaged}");
        let error = page(corpus, &scope, &url).unwrap_err();
        assert!(error.is_input(), "{damaged}: {error}");
    }
    // FHIR's own `_tag` parameter is not affected.
    assert!(page(corpus, &scope, "Encounter?_tag=http://example.org|~~x").is_ok());
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn pages_with_what_they_bring_along_are_parts_of_the_same_list() {
    let corpus = corpus();
    let scope = corpus.application();
    let along = "_include=Encounter:subject&_include=Encounter:service-provider&_revinclude=Procedure:encounter";
    for search in ["Encounter?class=AMB", "Encounter?class=AMB&_sort=-date"] {
        let whole = walk(corpus, &scope, &format!("{search}&_count=1000"), "next")
            .0
            .concat();
        let procedures = corpus.everything("Procedure");
        let mut url = format!("{search}&_count=90&{along}");
        let mut seen = Vec::new();
        loop {
            let page = page(corpus, &scope, &url).unwrap();
            let (matches, included) = (resources(&page, "match"), resources(&page, "include"));
            let mut expected: Vec<String> = matches
                .iter()
                .flat_map(|encounter| [&encounter["subject"], &encounter["serviceProvider"]])
                .filter_map(|reference| reference["reference"].as_str().map(str::to_owned))
                .collect();
            let names = names(&page);
            let of_page = |procedure: &&Value| {
                let encounter = procedure["encounter"]["reference"].as_str();
                encounter.is_some_and(|encounter| names.iter().any(|name| name == encounter))
            };
            expected.extend(procedures.iter().filter(of_page).map(name));
            expected.sort();
            expected.dedup();
            let mut brought: Vec<String> = included.iter().map(name).collect();
            brought.sort();
            assert!(brought == expected, "{url}: {} of {}", brought.len(), expected.len());
            seen.extend(names);
            match link(&page, "next") {
                Some(next) => url = next,
                None => break,
            }
        }
        assert!(seen == whole, "{search}");
    }
}

/// A page ends at the maximum bytes of an answer, and the next page continues there.
#[test]
fn large_resources_make_short_pages() {
    let text = "x".repeat(1 << 20);
    let record = |at: usize| {
        let json = json!({"resourceType": "Basic", "id": format!("b{at:02}"), "code": {"text": text},
            "subject": {"reference": format!("Patient/p{}", at % 3)}});
        Record::new(json)
    };
    let (_folder, lake) = records::lake();
    records::commit(&lake, &(0..40).map(record).collect::<Vec<_>>());
    let engine = Engine::new(lake.clone(), SearchParameters::builtin());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let scope = records::application("local");
    let ask = |url: &str| -> Value {
        let query = url.split_once('?').unwrap().1;
        let request = Request {
            scope: &scope,
            type_id: records::type_named("Basic"),
            parameters: &raw::parse(query),
            compartment: None,
            handling: Handling::Strict,
            now: 0,
            base: BASE,
        };
        serde_json::from_slice(&runtime.block_on(engine.search(&request)).unwrap()).unwrap()
    };
    for sort in ["", "&_sort=-_id"] {
        let mut url = format!("Basic?_count=30{sort}");
        let (mut seen, mut sizes) = (Vec::new(), Vec::new());
        let last = loop {
            let page = ask(&url);
            let names = names(&page);
            sizes.push(names.len());
            seen.extend(names);
            match link(&page, "next") {
                Some(next) => url = next,
                None => break page,
            }
        };
        assert_eq!(sizes, [15, 15, 10], "{sort}");
        let mut expected: Vec<String> = (0..40).map(|at| format!("Basic/b{at:02}")).collect();
        if !sort.is_empty() {
            expected.reverse();
        }
        assert_eq!(seen, expected, "{sort}");
        // Going back, a page ends where the next one begins. The remaining rows are on the page before it.
        let (mut back, mut page) = (names(&last), last);
        while let Some(previous) = link(&page, "previous") {
            page = ask(&previous);
            let next = link(&page, "next").unwrap();
            assert_eq!(names(&ask(&next))[0], back[0], "{sort}");
            back = [names(&page), back].concat();
        }
        assert_eq!(back, expected, "{sort}");
    }
}
