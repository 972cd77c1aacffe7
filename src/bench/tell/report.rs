//! The report of a bench: lines of a table for people, and JSON for programs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::error::BenchError;
use super::tally::Tally;

/// The version of the report's JSON format.
pub(in crate::bench) const FORMAT: u32 = 1;

/// The results of a bench, and its circumstances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this format.
    pub(in crate::bench) tabularium_bench: u32,
    /// When the bench began.
    pub(in crate::bench) at: String,
    pub(in crate::bench) program: Program,
    pub(in crate::bench) machine: Machine,
    pub(in crate::bench) server: Server,
    pub(in crate::bench) lake: LakeSize,
    pub(in crate::bench) mix: String,
    pub(in crate::bench) seed: u64,
    pub(in crate::bench) seconds: f64,
    pub(in crate::bench) warm_up_seconds: f64,
    /// Whether the user pressed Ctrl-C before the end.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(in crate::bench) interrupted: bool,
    /// Whether the bench ended early because the server stopped or refused the token.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(in crate::bench) ended_early: bool,
    pub(in crate::bench) results: Vec<Outcome>,
    pub(in crate::bench) left_out: Vec<LeftOut>,
}

/// The program that sent the requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct Program {
    pub(in crate::bench) version: String,
    /// `release` or `debug`.
    pub(in crate::bench) build: String,
}

/// The machine on which the bench ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct Machine {
    pub(in crate::bench) system: String,
    pub(in crate::bench) processor: Option<String>,
    pub(in crate::bench) cores: usize,
    pub(in crate::bench) memory_bytes: Option<u64>,
}

/// The measured server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct Server {
    /// The server's FHIR base URL. `None` if the bench started the server.
    pub(in crate::bench) url: Option<String>,
    /// The name of the server's software, from its CapabilityStatement.
    pub(in crate::bench) software: Option<String>,
    pub(in crate::bench) version: Option<String>,
    /// The server's peak memory, if the bench started it.
    pub(in crate::bench) peak_memory_bytes: Option<u64>,
}

/// The lake from which values were drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct LakeSize {
    pub(in crate::bench) snapshot: u64,
    pub(in crate::bench) resources: u64,
    pub(in crate::bench) bytes: u64,
    pub(in crate::bench) types: BTreeMap<String, u64>,
}

/// The figures of a family at one number of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct Outcome {
    pub(in crate::bench) family: String,
    pub(in crate::bench) clients: usize,
    /// The duration of the measurement, in seconds.
    pub(in crate::bench) seconds: f64,
    /// The number of good answers. `per_second` is this number divided by `seconds`.
    pub(in crate::bench) answers: u64,
    pub(in crate::bench) per_second: f64,
    /// The latency of good answers.
    pub(in crate::bench) latency_ms: Latency,
    /// The total size of the bodies of good answers, in bytes.
    pub(in crate::bench) bytes: u64,
    /// The number of rows of the searched table, multiplied by `per_second`. `None` for families that do not scan a
    /// table.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(in crate::bench) rows_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(in crate::bench) pages: Option<Pages>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(in crate::bench) soak: Option<Soak>,
    pub(in crate::bench) failed: u64,
    pub(in crate::bench) errors: Vec<ErrorCount>,
    /// The server's peak memory during the measurement, if the bench started the server.
    pub(in crate::bench) server_memory_bytes: Option<u64>,
    /// The texts of the family's queries.
    pub(in crate::bench) queries: Vec<String>,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct Latency {
    pub(in crate::bench) mean: f64,
    pub(in crate::bench) p50: f64,
    pub(in crate::bench) p90: f64,
    pub(in crate::bench) p99: f64,
    pub(in crate::bench) p999: f64,
    pub(in crate::bench) max: f64,
}

/// The results of walks over pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct Pages {
    /// The number of complete walks.
    pub(in crate::bench) walks: u64,
    pub(in crate::bench) resources: u64,
    /// The number of resources per second. Of each client, only the time counts in which a request was running. The
    /// rates of all clients are added.
    pub(in crate::bench) resources_per_second: f64,
    /// The median time for the first page of a walk. `last_page_ms` is the median time for the last page.
    pub(in crate::bench) first_page_ms: f64,
    pub(in crate::bench) last_page_ms: f64,
}

