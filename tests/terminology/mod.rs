//! Terminology as publishers ship it. Hand-made files in their layouts become tables beside the lake. Commands,
//! searches and a running server use the tables.

mod damaged;
mod drugs;
mod files;
mod formats;
mod serving;
mod sets;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::harness::process::PROGRAM;

/// A folder for files, with a data folder in it.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        World {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn load(&self, files: &[&str]) -> String {
        let arguments = [&["terminology", "load"], files].concat();
        done(&self.data(), &arguments)
    }

    /// The message of a refused load, which must exit with code 2.
    fn refused(&self, files: &[&str]) -> String {
        let output = run(&self.data(), &[&["terminology", "load"], files].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        said
    }

    fn list(&self) -> Value {
        let text = done(&self.data(), &["terminology", "list", "--json"]);
        serde_json::from_str(&text).unwrap()
    }

    /// The only loaded system: URL, version and number of concepts.
    fn listed(&self) -> (String, Value, u64) {
        let list = self.list();
        let tables = list["tables"].as_array().unwrap();
        assert_eq!(tables.len(), 1, "{list}");
        let system = tables[0]["system"].as_str().unwrap().to_owned();
        (
            system,
            tables[0]["version"].clone(),
            tables[0]["concepts"].as_u64().unwrap(),
        )
    }

    fn lookup(&self, system: &str, code: &str) -> Value {
        let text = done(&self.data(), &["terminology", "lookup", "--json", system, code]);
        serde_json::from_str(&text).unwrap()
    }

    fn display(&self, system: &str, code: &str) -> String {
        let found = self.lookup(system, code);
        found["display"]
            .as_str()
            .unwrap_or_else(|| panic!("{found}"))
            .to_owned()
    }

    /// The value of a property of a code.
    fn property(&self, system: &str, code: &str, property: &str) -> Value {
        let found = self.lookup(system, code);
        let properties = found["properties"].as_array().unwrap();
        let found = properties.iter().find(|one| one["property"] == property);
        found.map_or(Value::Null, |one| one["value"].clone())
    }
}

fn run(data: &Path, arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

fn done(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}
