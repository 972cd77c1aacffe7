//! The errors of a ViewDefinition and of its run.

use std::fmt;

use super::definition::finding::Finding;
use crate::fhirpath::FhirPathError;
use crate::plan::Died;

/// Why a view cannot be run: the errors of its definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewError {
    pub(super) errors: Vec<Finding>,
}

impl ViewError {
    /// Creates the error from the findings of a definition. Drops the warnings.
    pub(super) fn new(mut findings: Vec<Finding>) -> ViewError {
        findings.retain(Finding::is_error);
        ViewError { errors: findings }
    }

    /// Returns the errors, in the order of the definition.
    pub fn errors(&self) -> &[Finding] {
        &self.errors
    }
}

/// Writes one sentence: the first error, and the number of others.
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

/// Why the run of a valid view failed. The error names columns and the resource, but no values.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A column that is not a collection has several values.
    #[error("{at}: column '{column}' has {count} values in one row; say \"collection\": true or narrow its path")]
    SeveralValues {
        /// The place of the column's definition.
        at: String,
        /// The column.
        column: String,
        /// The number of values.
        count: usize,
    },
    /// A value does not fit the column's declared `type`.
    #[error("{at}: column '{column}' is declared as {expected}, but one of its values is a {found} that is not")]
    Type {
        /// The place of the column's definition.
        at: String,
        /// The column.
        column: String,
        /// The kind of the declared type.
        expected: &'static str,
        /// The type of the value.
        found: &'static str,
    },
    /// A value is not a primitive.
    #[error("{at}: column '{column}' has a {found} as a value; choose one of its elements")]
    Complex {
        /// The place of the column's definition.
        at: String,
        /// The column.
        column: String,
        /// The type of the value.
        found: &'static str,
    },
    /// A value does not fit the column's SQL type.
    #[error("{at}: column '{column}' is to be {expected}, but one of its values cannot be")]
    SqlType {
        /// The place of the column's definition.
        at: String,
        /// The column.
        column: String,
        /// The column's SQL type.
        expected: String,
    },
    /// A `where` yielded something other than a boolean or an empty collection.
    #[error("{at} must be true, false or empty, but is not for one of the resources")]
    NotBoolean {
        /// The place of the `where`.
        at: String,
    },
    /// An expression failed on the data.
    #[error("{at}: {source}")]
    Expression {
        /// The place of the expression.
        at: String,
        /// The error.
        source: FhirPathError,
    },
    /// A resource yields more rows than may be in memory at once, because its nested lists multiply.
    #[error("the view yields too many rows for one of the resources")]
    TooManyRows,
    /// The rows of a resource have more text than may be in memory at once.
    #[error("the view yields too much text for one of the resources")]
    TooMuchText,
    /// Another error, which this resource caused.
    #[error("{error} (in {resource})")]
    Of {
        /// The resource's type and id.
        resource: String,
        /// The error.
        error: Box<RunError>,
    },
    /// More rows wait for their Parquet types than one run may hold. The value is the limit in bytes.
    #[error(
        "rows wait until the types of the Parquet columns are known, and they take more than {} MiB; ask for parquet-text, \
         whose rows do not wait, or for fewer rows",
        .0 >> 20
    )]
    TooManySpooled(u64),
    /// The rows of all runs that wait for their Parquet types would exceed the common limit.
    #[error("other runs take the room for rows that wait; try again later")]
    SpoolsFull,
    /// The consumer has requested a stop.
    #[error("the rows are no longer wanted")]
    Stopped,
    /// A thread that computed rows stopped unexpectedly.
    #[error("a worker of the view stopped unexpectedly")]
    Worker,
    /// The plan could not be built or run.
    #[error("{0}")]
    Plan(#[source] datafusion::error::DataFusionError),
    /// The lake could not be read.
    #[error(transparent)]
    Lake(#[from] crate::lake::LakeError),
    /// Arrow refused an operation, because columns did not have the expected form.
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
    /// Whether the view and the data do not fit together, so that another run would fail, too.
    pub fn is_of_view(&self) -> bool {
        matches!(
            self.without_resource(),
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

    /// Whether the view exceeds a limit of work, rows or text on these data.
    pub fn is_too_costly(&self) -> bool {
        match self.without_resource() {
            RunError::TooManyRows | RunError::TooMuchText | RunError::TooManySpooled(_) => true,
            RunError::Expression { source, .. } => source.is_too_costly(),
            _ => false,
        }
    }

    /// Returns the same error without the resource that it concerns, for logs.
    pub fn without_resource(&self) -> &RunError {
        match self {
            RunError::Of { error, .. } => error.without_resource(),
            other => other,
        }
    }

    /// Whether the error names the resource that it concerns.
    pub(super) fn is_named(&self) -> bool {
        matches!(self, RunError::Of { .. })
    }

    /// Returns the error of an expression. `at` yields the place of the expression.
    pub(super) fn of_expression(source: FhirPathError, at: impl FnOnce() -> String) -> RunError {
        match source {
            FhirPathError::TooMany { .. } => RunError::TooManyRows,
            source => RunError::Expression { at: at(), source },
        }
    }

    /// Returns the same error with another place: the place of one of the column's expressions. A column of a union has
    /// several expressions.
    pub(super) fn placed(mut self, place: &str) -> RunError {
        if let RunError::SeveralValues { at, .. } | RunError::Type { at, .. } | RunError::Complex { at, .. } = &mut self
        {
            place.clone_into(at);
        }
        self
    }

    /// Whether an evaluation of fewer resources at a time may succeed.
    pub(super) fn is_of_size(&self) -> bool {
        let large =
            |error: &FhirPathError| matches!(error, FhirPathError::TooLarge | FhirPathError::TooManySteps { .. });
        matches!(self, RunError::TooManyRows | RunError::TooMuchText)
            || matches!(self, RunError::Expression { source, .. } if large(source))
    }

    /// Wraps the error as an error of a DataFusion operator. [`RunError::from`] unwraps it.
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
