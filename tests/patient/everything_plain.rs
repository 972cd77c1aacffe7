//! `$everything` compared with a plain reading of the lake: all patients of the real records, with all parameters.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tabularium::http::Limits;
use tabularium::ingest::{Options, import};
use tabularium::lake::clock::ManualClock;
use tabularium::lake::{Lake, LakeOptions};

use super::plain_model::{Asked, Found, Plain, Read, type_of};
use super::{all, entries, names, ok, walk};
use crate::harness;
use crate::harness::server::Server;
use crate::harness::stored::stored;

/// 2027-01-15T08:00:00Z, the time of the first import. The second half follows an hour later.
const FIRST: i64 = 1_800_000_000_000_000;
const LATER: i64 = FIRST + 3_600_000_000;

/// Requests with page sizes. The pages split types and referenced resources.
const ASKED: [(Asked, usize); 10] = [
    (asked(None, None, &[], None), 1_000),
    (asked(Some("2015"), None, &[], None), 97),
    (asked(None, Some("2018-06"), &[], None), 1_000),
    (asked(Some("2010-03-15"), Some("2019-12-31T23:59:59Z"), &[], None), 31),
    (
        asked(None, None, &["ExplanationOfBenefit", "Organization", "Patient"], None),
        5,
    ),
    (
        asked(Some("2019"), None, &["Practitioner", "Encounter", "Location"], None),
        500,
    ),
    (
        asked(None, Some("1990"), &["Observation", "Medication", "Condition"], None),
        7,
    ),
    (asked(None, None, &[], Some(LATER)), 61),
    (
        asked(
            Some("2012"),
            Some("2021"),
            &["Condition", "Claim", "Organization", "Practitioner"],
            Some(LATER),
        ),
        11,
    ),
    (asked(None, None, &[], Some(LATER + 1_000_000)), 10),
];

