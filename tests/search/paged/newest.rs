//! A sort by date reads the first rows first and skips rows that cannot be on the page. The page equals the one from
//! reading everything.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tabularium::fhir::facts;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::ingest::{Options, import};
use tabularium::lake::{Mode, Scope};
use tabularium::search::raw;
use tabularium::search::{Engine, Form, Handling, Request};

struct Records {
    engine: Engine,
    plain: Engine,
    runtime: tokio::runtime::Runtime,
    scope: Arc<Scope>,
    _folder: tempfile::TempDir,
}

/// Five files of 2,500 Observations, each of other years, with all forms of a time, and some without one.
fn records() -> &'static Records {
    static RECORDS: OnceLock<Records> = OnceLock::new();
    RECORDS.get_or_init(imported)
}

fn imported() -> Records {
    let folder = tempfile::tempdir().unwrap();
    let lake = crate::harness::kind::open_or_create(folder.path());
    let mut random = ChaCha8Rng::seed_from_u64(11);
    for file in 0..5 {
        let mut lines = String::new();
        for at in 0..2_500 {
            let mut observation = json!({"resourceType": "Observation", "id": format!("o{file}-{at}"), "status": "final",
                "subject": {"reference": format!("Patient/p{}", at % 40)},
                "code": {"coding": [{"system": "http://loinc.org", "code": format!("c{}", random.random_range(0..12))}]},
                "valueQuantity": {"value": random.random_range(0..400)}});
            let member = observation.as_object_mut().unwrap();
            if let Some((name, value)) = time(&mut random, file) {
                member.insert(name.to_owned(), value);
            }
            if at % 97 == 0 {
                // More digits than the number column can hold.
                member["valueQuantity"] =
                    serde_json::from_str(r#"{"value":123456789012345678901234567890.5}"#).unwrap();
            }
            writeln!(lines, "{observation}").unwrap();
        }
        let path = folder.path().join(format!("{file}.ndjson"));
        std::fs::write(&path, lines).unwrap();
        let mut writer = lake.writer().unwrap();
        import(&mut writer, Options::default(), &[path]).unwrap();
    }
    let engine = || Engine::new(lake.clone(), SearchParameters::builtin());
    Records {
        engine: engine(),
        plain: engine().without_shortcuts(),
        runtime: tokio::runtime::Runtime::new().unwrap(),
        scope: Arc::new(Scope {
            mode: Mode::Live,
            application: "local".into(),
            patient: None,
        }),
        _folder: folder,
    }
}

fn time(random: &mut ChaCha8Rng, file: usize) -> Option<(&'static str, Value)> {
    let mut date = || {
        let year = 2000 + file * 4 + random.random_range(0..6);
        let (month, day) = (random.random_range(1..=12), random.random_range(1..=28));
        match random.random_range(0..4) {
            0 => format!("{year}"),
            1 => format!("{year}-{month:02}"),
            2 => format!("{year}-{month:02}-{day:02}"),
            _ => format!("{year}-{month:02}-{day:02}T{:02}:30:00Z", random.random_range(0..24)),
        }
    };
    let (one, other) = (date(), date());
    // The first and the last file have open periods, the second has timings.
    let value = match (random.random_range(0..100), file) {
        (0..3, _) => return None,
        (3..10, 0 | 4) => ("effectivePeriod", json!({"start": one})),
        (10..14, 0 | 4) => ("effectivePeriod", json!({"end": one})),
        (14..20, 1) => ("effectiveTiming", json!({"event": [one]})),
        (20..30, _) => (
            "effectivePeriod",
            json!({"start": one.clone().min(other.clone()), "end": one.max(other)}),
        ),
        (30..45, _) => ("effectiveInstant", json!(format!("{}-03-04T05:06:07.5Z", &one[..4]))),
        _ => ("effectiveDateTime", json!(one)),
    };
    Some(value)
}

impl Records {
    fn request<'a>(&'a self, parameters: &'a [raw::RawParameter]) -> Request<'a> {
        Request {
            scope: &self.scope,
            type_id: facts().lookup("Observation").unwrap(),
            parameters,
            compartment: None,
            handling: Handling::Strict,
            now: 1_717_200_000_000_000,
            base: "http://records.example/fhir/",
        }
    }

    fn found(&self, engine: &Engine, query: &str) -> (Vec<String>, Option<u64>) {
        let parameters = raw::parse(query);
        let bundle = self.runtime.block_on(engine.search(&self.request(&parameters)));
        let bundle: Value = serde_json::from_slice(&bundle.unwrap()).unwrap();
        let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
        let id = |entry: &Value| entry["resource"]["id"].as_str().unwrap().to_owned();
        (entries.iter().map(id).collect(), bundle["total"].as_u64())
    }

    fn check(&self, query: &str) {
        assert_eq!(
            self.found(&self.engine, query),
            self.found(&self.plain, query),
            "{query}"
        );
    }
}

#[test]
fn the_first_by_date_are_those_that_reading_everything_gives() {
    let records = records();
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let filters = [
        "",
        "&code=c3",
        "&code=c1,c2",
        "&code=none",
        "&subject=Patient/p7",
        "&date=ge2016",
        "&value-quantity=gt390",
    ];
    let sorts = [
        "-date",
        "date",
        "-date,code",
        "date,-value-quantity",
        "-date,date",
        "-date,status",
    ];
    for round in 0..60 {
        let count = [1, 5, 20, 200][random.random_range(0..4)];
        let offset = [0, 0, 3, 150, 2_900][random.random_range(0..5)];
        let (filter, sort) = (
            filters[round % filters.len()],
            sorts[random.random_range(0..sorts.len())],
        );
        records.check(&format!("_sort={sort}{filter}&_count={count}&_offset={offset}"));
    }

    // The first twenty matches of a code are in one or two of the files, so most pages of the others are not read.
    let parameters = raw::parse("code=c3&_sort=date&date=ge2001-01-01&_count=20");
    let request = records.request(&parameters);
    let explained = records.engine.search_explained(&request, Form::Text);
    let plan = records.runtime.block_on(explained).unwrap().1.to_string();
    assert!(plan.contains("best first"), "{plan}");
}

#[test]
fn plain_dates_and_numbers_are_decided_as_their_programs_decide() {
    let records = records();
    for prefix in ["", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"] {
        for value in ["2007", "2007-03-04T05:06:07.5Z"] {
            records.check(&format!("date={prefix}{value}&_summary=count"));
            records.check(&format!("date={prefix}{value},2011-05&code=c3&_summary=count"));
        }
        for value in ["200", "399.0", "123456789012345678901234567890.5"] {
            records.check(&format!("value-quantity={prefix}{value}&_summary=count"));
            records.check(&format!(
                "value-quantity={prefix}{value}&date=ge2010&_count=7&_sort=-value-quantity"
            ));
        }
    }
}
