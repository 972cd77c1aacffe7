//! The errors of an expression: in parsing, in resolution against R4, or on a row of data. An error in a part of the
//! expression states the position of the part.

use std::fmt;

use crate::fhir::facts;
use crate::fhir::nearest::{did_you_mean, did_you_mean_resource_type};

/// A position in the text of an expression. Lines and columns count from 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Position {
    /// Returns the position of the byte at `offset`.
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

/// The positions of all bytes of a text. For callers that need many positions of one text.
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

    /// Returns the position of a byte, or of the text's end for a larger offset.
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
    /// The text is not FHIRPath.
    #[error("FHIRPath syntax error at {at}: {reason}")]
    Syntax {
        /// The position.
        at: Position,
        /// The problem.
        reason: String,
    },
    /// Brackets, steps or operators nest deeper than the engine allows.
    #[error("FHIRPath expression at {at} nests deeper than {limit} levels")]
    TooDeep {
        /// Where the limit was exceeded.
        at: Position,
        /// The limit.
        limit: usize,
    },
    /// The expression is longer than the engine accepts.
    #[error("FHIRPath expression is {length} bytes long; at most {limit} are accepted")]
    TooLong {
        /// The length in bytes.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// Resolving the expression takes more work than the engine allows for one expression.
    #[error("FHIRPath expression at {at} is too complex to resolve")]
    TooComplex {
        /// Where the limit was exceeded.
        at: Position,
    },
    /// A step names an element that its context does not have.
    #[error("{type_name} has no element '{name}' ({at})")]
    UnknownElement {
        /// The position.
        at: Position,
        /// The element.
        name: String,
        /// The possible types of the items at which the step starts. None of these types has the element.
        type_name: String,
    },
    /// A path begins with a name that is neither a resource type nor an element of one. For callers that compile an
    /// expression for all resource types.
    #[error("'{name}' is neither a resource type nor an element of one ({at})")]
    UnknownName {
        /// The position.
        at: Position,
        /// The name.
        name: String,
    },
    /// The expression has the JSON name of an element, but only FHIRPath's name is allowed.
    #[error("'{name}' is JSON's name; FHIRPath has {standard} ({at})")]
    JsonName {
        /// The position.
        at: Position,
        /// The name.
        name: String,
        /// The form that FHIRPath has for the JSON name.
        standard: String,
    },
    /// A path begins with a type that is not the type of the context.
    #[error("a path that begins with {name} has no meaning in the context of {type_name} ({at})")]
    WrongContext {
        /// The position.
        at: Position,
        /// The type with which the path begins.
        name: String,
        /// The possible types of the context.
        type_name: String,
    },
    /// A function selects items by position after another function has left their order undefined.
    #[error("{function} takes items by their order, which {after} leaves open ({at})")]
    Unordered {
        /// The position.
        at: Position,
        /// The function that selects by position.
        function: String,
        /// The function that left the order undefined.
        after: String,
    },
    /// No type has this name.
    #[error("'{name}' is no FHIR or System type ({at})")]
    UnknownType {
        /// The position.
        at: Position,
        /// The name.
        name: String,
    },
    /// This engine has no such function.
    #[error("function {name}() is not supported ({at})")]
    UnknownFunction {
        /// The position.
        at: Position,
        /// The function.
        name: String,
        /// A suggestion of a function with a similar name, as the end of a sentence. Empty if there is no such
        /// function.
        meant: String,
    },
    /// The caller supplied no constant of this name, and FHIRPath defines none.
    #[error("%{name} is not defined ({at})")]
    UnknownConstant {
        /// The position.
        at: Position,
        /// The name without the percent sign.
        name: String,
    },
    /// A function has too few or too many arguments, or an argument of the wrong kind.
    #[error("{function}() {problem} ({at})")]
    Arguments {
        /// The position.
        at: Position,
        /// The function.
        function: String,
        /// The problem, as the end of a sentence that begins with the function.
        problem: String,
    },
    /// An operand has a type for which the operation is not defined.
    #[error("{operation} is not defined for {operands} ({at})")]
    Operands {
        /// The position.
        at: Position,
        /// The operator or function.
        operation: String,
        /// The types of the operands.
        operands: String,
    },
    /// A part of FHIRPath that this engine does not support.
    #[error("{what} is not supported ({at})")]
    Unsupported {
        /// The position.
        at: Position,
        /// The unsupported part.
        what: String,
    },
    /// An impossible value in the expression's own text: `@2024-13-01`.
    #[error("'{text}' is no {what} ({at})")]
    Literal {
        /// The position.
        at: Position,
        /// The expected type. The text is not a valid value of this type.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// A collection has several items where only one is allowed.
    #[error("{operation} needs a single item, but there are {count} ({at})")]
    NotSingle {
        /// The position.
        at: Position,
        /// The operator or function.
        operation: &'static str,
        /// The number of items.
        count: usize,
    },
    /// A value in the data has a type or content that the operation does not accept.
    #[error("{operation}: {problem} ({at})")]
    Value {
        /// The position.
        at: Position,
        /// The operator or function.
        operation: &'static str,
        /// The problem.
        problem: String,
    },
    /// The result has more items than the caller accepts.
    #[error("the expression yields more than {max_items} items")]
    TooMany {
        /// The maximum number of items.
        max_items: usize,
    },
    /// The evaluation needs more work than the data of the batch allow, and what is left of the run's budget does not
    /// suffice for the difference.
    #[error("evaluating the expression costs more work than there is for it")]
    TooCostly,
    /// The evaluation yields more items or more text than the engine holds for one batch.
    #[error("evaluating the expression yields more than a batch may hold")]
    TooLarge,
    /// The evaluation runs more nodes of the program than the engine allows for one batch. Nested `repeat` and
    /// `aggregate` run their nodes many times.
    #[error("evaluating the expression takes more than {limit} steps")]
    TooManySteps {
        /// The limit.
        limit: usize,
    },
}

impl FhirPathError {
    /// Returns the error's position in the expression. `None` if the error concerns the whole expression.
    pub fn position(&self) -> Option<Position> {
        match self {
            FhirPathError::Syntax { at, .. }
            | FhirPathError::TooDeep { at, .. }
            | FhirPathError::TooComplex { at }
            | FhirPathError::UnknownElement { at, .. }
            | FhirPathError::UnknownName { at, .. }
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

    /// Returns a suggestion for an unknown name, as the end of a sentence. Empty if no known name is similar.
    pub fn meant(&self) -> String {
        match self {
            FhirPathError::UnknownElement { name, type_name, .. } => {
                let type_def = facts().lookup(type_name).map(|type_id| facts().get(type_id));
                let elements = type_def.into_iter().flat_map(|type_def| &type_def.elements);
                let meant = did_you_mean(name, elements.map(|element| element.name));
                // A path may begin with a type, as in `Patient.name`. If the name is a type's, it is in the wrong
                // place.
                if meant.is_empty() && facts().lookup(name).is_none() {
                    did_you_mean_resource_type(name)
                } else {
                    meant
                }
            }
            FhirPathError::UnknownName { name, .. } => {
                let meant = did_you_mean_resource_type(name);
                if meant.is_empty() {
                    let elements = facts().resources().flat_map(|type_id| &facts().get(type_id).elements);
                    did_you_mean(name, elements.map(|element| element.name))
                } else {
                    meant
                }
            }
            // After another namespace, even the name of a type is unknown.
            FhirPathError::UnknownType { name, .. } if facts().lookup(name).is_none() => {
                let types = facts().types().map(|type_id| facts().get(type_id).name);
                did_you_mean(name, types.filter(|known| !known.contains('.')))
            }
            FhirPathError::UnknownFunction { meant, .. } => meant.clone(),
            _ => String::new(),
        }
    }

    /// Whether the evaluation exceeded a limit. A new attempt would fail in the same way, because the limits do not
    /// depend on time.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_has_a_suggestion() {
        let at = Position { line: 1, column: 1 };
        let name = |name: &str| FhirPathError::UnknownName {
            at,
            name: name.to_owned(),
        };
        let of_type = |name: &str| FhirPathError::UnknownType {
            at,
            name: name.to_owned(),
        };
        let element = |name: &str| FhirPathError::UnknownElement {
            at,
            name: name.to_owned(),
            type_name: "Patient".to_owned(),
        };
        for (error, meant) in [
            (name("Patinet"), "; did you mean 'Patient'?"),
            (name("birthDat"), "; did you mean 'birthDate'?"),
            (name("nothingLikeIt"), ""),
            (of_type("datetime"), "; did you mean 'dateTime'?"),
            (of_type("Quantty"), "; did you mean 'Quantity'?"),
            (of_type("Patient"), ""),
            (element("birthDat"), "; did you mean 'birthDate'?"),
            (element("Patinet"), "; did you mean 'Patient'?"),
            (element("Observation"), ""),
        ] {
            assert_eq!(error.meant(), meant, "{error}");
        }
    }
}
