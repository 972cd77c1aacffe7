//! Errors of a ViewDefinition, and of running it.

use std::fmt;

use super::definition::finding::Finding;
use crate::fhirpath::FhirPathError;
use crate::plan::Died;

/// Why a view cannot be run: one error or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewError {
    pub(super) errors: Vec<Finding>,
}

impl ViewError {
    /// The errors among the findings.
    pub(super) fn new(mut findings: Vec<Finding>) -> ViewError {
        findings.retain(Finding::is_error);
        ViewError { errors: findings }
    }

    /// The errors, in the order of the definition.
    pub fn errors(&self) -> &[Finding] {
        &self.errors
    }
}

/// One sentence: the first error, and the number of others.
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

/// Why a valid view did not yield its rows. The error names columns and the resource, and never their values.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A column that is not a collection has several values.
    #[error("{at}: column '{column}' has {count} values in one row; say \"collection\": true or narrow its path")]
    SeveralValues {
        /// The place of its definition.
        at: String,
        /// The column.
        column: String,
        /// The number of values.
        count: usize,
    },
    /// A value does not fit the column's declared `type`.
    #[error("{at}: column '{column}' is declared as {expected}, but one of its values is a {found} that is not")]
    Type {
        /// The place of its definition.
        at: String,
        /// The column.
        column: String,
        /// The declared type.
        expected: &'static str,
        /// The type of the found value.
        found: &'static str,
    },
    /// A value is not a primitive.
    #[error("{at}: column '{column}' has a {found} as a value; choose one of its elements")]
    Complex {
        /// The place of its definition.
        at: String,
        /// The column.
        column: String,
        /// The type of the found value.
        found: &'static str,
    },
    /// A value does not fit the column's SQL type.
    #[error("{at}: column '{column}' is to be {expected}, but one of its values cannot be")]
    SqlType {
        /// The place of its definition.
        at: String,
        /// The column.
        column: String,
        /// The type.
        expected: String,
    },
    /// A `where` yielded something other than true, false or nothing.
    #[error("{at} must be true, false or empty, but is not for one of the resources")]
    NotBoolean {
        /// The place of the `where`.
        at: String,
    },
    /// An expression fails over the data.
    #[error("{at}: {source}")]
    Expression {
        /// Where.
        at: String,
        /// The error.
        source: FhirPathError,
    },
    /// The nested lists of a resource multiply to more rows than may be held at once.
    #[error("the view yields too many rows for one of the resources")]
    TooManyRows,
    /// The text of a resource's rows exceeds the limit for memory, or for one resource.
    #[error("the view yields too much text for one of the resources")]
    TooMuchText,
    /// An error over the data of this resource.
    #[error("{error} (in {resource})")]
    Of {
        /// Its type and id.
        resource: String,
        /// The error.
        error: Box<RunError>,
    },
    /// More rows wait for their Parquet types than one run may hold. Contains the limit in bytes.
    #[error(
        "rows wait until the types of the Parquet columns are known, and they take more than {} MiB; ask for parquet-text, \
         whose rows do not wait, or for fewer rows",
        .0 >> 20
    )]
    TooManySpooled(u64),
    /// Rows of other runs fill the room for waiting rows.
    #[error("other runs take the room for rows that wait; try again later")]
    SpoolsFull,
    /// The consumer no longer wants the rows.
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
    /// Columns did not have the expected shape.
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
    /// Whether the view does not fit the data. Then running it again changes nothing.
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

    /// Whether the view exceeds a limit over the data, of work, rows or text.
    pub fn is_too_costly(&self) -> bool {
        match self.without_resource() {
            RunError::TooManyRows | RunError::TooMuchText | RunError::TooManySpooled(_) => true,
            RunError::Expression { source, .. } => source.is_too_costly(),
            _ => false,
        }
    }

    /// The same error without the resource that it concerns, for logs.
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

    /// The error of an expression at the place that `at` names.
    pub(super) fn of_expression(source: FhirPathError, at: impl FnOnce() -> String) -> RunError {
        match source {
            FhirPathError::TooMany { .. } => RunError::TooManyRows,
            source => RunError::Expression { at: at(), source },
        }
    }

    /// The same error with the place of the column's expression. In a union, one column has several expressions.
    pub(super) fn placed(mut self, place: &str) -> RunError {
        if let RunError::SeveralValues { at, .. } | RunError::Type { at, .. } | RunError::Complex { at, .. } = &mut self
        {
            place.clone_into(at);
        }
        self
    }

    /// Whether evaluating fewer resources at a time may help.
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
