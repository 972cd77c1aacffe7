//! Changes the lake while a soak sends its requests: other processes import and erase, as an operator would.
//!
//! This module decides what these processes import and erase, so that the size of the lake stays about the same. The
//! processes work on a copy of the lake, which is removed at the end.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::ask::plan::some_of;
use super::ask::row::Field;
use super::error::BenchError;
use super::tell::report::{ErrorCount, MemoryAt};
use crate::fhir::facts;
use crate::lake::{Lake, Mode, Scope};
use crate::sandbox::Population;

/// The time between two changes of the lake. A soak of less than five minutes has [`IMPORTS`] changes instead.
const EVERY: Duration = Duration::from_secs(5);
const IMPORTS: u32 = 60;
/// Of `PERSON_EVERY` changes of the lake, one imports a new person and one erases this person again. A soak of less
/// than 50 minutes uses a smaller number, so that it still imports and erases ten people.
const PERSON_EVERY: u32 = 60;
/// The number of records that an import changes. All imports take them from a fixed set of at most `CHANGING` records.
const CHANGED: usize = 25;
const CHANGING: usize = 500;
/// How long a command is repeated while another process writes. `PAUSE` is the pause before each repetition.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);
/// The maximum number of points in the curve of memory.
const POINTS: f64 = 60.0;

/// A copy of a lake in a temporary folder. The folder is removed when the value is dropped.
#[derive(Debug)]
pub struct Copy(PathBuf);

impl Copy {
    /// Copies a lake to a temporary folder, without the store of its service.
    pub fn of(lake: &Lake) -> Result<Copy, BenchError> {
        let copy = Copy(std::env::temp_dir().join(format!("tabularium-soak-{}", Uuid::new_v4())));
        lake.copy_to(&copy.0)?;
        Ok(copy)
    }

    /// Returns the folder of the copy.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // If the folder cannot be removed, the warning tells the user where it is.
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(folder = %self.0.display(), %error, "the soak's copy of the lake stays");
        }
    }
}

/// A thread that imports and erases until it is stopped.
pub(super) struct Writer {
    counts: Arc<Counts>,
    thread: Option<JoinHandle<Vec<ErrorCount>>>,
}

#[derive(Default)]
struct Counts {
    stop: AtomicBool,
    imports: AtomicU64,
    erasures: AtomicU64,
}

impl Writer {
    /// Starts a thread that imports into the lake and erases from it by running `program`. `time` is the length of the
    /// soak, and decides how often the thread does this.
    pub(super) fn start(
        program: &Path,
        lake: &Lake,
        scope: &Arc<Scope>,
        seed: u64,
        time: Duration,
    ) -> Result<Writer, BenchError> {
        let every = EVERY.min(time / IMPORTS);
        let steps = (time.as_secs_f64() / every.as_secs_f64().max(1e-3)) as u32;
        let counts = Arc::new(Counts::default());
        let work = Work {
            commands: Commands::new(program, lake, scope),
            input: lake.folder().path().join("soak.ndjson"),
            records: records(lake, scope, seed)?,
            // The lake may have been generated with the bench's seed. So use another seed, which generates people who
            // are not in the lake yet.
            population: Population::new(seed ^ 0x50a6_50a6, u64::from(u32::MAX)),
            person_every: (steps / 10).clamp(4, PERSON_EVERY),
            counts: counts.clone(),
            errors: Vec::new(),
        };
        let thread = std::thread::spawn(move || work.run(every));
        Ok(Writer {
            counts,
            thread: Some(thread),
        })
    }

    /// Returns the numbers of imports and of erasures so far.
    pub(super) fn done(&self) -> (u64, u64) {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (count(&self.counts.imports), count(&self.counts.erasures))
    }

    /// Waits for the running command to end, and starts no other. Returns the errors of all commands of the soak.
    pub(super) fn stop(mut self) -> Vec<ErrorCount> {
        self.end()
    }

