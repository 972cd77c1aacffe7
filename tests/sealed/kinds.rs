//! Guarantees for open lakes also hold for sealed ones: tests of other modules run again in a process with sealed
//! lakes.
//!
//! `TABULARIUM_TEST_SEALED=all cargo test --test main sealed::kinds` runs all of these modules.

use std::process::Command;

use crate::harness::kind::{KEK, SEALED, is_sealed};

/// The modules whose tests run again in each `cargo test`.
const MODULES: [&str; 27] = [
    "access::isolation::",
    "backup::killed::a_killed_backup",
    "backup::whole::",
    "lake::catalog::",
    "lake::clock::",
    "lake::compaction::",
    "lake::crash::",
    "erasure::erase::",
    "erasure::erase_all::",
    "search::criteria::conditions::",
    "search::joined::contained::",
    "search::joined::includes::",
    "search::joined::joins::",
    "search::paged::newest::",
    "search::paged::order::",
    "search::paged::pages::",
    "search::paged::sorting::",
    "search::specification::",
    "search::system::",
    "search::paged::walks::",
    "views::erased::",
    "views::output::formats::",
    "views::over_http::run::",
    "views::lake::",
    "views::model::",
    "views::planned::plans::",
    "walk::",
];

/// More modules that hold over both kinds. They would make each `cargo test` longer.
const MORE: [&str; 31] = [
    "access::owners::",
    "access::tokens::",
    "lake::bit_rot::",
    "patient::everything_",
    "scan::",
    "search::bounds::",
    "search::criteria::dates::",
    "search::criteria::filters::",
    "search::criteria::finer_points::",
    "search::criteria::many::",
    "search::criteria::queries::",
    "search::criteria::sampled::",
    "search::criteria::terminology::",
    "search::differential::",
    "search::joined::canonicals::",
    "search::joined::plans::",
    "search::mutations::",
    "search::planned::",
    "sql::",
    "sync::ends::expunge::a_killed_service",
    "sync::interrupted::killed::",
    "sync::interrupted::moments::",
    "sync::interrupted::races::",
    "sync::interrupted::restored::",
    "views::commands::run::",
    "views::over_http::parquet::",
    "views::planned::pruning::",
    "views::planned::several::",
    "views::planned::stream::",
    "views::planned::traveling::",
    "views::suite::",
];

#[test]
fn the_same_tests_hold_over_sealed_lakes() {
    if is_sealed() {
        return;
    }
    let mut modules = MODULES.to_vec();
    if std::env::var(SEALED).is_ok_and(|which| which == "all") {
        modules.extend(MORE);
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(&modules).env(SEALED, "1").env(KEK.0, KEK.1);
    // A few kills are enough, because the crash tests kill often over open lakes.
    let output = again.env("TABULARIUM_KILLS", "2").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let tail: Vec<&str> = said.lines().rev().take(60).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    assert!(
        output.status.success(),
        "{}\n{}",
        tail.join("\n"),
        String::from_utf8_lossy(&output.stderr)
    );
    let ran = said
        .lines()
        .filter(|line| line.starts_with("test ") && line.ends_with("... ok"))
        .count();
    assert!(ran > 140, "{ran} tests ran");
}
