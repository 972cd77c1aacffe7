//! Errors of SQL statements, each in one sentence. Most errors that occur while rows are read are reported by their
//! kind only, because DataFusion's messages about casts and functions contain values of people.

use arrow::error::ArrowError;
use datafusion::common::utils::datafusion_strsim::normalized_levenshtein;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;

use crate::lake::scan::ScanError;
use crate::views::RunError;

/// The maximum number of columns that a message lists.
const COLUMNS_SHOWN: usize = 12;
/// The minimum similarity of a column's name for a message to suggest it.
const NEAR: f64 = 0.6;

/// Why a statement has no result.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The statement is malformed, or does not fit the tables.
    #[error("{0}")]
    Statement(String),
    /// The statement would change something.
    #[error("{0} is refused: tabularium sql only reads")]
    Writes(String),
    /// The text has several statements, or none. The field is their number.
    #[error("{0} statements were given; tabularium sql answers one at a time")]
    Count(usize),
    /// A view has the name of a resource type or of another view.
    #[error("{0}")]
    Name(String),
    /// The session could not be created.
    #[error("{0}")]
    Session(String),
    /// A function or a cast fails for a value in the data.
    #[error("{0}")]
    Data(String),
    /// The statement needs more memory, or more disk space for spilled rows, than the limits allow.
    #[error("{0}")]
    Memory(String),
    /// A view or a FHIRPath expression fails over the data.
    #[error(transparent)]
    View(#[from] RunError),
    /// The result could not be written.
    #[error("the result could not be written: {0}")]
    Output(String),
    /// Any other error.
    #[error("{0}")]
    Other(String),
}

impl SqlError {
    /// Whether the statement must be changed: it is wrong in itself, or it fails for the current data.
    pub fn is_of_statement(&self) -> bool {
        match self {
            SqlError::Statement(_)
            | SqlError::Writes(_)
            | SqlError::Count(_)
            | SqlError::Name(_)
            | SqlError::Data(_) => true,
            SqlError::View(error) => error.is_of_view(),
            _ => false,
        }
    }

    /// Whether the result exceeds a limit of memory, work, rows or text.
    pub fn is_too_costly(&self) -> bool {
        match self {
            SqlError::Memory(_) => true,
            SqlError::View(error) => error.is_too_costly(),
            _ => false,
        }
    }

    /// Converts an error that occurred before any row was read into an error about the statement. Its message contains
    /// no data.
    pub(super) fn of_plan(error: DataFusionError) -> SqlError {
        match RunError::from(error) {
            RunError::Plan(error) if is_of_memory(&error) || is_of_file(&error) => met(&error),
            RunError::Plan(error) => SqlError::Statement(said(&error)),
            RunError::Lake(error) => SqlError::Other(error.to_string()),
            other => SqlError::View(other),
        }
    }

    /// Converts an error that occurred while rows were read into an error about the data.
    pub(super) fn of_run(error: DataFusionError) -> SqlError {
        match RunError::from(unshared(error)) {
            RunError::Plan(error) => met(&error),
            other => SqlError::View(other),
        }
    }
}

fn is_of_memory(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

/// Whether a file of the lake cannot be read.
fn is_of_file(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::External(error) if error.is::<ScanError>())
}

/// Removes DataFusion's wrappers from an error: `Context`, and `Shared`, in which DataFusion hands one error to several
/// partitions. If another partition still holds the shared error, it cannot be unwrapped and is returned as it is.
fn unshared(error: DataFusionError) -> DataFusionError {
    match error {
        DataFusionError::Shared(shared) => match std::sync::Arc::try_unwrap(shared) {
            Ok(error) => unshared(error),
            Err(shared) => DataFusionError::Shared(shared),
        },
        DataFusionError::Context(_, error) => unshared(*error),
        other => other,
    }
}

/// Returns the message of an error that occurred before any row was read, as one sentence.
fn said(error: &DataFusionError) -> String {
    let root = error.find_root();
    match root {
        DataFusionError::SchemaError(error, _) => schema(error),
        DataFusionError::SQL(error, _) => {
            let text = error.to_string();
            let text = text.strip_prefix("sql parser error: ").unwrap_or(&text);
            format!("the statement cannot be read: {}", one_line(text))
        }
        DataFusionError::Diagnostic(_, inner) => said(inner),
        DataFusionError::Collection(errors) => errors.first().map_or_else(|| one_line(&root.message()), said),
        other => one_line(&other.message()),
    }
}

fn one_line(text: &str) -> String {
    let text = text.split(DataFusionError::BACK_TRACE_SEP).next().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn schema(error: &SchemaError) -> String {
    let SchemaError::FieldNotFound { field, valid_fields } = error else {
        return one_line(&error.to_string());
    };
    let name = field.flat_name();
    let mut near: Vec<(f64, &Column)> = valid_fields
        .iter()
        .map(|valid| {
            let (wanted, name) = (field.name.to_lowercase(), valid.name.to_lowercase());
            (normalized_levenshtein(&wanted, &name), valid)
        })
        .filter(|(nearness, _)| *nearness >= NEAR)
        .collect();
    near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    if let Some((_, meant)) = near.first() {
        return format!("there is no column '{name}'; did you mean '{}'?", meant.flat_name());
    }
    match valid_fields.len() {
        0 => format!("there is no column '{name}'"),
        count => {
            let shown: Vec<String> = valid_fields.iter().take(COLUMNS_SHOWN).map(Column::flat_name).collect();
            let more = match count.saturating_sub(COLUMNS_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("there is no column '{name}'; there are {}{more}", shown.join(", "))
        }
    }
}

/// Converts an error that occurred while rows were read. The message says what kind of error it is, without the value.
fn met(error: &DataFusionError) -> SqlError {
    if let Some(error) = view_error(error) {
        return SqlError::Data(error);
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => SqlError::Memory(
            "the statement needs more memory than --memory allows, or more room for what it spills".to_owned(),
        ),
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::DivideByZero => SqlError::Data("a division by zero".to_owned()),
            ArrowError::ArithmeticOverflow(_) => SqlError::Data("a number is too large for its type".to_owned()),
            ArrowError::CastError(_) | ArrowError::ParseError(_) => SqlError::Data(
                "a value cannot be cast to the type that is asked for; TRY_CAST gives NULL for it".to_owned(),
            ),
            _ => SqlError::Data("a function failed over one of the values".to_owned()),
        },
        DataFusionError::Execution(_) => SqlError::Data("a function failed over one of the values".to_owned()),
        DataFusionError::External(error) => SqlError::Other(one_line(&error.to_string())),
        other => SqlError::Other(one_line(&other.message())),
    }
}

/// Returns the message of a `RunError` that is somewhere among the sources of an error. `None` if there is none.
fn view_error(error: &DataFusionError) -> Option<String> {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<RunError>() {
            return Some(error.to_string());
        }
        source = error.source();
    }
    None
}
