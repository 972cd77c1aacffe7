//! Conditions on other resources, and long lists of ids and people. The engine answers them with sets of ids, owners,
//! dictionaries and indexes, the smaller side first. The results equal reading every resource, and a patient token
//! never reaches another person's rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tabularium::fhir::facts;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::ingest::{Options, import};
use tabularium::lake::{Lake, Mode, PatientScope, Scope};
use tabularium::search::raw;
use tabularium::search::{Engine, Handling, Request, SystemRequest};

const PEOPLE: usize = 40;
const CODES: [&str; 5] = ["pulse", "weight", "glucose", "rare", "never"];
const GENDERS: [&str; 3] = ["female", "male", "unknown"];

/// A condition on a resource.
#[derive(Clone, Debug)]
enum Ask {
    Code(&'static str),
    Gender(&'static str),
    Class(&'static str),
    Ids(Vec<String>),
    /// References to people. If `typed`, they name the type Patient.
    People {
        parameter: &'static str,
        typed: bool,
        ids: Vec<String>,
    },
    Chain {
        parameter: &'static str,
        resource_type: &'static str,
        rest: Box<Ask>,
    },
    Has {
        source: &'static str,
        parameter: &'static str,
        rest: Box<Ask>,
    },
}

/// Resources by `Type/id`.
type World = BTreeMap<String, Value>;

struct Records {
    world: World,
    lake: Lake,
    engine: Engine,
    plain: Engine,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

/// A person's id; every second one is a UUID.
fn person(at: usize) -> String {
    match at % 2 {
        0 => format!("00000000-0000-4000-8000-{at:012x}"),
        _ => format!("p{at}"),
    }
}

fn uuid(kind: usize, at: usize) -> String {
    format!("{kind:08x}-0000-4000-9000-{at:012x}")
}

fn records() -> &'static Records {
    static RECORDS: OnceLock<Records> = OnceLock::new();
    RECORDS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let lake = crate::harness::kind::open_or_create(folder.path());
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut world = World::new();
        for part in 0..3 {
            let mut lines = String::new();
            for resource in resources(&mut random, part) {
                writeln!(lines, "{resource}").unwrap();
                world.insert(name(&resource), resource);
            }
            let path = folder.path().join(format!("{part}.ndjson"));
            std::fs::write(&path, lines).unwrap();
            let mut writer = lake.writer().unwrap();
            import(&mut writer, Options::default(), &[path]).unwrap();
        }
        let engine = || Engine::new(lake.clone(), SearchParameters::builtin());
        Records {
            world,
            engine: engine(),
            plain: engine().without_shortcuts(),
            lake,
            runtime: tokio::runtime::Runtime::new().unwrap(),
            _folder: folder,
        }
    })
}

/// The resources of one import: new ones, and some existing ones that now belong to another person.
fn resources(random: &mut ChaCha8Rng, part: usize) -> Vec<Value> {
    let mut all = Vec::new();
    let patient = |at: usize| json!({"reference": format!("Patient/{}", person(at))});
    if part == 0 {
        for at in 0..PEOPLE {
            all.push(json!({"resourceType": "Patient", "id": person(at), "gender": GENDERS[at % 3]}));
            // The same id with another type is another resource.
            all.push(json!({"resourceType": "Group", "id": person(at), "type": "person", "actual": false}));
        }
        for at in 0..4 {
            all.push(json!({"resourceType": "Practitioner", "id": format!("doc{at}"), "gender": GENDERS[at % 2]}));
        }
    }
    for at in part * 60..part * 60 + 80 {
        let class = ["AMB", "EMER", "IMP"][random.random_range(0..3)];
        all.push(
            json!({"resourceType": "Encounter", "id": uuid(1, at), "status": "finished", "class": {"code": class},
            "subject": patient(random.random_range(0..PEOPLE))}),
        );
    }
    for at in part * 600..part * 600 + 700 {
        let code = CODES[[0, 0, 0, 1, 1, 2][random.random_range(0..6)]];
        let code = if at % 331 == 0 { "rare" } else { code };
        let mut observation = json!({"resourceType": "Observation", "id": uuid(2, at), "status": "final",
            "code": {"coding": [{"system": "http://codes.example", "code": code}]},
            "encounter": {"reference": format!("Encounter/{}", uuid(1, random.random_range(0..220)))},
            "performer": [{"reference": format!("Practitioner/doc{}", random.random_range(0..4))}]});
        match random.random_range(0..20) {
            0 => {
                observation["subject"] =
                    json!({"reference": format!("Group/{}", person(random.random_range(0..PEOPLE)))})
            }
            // There is no subject, so the row is filed under the performer.
            1 => observation["performer"] = json!([patient(random.random_range(0..PEOPLE))]),
            2 => {
                observation["subject"] = patient(random.random_range(0..PEOPLE));
                observation["performer"] = json!([patient(random.random_range(0..PEOPLE))]);
            }
            _ => observation["subject"] = patient(random.random_range(0..PEOPLE)),
        }
        all.push(observation);
    }
    for at in part * 20..part * 20 + 30 {
        all.push(json!({"resourceType": "Condition", "id": format!("c{at}"), "subject": patient(random.random_range(0..PEOPLE)),
            "code": {"coding": [{"code": CODES[random.random_range(0..3)]}]}}));
    }
    all
}

fn name(resource: &Value) -> String {
    format!(
        "{}/{}",
        resource["resourceType"].as_str().unwrap(),
        resource["id"].as_str().unwrap()
    )
}

/// The references of a resource by a parameter.
fn referred(resource: &Value, parameter: &str) -> Vec<String> {
    let element = match parameter {
        "patient" => "subject",
        other => other,
    };
    let found = match &resource[element] {
        Value::Array(several) => several.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    };
    let targets = found.iter().map(|one| one["reference"].as_str().unwrap().to_owned());
    targets
        .filter(|target| parameter != "patient" || target.starts_with("Patient/"))
        .collect()
}

/// The resources of a type that meet a condition, by plain reading.
fn meeting(world: &World, resource_type: &str, ask: &Ask) -> BTreeSet<String> {
    let targets = match ask {
        Ask::Chain {
            resource_type, rest, ..
        } => meeting(world, resource_type, rest),
        Ask::Has {
            source,
            parameter,
            rest,
        } => meeting(world, source, rest)
            .iter()
            .flat_map(|found| referred(&world[found], parameter))
            .collect(),
        _ => BTreeSet::new(),
    };
    let holds = |name: &String, resource: &Value| match ask {
        Ask::Code(code) => resource["code"]["coding"][0]["code"] == *code,
        Ask::Gender(gender) => resource["gender"] == *gender,
        Ask::Class(class) => resource["class"]["code"] == *class,
        Ask::Ids(ids) => ids.iter().any(|id| resource["id"] == *id),
        Ask::People { parameter, typed, ids } => referred(resource, parameter).iter().any(|target| {
            let (resource_type, id) = target.split_once('/').unwrap();
            (!typed || resource_type == "Patient") && ids.iter().any(|wanted| wanted == id)
        }),
        Ask::Chain { parameter, .. } => referred(resource, parameter)
            .iter()
            .any(|target| targets.contains(target)),
        Ask::Has { .. } => targets.contains(name),
    };
    let of_type = world
        .iter()
        .filter(|(_, resource)| resource["resourceType"] == resource_type);
    of_type
        .filter(|(name, resource)| holds(name, resource))
        .map(|(name, _)| name.clone())
        .collect()
}

/// The parameter's name and value.
fn parameter(ask: &Ask) -> (String, String) {
    match ask {
        Ask::Code(code) => ("code".to_owned(), (*code).to_owned()),
        Ask::Gender(gender) => ("gender".to_owned(), (*gender).to_owned()),
        Ask::Class(class) => ("class".to_owned(), (*class).to_owned()),
        Ask::Ids(ids) => ("_id".to_owned(), ids.join(",")),
        Ask::People { parameter, typed, ids } => {
            let value = |id: &String| if *typed { format!("Patient/{id}") } else { id.clone() };
            (
                (*parameter).to_owned(),
                ids.iter().map(value).collect::<Vec<_>>().join(","),
            )
        }
        Ask::Chain {
            parameter: by,
            resource_type,
            rest,
        } => {
            let (name, value) = parameter(rest);
            (format!("{by}:{resource_type}.{name}"), value)
        }
        Ask::Has {
            source,
            parameter: by,
            rest,
        } => {
            let (name, value) = parameter(rest);
            (format!("_has:{source}:{by}:{name}"), value)
        }
    }
}

fn some_ids(random: &mut ChaCha8Rng, id: impl Fn(usize) -> String, of: usize) -> Vec<String> {
    let count = [1, 2, 3, 5, 30, 80][random.random_range(0..6)];
    (0..count).map(|_| id(random.random_range(0..of))).collect()
}

fn people(random: &mut ChaCha8Rng) -> Ask {
    Ask::People {
        parameter: ["patient", "subject"][random.random_range(0..2)],
        typed: random.random_bool(0.5),
        // Some ids do not exist.
        ids: some_ids(random, person, PEOPLE + 10),
    }
}

fn ask(random: &mut ChaCha8Rng, resource_type: &str, depth: usize) -> Ask {
    let deeper = |random: &mut ChaCha8Rng, resource_type: &str| Box::new(ask(random, resource_type, depth - 1));
    let chain = |parameter, resource_type: &'static str, rest| Ask::Chain {
        parameter,
        resource_type,
        rest,
    };
    let has = |source, parameter, rest| Ask::Has {
        source,
        parameter,
        rest,
    };
    let kind = random.random_range(0..if depth == 0 { 3 } else { 8 });
    match (resource_type, kind) {
        ("Observation", 0) => Ask::Code(CODES[random.random_range(0..5)]),
        ("Observation", 1) => Ask::Ids(some_ids(random, |at| uuid(2, at), 2_500)),
        ("Observation", 3 | 4) => chain("subject", "Patient", deeper(random, "Patient")),
        ("Observation", 5 | 6) => chain("encounter", "Encounter", deeper(random, "Encounter")),
        ("Observation", 7) => chain(
            "performer",
            ["Practitioner", "Patient"][random.random_range(0..2)],
            Box::new(Ask::Gender("male")),
        ),
        ("Condition", 0 | 1) => Ask::Code(CODES[random.random_range(0..5)]),
        ("Condition", 3..) => chain("patient", "Patient", deeper(random, "Patient")),
        ("Encounter", 0) => Ask::Class(["AMB", "EMER", "VR"][random.random_range(0..3)]),
        ("Encounter", 1) => Ask::Ids(some_ids(random, |at| uuid(1, at), 300)),
        ("Encounter", 3 | 4) => chain("patient", "Patient", deeper(random, "Patient")),
        ("Encounter", 5..) => has("Observation", "encounter", deeper(random, "Observation")),
        ("Patient", 0) => Ask::Gender(GENDERS[random.random_range(0..3)]),
        ("Patient", 1 | 2) => Ask::Ids(some_ids(random, person, PEOPLE + 5)),
        ("Patient", 3) => has("Condition", "patient", deeper(random, "Condition")),
        ("Patient", 4) => has("Encounter", "patient", deeper(random, "Encounter")),
        ("Patient", 5) => has("Observation", "performer", deeper(random, "Observation")),
        ("Patient", _) => has("Observation", "patient", deeper(random, "Observation")),
        _ => people(random),
    }
}

