//! The memory and the processor time of the process that reads attachments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tabularium::patient::pdf::apart::Bounds;
use tabularium::patient::pdf::{Form, Reader};

use super::hostile::{files, nested, numbers};
use super::{Own, document, drawn, letter, reader, record};
use crate::pdf::reading::{assert_in_order, text};

/// The peak memory of the processes that read attachments while `work` runs, in bytes.
fn peak(own: &Own, work: impl FnOnce()) -> u64 {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut most = 0;
            while !is_over.load(Ordering::Relaxed) {
                for id in own.processes() {
                    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
                    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
                    most = most.max(kilobytes.unwrap_or(0) * 1_024);
                }
                std::thread::yield_now();
            }
            most
        });
        work();
        is_over.store(true, Ordering::Relaxed);
        watching.join().unwrap()
    })
}

#[test]
fn a_process_takes_at_most_512_mib_for_one_attachment() {
    let own = Own::new();
    for file in files() {
        let title = file.0;
        let most = peak(&own, || {
            drawn(&own.reader, &record(&[file]), &(), Form::Document).unwrap();
        });
        assert!(most > 0 && most <= 512 << 20, "{title}: {} MiB", most >> 20);
    }
}

/// What takes little memory and time is read, even if many such attachments come together.
#[test]
fn many_honest_attachments_are_all_read() {
    let titles: Vec<String> = (0..60).map(|number| format!("Letter {number}.")).collect();
    let mut files: Vec<_> = titles.iter().map(|title| letter(title)).collect();
    files.extend((0..20).map(|_| ("A page", "application/pdf", nested(3))));
    let (file, export) = document(&files);
    assert!(export.failed.is_empty(), "{}", text(&file));
    let expected: Vec<String> = titles.iter().map(|title| format!("The contents of {title}")).collect();
    assert_in_order(&file, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

/// A hundred attachments that each end a process must not hold the request: what was not tried when the time is used up
/// is a placeholder, too.
#[test]
fn all_attachments_of_a_request_share_their_time() {
    let bounds = Bounds {
        attachment: Duration::from_secs(2),
        attachments: Duration::from_secs(4),
        ..Bounds::default()
    };
    let reader = Reader { bounds, ..reader() };
    let mut files = vec![letter("first")];
    let numbers = numbers(15_000_000);
    files.extend((0..100).map(|_| ("Numbers", "application/pdf", numbers.clone())));
    let begun = Instant::now();
    let (file, export) = drawn(&reader, &record(&files), &(), Form::Document).unwrap();
    // Four seconds of attachments, and the start of some processes. The machine may have other work.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(export.failed.len(), 1);
    assert_in_order(
        &file,
        &[
            "seventy",
            "first",
            "Numbers",
            "all the time that there is",
            "What is missing",
        ],
    );
}
