//! What a source said about a failed sync: the issues of its OperationOutcomes, and the status that they came with.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a source said about a failed sync. FHIR routes pass it on to the application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceOutcome {
    /// The HTTP status of the answers with these issues. `None` if several answers had different ones, or if all
    /// answers were successful.
    pub status: Option<u16>,
    /// The issues, cleaned and shortened. Empty if the source sent no OperationOutcome.
    pub issue: Vec<Value>,
}

impl SourceOutcome {
    /// Joins what several sources said. The status stays only if all of them have the same one.
    pub fn joined(outcomes: Vec<SourceOutcome>) -> SourceOutcome {
        let mut said = outcomes.into_iter().filter(|outcome| !outcome.issue.is_empty());
        let Some(mut joined) = said.next() else {
            return SourceOutcome::default();
        };
        for other in said {
            joined.status = joined.status.filter(|status| other.status == Some(*status));
            joined.issue.extend(other.issue);
        }
        joined
    }
}
