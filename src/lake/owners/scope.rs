//! The caller's rights. Every read of the lake takes a [`Scope`], and the scan itself applies it. So no query, include,
//! chain or view can return rows that the scope does not show.
//!
//! This file defines scopes. `consent` decides which scope a token has.

use std::sync::Arc;

/// Test or live data; each has its own DuckLake schema and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Real records.
    Live,
    /// Sample records.
    Test,
}

impl Mode {
    /// Returns the name of the DuckLake schema that has this mode's tables.
    pub fn schema(self) -> &'static str {
        match self {
            Mode::Live => "live",
            Mode::Test => "test",
        }
    }

    /// Returns the mode whose DuckLake schema has this name.
    pub(in crate::lake) fn named(schema: &str) -> Option<Mode> {
        [Mode::Live, Mode::Test]
            .into_iter()
            .find(|mode| mode.schema() == schema)
    }
}

/// What a reader may see: rows of one application in one mode and, for a patient token, of one person.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Live or test tables.
    pub mode: Mode,
    /// The application whose rows are visible. Rows of other applications look as if they did not exist.
    pub application: Arc<str>,
    /// The person, for a patient token. `None` for an application token.
    pub patient: Option<Arc<PatientScope>>,
}

impl Scope {
    /// Makes a scope of one person's imported records. `owners` are all owners that the person's rows may have.
    pub fn of_patient(application: &str, mode: Mode, patient: &str, owners: Vec<i64>) -> Scope {
        Scope {
            mode,
            application: application.into(),
            patient: Some(Arc::new(PatientScope {
                patients: vec![patient.to_owned()],
                owners,
                authorizations: Vec::new(),
            })),
        }
    }
}

/// The person of a patient token.
///
/// A row is visible if its `owner` is one of `owners` and one of these holds: its authorization is one of
/// `authorizations`, or it was imported (no authorization) and is filed under one of `patients`. Shared rows (owner 0)
/// are visible if visible rows refer to them by a relative reference, transitively.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PatientScope {
    /// The ids of the person's Patient resources. The primary one is first.
    pub patients: Vec<String>,
    /// The owners of the person's rows.
    pub owners: Vec<i64>,
    /// The ids of the authorizations whose rows are visible. Empty in a scope of imported records.
    pub authorizations: Vec<String>,
}
