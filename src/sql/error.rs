//! Errors of statements, in one sentence each. Errors over the data are reported without the data, because messages of
//! casts and functions contain values of people.

use arrow::error::ArrowError;
use datafusion::common::utils::datafusion_strsim::normalized_levenshtein;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;

use crate::views::RunError;

/// The maximum number of columns that a message lists.
const COLUMNS_SHOWN: usize = 12;
/// The minimum similarity of a name that is suggested.
const NEAR: f64 = 0.6;

/// Why a statement has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The statement is malformed, or does not fit the tables.
    #[error("{0}")]
    Statement(String),
    /// The statement would change something.
    #[error("{0} is refused: tabularium sql only reads")]
    Writes(String),
    /// There are several statements, or none.
    #[error("{0} statements were given; tabularium sql answers one at a time")]
    Count(usize),
    /// Two tables have the same name.
    #[error("{0}")]
    Name(String),
    /// The session could not be made.
    #[error("{0}")]
    Session(String),
    /// The statement does not fit the data.
    #[error("{0}")]
    Data(String),
    /// The statement needs more memory, or more room for spilled rows, than its limits allow.
    #[error("{0}")]
    Memory(String),
    /// A view, or a FHIRPath expression, failed over the data.
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
    /// Whether the statement is wrong, alone or for this data.
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

    /// Whether the answer exceeds a limit of memory, work, rows or text.
    pub fn is_too_costly(&self) -> bool {
        match self {
            SqlError::Memory(_) => true,
            SqlError::View(error) => error.is_too_costly(),
            _ => false,
        }
    }

    /// Turns an error before any row was read into one about the statement. Its text has no data.
    pub(super) fn of_plan(error: DataFusionError) -> SqlError {
        match RunError::from(error) {
            RunError::Plan(error) => SqlError::Statement(said(&error)),
            RunError::Lake(error) => SqlError::Other(error.to_string()),
            other => SqlError::View(other),
        }
    }

    /// Turns an error while rows are read into one about the data.
    pub(super) fn of_run(error: DataFusionError) -> SqlError {
        match RunError::from(unshared(error)) {
            RunError::Plan(error) => met(&error),
            other => SqlError::View(other),
        }
    }
}

/// Unwraps an error that several partitions share, if no other partition holds it.
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

/// The error of a statement before any row was read, as one sentence.
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

/// The message of an error while rows are read: its kind, without the value.
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

/// The error of a view or expression that several partitions share.
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