/// The other operations of a soak, and the server's memory during it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct Soak {
    pub(in crate::bench) imports: u64,
    pub(in crate::bench) erasures: u64,
    /// The maximum memory in each of sixty equal parts of the time.
    pub(in crate::bench) memory: Vec<MemoryAt>,
    /// The memory at the end, divided by the memory at a sixth of the time (the tenth minute of an hour). A value near
    /// 1 means that the memory did not grow.
    pub(in crate::bench) growth: Option<f64>,
    /// The memory in use at the end of the pause after the last request, in bytes.
    pub(in crate::bench) bytes_after: Option<u64>,
    /// The length of the pause after the last request, in seconds.
    pub(in crate::bench) seconds_after: f64,
    /// The figures with and without hostile requests, if hostile ones were sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(in crate::bench) hostile: Option<Hostile>,
}

/// The figures of a soak with hostile requests. They were sent in every second part of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct Hostile {
    /// The number of clients that sent hostile requests.
    pub(in crate::bench) clients: usize,
    /// The number of hostile requests that were answered with 2xx.
    pub(in crate::bench) answers: u64,
    /// The latency of these answers.
    pub(in crate::bench) latency_ms: Latency,
    /// The hostile requests that were not answered with 2xx.
    pub(in crate::bench) errors: Vec<ErrorCount>,
    /// The honest requests of the parts without hostile ones.
    pub(in crate::bench) quiet: Honest,
    /// The honest requests of the parts with hostile ones.
    pub(in crate::bench) beside: Honest,
    /// The server's peak memory in the first minute, in bytes.
    pub(in crate::bench) first_minute_bytes: Option<u64>,
    /// The server's peak memory in the last minute, in bytes.
    pub(in crate::bench) last_minute_bytes: Option<u64>,
}

/// The figures of honest requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct Honest {
    pub(in crate::bench) answers: u64,
    pub(in crate::bench) failed: u64,
    pub(in crate::bench) latency_ms: Latency,
    /// The server's peak memory, in bytes.
    pub(in crate::bench) memory_bytes: Option<u64>,
}

impl Hostile {
    /// Returns the figures as texts.
    fn notes(&self) -> Vec<String> {
        let memory = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), mebibytes);
        let honest = |name: &str, honest: &Honest| {
            format!(
                "{name} p50 {} ms, p99 {} ms, {} errors, {}",
                milliseconds(honest.latency_ms.p50),
                milliseconds(honest.latency_ms.p99),
                honest.failed,
                memory(honest.memory_bytes)
            )
        };
        let mut notes = vec![
            honest("quiet:", &self.quiet),
            honest("beside hostile requests:", &self.beside),
        ];
        if self.quiet.latency_ms.p99 > 0.0 {
            let times = self.beside.latency_ms.p99 / self.quiet.latency_ms.p99;
            notes.push(format!("p99 beside them {times:.2} times the quiet one"));
        }
        notes.push(format!(
            "memory of the first minute {}, of the last {}",
            memory(self.first_minute_bytes),
            memory(self.last_minute_bytes)
        ));
        let mut answered = format!("{} hostile clients: {} answered", self.clients, self.answers);
        for error in &self.errors {
            let _ = write!(answered, ", {} times {}", error.count, error.status);
        }
        notes.push(answered);
        notes
    }
}

/// The memory in use at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct MemoryAt {
    pub(in crate::bench) seconds: f64,
    pub(in crate::bench) bytes: u64,
}

/// The number of errors of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct ErrorCount {
    /// The kind of error: an HTTP status, `connection`, `timeout` or another kind.
    pub(in crate::bench) status: String,
    pub(in crate::bench) count: u64,
    /// The message of the first error.
    pub(in crate::bench) message: String,
}

/// A family that was left out, or a family from which a query was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::bench) struct LeftOut {
    pub(in crate::bench) family: String,
    pub(in crate::bench) reason: String,
}

impl Latency {
    /// Returns the latencies of a tally.
    pub(in crate::bench) fn of(tally: &Tally) -> Latency {
        Latency {
            mean: tally.mean(),
            p50: tally.quantile(0.5),
            p90: tally.quantile(0.9),
            p99: tally.quantile(0.99),
            p999: tally.quantile(0.999),
            max: tally.quantile(1.0),
        }
    }
}

