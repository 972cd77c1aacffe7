//! Findings: errors and warnings about a ViewDefinition, with their places. During a check, [`Findings`] collects
//! them.

use std::fmt;

use crate::fhir::outcome::{Issue, IssueType, Severity};
use crate::fhirpath::{FhirPathError, Position};

/// An error or a warning about a place in a ViewDefinition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `Error` if it prevents a run of the view, else `Warning`.
    pub severity: Severity,
    /// The kind of the problem, as a code of an OperationOutcome.
    pub code: IssueType,
    /// The place: `ViewDefinition.select[0].column[2].path`.
    pub at: String,
    /// The column that the finding concerns, if any.
    pub column: Option<String>,
    /// The position inside the expression at `at`, if any.
    pub position: Option<Position>,
    /// The problem, without the place.
    pub problem: String,
    /// Whether the finding is about a JSON name for which FHIRPath has another form.
    pub(in crate::views) is_of_json_name: bool,
    /// Whether the finding is only about a column's missing type.
    pub(in crate::views) is_of_missing_type: bool,
}

impl Finding {
    /// Returns a finding that prevents a run of the view.
    pub(in crate::views) fn error(at: impl fmt::Display, code: IssueType, problem: impl Into<String>) -> Finding {
        Finding {
            severity: Severity::Error,
            code,
            at: on_one_line(&at.to_string()),
            column: None,
            position: None,
            problem: on_one_line(&problem.into()),
            is_of_json_name: false,
            is_of_missing_type: false,
        }
    }

    /// Returns a finding that does not prevent a run.
    pub(in crate::views) fn warning(at: impl fmt::Display, code: IssueType, problem: impl Into<String>) -> Finding {
        Finding {
            severity: Severity::Warning,
            ..Finding::error(at, code, problem)
        }
    }

    /// Returns the finding that an expression cannot be compiled.
    pub(in crate::views) fn expression(at: impl fmt::Display, error: &FhirPathError) -> Finding {
        let code = match error {
            FhirPathError::UnknownFunction { .. } | FhirPathError::Unsupported { .. } => IssueType::NotSupported,
            FhirPathError::TooDeep { .. } | FhirPathError::TooLong { .. } | FhirPathError::TooComplex { .. } => {
                IssueType::TooCostly
            }
            _ => IssueType::Invalid,
        };
        Finding {
            position: error.position(),
            ..Finding::error(at, code, error.to_string())
        }
    }

    /// Returns the same finding, about this column.
    pub(in crate::views) fn of_column(self, column: &str) -> Finding {
        Finding {
            column: Some(column.to_owned()),
            ..self
        }
    }

    /// Whether the finding prevents a run of the view.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether the finding may concern the rows of the view. A finding about a missing property, a missing type of a
    /// column or an unmet profile does not.
    pub fn is_about_rows(&self) -> bool {
        !self.is_of_missing_type && !matches!(self.code, IssueType::Required | IssueType::Invariant)
    }

    /// Returns the finding as an issue of an OperationOutcome. The place becomes the issue's expression, and the
    /// message becomes its details.
    pub fn issue(&self) -> Issue {
        Issue::new(self.severity, self.code, self.to_string()).expression(self.at.clone())
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

/// Escapes line breaks and other control characters, which a definition may bring into messages.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            line.extend(letter.escape_default())
        } else {
            line.push(letter)
        }
    }
    line
}

/// The maximum number of findings that are kept for each severity. It limits the answer to a hostile definition.
const KEPT: usize = 1000;

/// Findings in the order in which they were found.
#[derive(Debug, Default)]
pub(in crate::views) struct Findings {
    kept: Vec<Finding>,
    errors: usize,
    warnings: usize,
}

impl Findings {
    pub(in crate::views) fn add(&mut self, finding: Finding) {
        let count = if finding.is_error() {
            &mut self.errors
        } else {
            &mut self.warnings
        };
        *count += 1;
        if *count <= KEPT {
            self.kept.push(finding);
        }
    }

    pub(in crate::views) fn error(&mut self, at: impl fmt::Display, code: IssueType, problem: impl Into<String>) {
        self.add(Finding::error(at, code, problem));
    }

    pub(in crate::views) fn warn(&mut self, at: impl fmt::Display, code: IssueType, problem: impl Into<String>) {
        self.add(Finding::warning(at, code, problem));
    }

    /// Returns the number of errors, including those that were not kept.
    pub(in crate::views) fn errors(&self) -> usize {
        self.errors
    }

    pub(in crate::views) fn into_vec(self) -> Vec<Finding> {
        self.kept
    }
}