impl Records {
    fn application(&self) -> Arc<Scope> {
        Arc::new(Scope {
            mode: Mode::Live,
            application: "local".into(),
            patient: None,
        })
    }

    fn patient(&self, id: &str) -> Arc<Scope> {
        let patient = PatientScope {
            patients: vec![id.to_owned()],
            owners: vec![self.lake.owner_of("local", id)],
            authorizations: Vec::new(),
        };
        Arc::new(Scope {
            patient: Some(Arc::new(patient)),
            ..(*self.application()).clone()
        })
    }

    fn bundle(&self, engine: &Engine, scope: &Arc<Scope>, compartment: Option<&str>, query: &str) -> Value {
        let (resource_type, parameters) = query.split_once('?').unwrap();
        let request = Request {
            scope,
            type_id: facts().lookup(resource_type).unwrap(),
            parameters: &raw::parse(parameters),
            compartment,
            handling: Handling::Strict,
            now: 1_717_200_000_000_000,
            base: "http://records.example/fhir/",
        };
        let bundle = self.runtime.block_on(engine.search(&request));
        serde_json::from_slice(&bundle.unwrap_or_else(|error| panic!("{query}: {error}"))).unwrap()
    }

    /// All matches in the order found, on one page. Their number is requested separately.
    fn found(&self, engine: &Engine, scope: &Arc<Scope>, compartment: Option<&str>, query: &str) -> Vec<String> {
        let count = self.bundle(engine, scope, compartment, &format!("{query}&_summary=count"))["total"].as_u64();
        let mut all = Vec::new();
        for page in 0.. {
            let query = format!("{query}&_count=1000&_offset={}", page * 1_000);
            let bundle = self.bundle(engine, scope, compartment, &query);
            let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
            let full = entries.len() == 1_000;
            all.extend(entries.iter().map(|entry| name(&entry["resource"])));
            if !full {
                break;
            }
        }
        assert_eq!(count, Some(all.len() as u64), "{query}");
        all
    }
}

