//! OperationOutcome: an error or a remark as a typed value. `http` decides its HTTP status.

use serde::{Serialize, Serializer};

use super::codes::codes;

codes! {
    /// The severity of an issue.
    #[allow(missing_docs)]
    Severity {
        Fatal = "fatal",
        Error = "error",
        Warning = "warning",
        Information = "information",
    }
}

codes! {
    /// The kind of an issue: R4's code system `http://hl7.org/fhir/issue-type`.
    #[allow(missing_docs)]
    IssueType {
        Invalid = "invalid",
        Structure = "structure",
        Required = "required",
        Value = "value",
        Invariant = "invariant",
        Security = "security",
        Login = "login",
        Unknown = "unknown",
        Expired = "expired",
        Forbidden = "forbidden",
        Suppressed = "suppressed",
        Processing = "processing",
        NotSupported = "not-supported",
        Duplicate = "duplicate",
        MultipleMatches = "multiple-matches",
        NotFound = "not-found",
        Deleted = "deleted",
        TooLong = "too-long",
        CodeInvalid = "code-invalid",
        Extension = "extension",
        TooCostly = "too-costly",
        BusinessRule = "business-rule",
        Conflict = "conflict",
        Transient = "transient",
        LockError = "lock-error",
        NoStore = "no-store",
        Exception = "exception",
        Timeout = "timeout",
        Incomplete = "incomplete",
        Throttled = "throttled",
        Informational = "informational",
    }
}

/// An issue of an OperationOutcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// The severity.
    pub severity: Severity,
    /// The issue's kind.
    pub code: IssueType,
    /// The text for people.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub details: Option<String>,
    /// The text for developers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<String>,
    /// The FHIRPaths of the elements, or the names of the parameters, that the issue concerns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expression: Vec<String>,
}

/// An OperationOutcome resource with at least one issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "resourceType")]
pub struct OperationOutcome {
    #[serde(rename = "issue")]
    issues: Vec<Issue>,
}

impl Issue {
    /// Creates an issue with the text `details`.
    pub fn new(severity: Severity, code: IssueType, details: impl Into<String>) -> Issue {
        Issue {
            severity,
            code,
            details: Some(details.into()),
            diagnostics: None,
            expression: Vec::new(),
        }
    }

    /// Creates an issue of severity `error`.
    pub fn error(code: IssueType, details: impl Into<String>) -> Issue {
        Issue::new(Severity::Error, code, details)
    }

    /// Creates an issue of severity `warning`.
    pub fn warning(code: IssueType, details: impl Into<String>) -> Issue {
        Issue::new(Severity::Warning, code, details)
    }

    /// Creates an issue of severity `information`.
    pub fn information(code: IssueType, details: impl Into<String>) -> Issue {
        Issue::new(Severity::Information, code, details)
    }

    /// Adds a text for developers.
    pub fn diagnostics(mut self, diagnostics: impl Into<String>) -> Issue {
        self.diagnostics = Some(diagnostics.into());
        self
    }

    /// Adds an element or parameter that the issue concerns.
    pub fn expression(mut self, expression: impl Into<String>) -> Issue {
        self.expression.push(expression.into());
        self
    }
}

impl OperationOutcome {
    /// Creates an outcome with one issue.
    pub fn new(issue: Issue) -> OperationOutcome {
        OperationOutcome { issues: vec![issue] }
    }

    /// Adds an issue.
    pub fn and(mut self, issue: Issue) -> OperationOutcome {
        self.issues.push(issue);
        self
    }

    /// Returns the issues. There is at least one.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Returns the resource as JSON text.
    pub fn to_json(&self) -> String {
        // Strings and enums always serialize, so this minimal valid fallback is never written.
        serde_json::to_string(self).unwrap_or_else(|_| {
            r#"{"resourceType":"OperationOutcome","issue":[{"severity":"fatal","code":"exception"}]}"#.to_owned()
        })
    }
}

impl From<Issue> for OperationOutcome {
    fn from(issue: Issue) -> OperationOutcome {
        OperationOutcome::new(issue)
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for IssueType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Serializes a text as a CodeableConcept with only this text.
fn as_text<S: Serializer>(details: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct CodeableConcept<'a> {
        text: &'a Option<String>,
    }
    CodeableConcept { text: details }.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_a_resource() {
        let outcome = OperationOutcome::new(
            Issue::error(IssueType::Value, "the date \"x\" is none")
                .diagnostics("birthdate=x")
                .expression("birthdate"),
        )
        .and(Issue::warning(IssueType::NotSupported, "ignored"));
        assert_eq!(
            outcome.to_json(),
            concat!(
                r#"{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"value","#,
                r#""details":{"text":"the date \"x\" is none"},"diagnostics":"birthdate=x","expression":["birthdate"]},"#,
                r#"{"severity":"warning","code":"not-supported","details":{"text":"ignored"}}]}"#
            )
        );
        let resource: serde_json::Value = serde_json::from_str(&outcome.to_json()).unwrap();
        let facts = super::super::facts();
        let issue = facts.lookup("OperationOutcome.issue").unwrap();
        for property in resource["issue"][0].as_object().unwrap().keys() {
            assert!(facts.child(issue, property).is_some(), "{property}");
        }
    }

    #[test]
    fn codes_are_read_as_written() {
        assert_eq!(IssueType::parse("lock-error"), Some(IssueType::LockError));
        assert_eq!(Severity::parse("severe"), None);
        assert_eq!(
            IssueType::parse(IssueType::TooCostly.as_str()),
            Some(IssueType::TooCostly)
        );
    }
}