impl ErrorCount {
    /// Returns the errors of a tally, by kind.
    pub(in crate::bench) fn of(tally: &Tally) -> Vec<ErrorCount> {
        let errors = tally.errors.iter().map(|(status, failures)| ErrorCount {
            status: status.clone(),
            count: failures.count,
            message: failures.message.clone(),
        });
        errors.collect()
    }
}

/// Returns the line above the figures, with the titles of the columns.
pub fn heading() -> String {
    format!(
        "{:<26} {:>7} {:>11} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}  {}",
        "family", "clients", "answers/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "MB/s", "errors", "notes"
    )
}

impl Report {
    /// Reads a report from a file. Fails if its format has another version.
    pub fn read(path: &Path) -> Result<Report, BenchError> {
        let text = std::fs::read(path).map_err(|source| BenchError::Read {
            path: path.to_owned(),
            source,
        })?;
        let bad = |reason: String| BenchError::Report {
            path: path.to_owned(),
            reason,
        };
        let report: Report = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
        match report.tabularium_bench {
            FORMAT => Ok(report),
            version => Err(bad(format!(
                "it is of version {version}, and this program knows {FORMAT}"
            ))),
        }
    }

    /// Whether the user pressed Ctrl-C before the end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Whether the bench ended early because the server stopped or refused the token.
    pub fn ended_early(&self) -> bool {
        self.ended_early
    }

    /// Returns the number of failed requests, and the number of all requests.
    pub fn failed(&self) -> (u64, u64) {
        let failed = self.results.iter().map(|outcome| outcome.failed).sum();
        let good: u64 = self.results.iter().map(|outcome| outcome.answers).sum();
        (failed, failed + good)
    }

    /// Returns the text after the figures: errors, omissions, and the circumstances of the bench.
    pub fn notes(&self) -> String {
        let mut text = String::new();
        // Writing to a `String` cannot fail.
        for outcome in &self.results {
            for error in &outcome.errors {
                let ErrorCount { status, count, message } = error;
                let said = if message.is_empty() {
                    String::new()
                } else {
                    format!(": {message}")
                };
                let _ = writeln!(
                    text,
                    "{}, {} clients: {count} times {status}{said}",
                    outcome.family, outcome.clients
                );
            }
        }
        for left_out in &self.left_out {
            let _ = writeln!(text, "{}: left out, {}", left_out.family, left_out.reason);
        }
        if !text.is_empty() {
            text.push('\n');
        }
        for (name, value) in self.facts() {
            let _ = writeln!(text, "{name}: {value}");
        }
        text
    }

    /// Returns the circumstances of the bench, each with its name: server, lake, machine and settings.
    pub(in crate::bench) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut server = self.server.make();
        match &self.server.url {
            Some(url) => server.push_str(&format!(" at {url}")),
            None => server.push_str(", started by the bench"),
        }
        if let Some(peak) = self.server.peak_memory_bytes {
            server.push_str(&format!(", {} of memory at most", mebibytes(peak)));
        }
        let mut machine = format!("{} cores, {}", self.machine.cores, self.machine.system);
        if let Some(processor) = &self.machine.processor {
            machine = format!("{processor}, {machine}");
        }
        if let Some(memory) = self.machine.memory_bytes {
            machine.push_str(&format!(", {}", mebibytes(memory)));
        }
        let LakeSize {
            snapshot,
            resources,
            bytes,
            ..
        } = &self.lake;
        vec![
            ("server", server),
            (
                "lake",
                format!("{resources} resources, {}, snapshot {snapshot}", mebibytes(*bytes)),
            ),
            ("machine", machine),
            (
                "bench",
                format!(
                    "tabularium {} ({} build), mix {}, seed {}, {} s each after {} s of warming up, {}",
                    self.program.version,
                    self.program.build,
                    self.mix,
                    self.seed,
                    self.seconds,
                    self.warm_up_seconds,
                    self.at
                ),
            ),
        ]
    }
}

impl Server {
    /// Returns the name and version of the server's software.
    pub(in crate::bench) fn make(&self) -> String {
        match (&self.software, &self.version) {
            (Some(software), Some(version)) => format!("{software} {version}"),
            (Some(software), None) => software.clone(),
            _ => "of unknown make".to_owned(),
        }
    }
}

