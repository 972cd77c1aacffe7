//! Sealed lakes: nothing can be read without the keys, and erased rows cannot be read at all.

mod attached;
mod clear;
mod copies;
mod damaged;
mod erased;
mod full;
mod killed;
mod kinds;
mod refused;
mod served;
mod sessions;
mod stale;
mod swept;
mod turned;

pub(crate) use clear::telling_texts;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tabularium::lake::{Lake, LakeOptions, Snapshot};

use crate::harness::kind::KEK;
use crate::harness::lake::files_below;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

/// A folder for a lake, with the program's inputs.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        Scene { dir }
    }

    /// A sealed lake with these records.
    fn with(records: &[Value]) -> Scene {
        let scene = Scene::new();
        scene.import(records, &["--sealed"]);
        scene
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("lake")
    }

    /// Runs a command on the lake with its key-encryption key.
    fn run(&self, command: &str, arguments: &[&str]) -> Output {
        self.run_with(command, arguments, Some(KEK.1))
    }

    /// The same with another key, or none.
    fn run_with(&self, command: &str, arguments: &[&str], kek: Option<&str>) -> Output {
        let mut program = Command::new(PROGRAM);
        program.env_remove(KEK.0).envs(kek.map(|kek| (KEK.0, kek)));
        program.args([OsStr::new(command), OsStr::new("--data"), self.data().as_os_str()]);
        program.args(arguments).output().unwrap()
    }

    /// Runs a subcommand of `keys` on the lake.
    fn run_keys(&self, arguments: &[String], kek: Option<&str>) -> Output {
        let mut program = Command::new(PROGRAM);
        program.env_remove(KEK.0).envs(kek.map(|kek| (KEK.0, kek)));
        program.arg("keys").args(arguments).arg("--data").arg(self.data());
        program.output().unwrap()
    }

    /// A file with a key-encryption key, outside of the lake.
    fn kek_file(&self, kek: &str) -> PathBuf {
        let path = self.dir.path().join(format!("kek-{}", &kek[..8]));
        if !path.exists() {
            std::fs::write(&path, kek).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        }
        path
    }

    /// Runs a command that must succeed.
    fn done(&self, command: &str, arguments: &[&str]) -> String {
        let output = self.run(command, arguments);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn import(&self, records: &[Value], arguments: &[&str]) {
        let input = self.input(records);
        let mut all = arguments.to_vec();
        all.push(input.to_str().unwrap());
        self.done("import", &all);
    }

    fn input(&self, records: &[Value]) -> PathBuf {
        let path = self.dir.path().join("input.ndjson");
        let lines: Vec<String> = records.iter().map(Value::to_string).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        path
    }

    /// Opens the lake as a server does.
    fn lake(&self) -> Lake {
        let options = LakeOptions {
            kek: self.kek(),
            ..LakeOptions::default()
        };
        Lake::open_with(self.data(), options).unwrap()
    }

    /// The texts of all resources, read after reopening.
    fn resources(&self) -> Vec<String> {
        let lake = self.lake();
        resources(&lake, &lake.snapshot())
    }

    /// The texts of every readable snapshot.
    fn history(&self) -> BTreeMap<u64, Vec<String>> {
        let lake = self.lake();
        let snapshots = (0..=lake.snapshot().id).filter_map(|id| lake.snapshot_at(id).ok());
        snapshots
            .map(|snapshot| (snapshot.id, resources(&lake, &snapshot)))
            .collect()
    }

    /// The numbers of sealed and of unencrypted data files, delete files and attachments.
    fn kinds(&self) -> (usize, usize) {
        let files = files_below(&self.data().join("data")).into_iter();
        let (sealed, clear): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(|path| {
            let bytes = std::fs::read(path).unwrap();
            bytes.ends_with(b"PARE") || bytes.ends_with(b"TABATT2\n")
        });
        (sealed.len(), clear.len())
    }

    /// The same key-encryption key in a file.
    fn kek(&self) -> tabularium::lake::KekSource {
        tabularium::lake::KekSource::File(self.kek_file(KEK.1))
    }

    fn keys(&self) -> tabularium::lake::Keys {
        let kek = self.kek().load().unwrap();
        tabularium::lake::Keys::of(tabularium::lake::seal::KeyStore::open(&self.data(), kek).unwrap())
    }

    /// All files of the folder with their bytes, except files that processes share and those that SQLite empties.
    fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let is_shared = |path: &PathBuf| {
            path.ends_with("lock")
                || ["-shm", "-journal"]
                    .iter()
                    .any(|end| path.to_string_lossy().ends_with(end))
        };
        let files = files_below(&self.data()).into_iter().filter(|path| !is_shared(path));
        files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    }
}

/// The texts of all resources of a snapshot.
fn resources(lake: &Lake, snapshot: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    for file in snapshot.tables.values().flat_map(|table| &table.files) {
        let keys = lake.folder().keys();
        let gone = file.deletes.as_ref().map_or_else(Vec::new, |file| {
            tabularium::lake::deletes::read(&file.path, keys).unwrap()
        });
        let texts = texts(&file.path, keys).unwrap().into_iter().enumerate();
        found.extend(texts.filter_map(|(at, text)| (!gone.contains(&(at as u64))).then_some(text)));
    }
    found.sort();
    found
}

/// The texts of the resources in a data file. An error if no key opens it.
fn texts(path: &Path, keys: &tabularium::lake::Keys) -> Result<Vec<String>, String> {
    use arrow::array::AsArray;
    let file = tabularium::lake::file::CheckedFile::open(path, keys).map_err(|error| error.to_string())?;
    let options = parquet::arrow::arrow_reader::ArrowReaderOptions::new();
    let metadata = file.metadata(path, options).map_err(|error| error.to_string())?;
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
    let mut texts = Vec::new();
    for batch in reader.build().unwrap() {
        let batch = batch.map_err(|error| error.to_string())?;
        let column = batch.column_by_name("resource").unwrap().as_string::<i32>();
        texts.extend(column.iter().flatten().map(str::to_owned));
    }
    Ok(texts)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// This many people with two records each.
fn people(count: usize) -> Vec<Value> {
    let of = |at: usize| {
        let id = format!("person-{at:04}");
        [
            json!({"resourceType":"Patient","id":id,"birthDate":format!("19{:02}-07-1{}", 30 + at % 60, at % 10),
                "name":[{"family":format!("Zwiebelturm{at:04}"),"given":["Kunigunde"]}],
                "identifier":[{"system":"urn:insured","value":format!("MBR-77{at:04}")}]}),
            json!({"resourceType":"Observation","id":format!("finding-{at:04}"),"status":"final",
                "code":{"coding":[{"system":"http://loinc.org","code":"85354-9","display":"Blood pressure panel"}]},
                "subject":{"reference":format!("Patient/{id}")},"valueString":format!("remarkable {at:04}")}),
        ]
    };
    (0..count).flat_map(of).collect()
}
