//! What can be wrong with a ViewDefinition, and with running it.

use std::fmt;

use super::definition::finding::Finding;
use crate::fhirpath::FhirPathError;
use crate::plan::Died;

/// Why something is not a view that can be run: one error or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewError {
    pub(super) errors: Vec<Finding>,
}

impl ViewError {
    /// Of the findings the errors.
    pub(super) fn new(mut findings: Vec<Finding>) -> ViewError {
        findings.retain(Finding::is_error);
        ViewError { errors: findings }
    }

    /// What is wrong, in the order of the definition.
    pub fn errors(&self) -> &[Finding] {
        &self.errors
    }
}

/// One sentence: the first error, and how many others there are.
impl fmt::Display for ViewError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors.as_slice() {
            [] => formatter.write_str("the ViewDefinition cannot be run"),
            [only] => write!(formatter, "{only}"),
            [first, _] => write!(formatter, "{first} (and 1 more error)"),
            [first, rest @ ..] => write!(formatter, "{first} (and {} more errors)", rest.len()),
        }
    }
}

impl std::error::Error for ViewError {}

/// Why a sound view did not give its rows. It names columns, and never says what is in them.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A column that is no collection has several values.
    #[error("{at}: column '{column}' has {count} values in one row; say \"collection\": true or narrow its path")]
    SeveralValues {
        /// Where it is defined.
        at: String,
        /// The column.
        column: String,
        /// How many there are.
        count: usize,
    },
    /// A value cannot be what the column's `type` says.
    #[error("{at}: column '{column}' is declared as {expected}, but one of its values is a {found} that is not")]
    Type {
        /// Where it is defined.
        at: String,
        /// The column.
        column: String,
        /// What the view declares.
        expected: &'static str,
        /// The type of the value met.
        found: &'static str,
    },
    /// A value is not a primitive.
    #[error("{at}: column '{column}' has a {found} as a value; choose one of its elements")]
    Complex {
        /// Where it is defined.
        at: String,
        /// The column.
        column: String,
        /// The type of the value met.
        found: &'static str,
    },
    /// A value cannot be of the column's SQL type.
    #[error("{at}: column '{column}' is to be {expected}, but one of its values cannot be")]
    SqlType {
        /// Where it is defined.
        at: String,
        /// The column.
        column: String,
        /// The type.
        expected: String,
    },
    /// A `where` gave something else than true, false or nothing.
    #[error("{at} must be true, false or empty, but is not for one of the resources")]
    NotBoolean {
        /// Where the `where` stands.
        at: String,
    },
    /// An expression is in error over the data.
    #[error("{at}: {source}")]
    Expression {
        /// Where.
        at: String,
        /// The error.
        source: FhirPathError,
    },
    /// The nested lists of a resource multiply beyond what is held at once.
    #[error("the view yields too many rows for one of the resources")]
    TooManyRows,
    /// The text of a resource's rows exceeds the limit for memory, or for one resource.
    #[error("the view yields too much text for one of the resources")]
    TooMuchText,
    /// More rows wait for the types of Parquet than one run may hold. Contains the limit in bytes.
    #[error(
        "rows wait until the types of the Parquet columns are known, and they take more than {} MiB; ask for parquet-text, \
         whose rows do not wait, or for fewer rows",
        .0 >> 20
    )]
    TooManySpooled(u64),
    /// Rows of other runs take the room in which rows wait.
    #[error("other runs take the room for rows that wait; try again later")]
    SpoolsFull,
    /// Nobody wants the rows any more.
    #[error("the rows are no longer wanted")]
    Stopped,
    /// A thread that computed rows stopped unexpectedly.
    #[error("a worker of the view stopped unexpectedly")]
    Worker,
    /// The plan could not be made or run.
    #[error("{0}")]
    Plan(#[source] datafusion::error::DataFusionError),
    /// The lake could not be read.
    #[error(transparent)]
    Lake(#[from] crate::lake::LakeError),
    /// Columns did not have the shape expected of them.
    #[error("the view met unexpected columns: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// The output could not be written.
    #[error("the output could not be written: {0}")]
    Output(#[from] std::io::Error),
    /// The output could not be written as Parquet.
    #[error("the output could not be written as Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
}

impl RunError {
    /// Whether the view and the data do not go together, so that running it again changes nothing.
    pub fn is_of_view(&self) -> bool {
        matches!(
            self,
            RunError::SeveralValues { .. }
                | RunError::Type { .. }
                | RunError::Complex { .. }
                | RunError::SqlType { .. }
                | RunError::NotBoolean { .. }
                | RunError::Expression { .. }
                | RunError::TooManyRows
                | RunError::TooMuchText
        )
    }

    /// Whether the view costs more over the data than one may, in work, rows or text.
    pub fn is_too_costly(&self) -> bool {
        match self {
            RunError::TooManyRows | RunError::TooMuchText | RunError::TooManySpooled(_) => true,
            RunError::Expression { source, .. } => source.is_too_costly(),
            _ => false,
        }
    }

    /// The error of an expression at the place that `at` names.
    pub(super) fn of_expression(source: FhirPathError, at: impl FnOnce() -> String) -> RunError {
        match source {
            FhirPathError::TooMany { .. } => RunError::TooManyRows,
            source => RunError::Expression { at: at(), source },
        }
    }

    /// The same about the column's expression that stands at `place`, which in a union is one of several.
    pub(super) fn placed(mut self, place: &str) -> RunError {
        if let RunError::SeveralValues { at, .. } | RunError::Type { at, .. } | RunError::Complex { at, .. } = &mut self
        {
            place.clone_into(at);
        }
        self
    }

    /// Whether fewer resources at a time may do.
    pub(super) fn is_of_size(&self) -> bool {
        let large =
            |error: &FhirPathError| matches!(error, FhirPathError::TooLarge | FhirPathError::TooManySteps { .. });
        matches!(self, RunError::TooManyRows | RunError::TooMuchText)
            || matches!(self, RunError::Expression { source, .. } if large(source))
    }

    /// Wraps this as an error of a DataFusion operator. [`RunError::from`] unwraps it.
    pub(super) fn into_plan(self) -> datafusion::error::DataFusionError {
        match self {
            RunError::Plan(error) => error,
            other => datafusion::error::DataFusionError::External(Box::new(other)),
        }
    }
}

impl From<Died> for RunError {
    fn from(_: Died) -> RunError {
        RunError::Worker
    }
}

impl From<datafusion::error::DataFusionError> for RunError {
    fn from(error: datafusion::error::DataFusionError) -> RunError {
        use datafusion::error::DataFusionError;
        match error {
            DataFusionError::External(source) if source.is::<Died>() => RunError::Worker,
            DataFusionError::External(source) => match source.downcast::<RunError>() {
                Ok(error) => *error,
                Err(source) => match source.downcast::<DataFusionError>() {
                    Ok(error) => RunError::from(*error),
                    Err(source) => RunError::Plan(DataFusionError::External(source)),
                },
            },
            DataFusionError::Context(_, error) => RunError::from(*error),
            other => RunError::Plan(other),
        }
    }
}