const fn asked(
    start: Option<&'static str>,
    end: Option<&'static str>,
    types: &'static [&'static str],
    since: Option<i64>,
) -> Asked {
    Asked {
        start,
        end,
        types,
        since,
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn every_patient_of_the_real_records_gets_what_a_plain_reading_finds() {
    let shared = harness::shared();
    let halves = [
        &["synthea", "carin/ig-2.0.0", "pdex/inferno"][..],
        &["synthea-2021", "uscore", "carin/inferno"],
    ];
    let counts = compared(&shared.join("data"), &halves);
    let [patients, members, brought, narrowed, new] = counts;
    assert!(patients > 20 && members > 4_000 && brought > 100 && narrowed > 4_000 && new > 1_000);
    // This version of the guide has ids of the other one.
    let [patients, members, brought, ..] = compared(&shared.join("data"), &[&["carin/ig-1.1.0"]]);
    assert!(patients == 2 && members > 8 && brought > 4);
}

/// Imports folders and compares all requests. The result counts patients, members, what they refer to, members of
/// narrowed records, and new members.
fn compared(data: &std::path::Path, parts: &[&[&str]]) -> [usize; 5] {
    let (plain, server) = world(data, parts);
    let application = server.application_token();
    let patients: Vec<String> = plain
        .records
        .keys()
        .filter_map(|name| Some(name.strip_prefix("Patient/")?.to_owned()))
        .collect();
    let (mut members, mut brought, mut narrowed, mut new) = (0, 0, 0, 0);
    for patient in &patients {
        for (at, (asked, count)) in ASKED.iter().enumerate() {
            let found = plain.everything(patient, asked, &BTreeSet::new());
            check(&server, &application, (patient, asked, *count), &found);
            let (matches, includes) = found;
            match asked.since {
                _ if at == 0 => (members, brought) = (members + matches.len(), brought + includes.len()),
                None => narrowed += matches.len(),
                Some(_) => new += matches.len(),
            }
        }
        check_own(&plain, &server, patient);
    }
    println!(
        "{} patients: {members} members, {brought} referred to, {narrowed} of narrowed records, {new} new",
        patients.len()
    );
    [patients.len(), members, brought, narrowed, new]
}

/// Real records in a lake, each part imported an hour after the one before, and a plain reading of it.
fn world(data: &std::path::Path, parts: &[&[&str]]) -> (Plain, Server) {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(FIRST));
    let options = LakeOptions {
        clock: clock.clone(),
        ..crate::harness::kind::options()
    };
    let lake = Lake::create_with(folder.path(), options).unwrap();
    for part in parts {
        let paths: Vec<_> = part.iter().map(|folder| data.join(folder)).collect();
        import(&mut lake.writer().unwrap(), Options::default(), &paths).unwrap();
        clock.advance(Duration::from_secs(3_600));
    }
    let read = stored(&lake).into_iter().map(|((_, _, resource_type, id), row)| {
        let read = Read {
            resource: serde_json::from_str(&row.resource).unwrap(),
            last_updated: row.last_updated,
            patient: row.patient,
        };
        (format!("{resource_type}/{id}"), read)
    });
    let plain = Plain::new(read.collect());
    (plain, Server::over(folder, lake, Limits::default()))
}

/// Checks a request against the expectation: each resource once, in the fixed order, on pages of the requested size,
/// with the right total, and the same by offsets.
fn check(server: &Server, token: &str, (patient, asked, count): (&str, &Asked, usize), (matches, includes): &Found) {
    let path = format!("/fhir/Patient/{patient}/$everything?{}", asked.query());
    let pages = walk(server, token, &format!("{path}&_count={count}&_total=accurate"), "next");
    let of_pages: Vec<_> = pages.iter().map(|page| entries(server, page)).collect();
    for (page, found) in pages.iter().zip(&of_pages) {
        assert_eq!(page["total"], matches.len(), "{patient} {asked:?}");
        assert!(found.len() <= count, "{patient} {asked:?}");
    }
    let full = of_pages.iter().rev().skip(1).all(|found| found.len() == count);
    assert!(full, "{patient} {asked:?}: only the last page has fewer");
    let found = of_pages.concat();
    for (mode, expected) in [("match", matches), ("include", includes)] {
        let found = names(&found, mode).into_iter().collect::<BTreeSet<_>>();
        let differing: Vec<_> = found.symmetric_difference(expected).collect();
        assert!(differing.is_empty(), "{patient} {asked:?}: {differing:?}");
    }
    assert_eq!(
        found.len(),
        matches.len() + includes.len(),
        "{patient} {asked:?}: each once"
    );
    // A place that is on no page's edge, and the last resource.
    for offset in [found.len() / 2 + 1, found.len().saturating_sub(1)] {
        let page = ok(&server.get(&format!("{path}&_count={count}&_offset={offset}"), token));
        let until = offset.saturating_add(count).min(found.len());
        let expected = &found[offset.min(until)..until];
        assert_eq!(entries(server, &page), expected, "{patient} {asked:?} from {offset}");
    }
    let order: Vec<(bool, bool, &str)> = found
        .iter()
        .map(|(mode, name)| (mode == "include", type_of(name) != "Patient", type_of(name)))
        .collect();
    assert!(
        order.is_sorted(),
        "{patient}: Patient first, then by name, what is referred to last"
    );
    let counted = ok(&server.get(&format!("{path}&_count=0"), token));
    assert_eq!(
        (&counted["total"], counted.get("entry")),
        (&Value::from(matches.len()), None),
        "{patient} {asked:?}"
    );
}

/// A patient token gets the same by all parameters, except other people's records that refer to the patient.
fn check_own(plain: &Plain, server: &Server, patient: &str) {
    let token = server.patient_token(patient);
    let (matches, includes) = plain.everything(patient, &ASKED[0].0, &BTreeSet::new());
    let found = all(server, &token, &format!("/fhir/Patient/{patient}/$everything"));
    let found: BTreeSet<String> = found.into_iter().map(|(_, name)| name).collect();
    let expected: BTreeSet<String> = matches.union(&includes).cloned().collect();
    assert!(found.is_subset(&expected), "{patient}");
    let hidden: BTreeSet<String> = expected.difference(&found).cloned().collect();
    for name in &hidden {
        assert_ne!(
            plain.records[name].patient.as_deref(),
            Some(patient),
            "{name} is the patient's own"
        );
        let read = server.get(&format!("/fhir/{name}"), &token);
        assert_eq!(read.status, 404, "{patient}: {name}");
    }
    // The size of pages has nothing to do with the caller, so large ones save time.
    for (asked, _) in &ASKED {
        let found = plain.everything(patient, asked, &hidden);
        check(server, &token, ("$PATIENT_ID", asked, 500), &found);
    }
}
