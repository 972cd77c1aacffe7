//! The common parts of the commands that write all of a patient's records: options, opening of the lake, and output.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::lake::info::bytes;
use super::super::lake::lake_scope::LOCAL;
use super::super::service::data_store;
use super::super::service::mode::Mode;
use super::super::service::serve;
use super::super::service::token::DEFAULT_BASE_URL;
use super::super::terminal::failure::Failure;
use super::super::terminal::sink::{Sink, Stop};
use crate::columns::json::pretty;
use crate::consent::Store;
use crate::fhir::reference::is_id;
use crate::lake::{Lake, Scope};
use crate::patient::PatientError;
use crate::search::Engine;
use tokio::runtime::Runtime;

/// Whose records, from where, and where to.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RecordArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The Patient's id
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) patient: String,
    /// File to write [default: standard output]. The file gets this name when it is complete
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Read the live or the test records
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    mode: Mode,
    /// The application whose records to read
    #[arg(long, value_name = "ID", default_value = LOCAL)]
    application: String,
}

/// An opened data folder: its lake, scope and store.
pub(in crate::cli) struct Opened {
    pub(in crate::cli) lake: Lake,
    pub(in crate::cli) engine: Engine,
    /// The scope of the Patient.
    pub(in crate::cli) scope: Arc<Scope>,
    /// The ids of the Patients to read. It has exactly one item.
    pub(in crate::cli) patients: Vec<String>,
    /// The time at which the folder was opened, in microseconds since 1970.
    pub(in crate::cli) now: i64,
    /// The address at which the folder was last served, or the default address, without a trailing slash.
    pub(in crate::cli) base_url: String,
    /// The service's store. `None` if the folder was never served. Then the command does not create a store.
    pub(in crate::cli) store: Option<Store>,
    pub(in crate::cli) runtime: Runtime,
}

impl RecordArgs {
    /// Opens the data folder with the scope of the Patient. Fails if `--out` lies in the data folder.
    pub(in crate::cli) fn open(&self, search_parameters: Option<&Path>) -> Result<Opened, Failure> {
        if !is_id(&self.patient) {
            return Err(failure(PatientError::NoPatient(self.patient.clone())));
        }
        let lake = Lake::open(&self.data).map_err(Failure::from_lake)?;
        if let Some(out) = &self.out {
            keep_out(&self.data, out)?;
        }
        let last = Store::last_base_url(&self.data);
        let store = last.as_ref().map(|_| data_store::open(&self.data)).transpose()?;
        let (application, mode) = (self.application.as_str(), self.mode.into());
        let scope = match &store {
            Some(store) => store
                .consents()
                .scope_of_patient(&lake, application, mode, &self.patient),
            None => Ok(Scope::of_patient(
                application,
                mode,
                &self.patient,
                lake.owners_of(application, &self.patient),
            )),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let base_url = last.unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
        Ok(Opened {
            scope: Arc::new(scope.map_err(Failure::other)?),
            patients: vec![self.patient.clone()],
            now: lake.clock().now(),
            engine: Engine::new(lake.clone(), serve::parameters(search_parameters)?),
            lake,
            base_url: base_url.trim_end_matches('/').to_owned(),
            store,
            runtime: runtime.map_err(Failure::other)?,
        })
    }

    /// Whether the output goes to a terminal.
    fn is_for_terminal(&self) -> bool {
        self.out.is_none() && std::io::stdout().is_terminal()
    }

    /// Fails if the output goes to a terminal. `what` is the kind of output, which is no text.
    pub(in crate::cli) fn refuse_on_terminal(&self, what: &str) -> Result<(), Failure> {
        if self.is_for_terminal() {
            return Err(Failure::input(format!(
                "{what} is not for the terminal; name a file with --out"
            )));
        }
        Ok(())
    }

    /// Writes JSON. A terminal gets it with line breaks, unless `as_is`. Then the whole text is in memory. On standard
    /// output a line break follows, so that the shell's prompt begins on a new line.
    pub(in crate::cli) fn write_json<P: AsRef<[u8]>>(
        &self,
        pieces: impl IntoIterator<Item = Result<P, Failure>>,
        as_is: bool,
    ) -> Result<(), Failure> {
        if self.is_for_terminal() && !as_is {
            let mut text = Vec::new();
            for piece in pieces {
                text.extend_from_slice(piece?.as_ref());
            }
            return self.write([Ok(pretty(&text))], b"");
        }
        let end: &[u8] = if self.out.is_none() { b"\n" } else { b"" };
        self.write(pieces, end)
    }

    /// Writes the output piece by piece, and then `end`. It is no error if the reader of standard output closes it
    /// early.
    pub(in crate::cli) fn write<P: AsRef<[u8]>>(
        &self,
        pieces: impl IntoIterator<Item = Result<P, Failure>>,
        end: &[u8],
    ) -> Result<(), Failure> {
        let mut sink = Sink::at(self.out.as_deref())?;
        let (mut ended, mut size) = (Ok(()), 0);
        for piece in pieces {
            let piece = piece?;
            size += piece.as_ref().len() as u64;
            ended = sink.write(piece.as_ref());
            if ended.is_err() {
                break;
            }
        }
        match ended.and_then(|()| sink.write(end)).and_then(|()| sink.finish()) {
            Ok(()) => {
                sink.tell(&bytes(size));
                Ok(())
            }
            Err(Stop::Quiet) => Ok(()),
            Err(Stop::Failed(failure)) => Err(failure),
        }
    }
}

impl Opened {
    /// Returns the FHIR base address of the service, with a trailing slash.
    pub(in crate::cli) fn fhir_base(&self) -> String {
        format!("{}/fhir/", self.base_url)
    }
}

/// Converts the error to a failure. Its exit code is 2 for bad input and 1 for other errors.
pub(in crate::cli) fn failure(error: PatientError) -> Failure {
    if error.is_input() {
        Failure::input(error.to_string())
    } else {
        Failure::other(error)
    }
}

/// Fails if the output file lies in the data folder, because it could replace one of the folder's files.
fn keep_out(data: &Path, out: &Path) -> Result<(), Failure> {
    let folder = match out.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let whole = |path: &Path| path.canonicalize().ok();
    match whole(folder).zip(whole(data)) {
        Some((folder, data)) if folder.starts_with(&data) => Err(Failure::input(format!(
            "{} lies in the data folder; write the output elsewhere",
            out.display()
        ))),
        _ => Ok(()),
    }
}
