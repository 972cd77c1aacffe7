//! Errors of searches.

use datafusion::common::DataFusionError;

use crate::fhir::facts;
use crate::fhir::nearest::did_you_mean;
use crate::fhirpath::FhirPathError;
use crate::lake::scan::ScanError;

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A value does not have the form that its parameter requires (400 `invalid`).
    #[error("{parameter}: '{value}' is not {expected}{meant}")]
    Value {
        /// The parameter as the client wrote it.
        parameter: String,
        /// The value at fault.
        value: String,
        /// A description of an expected value, with its article.
        expected: &'static str,
        /// A suggestion, as the end of a sentence. Empty if there is none.
        meant: String,
    },
    /// A modifier that R4 does not define for the parameter's type, or that is not supported (400).
    #[error(
        "{parameter}: the modifier ':{modifier}' is not supported for a parameter of type {parameter_type}{}",
        meant_modifier(parameter, modifier, parameter_type)
    )]
    Modifier {
        /// The parameter's name.
        parameter: String,
        /// The modifier without its colon.
        modifier: String,
        /// The parameter's search type.
        parameter_type: &'static str,
    },
    /// A parameter that the type does not have (400). In `_filter`, this is always an error, and so is `_query`. Other
    /// parameters are an error only under `Prefer: handling=strict`.
    #[error("'{parameter}' is not a search parameter of {resource}{meant}")]
    Unknown {
        /// The parameter as the client wrote it.
        parameter: String,
        /// The searched resource type.
        resource: String,
        /// A suggestion, as the end of a sentence. Empty if there is none.
        meant: String,
    },
    /// The searched type is in no Patient's compartment (404 `not-supported`).
    #[error("resources of type {0} are not in the compartment of a Patient")]
    NoCompartment(&'static str),
    /// A value set or code system that the engine does not have (400).
    #[error("{parameter}: the {what} '{canonical}' is not known here")]
    Terminology {
        /// The parameter as the client wrote it.
        parameter: String,
        /// `value set` or `code system`.
        what: &'static str,
        /// The canonical URL of the value set or code system.
        canonical: String,
    },
    /// A chain follows a parameter that is not a reference (400).
    #[error("'{parameter}' is a parameter of type {parameter_type}; only a reference can be followed by a chain")]
    Chain {
        /// The parameter.
        parameter: String,
        /// The parameter's search type.
        parameter_type: &'static str,
    },
    /// An operator of `_filter` that has no meaning for the parameter's type (400).
    #[error("_filter: the operator '{operator}' does not go with '{parameter}', a parameter of type {parameter_type}")]
    Operator {
        /// The parameter.
        parameter: String,
        /// The operator.
        operator: String,
        /// The parameter's search type.
        parameter_type: &'static str,
    },
    /// The conditions of a search read too many tables (400).
    #[error("{parameter}: the search would have to look into more than {max} tables; name the types of its chains")]
    Joins {
        /// The parameter as the client wrote it.
        parameter: String,
        /// The maximum number of tables.
        max: usize,
    },
    /// A condition leads through more resources, one after the other, than allowed (400).
    #[error("{parameter}: chains and _has may lead through {max} resources at most, one behind the other")]
    Deep {
        /// The parameter as the client wrote it.
        parameter: String,
        /// The maximum length of the chain.
        max: usize,
    },
    /// A parameter has more values, words, tests or keys than allowed (400).
    #[error("{parameter}: there may be {max} {what} at most")]
    Many {
        /// The parameter as the client wrote it.
        parameter: String,
        /// The name of the counted things, such as `values`.
        what: &'static str,
        /// The maximum number of the counted things.
        max: usize,
    },
    /// A condition on other resources leads to more resources than a search may hold in memory (422).
    #[error("a condition on other resources is met by more than {0} of them; narrow it")]
    TooManyJoined(usize),
    /// A condition on other resources was not answered before the rows were read. This is a bug in the engine.
    #[error("a condition on other resources was not answered before the rows were searched")]
    Unanswered,
    /// More contained resources match than can be sorted (422).
    #[error("more than {0} contained resources match; narrow the search")]
    TooManyContained(usize),
    /// More resources refer to the matches by one parameter than `_revinclude` may find (422).
    #[error("the page would include more than {0} resources; ask for a smaller page with _count")]
    TooManyIncluded(usize),
    /// The search needs more work than one search may do (422).
    #[error(
        "the search needs more work than one search may do; give it fewer or narrower conditions, fewer includes, or a \
         smaller page"
    )]
    TooCostly,
    /// The matches continue on another page, but the link to it would exceed the maximum length of a URL (422).
    #[error("the next page's link would be {0} bytes long; give fewer values, or a _count that all matches fit in")]
    LongLinks(usize),
    /// The snapshot or the row that a page link names no longer exists (410).
    #[error("this page link has expired; start the search again from its first page")]
    Expired,
    /// The expression of a search parameter could not be compiled or evaluated.
    #[error("search parameter '{parameter}': {source}")]
    Expression {
        /// The parameter's name.
        parameter: String,
        /// The error of FHIRPath.
        source: FhirPathError,
    },
    /// The lake could not be read.
    #[error(transparent)]
    Lake(#[from] crate::lake::LakeError),
    /// The rows could not be read.
    #[error(transparent)]
    Scan(ScanError),
    /// A plan could not be created, or it failed while it ran.
    #[error("the search plan failed: {0}")]
    Plan(#[source] DataFusionError),
    /// Columns did not have the expected shape.
    #[error("the search met unexpected columns: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// A stored resource is no longer valid JSON.
    #[error("a stored resource could not be read back: {0}")]
    Stored(String),
}

/// Returns a suggestion for a modifier that parameters of type `parameter_type` do not take. Empty if no modifier is
/// similar.
fn meant_modifier(parameter: &str, modifier: &str, parameter_type: &str) -> String {
    let types = facts().resources().map(|type_id| facts().get(type_id).name);
    match parameter_type {
        "string" => did_you_mean(modifier, ["missing", "exact", "contains"].into_iter()),
        "token" => {
            let modifiers = ["missing", "text", "not", "in", "not-in", "below", "above", "of-type"];
            did_you_mean(modifier, modifiers.into_iter())
        }
        "uri" => did_you_mean(modifier, ["missing", "below", "above"].into_iter()),
        "reference" => did_you_mean(modifier, ["missing", "identifier"].into_iter().chain(types)),
        "special" if matches!(parameter, "_include" | "_revinclude") => did_you_mean(modifier, ["iterate"].into_iter()),
        _ => String::new(),
    }
}

impl From<DataFusionError> for SearchError {
    fn from(error: DataFusionError) -> SearchError {
        if exceeds_budget(&error) {
            return SearchError::TooCostly;
        }
        let DataFusionError::External(inner) = error else {
            return SearchError::Plan(error);
        };
        // An operator of the plan has failed with a `SearchError`, for example because a condition leads to too many
        // resources. If the request causes it, the caller gets this error itself.
        match inner.downcast::<SearchError>() {
            Ok(met) if met.is_input() => *met,
            Ok(met) => SearchError::Plan(DataFusionError::External(met)),
            Err(inner) => SearchError::Plan(DataFusionError::External(inner)),
        }
    }
}

/// Whether a read of the plan needed more work than its search may do. Operators may have wrapped the error of the
/// read.
fn exceeds_budget(error: &DataFusionError) -> bool {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |error| error.source())
        .filter_map(|error| error.downcast_ref::<ScanError>())
        .any(|error| matches!(error, ScanError::TooCostly))
}

