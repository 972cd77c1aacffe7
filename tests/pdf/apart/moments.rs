//! The process that reads attachments is killed or stopped at random moments. The file is complete all the same.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::RngExt;
use tabularium::patient::pdf::Form;
use tabularium::patient::pdf::apart::Bounds;

use super::{Own, drawn, letter, reader, record};
use crate::harness::kills::{chance, rounds};
use crate::pdf::attachments::{content_type, real_files};
use crate::pdf::content::assert_content;
use crate::pdf::reading::{assert_in_order, text};

/// Makes a file while `harm` is done to a process after a random time.
fn harmed(seed: u64, signal: &str, bounds: Bounds, usual: usize) {
    let own = Own::bounded(bounds);
    let reader = &own.reader;
    let mut chance = chance(seed);
    let titles: Vec<String> = (0..10).map(|number| format!("Letter {number}.")).collect();
    let files: Vec<_> = titles.iter().map(|title| letter(title)).collect();
    let record = record(&files);
    let begun = Instant::now();
    drawn(reader, &record, &(), Form::Document).unwrap();
    let usual_time = begun.elapsed();
    for _ in 0..rounds(usual) {
        let moment = usual_time.mul_f64(chance.random_range(0.0..1.2));
        let is_over = AtomicBool::new(false);
        let (file, _) = std::thread::scope(|scope| {
            scope.spawn(|| {
                let begun = Instant::now();
                while begun.elapsed() < moment && !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                for id in own.processes() {
                    let _ = Command::new("kill").args([signal, &id.to_string()]).output();
                }
            });
            let drawn = drawn(reader, &record, &(), Form::Document);
            is_over.store(true, Ordering::Relaxed);
            drawn.unwrap()
        });
        assert_in_order(&file, &["seventy"]);
        let text = text(&file);
        for title in &titles {
            let title: String = title.split_whitespace().collect();
            let is_there = text.contains(&format!("Thecontentsof{title}"));
            let is_told = text.contains(&format!("Importedrecords:{title}"));
            assert!(is_there || is_told, "{title} is missing without a word: {text}");
        }
        assert!(own.processes().is_empty(), "a process is left");
    }
}

#[test]
fn a_killed_process_costs_no_page() {
    harmed(411, "-KILL", Bounds::default(), 8);
}

/// A process that gets no processor time must not hold the request for ever.
#[test]
fn a_stopped_process_does_not_hold_the_request() {
    let bounds = Bounds {
        wait: Duration::from_secs(2),
        attachment_wait: Duration::from_millis(500),
        ..Bounds::default()
    };
    harmed(412, "-STOP", bounds, 2);
}

/// Real files are shown in full.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn real_files_are_shown_by_the_process() {
    let files = real_files();
    let attached: Vec<_> = files
        .iter()
        .map(|(name, bytes)| (name.as_str(), content_type(name), bytes.clone()))
        .collect();
    let record = record(&attached);
    let (file, export) = drawn(&reader(), &record, &(), Form::Document).unwrap();
    assert_eq!(export.failed, [""; 0]);
    assert_eq!(export.resources, record.len());
    for (name, bytes) in &files {
        assert_content(name, bytes, &file);
    }
}