impl Outcome {
    /// Returns the family's line of the table.
    pub(in crate::bench) fn line(&self) -> String {
        let Latency {
            p50, p90, p99, p999, ..
        } = self.latency_ms;
        let notes = self.notes().join(", ");
        let milliseconds = |latency| self.latency(latency);
        let line = format!(
            "{:<26} {:>7} {:>11} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}  {notes}",
            self.family,
            self.clients,
            rate(self.per_second),
            milliseconds(p50),
            milliseconds(p90),
            milliseconds(p99),
            milliseconds(p999),
            rate(self.megabytes_per_second()),
            self.failed,
        );
        line.trim_end().to_owned()
    }

    /// Returns a latency as text, or a dash if there were no answers.
    pub(in crate::bench) fn latency(&self, milliseconds: f64) -> String {
        match self.answers {
            0 => "-".to_owned(),
            _ => self::milliseconds(milliseconds),
        }
    }

    /// Returns the megabytes of bodies per second.
    pub(in crate::bench) fn megabytes_per_second(&self) -> f64 {
        if self.seconds > 0.0 {
            self.bytes as f64 / 1e6 / self.seconds
        } else {
            0.0
        }
    }

    /// Returns the figures that have no column of their own in the table, as texts, such as the rows per second.
    pub(in crate::bench) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(rows) = self.rows_per_second {
            notes.push(format!("{} million rows/s", rate(rows / 1e6)));
        }
        if let Some(pages) = self.pages {
            notes.push(format!(
                "{} resources/s, first page {} ms, last {} ms, {} walks",
                rate(pages.resources_per_second),
                milliseconds(pages.first_page_ms),
                milliseconds(pages.last_page_ms),
                pages.walks
            ));
        }
        if let Some(memory) = self.server_memory_bytes {
            notes.push(mebibytes(memory));
        }
        if let Some(soak) = &self.soak {
            notes.push(format!("{} imports, {} erasures", soak.imports, soak.erasures));
            if let Some(growth) = soak.growth {
                notes.push(format!(
                    "memory at the end {growth:.2} times that at a sixth of the time"
                ));
            }
            if let Some(after) = soak.bytes_after {
                let seconds = rate(soak.seconds_after);
                notes.push(format!("{} {seconds} s after the last request", mebibytes(after)));
            }
            notes.extend(soak.hostile.iter().flat_map(Hostile::notes));
        }
        notes
    }
}

/// Formats a number with two decimals if it is below 10, with one below 100, and with none from 100.
pub(in crate::bench) fn rate(number: f64) -> String {
    match number {
        n if n >= 100.0 => format!("{n:.0}"),
        n if n >= 10.0 => format!("{n:.1}"),
        n => format!("{n:.2}"),
    }
}

/// Formats milliseconds with fewer decimals for larger numbers. Numbers below 10 get three decimals, down to the
/// microsecond.
pub(in crate::bench) fn milliseconds(number: f64) -> String {
    match number {
        n if n >= 1000.0 => format!("{n:.0}"),
        n if n >= 100.0 => format!("{n:.1}"),
        n if n >= 10.0 => format!("{n:.2}"),
        n => format!("{n:.3}"),
    }
}

pub(in crate::bench) fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1024 * 1024))
}

#[cfg(test)]
pub(in crate::bench) mod tests {
    use super::*;

