//! Writes plans as bytes, and runs them with the program in another process.

use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;

use datafusion::physical_plan::{ExecutionPlan, collect};
use tabularium::codec::PlanCodec;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::lake::Lake;
use tabularium::search::Engine;
use tabularium::sql::Writer;
use tabularium::views::Format;

use super::command;

/// Plans over one lake, with the rows that each gives in this process.
pub(crate) struct Traveling {
    pub(crate) codec: PlanCodec,
    data: PathBuf,
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    known: Vec<Known>,
    options: Vec<String>,
}

struct Known {
    label: String,
    file: PathBuf,
    rows: Vec<String>,
}

impl Traveling {
    pub(crate) fn new(lake: &Lake) -> Traveling {
        Traveling::by(lake, Engine::new(lake.clone(), SearchParameters::builtin()), &[])
    }

    /// The same with an engine that knows more. `options` tell the program the same.
    pub(crate) fn by(lake: &Lake, engine: Engine, options: &[&str]) -> Traveling {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
        Traveling {
            codec: PlanCodec::new(lake.clone(), Arc::new(engine), None),
            data: lake.folder().path().to_owned(),
            folder: tempfile::tempdir().unwrap(),
            runtime: runtime.unwrap(),
            known: Vec::new(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        }
    }

    /// Writes a plan and runs it here once, because a sort keeps what it has learned. Returns its rows; `None` if it
    /// fails.
    pub(crate) fn add(&mut self, label: &str, plan: &Arc<dyn ExecutionPlan>) -> Option<Vec<String>> {
        let written = self.codec.encode(plan);
        let written = written.unwrap_or_else(|error| panic!("{label}: {error}\n{}", shown(plan)));
        let rows = self.rows(plan)?;
        // Running a plan does not change its bytes.
        let read = |bytes: &[u8]| shown(&self.codec.decode(bytes).unwrap());
        assert_eq!(read(&self.codec.encode(plan).unwrap()), read(&written), "{label}");
        let file = self.file(&format!("{}.plan", self.known.len()), &written);
        let label = label.to_owned();
        let known = Known {
            label,
            file,
            rows: rows.clone(),
        };
        self.known.push(known);
        Some(rows)
    }

    /// The same for a plan that has run, whose operators have learned from that run. Compares a copy with it.
    pub(crate) fn add_ran(&mut self, label: &str, plan: &Arc<dyn ExecutionPlan>) {
        let written = self.codec.encode(plan);
        let written = written.unwrap_or_else(|error| panic!("{label}: {error}\n{}", shown(plan)));
        let copy = self.codec.decode(&written);
        let copy = copy.unwrap_or_else(|error| panic!("{label}: {error}\n{}", shown(plan)));
        let rows = self.add(label, &copy).unwrap();
        let ran = plan.metrics().and_then(|metrics| metrics.output_rows());
        assert_eq!(Some(rows.len()), ran, "{label}\n{}", shown(plan));
    }

    /// The rows of a plan in this process, as NDJSON.
    pub(crate) fn rows(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<Vec<String>> {
        let batches = self.runtime.block_on(collect(plan.clone(), self.codec.context()));
        let (mut writer, mut text) = Writer::new(Format::Ndjson, &plan.schema()).unwrap();
        for batch in batches.ok()? {
            text.extend(writer.write(&batch).unwrap());
        }
        Some(String::from_utf8(text).unwrap().lines().map(str::to_owned).collect())
    }

    /// Writes these bytes to a file.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let file = self.folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        file
    }

    /// Runs the program with files of plans.
    pub(crate) fn run(&self, files: &[PathBuf]) -> Output {
        let mut arguments = vec!["run-plan", "--data", self.data.to_str().unwrap()];
        arguments.extend(self.options.iter().map(String::as_str));
        arguments.extend(files.iter().map(|file| file.to_str().unwrap()));
        command::run(&arguments)
    }

    /// Runs all plans in a new process, where each must give the same rows. Returns how many gave rows.
    pub(crate) fn arrive(&self) -> usize {
        if self.known.is_empty() {
            return 0;
        }
        let mut files: Vec<PathBuf> = self.known.iter().map(|known| known.file.clone()).collect();
        // The program writes an empty line after each plan only if there are several.
        files.extend(files.last().cloned());
        let ran = self.run(&files);
        let error = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{error}\n{}", self.named(&error));
        let text = String::from_utf8(ran.stdout).unwrap();
        let mut lines = text.lines();
        for known in &self.known {
            let rows: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
            assert_eq!(rows, known.rows, "{}", known.label);
        }
        self.known.iter().filter(|known| !known.rows.is_empty()).count()
    }

    /// The plan that an error names.
    fn named(&self, error: &str) -> String {
        let known = self
            .known
            .iter()
            .find(|known| error.contains(known.file.to_str().unwrap()));
        known.map_or_else(String::new, |known| known.label.clone())
    }
}

fn shown(plan: &Arc<dyn ExecutionPlan>) -> String {
    let plan = datafusion::physical_plan::displayable(plan.as_ref());
    plan.indent(false).to_string()
}
