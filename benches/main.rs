//! The benches, one binary over one seeded population of 200 people (about 100,000 resources). `few` makes its own, of
//! 60 people.
//!
//! `cargo bench` runs all of them, `cargo bench -- search` those whose name holds `search`. The medians are printed as
//! a table at the end; `README.md` beside this file says what each one measures.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod care;
mod catalog;
mod directory;
mod ingest;
mod medians;
mod patient;
mod read;
mod sample;
mod search;
mod terminology;
mod tokens;
mod views;

use std::path::Path;
use std::time::SystemTime;

use criterion::Criterion;

/// The same allocator as in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let results = Path::new(env!("CARGO_TARGET_TMPDIR")).join("criterion");
    let started = SystemTime::now();
    let mut criterion = Criterion::default()
        .output_directory(&results)
        .without_plots()
        .configure_from_args();
    let sample = sample::Sample::of(200);
    println!("{}", sample.description());
    ingest::shred::benches(&mut criterion, &sample);
    ingest::import::benches(&mut criterion, &sample);
    catalog::benches(&mut criterion);
    directory::benches(&mut criterion);
    care::benches(&mut criterion, &sample);
    read::benches(&mut criterion, &sample);
    search::benches(&mut criterion, &sample);
    patient::everything::benches(&mut criterion, &sample);
    patient::cards::benches(&mut criterion, &sample);
    patient::record::benches(&mut criterion, &sample);
    views::benches(&mut criterion, &sample);
    tokens::benches(&mut criterion, &sample);
    terminology::benches(&mut criterion);
    ingest::normalize::benches(&mut criterion);
    ingest::sync::benches(&mut criterion);
    criterion.final_summary();
    medians::print(&results, started);
}
