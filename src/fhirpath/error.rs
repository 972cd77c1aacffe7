//! How an expression fails: at parsing, at resolution against R4, or on a row of data. Every failure names its place.

use std::fmt;

use super::functions::functions;
use crate::fhir::facts;
use crate::fhir::nearest::did_you_mean;

/// A place in the text of an expression, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Position {
    /// The place of byte `offset` of `text`.
    pub(crate) fn of(text: &str, offset: usize) -> Position {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Position {
            line: line as u32,
            column: column as u32,
        }
    }
}

/// The places of all bytes of a text, for whoever asks for many.
#[derive(Debug)]
pub(crate) struct Places {
    positions: Vec<Position>,
}

impl Places {
    pub(crate) fn new(text: &str) -> Places {
        let mut positions = Vec::with_capacity(text.len() + 1);
        let mut at = Position { line: 1, column: 1 };
        for letter in text.chars() {
            positions.extend(std::iter::repeat_n(at, letter.len_utf8()));
            match letter {
                '\n' => {
                    at = Position {
                        line: at.line + 1,
                        column: 1,
                    }
                }
                _ => at.column += 1,
            }
        }
        positions.push(at);
        Places { positions }
    }

    /// The place of a byte, or of the text's end.
    pub(crate) fn of(&self, offset: usize) -> Position {
        self.positions[offset.min(self.positions.len() - 1)]
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

/// Why an expression could not be compiled or evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FhirPathError {
    /// The text is no FHIRPath.
    #[error("FHIRPath syntax error at {at}: {reason}")]
    Syntax {
        /// Where.
        at: Position,
        /// What was expected there.
        reason: String,
    },
    /// Brackets, steps or operators nest deeper than the engine follows.
    #[error("FHIRPath expression at {at} nests deeper than {limit} levels")]
    TooDeep {
        /// Where the limit was passed.
        at: Position,
        /// The limit.
        limit: usize,
    },
    /// The expression is longer than the engine accepts.
    #[error("FHIRPath expression is {length} bytes long; at most {limit} are accepted")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// Resolving the expression takes more work than the engine spends on one.
    #[error("FHIRPath expression at {at} is too complex to resolve")]
    TooComplex {
        /// Where the limit was passed.
        at: Position,
    },
    /// A step names an element that its context does not have.
    #[error("{ty} has no element '{name}' ({at})")]
    UnknownElement {
        /// Where.
        at: Position,
        /// The element.
        name: String,
        /// The type or types it was looked for in.
        ty: String,
    },
    /// JSON's name of an element stands where only FHIRPath's is taken.
    #[error("'{name}' is JSON's name; FHIRPath has {standard} ({at})")]
    JsonName {
        /// Where.
        at: Position,
        /// The name.
        name: String,
        /// What FHIRPath has in its place.
        standard: String,
    },
    /// A path begins with a type that the context is not of.
    #[error("a path that begins with {name} has no meaning in the context of {ty} ({at})")]
    WrongContext {
        /// Where.
        at: Position,
        /// The type it begins with.
        name: String,
        /// The type or types of the context.
        ty: String,
    },
    /// A function takes items by their place where an earlier one leaves their order open.
    #[error("{function} takes items by their order, which {after} leaves open ({at})")]
    Unordered {
        /// Where.
        at: Position,
        /// The function.
        function: String,
        /// The function that left the order open.
        after: String,
    },
    /// No type has this name.
    #[error("'{name}' is no FHIR or System type ({at})")]
    UnknownType {
        /// Where.
        at: Position,
        /// The name.
        name: String,
    },
    /// No such function, or one that this engine does not have.
    #[error("function {name}() is not supported ({at})")]
    UnknownFunction {
        /// Where.
        at: Position,
        /// The function.
        name: String,
    },
    /// A constant that the caller did not supply.
    #[error("%{name} is not defined ({at})")]
    UnknownConstant {
        /// Where.
        at: Position,
        /// The name without the percent sign.
        name: String,
    },
    /// A function got too few or too many arguments, or one of the wrong kind.
    #[error("{function}() {problem} ({at})")]
    Arguments {
        /// Where.
        at: Position,
        /// The function.
        function: String,
        /// What is wrong.
        problem: String,
    },
    /// An operand of a type that the operation is not defined for.
    #[error("{operation} is not defined for {operands} ({at})")]
    Operands {
        /// Where.
        at: Position,
        /// The operator or function.
        operation: String,
        /// The types given.
        operands: String,
    },
    /// Something that is FHIRPath, but that this engine does not do.
    #[error("{what} is not supported ({at})")]
    Unsupported {
        /// Where.
        at: Position,
        /// What.
        what: String,
    },
    /// A value of the expression's own text that cannot be: `@2024-13-01`.
    #[error("'{text}' is no {what} ({at})")]
    Literal {
        /// Where.
        at: Position,
        /// What it should be.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// More than one item where one is allowed.
    #[error("{operation} needs a single item, but there are {count} ({at})")]
    NotSingle {
        /// Where.
        at: Position,
        /// The operator or function.
        operation: &'static str,
        /// How many there are.
        count: usize,
    },
    /// A value of a type or content that the operation does not accept, met in the data.
    #[error("{operation}: {problem} ({at})")]
    Value {
        /// Where.
        at: Position,
        /// The operator or function.
        operation: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The result has more items than the caller has room for.
    #[error("the expression yields more than {max_items} items")]
    TooMany {
        /// How many there is room for.
        max_items: usize,
    },
    /// The evaluation costs more work than its data account for and its run has to spend.
    #[error("evaluating the expression costs more work than there is for it")]
    TooCostly,
    /// The evaluation grew beyond what one batch may hold.
    #[error("evaluating the expression yields more than a batch may hold")]
    TooLarge,
    /// Folds or repetitions within each other take more steps than the engine runs for one batch.
    #[error("evaluating the expression takes more than {limit} steps")]
    TooManySteps {
        /// The limit.
        limit: usize,
    },
}

impl FhirPathError {
    /// The place in the expression that it is about. `None` if it is about the whole.
    pub fn position(&self) -> Option<Position> {
        match self {
            FhirPathError::Syntax { at, .. }
            | FhirPathError::TooDeep { at, .. }
            | FhirPathError::TooComplex { at }
            | FhirPathError::UnknownElement { at, .. }
            | FhirPathError::JsonName { at, .. }
            | FhirPathError::WrongContext { at, .. }
            | FhirPathError::Unordered { at, .. }
            | FhirPathError::UnknownType { at, .. }
            | FhirPathError::UnknownFunction { at, .. }
            | FhirPathError::UnknownConstant { at, .. }
            | FhirPathError::Arguments { at, .. }
            | FhirPathError::Operands { at, .. }
            | FhirPathError::Unsupported { at, .. }
            | FhirPathError::Literal { at, .. }
            | FhirPathError::NotSingle { at, .. }
            | FhirPathError::Value { at, .. } => Some(*at),
            FhirPathError::TooLong { .. }
            | FhirPathError::TooMany { .. }
            | FhirPathError::TooCostly
            | FhirPathError::TooLarge
            | FhirPathError::TooManySteps { .. } => None,
        }
    }

    /// A suggestion for an unknown name, as the end of a sentence. Empty if no name is similar.
    pub fn meant(&self) -> String {
        match self {
            FhirPathError::UnknownElement { name, ty, .. } => {
                let ty = facts().lookup(ty).map(|ty| facts().get(ty));
                let elements = ty.into_iter().flat_map(|ty| &ty.elements);
                did_you_mean(name, elements.map(|element| element.name))
            }
            FhirPathError::UnknownFunction { name, .. } => did_you_mean(name, functions()),
            _ => String::new(),
        }
    }

    /// Whether the evaluation exceeds its bounds, so that repeating it fails in the same way.
    pub fn is_too_costly(&self) -> bool {
        matches!(
            self,
            FhirPathError::TooCostly
                | FhirPathError::TooMany { .. }
                | FhirPathError::TooLarge
                | FhirPathError::TooManySteps { .. }
        )
    }
}
