//! The options of commands that read a lake: the data folder and the scope.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::terminal::failure::{Failure, warn};
use crate::fhir::facts;
use crate::lake::{Lake, Mode, PatientScope, Scope};

/// The application that imported records belong to if `--application` is not given.
pub(in crate::cli) const LOCAL: &str = "local";

/// Which lake to read, and as whom.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct LakeScope {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) data: PathBuf,
    /// Read the live or the test records
    #[arg(long, value_name = "MODE", default_value = "live", value_parser = ["live", "test"])]
    mode: String,
    /// The application whose records to read
    #[arg(long, value_name = "ID", default_value = LOCAL)]
    application: String,
    /// Read as this patient would: their records and what those refer to
    #[arg(long, value_name = "ID")]
    patient: Option<String>,
}

impl LakeScope {
    /// Opens the lake. Every error counts as bad input, with exit code 2.
    pub(in crate::cli) fn open(&self) -> Result<Lake, Failure> {
        Lake::open(&self.data).map_err(|error| Failure::input(error.to_string()))
    }

    /// Returns the scope that the options describe. Warns if the Patient does not exist.
    pub(in crate::cli) fn scope(&self, lake: &Lake) -> Arc<Scope> {
        let mode = if self.mode == "test" { Mode::Test } else { Mode::Live };
        if let Some(patient) = &self.patient {
            warn_of_nobody(lake, mode, &self.application, patient);
        }
        scope(lake, mode, &self.application, self.patient.as_deref())
    }
}

/// Warns if the requested Patient does not exist. Without the warning, a mistyped id would only give an empty result.
pub(in crate::cli) fn warn_of_nobody(lake: &Lake, mode: Mode, application: &str, patient: &str) {
    let Some(type_id) = facts().lookup("Patient") else {
        return;
    };
    let everybody = scope(lake, mode, application, None);
    // Ignores read errors here, because the command reports its own read errors.
    if let Ok(None) = lake.table(&lake.snapshot(), type_id, &everybody).read(patient) {
        let mode = mode.schema();
        warn(&format!(
            "there is no Patient {patient:?} among the {mode} records of {application:?}"
        ));
    }
}

/// Returns the scope of an application, or of one of its patients.
pub(in crate::cli) fn scope(lake: &Lake, mode: Mode, application: &str, patient: Option<&str>) -> Arc<Scope> {
    let patient = patient.map(|id| {
        Arc::new(PatientScope {
            patients: vec![id.to_owned()],
            owners: lake.owners_of(application, id),
            authorizations: Vec::new(),
        })
    });
    Arc::new(Scope {
        mode,
        application: application.into(),
        patient,
    })
}
