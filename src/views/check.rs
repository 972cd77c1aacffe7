//! What is to be said about a ViewDefinition: whether it can be run, everything that is wrong with it, what it may not mean as
//! it stands, and the columns it gives.

use std::fmt;

use super::column::Column;
use super::error::ViewError;
use super::view::View;
use crate::fhir::outcome::{Issue, IssueType, Severity};
use crate::fhirpath::{FhirPathError, Position};

/// Something to be said about a place in a ViewDefinition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `Error` if the view cannot be run because of it, else `Warning`.
    pub severity: Severity,
    /// Of what kind it is.
    pub code: IssueType,
    /// The place: `ViewDefinition.select[0].column[2].path`.
    pub at: String,
    /// The column that it concerns, if it is about one.
    pub column: Option<String>,
    /// The place inside the expression that stands at `at`, if it is about one.
    pub position: Option<Position>,
    /// What is wrong or doubtful, without the place.
    pub problem: String,
}

impl Finding {
    /// Whether the view cannot be run because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// As an issue of an OperationOutcome: the place is its expression, the sentence its details.
    pub fn issue(&self) -> Issue {
        Issue::new(self.severity, self.code, self.to_string()).expression(self.at.clone())
    }

    /// That an expression cannot be compiled.
    pub(super) fn expression(at: impl Into<String>, column: Option<&str>, error: &FhirPathError) -> Finding {
        Finding {
            severity: Severity::Error,
            code: IssueType::Invalid,
            at: at.into(),
            column: column.map(str::to_owned),
            position: error.position(),
            problem: error.to_string(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            Some(column) => write!(formatter, "{}: column '{column}': {}", self.at, self.problem),
            None => write!(formatter, "{}: {}", self.at, self.problem),
        }
    }
}

/// A ViewDefinition that has been looked at as a whole.
#[derive(Debug)]
pub struct Checked {
    findings: Vec<Finding>,
    view: Option<View>,
}

impl Checked {
    pub(super) fn new(definition: &[u8]) -> Checked {
        match View::parse(definition) {
            Ok(view) => Checked {
                findings: Vec::new(),
                view: Some(view),
            },
            Err(error) => Checked {
                findings: vec![error.finding()],
                view: None,
            },
        }
    }

    /// All that is to be said, in the order of the definition's parts.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Why it cannot be run; none if it can.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_error())
    }

    /// What does not keep it from being run.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !finding.is_error())
    }

    /// The view, if it can be run.
    pub fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }

    /// The columns that the view gives, if it can be run.
    pub fn columns(&self) -> &[Column] {
        self.view.as_ref().map_or(&[], View::columns)
    }

    /// The view, or why there is none.
    pub fn into_view(self) -> Result<View, Vec<Finding>> {
        match self.view {
            Some(view) => Ok(view),
            None => Err(self.findings),
        }
    }
}

impl ViewError {
    fn finding(&self) -> Finding {
        match self {
            ViewError::Json(_) => Finding {
                severity: Severity::Error,
                code: IssueType::Structure,
                at: "ViewDefinition".to_owned(),
                column: None,
                position: None,
                problem: self.to_string(),
            },
            ViewError::Structure { at, problem } => Finding {
                severity: Severity::Error,
                code: IssueType::Structure,
                at: at.clone(),
                column: None,
                position: None,
                problem: problem.clone(),
            },
            ViewError::Column { at, column, source } => Finding::expression(at, Some(column), source),
            ViewError::Expression { at, source } => Finding::expression(at, None, source),
        }
    }
}