    fn end(&mut self) -> Vec<ErrorCount> {
        self.counts.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else {
            return Vec::new();
        };
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads up to [`CHANGING`] random records of the lake as JSON. The imports change these records.
fn records(lake: &Lake, scope: &Arc<Scope>, seed: u64) -> Result<Vec<Value>, BenchError> {
    let rows = some_of(lake, scope, seed, CHANGING)?;
    let snapshot = lake.snapshot();
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        let named = row.get(Field::Type).and_then(|name| facts().lookup(name));
        let Some((type_id, id)) = named.zip(row.get(Field::Id)) else {
            continue;
        };
        let read = lake.table(&snapshot, type_id, scope).read(id);
        let read = read.map_err(|error| std::io::Error::other(error.to_string()))?;
        records.extend(read.and_then(|row| serde_json::from_slice::<Value>(&row.resource).ok()));
    }
    Ok(records)
}

/// Runs the program's commands over the lake.
pub(super) struct Commands {
    program: PathBuf,
    data: PathBuf,
    mode: Mode,
}

struct Work {
    commands: Commands,
    input: PathBuf,
    records: Vec<Value>,
    population: Population,
    person_every: u32,
    counts: Arc<Counts>,
    errors: Vec<ErrorCount>,
}

impl Work {
    fn run(mut self, every: Duration) -> Vec<ErrorCount> {
        for step in 0u32.. {
            let begun = Instant::now();
            let (person, within) = (step / self.person_every, step % self.person_every);
            if within == 0 {
                self.import(self.newcomer(person.into()));
            } else if within == self.person_every / 2 {
                self.erase(&self.population.patient_id(person.into()));
            } else {
                self.import(self.changed(step));
            }
            while begun.elapsed() < every && !self.is_stopped() {
                std::thread::park_timeout(every.saturating_sub(begun.elapsed()));
            }
            if self.is_stopped() {
                break;
            }
        }
        self.errors
    }

    fn is_stopped(&self) -> bool {
        self.counts.stop.load(Ordering::Relaxed)
    }

    /// Returns all records of a person who is not in the lake, as NDJSON.
    fn newcomer(&self, index: u64) -> String {
        let records = self.population.person(index);
        records.iter().map(|record| format!("{}\n", record.json)).collect()
    }

    /// Returns the next [`CHANGED`] records as NDJSON. Each gets a tag that makes it a new version.
    fn changed(&self, step: u32) -> String {
        let start = step as usize * CHANGED;
        let next = (start..start + CHANGED.min(self.records.len())).map(|at| &self.records[at % self.records.len()]);
        let tagged = next.map(|record| {
            let mut record = record.clone();
            let tag = json!({"system": "urn:tabularium:soak", "code": step.to_string()});
            match record.get_mut("meta").and_then(Value::as_object_mut) {
                Some(meta) => drop(meta.insert("tag".to_owned(), json!([tag]))),
                None => record["meta"] = json!({"tag": [tag]}),
            }
            format!("{record}\n")
        });
        tagged.collect()
    }

    fn import(&mut self, lines: String) {
        if lines.is_empty() {
            return;
        }
        let done = match std::fs::write(&self.input, lines) {
            Ok(()) => self.command("import", &[self.input.as_os_str()]),
            Err(error) => Err(error.to_string()),
        };
        match done {
            Ok(()) => drop(self.counts.imports.fetch_add(1, Ordering::Relaxed)),
            Err(reason) => self.failed("import", reason),
        }
    }

    fn erase(&mut self, patient: &str) {
        match self.command("erase", &["--yes".as_ref(), "--patient".as_ref(), patient.as_ref()]) {
            Ok(()) => drop(self.counts.erasures.fetch_add(1, Ordering::Relaxed)),
            Err(reason) => self.failed("erase", reason),
        }
    }

    fn command(&self, name: &str, arguments: &[&OsStr]) -> Result<(), String> {
        self.commands.run(name, arguments, || self.is_stopped())
    }

    fn failed(&mut self, what: &str, message: String) {
        match self.errors.iter_mut().find(|error| error.status == what) {
            Some(error) => error.count += 1,
            None => self.errors.push(ErrorCount {
                status: what.to_owned(),
                count: 1,
                message,
            }),
        }
    }
}

impl Commands {
    pub(super) fn new(program: &Path, lake: &Lake, scope: &Scope) -> Commands {
        Commands {
            program: program.to_owned(),
            data: lake.folder().path().to_owned(),
            mode: scope.mode,
        }
    }

