//! `$everything` compared with a plain reading of the lake: all patients of the real records, with all parameters.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tabularium::http::Limits;
use tabularium::ingest::{Options, import};
use tabularium::lake::clock::ManualClock;
use tabularium::lake::{Lake, LakeOptions};

use super::plain_model::{Asked, Plain, Read, ty};
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
    let (plain, server) = world(&shared.join("data"));
    let application = server.application_token();
    let patients: Vec<String> = plain
        .records
        .keys()
        .filter_map(|name| Some(name.strip_prefix("Patient/")?.to_owned()))
        .collect();
    assert!(patients.len() > 20);
    let (mut members, mut brought, mut narrowed, mut new) = (0, 0, 0, 0);
    for patient in &patients {
        for (at, (asked, count)) in ASKED.iter().enumerate() {
            let (matches, includes) = plain.everything(patient, asked);
            check(
                &server,
                &application,
                (patient.as_str(), asked, *count),
                &matches,
                &includes,
            );
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
    assert!(members > 4_000 && brought > 100 && narrowed > 4_000 && new > 1_000);
}

/// The real records in a lake, half of them imported later, and a plain reading of it.
fn world(data: &std::path::Path) -> (Plain, Server) {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(FIRST));
    let options = LakeOptions {
        clock: clock.clone(),
        ..crate::harness::kind::options()
    };
    let lake = Lake::create_with(folder.path(), options).unwrap();
    let halves = [
        ["synthea", "carin/ig-2.0.0", "pdex/inferno"],
        ["synthea-2021", "uscore", "carin/inferno"],
    ];
    for half in halves {
        let paths: Vec<_> = half.iter().map(|folder| data.join(folder)).collect();
        import(&mut lake.writer().unwrap(), Options::default(), &paths).unwrap();
        clock.advance(Duration::from_secs(3_600));
    }
    let read = stored(&lake).into_iter().map(|((_, _, ty, id), row)| {
        let read = Read {
            resource: serde_json::from_str(&row.resource).unwrap(),
            last_updated: row.last_updated,
        };
        (format!("{ty}/{id}"), read)
    });
    let plain = Plain {
        records: read.collect(),
    };
    (plain, Server::over(folder, lake, Limits::default()))
}

/// Checks a request against the expectation: each resource once, in the fixed order, on pages of the requested size,
/// with the right total.
fn check(
    server: &Server,
    token: &str,
    (patient, asked, count): (&str, &Asked, usize),
    matches: &BTreeSet<String>,
    includes: &BTreeSet<String>,
) {
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
    let order: Vec<(bool, bool, &str)> = found
        .iter()
        .map(|(mode, name)| (mode == "include", ty(name) != "Patient", ty(name)))
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

/// A patient token gets the same, except other people's records that refer to the patient.
fn check_own(plain: &Plain, server: &Server, patient: &str) {
    let token = server.patient_token(patient);
    let (matches, includes) = plain.everything(patient, &ASKED[0].0);
    let found = all(server, &token, "/fhir/Patient/$PATIENT_ID/$everything");
    let found: BTreeSet<String> = found.into_iter().map(|(_, name)| name).collect();
    let expected: BTreeSet<String> = matches.union(&includes).cloned().collect();
    assert!(found.is_subset(&expected), "{patient}");
    for missing in expected.difference(&found) {
        assert_eq!(
            server.get(&format!("/fhir/{missing}"), &token).status,
            404,
            "{patient}: {missing}"
        );
    }
}
