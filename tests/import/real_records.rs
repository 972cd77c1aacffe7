//! Real records, counted and compared independently of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Fixture;
use crate::harness::json::Json;
use crate::harness::real;
use crate::harness::stored::stored;

const FOLDERS: [&str; 4] = ["synthea", "synthea-2021", "uscore", "carin/ig-2.0.0"];

/// The expected resources of a folder in the order of the input, with resolved references and without `meta`.
#[derive(Default)]
struct Expected {
    resources: Vec<(String, String, Json)>,
    by_identifier: BTreeMap<String, BTreeSet<String>>,
}

impl Expected {
    fn folder(&mut self, folder: &Path) {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                self.folder(&path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                self.document(&Json::parse(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }

    fn document(&mut self, document: &Json) {
        let entries = match document.text("resourceType") {
            Some("Bundle") => document.get("entry").map_or(&[][..], Json::items),
            _ => return self.resource(document.clone()),
        };
        let addresses: BTreeMap<&str, String> = entries
            .iter()
            .filter_map(|entry| {
                let resource = entry.get("resource")?;
                Some((
                    entry.text("fullUrl")?,
                    format!("{}/{}", resource.text("resourceType")?, resource.text("id")?),
                ))
            })
            .collect();
        for entry in entries {
            let mut resource = entry.get("resource").unwrap().clone();
            resource.change_references(&|reference| addresses.get(reference).cloned());
            self.resource(resource);
        }
    }

    fn resource(&mut self, resource: Json) {
        let (resource_type, id) = (
            resource.text("resourceType").unwrap().to_owned(),
            resource.text("id").unwrap().to_owned(),
        );
        for identifier in resource.get("identifier").map_or(&[][..], Json::items) {
            let system = identifier.text("system").unwrap_or_default();
            let value = identifier.text("value").unwrap_or_default();
            let query = format!("{resource_type}?identifier={system}|{value}");
            self.by_identifier
                .entry(query)
                .or_default()
                .insert(format!("{resource_type}/{id}"));
        }
        self.resources.push((resource_type, id, resource));
    }
}

#[test]
fn every_resource_is_stored_once_and_as_it_was() {
    let real = real();
    let folders = FOLDERS.iter().map(|folder| real.data.join(folder));
    // The excerpt of the records has some of the folders.
    let folders: Vec<PathBuf> = folders.filter(|folder| real.is_whole || folder.exists()).collect();
    assert!(folders.len() >= 3, "{folders:?}");
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let mut expected = Expected::default();
    folders.iter().for_each(|folder| expected.folder(folder));
    let read = expected.resources.len() as u64;
    let mut latest: BTreeMap<(String, String), Json> = BTreeMap::new();
    let mut conditional = 0;
    for (resource_type, id, mut resource) in expected.resources {
        resource.change_references(&|reference| {
            let found = expected.by_identifier.get(reference).filter(|found| found.len() == 1)?;
            found.first().cloned()
        });
        resource.take_commit_meta();
        latest.insert((resource_type, id), resource);
    }

    let fixture = Fixture::new();
    let summary = fixture.import(&folders);
    assert_eq!((summary.refused, summary.unresolved), (0, 0), "{:?}", summary.refusals);
    assert_eq!(summary.total().read, read);
    assert_eq!(summary.total().stored, latest.len() as u64);

    let rows = stored(&fixture.lake);
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    latest
        .keys()
        .for_each(|(resource_type, _)| counts.entry(resource_type).or_default().0 += 1);
    rows.keys()
        .for_each(|(_, _, resource_type, _)| counts.entry(resource_type).or_default().1 += 1);
    for (resource_type, (expected, found)) in counts {
        assert_eq!(found, expected, "number of {resource_type}");
        assert_eq!(
            summary.types[resource_type].stored, expected as u64,
            "reported number of {resource_type}"
        );
    }
    for ((_, _, resource_type, id), row) in &rows {
        let mut resource = Json::parse(&row.resource);
        let (version, updated) = resource.take_commit_meta();
        let source = &latest[&((*resource_type).to_owned(), id.clone())];
        assert_eq!(resource, *source, "{resource_type}/{id}");
        assert_eq!(version.unwrap(), row.version.to_string(), "{resource_type}/{id}");
        let updated = chrono::DateTime::parse_from_rfc3339(&updated.unwrap()).unwrap();
        assert_eq!(updated.timestamp_micros(), row.last_updated, "{resource_type}/{id}");
        conditional += usize::from(row.resource.contains("?identifier="));
    }
    assert_eq!(conditional, 0, "conditional references that were not resolved");

    let again = fixture.import(&folders);
    assert_eq!(
        again.snapshot, summary.snapshot,
        "what comes again unchanged makes no snapshot"
    );
    assert_eq!(again.total().stored, 0);
    assert_eq!(stored(&fixture.lake), rows);
}