fn set(names: &[String]) -> BTreeSet<String> {
    names.iter().cloned().collect()
}

#[test]
fn sets_and_shortcuts_find_what_reading_everything_finds() {
    let records = records();
    let application = records.application();
    let mut random = ChaCha8Rng::seed_from_u64(23);
    let (mut some, mut none) = (0, 0);
    for at in 0..140 {
        let resource_type = *["Observation", "Observation", "Patient", "Encounter", "Condition"]
            .choose(&mut random)
            .unwrap();
        let asks: Vec<Ask> = (0..random.random_range(1..4))
            .map(|_| ask(&mut random, resource_type, 2))
            .collect();
        let parameters = asks
            .iter()
            .map(parameter)
            .map(|(name, value)| format!("{name}={value}"));
        let query = format!("{resource_type}?{}", parameters.collect::<Vec<_>>().join("&"));
        let sets = asks.iter().map(|ask| meeting(&records.world, resource_type, ask));
        let expected = sets.reduce(|all, one| &all & &one).unwrap();
        let found = records.found(&records.engine, &application, None, &query);
        assert_eq!(set(&found), expected, "{query}");
        if at % 4 == 0 {
            let plain = records.found(&records.plain, &application, None, &query);
            assert_eq!(found, plain, "{query}");
            let sorted = format!("{query}&_sort=-_id");
            let newest = records.found(&records.engine, &application, None, &sorted);
            assert_eq!(newest, expected.iter().rev().cloned().collect::<Vec<_>>(), "{sorted}");
        }
        if expected.is_empty() { none += 1 } else { some += 1 }
    }
    assert!(
        some > 50 && none > 10,
        "{some} queries with matches and {none} without say little"
    );
}

