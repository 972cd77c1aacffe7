//! Schemas and examples of bodies that several groups of routes share, for the OpenAPI document: FHIR resources and
//! errors. A resource's schema has only the elements that all resources have.

use serde_json::{Value, json};

use super::routes::{Operation, list, named, object};

/// The media type of FHIR JSON.
pub(super) const FHIR: &str = "application/fhir+json";

/// Adds the `Prefer` header to an operation. The header sets how unknown parameters are handled.
pub(super) fn with_handling(operation: Operation) -> Operation {
    let handling = "handling=strict refuses unknown parameters, handling=lenient leaves them out";
    operation.header("Prefer", handling)
}

/// Returns the schema of any resource.
pub(super) fn resource() -> Value {
    let mut schema = object(
        &["resourceType"],
        json!({
            "resourceType": {"type": "string"},
            "id": {"type": "string"},
            "meta": meta(),
        }),
    );
    schema["additionalProperties"] = json!(true);
    named("Resource", schema)
}

/// Returns an example: a Parameters resource without parameters.
pub(super) fn parameters() -> Value {
    json!({"resourceType": "Parameters"})
}

/// Returns an example: a ViewDefinition of Patients that every lake can run.
pub(super) fn view() -> Value {
    let column = |name: &str, path: &str, fhir_type: &str| json!({"name": name, "path": path, "type": fhir_type});
    let columns = [
        column("id", "getResourceKey()", "string"),
        column("born", "birthDate", "date"),
    ];
    json!({
        "resourceType": "ViewDefinition", "name": "patients", "status": "active", "resource": "Patient",
        "select": [{"column": columns}],
    })
}

/// Returns the schema of a search's page, a Bundle of type `searchset`.
pub(super) fn bundle() -> Value {
    let text = json!({"type": "string"});
    let link = object(&["relation", "url"], json!({"relation": text, "url": text}));
    let search = object(
        &["mode"],
        json!({"mode": {"type": "string", "enum": ["match", "include", "outcome"]}}),
    );
    let entry = object(
        &["resource", "search"],
        json!({"fullUrl": text, "resource": resource(), "search": search}),
    );
    let properties = json!({
        "resourceType": {"type": "string", "const": "Bundle"},
        "id": text,
        "meta": meta(),
        "type": {"type": "string", "const": "searchset"},
        "total": {"type": "integer", "minimum": 0},
        "link": list(&link),
        "entry": list(&entry),
    });
    named("Bundle", object(&["resourceType", "id", "type", "link"], properties))
}

/// Returns the schema of a document, a Bundle of type `document`.
pub(super) fn document() -> Value {
    let text = json!({"type": "string"});
    let identifier = object(&["system", "value"], json!({"system": text, "value": text}));
    let entry = object(
        &["fullUrl", "resource"],
        json!({"fullUrl": text, "resource": resource()}),
    );
    let properties = json!({
        "resourceType": {"type": "string", "const": "Bundle"},
        "id": text,
        "meta": meta(),
        "language": text,
        "identifier": identifier,
        "type": {"type": "string", "const": "document"},
        "timestamp": text,
        "entry": list(&entry),
    });
    let required = [
        "resourceType",
        "id",
        "meta",
        "language",
        "identifier",
        "type",
        "timestamp",
        "entry",
    ];
    named("Document", object(&required, properties))
}

/// Returns the schema of an OperationOutcome.
pub(super) fn outcome() -> Value {
    let (text, texts) = (json!({"type": "string"}), list(&json!({"type": "string"})));
    let issue = object(
        &["severity", "code"],
        json!({
            "severity": {"type": "string", "enum": ["fatal", "error", "warning", "information"]},
            "code": {"type": "string", "description": "of http://hl7.org/fhir/issue-type"},
            "details": object(&["text"], json!({"text": text})),
            "diagnostics": text,
            "expression": texts,
        }),
    );
    let properties = json!({
        "resourceType": {"type": "string", "const": "OperationOutcome"},
        "id": text,
        "extension": list(&json!({"type": "object", "additionalProperties": true})),
        "issue": {"type": "array", "minItems": 1, "items": named("OperationOutcomeIssue", issue)},
    });
    named("OperationOutcome", object(&["resourceType", "issue"], properties))
}

/// Returns the schema of an error outside of FHIR and OAuth.
pub(super) fn message() -> Value {
    named("Message", object(&["message"], json!({"message": {"type": "string"}})))
}

/// Returns the schema of an OAuth error (RFC 6749, section 5.2; RFC 7591, section 3.2.2).
pub(super) fn oauth_error() -> Value {
    let text = json!({"type": "string"});
    let properties = json!({"error": text, "error_description": text});
    named("OAuthError", object(&["error", "error_description"], properties))
}

fn meta() -> Value {
    let properties = json!({
        "versionId": {"type": "string"},
        "lastUpdated": {"type": "string", "format": "date-time"},
    });
    let mut schema = object(&[], properties);
    schema["additionalProperties"] = json!(true);
    named("Meta", schema)
}