impl From<ScanError> for SearchError {
    fn from(error: ScanError) -> SearchError {
        match error {
            // The row that a page link names no longer exists. Only erasure removes a row from a snapshot.
            ScanError::Locator { .. } => SearchError::Expired,
            ScanError::TooCostly => SearchError::TooCostly,
            error => SearchError::Scan(error),
        }
    }
}

impl SearchError {
    /// Wraps the error of a task on another thread, which has panicked or was cancelled.
    pub(super) fn of_thread(error: tokio::task::JoinError) -> SearchError {
        SearchError::Plan(DataFusionError::ExecutionJoin(Box::new(error)))
    }

    /// Whether the evaluation of a parameter's expression exceeded the allowed work. If the error occurred inside a
    /// scan, other errors wrap it.
    pub fn is_too_costly(&self) -> bool {
        let first: &(dyn std::error::Error + 'static) = self;
        std::iter::successors(Some(first), |error| error.source())
            .filter_map(|error| error.downcast_ref::<FhirPathError>())
            .any(FhirPathError::is_too_costly)
    }

    /// Whether the request causes the error. If not, the engine or the lake does.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            SearchError::Value { .. }
                | SearchError::Modifier { .. }
                | SearchError::Unknown { .. }
                | SearchError::NoCompartment(_)
                | SearchError::Terminology { .. }
                | SearchError::Chain { .. }
                | SearchError::Operator { .. }
                | SearchError::Joins { .. }
                | SearchError::Deep { .. }
                | SearchError::Many { .. }
                | SearchError::TooManyJoined(_)
                | SearchError::TooManyContained(_)
                | SearchError::TooManyIncluded(_)
                | SearchError::TooCostly
                | SearchError::LongLinks(_)
                | SearchError::Expired
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_a_plan_meets_is_the_requests_fault() {
        let planned = |error| SearchError::from(DataFusionError::External(Box::new(error)));
        assert!(matches!(
            planned(SearchError::TooManyJoined(5)),
            SearchError::TooManyJoined(5)
        ));
        assert!(matches!(planned(SearchError::Unanswered), SearchError::Plan(_)));
        for read in [ScanError::TooCostly, ScanError::Filter(ScanError::TooCostly.into())] {
            let nested = DataFusionError::External(Box::new(read)).context("a scan");
            assert!(matches!(SearchError::from(nested), SearchError::TooCostly));
        }
    }

    #[test]
    fn a_misspelt_modifier_has_a_suggestion() {
        let said = |parameter: &str, modifier: &str, parameter_type| {
            let error = SearchError::Modifier {
                parameter: parameter.to_owned(),
                modifier: modifier.to_owned(),
                parameter_type,
            };
            error.to_string()
        };
        for (parameter, modifier, parameter_type, meant) in [
            ("family", "exakt", "string", "exact"),
            ("code", "of-tpye", "token", "of-type"),
            ("subject", "Patint", "reference", "Patient"),
            ("_include", "itrate", "special", "iterate"),
        ] {
            let end = format!("for a parameter of type {parameter_type}; did you mean '{meant}'?");
            assert!(said(parameter, modifier, parameter_type).ends_with(&end));
        }
        for (parameter, modifier, parameter_type) in [("date", "exact", "date"), ("family", "phonetic", "string")] {
            assert!(
                said(parameter, modifier, parameter_type)
                    .ends_with(&format!("for a parameter of type {parameter_type}"))
            );
        }
    }

    #[test]
    fn what_costs_too_much_is_known_inside_a_plan_too() {
        let expression = |source| SearchError::Expression {
            parameter: "p".to_owned(),
            source,
        };
        let planned = |error| SearchError::Plan(DataFusionError::External(Box::new(error)));
        for costly in [FhirPathError::TooCostly, FhirPathError::TooLarge] {
            assert!(expression(costly.clone()).is_too_costly() && planned(expression(costly)).is_too_costly());
        }
        let other = FhirPathError::TooLong { length: 2, limit: 1 };
        assert!(!expression(other.clone()).is_too_costly() && !planned(expression(other)).is_too_costly());
    }
}
