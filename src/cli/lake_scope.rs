//! The options of commands that read a lake: where it is, and as whom to read it.

use std::path::PathBuf;
use std::sync::Arc;

use super::failure::Failure;
use crate::lake::{Lake, Mode, PatientScope, Scope};

/// The application that imported records belong to unless another is named.
pub(super) const LOCAL: &str = "local";

/// Which lake to read, and as whom.
#[derive(Debug, clap::Args)]
pub(super) struct LakeScope {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    pub(super) data: PathBuf,
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
    /// Opens the lake.
    pub(super) fn open(&self) -> Result<Lake, Failure> {
        Lake::open(&self.data).map_err(|error| Failure::input(error.to_string()))
    }

    /// What the reader may see.
    pub(super) fn scope(&self, lake: &Lake) -> Arc<Scope> {
        let patient = self.patient.as_ref().map(|id| {
            Arc::new(PatientScope {
                patients: vec![id.clone()],
                owners: lake.owners_of(&self.application, id),
                authorizations: Vec::new(),
            })
        });
        let mode = if self.mode == "test" { Mode::Test } else { Mode::Live };
        Arc::new(Scope {
            mode,
            application: self.application.as_str().into(),
            patient,
        })
    }
}