#[test]
fn a_compartment_holds_what_others_rows_say_of_the_patient() {
    let records = records();
    let application = records.application();
    let mut of_others = 0;
    for at in 0..PEOPLE + 3 {
        let id = person(at);
        let reference = format!("Patient/{id}");
        let names = |resource: &&Value, parameter| referred(resource, parameter).contains(&reference);
        let observations = records
            .world
            .values()
            .filter(|one| one["resourceType"] == "Observation");
        let expected: BTreeSet<String> = observations
            .clone()
            .filter(|one| names(one, "subject") || names(one, "performer"))
            .map(name)
            .collect();
        of_others += observations
            .filter(|one| !names(one, "subject") && names(one, "performer"))
            .count();
        let found = records.found(&records.engine, &application, Some(&id), "Observation?status=final");
        assert_eq!(set(&found), expected, "{id}");
    }
    assert!(of_others > 20);
}

#[test]
fn a_patients_conditions_on_other_resources_stay_within_their_rows() {
    let records = records();
    let mut random = ChaCha8Rng::seed_from_u64(31);
    let mut some = 0;
    for at in 0..120 {
        let id = person(random.random_range(0..PEOPLE));
        let reference = format!("Patient/{id}");
        let scope = records.patient(&id);
        let own = |resource: &Value| {
            let subject = referred(resource, "subject");
            let alone = subject.is_empty() && referred(resource, "performer").contains(&reference);
            name(resource) == reference || subject.contains(&reference) || alone
        };
        // Only shared rows that the person's own rows refer to are visible, and only these are found.
        let is_seen = |resource: &Value| own(resource) || resource["resourceType"] == "Practitioner";
        let seen: World = records
            .world
            .iter()
            .filter(|(_, resource)| is_seen(resource))
            .map(|(name, resource)| (name.clone(), resource.clone()))
            .collect();
        let resource_type = ["Observation", "Patient", "Encounter", "Condition"][at % 4];
        let ask = ask(&mut random, resource_type, 2);
        let (parameter, value) = parameter(&ask);
        let query = format!("{resource_type}?{parameter}={value}");
        let expected = meeting(&seen, resource_type, &ask);
        assert_eq!(
            set(&records.found(&records.engine, &scope, None, &query)),
            expected,
            "{id}: {query}"
        );
        some += usize::from(!expected.is_empty());
    }
    assert!(some > 15, "{some} of the queries had matches");
}

