//! Medicare Advantage plans as CMS publishes them. Hand-made files in its layouts become tables beside the lake.
//! Commands, rules and a running server use the tables.

mod damaged;
mod files;
mod formats;
mod used;

use std::io::Write;
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
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn load(&self, files: &[&str]) -> String {
        done(&self.data(), &[&["plans", "load"], files].concat())
    }

    /// The message of a refused load, which must exit with code 2.
    fn refused(&self, files: &[&str]) -> String {
        let output = run(&self.data(), &[&["plans", "load"], files].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        said
    }

    /// The year, publication, plans and areas of each table.
    fn listed(&self) -> Vec<(u64, String, u64, u64)> {
        let list: Value = serde_json::from_str(&done(&self.data(), &["plans", "list", "--json"])).unwrap();
        let tables = list["tables"].as_array().unwrap().iter();
        let number = |table: &Value, name: &str| table[name].as_u64().unwrap();
        let listed = tables.map(|table| {
            let publication = table["publication"].as_str().unwrap().to_owned();
            (
                number(table, "year"),
                publication,
                number(table, "plans"),
                number(table, "areas"),
            )
        });
        listed.collect()
    }

    fn lookup(&self, plan: &str) -> Value {
        serde_json::from_str(&done(&self.data(), &["plans", "lookup", "--json", plan])).unwrap()
    }

    fn areas(&self, plan: &str) -> Vec<String> {
        let found = self.lookup(plan);
        let areas = found["areas"].as_array().unwrap().iter();
        let name = |area: &Value| {
            format!(
                "{} {}",
                area["state"].as_str().unwrap(),
                area["county"].as_str().unwrap_or("-")
            )
        };
        areas.map(name).collect()
    }
}

fn run(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--data").arg(data).output().unwrap()
}

fn done(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// A ZIP archive of files.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        archive
            .start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}
