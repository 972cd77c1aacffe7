//! An import killed at any point leaves the lake as it was before or as it should be afterwards, never in between, and the next
//! writer removes what the killed one left behind.
//!
//! The processes are real and so is the kill. `TABULARIUM_KILLS` sets how many (16 unless set).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use tabularium::lake::{Lake, Picture};

use crate::harness::lake::{files_below, resources};

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

/// The population with the number of a round in every resource.
fn write_round(path: &Path, population: &[String], round: usize) {
    let marked = population
        .iter()
        .map(|text| format!(r#"{{"implicitRules":"urn:round:{round}",{}"#, &text[1..]));
    std::fs::write(path, marked.collect::<Vec<_>>().join("\n")).unwrap();
}

/// The round that all rows of the picture are of; two would be half a commit.
fn round_of(picture: &Picture, rows: usize) -> usize {
    let rounds: Vec<usize> = resources(picture)
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

fn referenced(picture: &Picture) -> BTreeSet<PathBuf> {
    let files = picture.tables.values().flat_map(|table| &table.files);
    files
        .flat_map(|file| std::iter::once(file.path.clone()).chain(file.deletes.iter().map(|file| file.path.clone())))
        .collect()
}

#[test]
fn a_killed_import_leaves_the_lake_before_or_after_it() {
    let scratch = tempfile::tempdir().unwrap();
    let population = population(scratch.path());
    let input = scratch.path().join("round.ndjson");
    let data = scratch.path().join("lake");
    let import = || program(&["import".as_ref(), "--data".as_ref(), data.as_ref(), input.as_ref()]);
    write_round(&input, &population, 0);
    assert!(import().status().unwrap().success());
    let tables = Lake::open(&data).unwrap().picture().tables.len();

    let kills = std::env::var("TABULARIUM_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(16);
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut before, mut after) = (0, 0);
    let mut last = 0;
    for round in 1..=kills {
        write_round(&input, &population, round);
        let start = files_below(&data.join("data")).len();
        let mut child = import().spawn().unwrap();
        // A point in the work rather than in time: so many files written, and a moment more. An import writes up to two files
        // a table; a number beyond that lets it come to its commit.
        let files = start + random.random_range(0..tables * 2 + 6);
        let moment = Duration::from_micros(random.random_range(0..12_000));
        let begun = Instant::now();
        while files_below(&data.join("data")).len() < files && child.try_wait().unwrap().is_none() {
            assert!(
                begun.elapsed() < Duration::from_secs(300),
                "the import neither ends nor goes on"
            );
        }
        let reached = Instant::now();
        while reached.elapsed() < moment {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();

        let lake = Lake::open(&data).unwrap();
        let found = round_of(&lake.picture(), population.len());
        assert!(
            found == last || found == round,
            "after round {round} the lake has round {found}, not {last}"
        );
        *(if found == round { &mut after } else { &mut before }) += 1;
        last = found;
        let known = known_files(&lake);
        drop(lake.writer().unwrap());
        assert_eq!(
            files_below(&data.join("data")),
            known,
            "no orphan is left, and no file is lost"
        );
    }
    println!("{kills} kills: {before} before the commit, {after} after it");
    assert!(
        kills < 20 || (before > 0 && after > 0),
        "the kills hit both sides of the commit"
    );
    write_round(&input, &population, kills + 1);
    assert!(import().status().unwrap().success());
    assert_eq!(
        round_of(&Lake::open(&data).unwrap().picture(), population.len()),
        kills + 1
    );
}

/// Files of all snapshots that can still be read.
fn known_files(lake: &Lake) -> BTreeSet<PathBuf> {
    let newest = lake.picture().snapshot;
    (0..=newest)
        .filter_map(|snapshot| lake.picture_at(snapshot).ok())
        .flat_map(|picture| referenced(&picture))
        .collect()
}