    /// Returns a report of one family with the given rate.
    pub(in crate::bench) fn report(family: &str, per_second: f64) -> Report {
        Report {
            tabularium_bench: FORMAT,
            at: "2026-01-01T00:00:00Z".to_owned(),
            program: Program {
                version: "0.1.0".to_owned(),
                build: "release".to_owned(),
            },
            machine: Machine {
                system: "linux x86_64".to_owned(),
                processor: None,
                cores: 2,
                memory_bytes: Some(8 << 30),
            },
            server: Server {
                url: None,
                software: Some("Tabularium".to_owned()),
                version: Some("0.1.0".to_owned()),
                peak_memory_bytes: Some(100 << 20),
            },
            lake: LakeSize {
                snapshot: 1,
                resources: 1000,
                bytes: 1 << 20,
                types: BTreeMap::from([("Patient".to_owned(), 1000)]),
            },
            mix: "all".to_owned(),
            seed: 1,
            seconds: 2.0,
            warm_up_seconds: 1.0,
            interrupted: false,
            ended_early: false,
            results: vec![Outcome {
                family: family.to_owned(),
                clients: 8,
                seconds: 2.0,
                answers: (2.0 * per_second) as u64,
                per_second,
                latency_ms: Latency {
                    mean: 1.0,
                    p50: 0.5,
                    p90: 2.0,
                    p99: 10.0,
                    p999: 123.4,
                    max: 1234.5,
                },
                bytes: 4_000_000,
                rows_per_second: Some(25e6),
                pages: None,
                soak: None,
                failed: 3,
                errors: vec![ErrorCount {
                    status: "503".to_owned(),
                    count: 3,
                    message: "busy & <tired>".to_owned(),
                }],
                server_memory_bytes: Some(50 << 20),
                queries: vec!["Observation?code={code}".to_owned()],
            }],
            left_out: vec![LeftOut {
                family: "has".to_owned(),
                reason: "the lake has no Observation".to_owned(),
            }],
        }
    }

    #[test]
    fn figures_stand_under_their_heading() {
        let report = report("read", 1234.0);
        let text = format!("{}\n{}\n\n{}", heading(), report.results[0].line(), report.notes());
        expect_test::expect![[r#"
            family                     clients   answers/s    p50 ms    p90 ms    p99 ms  p99.9 ms      MB/s  errors  notes
            read                             8        1234     0.500     2.000     10.00     123.4      2.00       3  25.0 million rows/s, 50 MiB

            read, 8 clients: 3 times 503: busy & <tired>
            has: left out, the lake has no Observation

            server: Tabularium 0.1.0, started by the bench, 100 MiB of memory at most
            lake: 1000 resources, 1 MiB, snapshot 1
            machine: 2 cores, linux x86_64, 8192 MiB
            bench: tabularium 0.1.0 (release build), mix all, seed 1, 2 s each after 1 s of warming up, 2026-01-01T00:00:00Z
        "#]]
        .assert_eq(&text);
        let nothing = Outcome {
            answers: 0,
            ..report.results[0].clone()
        };
        assert_eq!(nothing.line().matches(" - ").count(), 4, "{}", nothing.line());
    }

    #[test]
    fn honest_and_hostile_requests_have_figures_of_their_own() {
        let latency = |p99: f64| Latency {
            p99,
            ..report("soak", 1.0).results[0].latency_ms
        };
        let honest = |p99: f64, memory: u64| Honest {
            answers: 1_000,
            failed: 0,
            latency_ms: latency(p99),
            memory_bytes: Some(memory << 20),
        };
        let hostile = Hostile {
            clients: 12,
            answers: 40,
            latency_ms: latency(9_000.0),
            errors: vec![ErrorCount {
                status: "422".to_owned(),
                count: 80,
                message: "too many includes".to_owned(),
            }],
            quiet: honest(20.0, 180),
            beside: honest(30.0, 200),
            first_minute_bytes: Some(190 << 20),
            last_minute_bytes: None,
        };
        expect_test::expect![[r#"
            quiet: p50 0.500 ms, p99 20.00 ms, 0 errors, 180 MiB
            beside hostile requests: p50 0.500 ms, p99 30.00 ms, 0 errors, 200 MiB
            p99 beside them 1.50 times the quiet one
            memory of the first minute 190 MiB, of the last unknown
            12 hostile clients: 40 answered, 80 times 422"#]]
        .assert_eq(&hostile.notes().join("\n"));
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let report = report("read", 10.0);
        std::fs::write(&path, serde_json::to_vec(&report).unwrap()).unwrap();
        assert_eq!(Report::read(&path).unwrap(), report);
        let newer = Report {
            tabularium_bench: 99,
            ..report
        };
        std::fs::write(&path, serde_json::to_vec(&newer).unwrap()).unwrap();
        assert!(Report::read(&path).unwrap_err().to_string().contains("version 99"));
        std::fs::write(&path, "{}").unwrap();
        assert!(
            Report::read(&path)
                .unwrap_err()
                .to_string()
                .contains("tabularium_bench")
        );
    }
}
