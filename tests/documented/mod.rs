//! Every line of README.md and docs/ that one would type is run here, in the order of its page, in a folder of its own
//! and with a server where the page starts one. It must end well, or badly where the page shows an error, and what the
//! page shows must come out. `compared` says what may differ, `pages` which lines are not run, and why.

mod compared;
mod page;
mod pages;
mod scene;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::page::{Step, steps};
use self::pages::{EXCUSED, page_names};
use self::scene::{Base, Scene};

fn read(page: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap()
}

/// Why a line is not run.
fn excuse(page: &str, step: &Step) -> Option<&'static str> {
    let fits = |(of, part, _): &&(&str, &str, &str)| *of == page && step.command.contains(part);
    EXCUSED.iter().find(fits).map(|(_, _, reason)| *reason)
}

/// The faults in the lines of a page.
fn faults(base: &Base, page: &str) -> Vec<String> {
    let text = read(page);
    let steps = steps(&text);
    if steps.iter().all(|step| excuse(page, step).is_some()) {
        return Vec::new();
    }
    let mut scene = Scene::of(base, page, &text);
    let mut faults = Vec::new();
    for step in steps.iter().filter(|step| excuse(page, step).is_none()) {
        if let Err(fault) = scene.run(page, step) {
            faults.push(format!("{page}:{}: {}\n{fault}", step.line, step.command));
        }
    }
    faults
}

#[test]
fn what_is_documented_is_what_happens() {
    let (base, pages, next) = (Base::new(), page_names(), AtomicUsize::new(0));
    let found = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(4);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let faults = faults(&base, page);
                    found.lock().unwrap().extend(faults);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{} lines:\n\n{}", found.len(), found.join("\n\n"));
}

#[test]
fn each_excuse_is_for_a_line() {
    for (page, part, _) in EXCUSED {
        let steps = steps(&read(page));
        assert!(steps.iter().any(|step| step.command.contains(part)), "{page}: {part}");
    }
}
