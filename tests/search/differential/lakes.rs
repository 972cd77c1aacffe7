//! The same real records in lakes of different layouts, and the records that each token sees.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tabularium::fhir::facts;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::ingest::{Options, Session, import};
use tabularium::lake::compact::{self, CompactOptions, Effort};
use tabularium::lake::{Lake, Mode};
use tabularium::search::Engine;

use super::definition::{Definitions, packaged};
use super::expression::relative;
use crate::harness::stored::stored;

/// Engines over a lake: one with all optimizations, and one without any.
pub(super) struct Engines {
    pub(super) usual: Engine,
    pub(super) plain: Engine,
}

/// The search parameters of R4 and of the packages, for the engines and for the tests.
pub(super) fn parameters(shared: &Path) -> (Arc<SearchParameters>, Definitions) {
    parameters_in(shared, tempfile::tempdir().unwrap().path())
}

/// The same, with the packages' parameters stored in a folder.
pub(super) fn parameters_in(shared: &Path, folder: &Path) -> (Arc<SearchParameters>, Definitions) {
    let mut definitions = Definitions::of_r4();
    for (at, (name, contents)) in packaged(&shared.join("definitions")).into_iter().enumerate() {
        definitions.add(&serde_json::from_slice(&contents).unwrap());
        std::fs::write(folder.join(format!("{at:03}-{name}")), contents).unwrap();
    }
    let parameters = SearchParameters::builtin().with_folder(folder).unwrap();
    (Arc::new(parameters), definitions)
}

pub(super) fn engines(lake: &Lake, parameters: &Arc<SearchParameters>) -> Engines {
    Engines {
        usual: Engine::new(lake.clone(), parameters.clone()),
        plain: Engine::new(lake.clone(), parameters.clone()).without_shortcuts(),
    }
}

/// The local application's live records in a lake.
pub(super) struct Held {
    pub(super) resources: Vec<Value>,
    /// For each Patient the records that its token sees.
    pub(super) seen: BTreeMap<String, HashSet<String>>,
}

impl Held {
    pub(super) fn of(lake: &Lake) -> Held {
        let mut resources = Vec::new();
        let mut own: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut shared: BTreeMap<String, usize> = BTreeMap::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for ((mode, application, resource_type, id), row) in stored(lake) {
            if (mode, application.as_str()) != (Mode::Live, "local") {
                continue;
            }
            let name = format!("{resource_type}/{id}");
            places.insert(name.clone(), resources.len());
            match (row.owner, row.patient) {
                (0, _) => {
                    shared.insert(name, resources.len());
                }
                (_, Some(patient)) => own.entry(patient).or_default().push(name),
                _ => {}
            }
            resources.push(serde_json::from_str(&row.resource).unwrap());
        }
        let seen = own.into_iter().map(|(patient, names)| {
            // A person's own rows, the shared rows that they refer to, and the references of those.
            let mut seen: HashSet<String> = names.iter().cloned().collect();
            let mut queue: VecDeque<String> = names.into();
            while let Some(name) = queue.pop_front() {
                let mut referred = Vec::new();
                references(&resources[places[&name]], &mut referred);
                for target in referred {
                    if shared.contains_key(&target) && seen.insert(target.clone()) {
                        queue.push_back(target);
                    }
                }
            }
            (patient, seen)
        });
        let seen = seen.collect();
        Held { resources, seen }
    }
}

/// All relative references in a resource.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            found.extend(relative(value));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// A lake of many small files. The records were imported folder by folder and file by file, some in an older form
/// first, and some were deleted. Another application and the test mode have altered copies.
pub(super) fn crowded(shared: &Path) -> (tempfile::TempDir, Lake) {
    let folder = tempfile::tempdir().unwrap();
    let lake = crate::harness::kind::open_or_create(folder.path());
    let data = shared.join("data");
    let small: Vec<PathBuf> = ["uscore", "carin/ig-2.0.0"].map(|folder| data.join(folder)).to_vec();
    let altered: Vec<Value> = altered(&small);
    for (mode, application) in [(Mode::Live, "local"), (Mode::Live, "other"), (Mode::Test, "local")] {
        let mut writer = lake.writer().unwrap();
        let options = Options {
            mode,
            application: application.to_owned(),
            ..Options::default()
        };
        let mut session = Session::begin(&mut writer, options).unwrap();
        for resource in &altered {
            session.add_document(resource.to_string().as_bytes()).unwrap();
        }
        session.finish().unwrap();
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(data.join("synthea-2021"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .collect();
    files.sort();
    let mut parts: Vec<Vec<PathBuf>> = files.into_iter().map(|file| vec![file]).collect();
    parts.extend(small.into_iter().map(|folder| vec![folder]));
    for part in parts {
        import(&mut lake.writer().unwrap(), Options::default(), &part).unwrap();
    }
    delete_some(&lake);
    (folder, lake)
}

/// The resources of folders with altered contents.
fn altered(folders: &[PathBuf]) -> Vec<Value> {
    let mut resources = Vec::new();
    for folder in folders {
        for path in tabularium::ingest::find(std::slice::from_ref(folder)).unwrap() {
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let Ok(mut resource) = serde_json::from_str::<Value>(&text) else {
                continue;
            };
            if resource.get("id").is_none() || resource["resourceType"] == "Bundle" {
                continue;
            }
            resource["language"] = json!("x-altered");
            for name in ["status", "gender"] {
                if resource.get(name).is_some() {
                    resource[name] = json!("unknown");
                }
            }
            resources.push(resource);
        }
    }
    resources
}

/// Deletes some rows.
fn delete_some(lake: &Lake) {
    let snapshot = lake.snapshot();
    let mut writer = lake.writer().unwrap();
    let mut transaction = writer.begin();
    for ((mode, type_id), table) in &snapshot.tables {
        let few = ["Observation", "Condition", "Encounter", "Claim"].contains(&facts().get(*type_id).name);
        for file in table
            .files
            .iter()
            .filter(|file| few && *mode == Mode::Live && file.rows > 30)
        {
            let rows = (3..file.rows).step_by(17);
            transaction.delete_rows(*mode, *type_id, file.id, rows).unwrap();
        }
    }
    transaction.commit("test", "").unwrap();
}

/// Merges a lake's files as far as possible.
pub(super) fn compact(lake: &Lake) {
    let before = lake
        .snapshot()
        .tables
        .values()
        .map(|table| table.files.len())
        .sum::<usize>();
    compact::run(
        &mut lake.writer().unwrap(),
        &CompactOptions::new(Effort::Thorough),
        |_, _, _| {},
    )
    .unwrap();
    let after = lake
        .snapshot()
        .tables
        .values()
        .map(|table| table.files.len())
        .sum::<usize>();
    assert!(after < before, "{after} of {before} files");
}