    /// Imports these records.
    pub(super) fn import(&self, records: &str) -> Result<(), BenchError> {
        let input = self.data.join("hostile.ndjson");
        std::fs::write(&input, records)?;
        let done = self.run("import", &[input.as_os_str()], || false);
        done.map_err(|reason| std::io::Error::other(reason).into())
    }

    /// Runs a command. If it fails because another process is writing, such as the server's upkeep, repeats it for at
    /// most [`PATIENCE`], or until `is_stopped`. The error is the last line that the command printed.
    fn run(&self, name: &str, arguments: &[&OsStr], is_stopped: impl Fn() -> bool) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let mut command = Command::new(&self.program);
            command.arg(name).arg("--data").arg(&self.data);
            command.args(["--mode", self.mode.schema()]).args(arguments);
            let output = command
                .stdin(Stdio::null())
                .output()
                .map_err(|error| error.to_string())?;
            if output.status.success() {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&output.stderr);
            if !said.contains("is being written by") || begun.elapsed() > PATIENCE || is_stopped() {
                return Err(said.lines().last().unwrap_or_default().to_owned());
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Returns the maximum memory in each of sixty equal parts of the time. Parts without samples are left out.
pub(super) fn curve(samples: &[MemoryAt]) -> Vec<MemoryAt> {
    let end = samples.last().map_or(0.0, |sample| sample.seconds);
    let place = |sample: &MemoryAt| ((sample.seconds / end.max(1e-9) * POINTS) as usize).min(POINTS as usize - 1);
    let mut points: Vec<(usize, MemoryAt)> = Vec::new();
    for sample in samples {
        match points.last_mut() {
            Some((at, point)) if *at == place(sample) => {
                point.bytes = point.bytes.max(sample.bytes);
                point.seconds = sample.seconds;
            }
            _ => points.push((place(sample), *sample)),
        }
    }
    points.into_iter().map(|(_, point)| point).collect()
}

/// Returns the maximum memory between two times, in seconds. `None` if there are no samples.
pub(super) fn peak(samples: &[MemoryAt], from: f64, to: f64) -> Option<u64> {
    let within = samples.iter().filter(|sample| (from..=to).contains(&sample.seconds));
    within.map(|sample| sample.bytes).max()
}

/// Returns the memory at the end, divided by the memory at a sixth of the time (the tenth minute of an hour). Both are
/// the maximum over the preceding twelfth of the time. `None` if either has no samples, or if the divisor is 0.
pub(super) fn growth(samples: &[MemoryAt]) -> Option<f64> {
    let end = samples.last()?.seconds;
    let peak = |from: f64, to: f64| peak(samples, end * from, end * to);
    let (then, now) = (peak(1.0 / 12.0, 1.0 / 6.0)?, peak(11.0 / 12.0, 1.0)?);
    (then > 0).then(|| now as f64 / then as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rising(count: u32) -> Vec<MemoryAt> {
        let at = |second: u32| MemoryAt {
            seconds: f64::from(second),
            bytes: 100 + u64::from(second),
        };
        (0..=count).map(at).collect()
    }

    #[test]
    fn a_curve_has_the_highest_of_each_stretch() {
        let points = curve(&rising(3600));
        assert_eq!(points.len(), 60);
        let ends = (points[0], points[59]);
        assert_eq!((ends.0.bytes, ends.1.bytes), (100 + 59, 100 + 3600));
        assert_eq!(curve(&rising(10)).len(), 11);
        assert!(curve(&[]).is_empty());
    }

    #[test]
    fn growth_is_the_end_by_the_tenth_minute_of_an_hour() {
        assert_eq!(growth(&rising(3600)), Some(3700.0 / 700.0));
        let flat: Vec<MemoryAt> = rising(3600).into_iter().map(|at| MemoryAt { bytes: 7, ..at }).collect();
        assert_eq!(growth(&flat), Some(1.0));
        assert_eq!(growth(&[]), None);
    }
}