#[test]
fn several_types_are_asked_who_refers_to_them() {
    let records = records();
    let found = |query: &str| {
        let request = SystemRequest {
            compartment: None,
            scope: &records.application(),
            parameters: &raw::parse(query),
            handling: Handling::Strict,
            now: 1_717_200_000_000_000,
            base: "http://records.example/fhir/",
        };
        let bundle = records.runtime.block_on(records.engine.search_system(&request))?;
        let bundle: Value = serde_json::from_slice(&bundle).unwrap();
        let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
        Ok::<_, tabularium::search::SearchError>(
            entries
                .iter()
                .map(|entry| name(&entry["resource"]))
                .collect::<BTreeSet<_>>(),
        )
    };
    let rest = Ask::Has {
        source: "Observation",
        parameter: "patient",
        rest: Box::new(Ask::Code("rare")),
    };
    let expected = meeting(&records.world, "Patient", &rest);
    assert!(!expected.is_empty());
    // The parameter does not refer to Encounters, but that is not an error in a search of both types.
    let both = found("_type=Encounter,Patient&_has:Observation:patient:code=rare&_count=1000").unwrap();
    assert_eq!(both, expected);
    // A subject may be a Group or a Patient.
    let rest = |resource_type| {
        meeting(
            &records.world,
            resource_type,
            &Ask::Has {
                source: "Observation",
                parameter: "subject",
                rest: Box::new(Ask::Code("rare")),
            },
        )
    };
    let both = found("_type=Group,Patient&_has:Observation:subject:code=rare&_count=1000").unwrap();
    assert_eq!(both, &rest("Patient") | &rest("Group"));
    for wrong in [
        "_type=Encounter,Condition&_has:Observation:patient:code=rare",
        "_type=Encounter,Patient&_has:Nothing:patient:code=rare",
        "_type=Encounter,Patient&_has:Observation:patient:nothing=rare",
    ] {
        assert!(found(wrong).is_err(), "{wrong}");
    }
}
