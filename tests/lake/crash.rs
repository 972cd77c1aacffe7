//! Kills processes at random points. A killed import leaves the lake as before or as after, never in between. A killed
//! compaction loses nothing. The next writer moves aside the files of a killed one. The processes and the kills are
//! real (`harness::kills`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use arrow::array::AsArray;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tabularium::lake::{Lake, Snapshot};

use crate::harness::kills::{chance, kill_when, rounds};
use crate::harness::kind;
use crate::harness::lake::{files_below, files_in_place, resources};
use crate::harness::records;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

fn program(arguments: &[&std::ffi::OsStr]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The resources of a small population, one JSON text each.
fn population(scratch: &Path) -> Vec<String> {
    let out = scratch.join("population");
    let made = program(&[
        "generate".as_ref(),
        "--patients".as_ref(),
        "2".as_ref(),
        "--out".as_ref(),
        out.as_ref(),
    ]);
    assert!({ made }.status().unwrap().success());
    let mut files: Vec<PathBuf> = files_below(&out).into_iter().collect();
    files.sort();
    files
        .iter()
        .flat_map(|file| {
            std::fs::read_to_string(file)
                .unwrap()
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Writes the population with a round's number in all resources.
fn write_round(path: &Path, population: &[String], round: usize) {
    let marked = population
        .iter()
        .map(|text| format!(r#"{{"implicitRules":"urn:round:{round}",{}"#, &text[1..]));
    std::fs::write(path, marked.collect::<Vec<_>>().join("\n")).unwrap();
}

/// The round of all rows in the snapshot. Two rounds would be half a commit.
fn round_of(snapshot: &Snapshot, rows: usize) -> usize {
    let rounds: Vec<usize> = resources(snapshot)
        .iter()
        .map(|text| {
            let from = text.find("urn:round:").unwrap() + "urn:round:".len();
            text[from..]
                .chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
                .parse()
                .unwrap()
        })
        .collect();
    assert_eq!(rounds.len(), rows, "every resource is there once");
    assert_eq!(
        rounds.iter().collect::<BTreeSet<_>>().len(),
        1,
        "and all are of one commit"
    );
    rounds[0]
}

fn referenced(snapshot: &Snapshot) -> BTreeSet<PathBuf> {
    let files = snapshot.tables.values().flat_map(|table| &table.files);
    files
        .flat_map(|file| std::iter::once(file.path.clone()).chain(file.deletes.iter().map(|file| file.path.clone())))
        .collect()
}

/// A lake of a small population that is imported and killed repeatedly.
struct Victim {
    scratch: tempfile::TempDir,
    population: Vec<String>,
    random: ChaCha8Rng,
}

impl Victim {
    fn new() -> Victim {
        let scratch = tempfile::tempdir().unwrap();
        let population = population(scratch.path());
        let victim = Victim {
            scratch,
            population,
            random: chance(7),
        };
        victim.import_whole(0);
        victim
    }

    fn data(&self) -> PathBuf {
        self.scratch.path().join("lake")
    }

    fn lake(&self) -> Lake {
        Lake::open(self.data()).unwrap()
    }

    fn files(&self) -> BTreeSet<PathBuf> {
        files_in_place(&self.data().join("data"))
    }

    fn import(&self, round: usize) -> Command {
        let input = self.scratch.path().join("round.ndjson");
        write_round(&input, &self.population, round);
        let mut import = program(&[
            "import".as_ref(),
            "--data".as_ref(),
            self.data().as_ref(),
            input.as_ref(),
        ]);
        import.args(kind::flags());
        import
    }

    fn import_whole(&self, round: usize) {
        assert!(self.import(round).status().unwrap().success());
        assert_eq!(self.round(), round);
    }

    fn round(&self) -> usize {
        round_of(&self.lake().snapshot(), self.population.len())
    }

    /// Runs the command and kills it a moment after it has written a random number of files. If it writes fewer, it
    /// runs to its end.
    fn kill(&mut self, command: Command, most_files: usize) {
        let files = self.files().len() + self.random.random_range(0..most_files + 6);
        let moment = Duration::from_micros(self.random.random_range(0..12_000));
        self.kill_at(command, |now| now < files, moment)
    }

    /// Runs the command and kills it a moment after it began to remove old files.
    fn kill_while_removing(&mut self, command: Command) {
        let moment = Duration::from_micros(self.random.random_range(0..3_000));
        let mut most = 0;
        let goes_on = |now: usize| {
            most = most.max(now);
            now == most
        };
        self.kill_at(command, goes_on, moment)
    }

    fn kill_at(&mut self, mut command: Command, mut goes_on: impl FnMut(usize) -> bool, moment: Duration) {
        let child = command.spawn().unwrap();
        kill_when(child, moment, || !goes_on(self.files().len()));
    }

    /// Lets the next writer clean up. All files of snapshots must remain, and no others.
    fn check_files(&self) {
        let lake = self.lake();
        let known = known_files(&lake);
        drop(lake.writer().unwrap());
        assert_eq!(self.files(), known, "no orphan is left, and no file is lost");
        let keys = kind::stray_keys(&self.data(), lake.folder().keys());
        assert_eq!(keys, [], "no key is left that opens nothing, or an erased file");
    }
}

fn kills() -> usize {
    rounds(16)
}

#[test]
fn a_killed_import_leaves_the_lake_before_or_after_it() {
    let mut victim = Victim::new();
    let tables = victim.lake().snapshot().tables.len();
    let (mut before, mut after) = (0, 0);
    let mut last = 0;
    for round in 1..=kills() {
        // An import writes up to two files per table.
        let import = victim.import(round);
        victim.kill(import, 2 * tables);
        let found = victim.round();
        assert!(
            found == last || found == round,
            "after round {round} the lake has round {found}, not {last}"
        );
        *(if found == round { &mut after } else { &mut before }) += 1;
        last = found;
        victim.check_files();
    }
    println!("{before} kills before the commit, {after} after it");
    assert!(
        kills() < 16 || (before > 0 && after > 0),
        "the kills hit both sides of the commit"
    );
    victim.import_whole(kills() + 1);
}

/// A catalog used to be created in place. A first import that was killed while it created the tables left a file
/// without them. Then nothing could open the folder, not even the next import.
#[test]
fn a_killed_first_import_leaves_a_folder_that_the_next_one_takes() {
    let scratch = tempfile::tempdir().unwrap();
    let input = scratch.path().join("p.json");
    std::fs::write(&input, r#"{"resourceType":"Patient","id":"p"}"#).unwrap();
    for round in 0..kills() {
        let data = scratch.path().join(format!("lake{round}"));
        let arguments = [
            "import".as_ref(),
            "--data".as_ref(),
            data.as_os_str(),
            input.as_os_str(),
        ];
        let import = || {
            let mut import = program(&arguments);
            import.args(kind::flags());
            import
        };
        let mut killed = import().spawn().unwrap();
        let seen = || std::fs::read_dir(&data).map_or(0, |entries| entries.count());
        while seen() < 1 + round % 5 && killed.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert!(import().status().unwrap().success(), "round {round}");
        let rows: u64 = Lake::open(&data)
            .unwrap()
            .snapshot()
            .tables
            .values()
            .map(|table| table.rows)
            .sum();
        assert_eq!(rows, 1, "round {round}");
    }
    let data = scratch.path().join("empty");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("catalog.sqlite"), "").unwrap();
    kind::open_or_create(&data);
}

#[test]
fn a_killed_compaction_loses_nothing() {
    let mut victim = Victim::new();
    victim.import_whole(1);
    let tables = victim.lake().snapshot().tables.len();
    for round in 2..2 + kills() / 4 {
        let compact = program(&["compact".as_ref(), "--data".as_ref(), victim.data().as_ref()]);
        victim.kill(compact, tables);
        assert_eq!(victim.round(), round - 1);
        victim.check_files();
        victim.import_whole(round);
    }
    let compact = program(&["compact".as_ref(), "--data".as_ref(), victim.data().as_ref()]).status();
    assert!(compact.unwrap().success());
    assert_eq!(victim.round(), 1 + kills() / 4);
    let snapshot = victim.lake().snapshot();
    assert!(snapshot.tables.values().all(|table| table.files.len() == 1));
}

/// Reads a resource with an application's scope.
fn is_shown(lake: &Lake, text: &str) -> bool {
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let type_id = records::type_named(json["resourceType"].as_str().unwrap());
    let table = lake.table(&lake.snapshot(), type_id, &records::application("local"));
    table.read(json["id"].as_str().unwrap()).unwrap().is_some()
}

/// An erasure killed at any point has not begun, or it hides all rows at once. The next writer finishes it.
#[test]
fn a_killed_erasure_is_not_begun_or_finished_by_the_next_writer() {
    let mut victim = Victim::new();
    let first = victim
        .population
        .iter()
        .find(|text| text.contains(r#""resourceType":"Patient""#));
    let patient: serde_json::Value = serde_json::from_str(first.unwrap()).unwrap();
    let patient = patient["id"].as_str().unwrap().to_owned();
    let subject = format!(r#""subject":{{"reference":"Patient/{patient}"#);
    let own: Vec<String> = victim
        .population
        .iter()
        .filter(|text| text.contains(&subject))
        .cloned()
        .collect();
    assert!(own.len() > 100 && own.len() < victim.population.len() - 100);
    let tables = victim.lake().snapshot().tables.len();
    let erase = |victim: &Victim| {
        program(&[
            "erase".as_ref(),
            "--yes".as_ref(),
            "--data".as_ref(),
            victim.data().as_ref(),
            "--patient".as_ref(),
            patient.as_ref(),
        ])
    };
    // The expected rest, from an erasure that is not killed.
    assert!(erase(&victim).status().unwrap().success());
    let rest = resources(&victim.lake().snapshot()).len();
    assert!(rest < victim.population.len() - own.len());
    let (mut before, mut after) = (0, 0);
    for round in 1..=kills() {
        victim.import_whole(round);
        // For each file of a table, a rewritten file and its delete file.
        let erase = erase(&victim);
        match round % 3 {
            0 => victim.kill_while_removing(erase),
            _ => victim.kill(erase, 3 * tables),
        }
        let shown = |lake: &Lake| own.iter().filter(|text| is_shown(lake, text)).count();
        let found = shown(&victim.lake());
        assert!(
            found == 0 || found == own.len(),
            "round {round}: {found} of {}",
            own.len()
        );
        drop(victim.lake().writer().unwrap());
        victim.check_files();
        assert_eq!(shown(&victim.lake()), found, "round {round}");
        if found > 0 {
            before += 1;
            continue;
        }
        after += 1;
        let lake = victim.lake();
        // The files that were moved aside contain nothing of the person either.
        for orphan in files_below(&victim.data().join("data/.orphans")) {
            let rows = texts_of(&orphan).unwrap_or_else(|| panic!("{} cannot be read", orphan.display()));
            assert!(rows.iter().all(|text| !text.contains(&subject)), "round {round}");
        }
        for id in 0..=lake.snapshot().id {
            let Ok(snapshot) = lake.snapshot_at(id) else {
                continue;
            };
            assert!(
                resources(&snapshot).iter().all(|text| !text.contains(&subject)),
                "round {round}"
            );
        }
        assert_eq!(resources(&lake.snapshot()).len(), rest, "round {round}");
    }
    println!("{before} kills before it was recorded, {after} after");
    assert!(kills() < 16 || after > 0, "the kills hit erasures that had begun");
}

/// A lake whose catalog is lost after a kill. A new catalog does not bring back rows of a recorded erasure. If its
/// creation is killed, the next call creates it.
#[test]
fn neither_a_killed_erasure_nor_a_killed_adoption_brings_rows_back() {
    let mut victim = Victim::new();
    let first = victim
        .population
        .iter()
        .find(|text| text.contains(r#""resourceType":"Patient""#));
    let patient: serde_json::Value = serde_json::from_str(first.unwrap()).unwrap();
    let patient = patient["id"].as_str().unwrap().to_owned();
    let subject = format!(r#""subject":{{"reference":"Patient/{patient}"#);
    let own: Vec<String> = victim
        .population
        .iter()
        .filter(|text| text.contains(&subject))
        .cloned()
        .collect();
    let tables = victim.lake().snapshot().tables.len();
    let call = |victim: &Victim, arguments: &[&str]| {
        let mut command = program(&arguments.iter().map(std::ffi::OsStr::new).collect::<Vec<_>>());
        command.arg("--data").arg(victim.data());
        command
    };
    let shown = |lake: &Lake| own.iter().filter(|text| is_shown(lake, text)).count();
    assert!(
        call(&victim, &["erase", "--yes", "--patient", &patient])
            .status()
            .unwrap()
            .success()
    );
    let rest = resources(&victim.lake().snapshot()).len();
    let (mut before, mut after) = (0, 0);
    for round in 1..=kills() / 2 {
        victim.import_whole(round);
        let erase = call(&victim, &["erase", "--yes", "--patient", &patient]);
        match round % 2 {
            0 => victim.kill_while_removing(erase),
            _ => victim.kill(erase, 3 * tables),
        }
        let found = shown(&victim.lake());
        *(if found > 0 { &mut before } else { &mut after }) += 1;
        for name in ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"] {
            let _ = std::fs::remove_file(victim.data().join(name));
        }
        // An unreadable file is kept, wherever the process is killed.
        let unfit = victim.data().join("data/live/Patient/unfit.parquet");
        std::fs::write(&unfit, "half a file").unwrap();
        let mut adopt = call(&victim, &["check", "--adopt"]).spawn().unwrap();
        let begun = Instant::now();
        let entries = || std::fs::read_dir(victim.data()).unwrap().count();
        let (start, steps) = (entries(), round % 4);
        while entries() < start + steps && adopt.try_wait().unwrap().is_none() {
            assert!(
                begun.elapsed() < Duration::from_secs(300),
                "it neither ends nor goes on"
            );
        }
        adopt.kill().unwrap();
        adopt.wait().unwrap();
        let _ = call(&victim, &["check", "--adopt"]).status().unwrap();
        let lake = victim.lake();
        // An erasure that was killed before it was recorded may be carried out now. A recorded one must be.
        let now = shown(&lake);
        assert!(now == 0 || now == found, "round {round}: {found} were shown, {now} are");
        drop(lake.writer().unwrap());
        assert_eq!(shown(&lake), now, "round {round}");
        let rows = if now > 0 { victim.population.len() } else { rest };
        assert_eq!(resources(&lake.snapshot()).len(), rows, "round {round}");
        let mut kept = files_below(&victim.data());
        kept.retain(|path| path.ends_with("live/Patient/unfit.parquet"));
        assert_eq!(kept.len(), 1, "round {round}");
        assert!(
            kept.iter().all(|path| !path.to_string_lossy().contains(".orphans")),
            "round {round}"
        );
        kept.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }
    println!("{before} kills before it was recorded, {after} after");
    assert!(kills() < 16 || after > 0, "the kills hit erasures that had begun");
}

/// The resources of a data file; empty for a delete file; `None` for neither.
fn texts_of(path: &Path) -> Option<Vec<String>> {
    let reader = kind::try_parquet(path).ok()?.build().ok()?;
    let mut texts = Vec::new();
    for batch in reader {
        if let Some(column) = batch.ok()?.column_by_name("resource") {
            texts.extend(column.as_string::<i32>().iter().flatten().map(str::to_owned));
        }
    }
    Some(texts)
}

/// The files of all readable snapshots.
fn known_files(lake: &Lake) -> BTreeSet<PathBuf> {
    let newest = lake.snapshot().id;
    (0..=newest)
        .filter_map(|id| lake.snapshot_at(id).ok())
        .flat_map(|snapshot| referenced(&snapshot))
        .collect()
}
