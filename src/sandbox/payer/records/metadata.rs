//! An organization's metadata: the SMART configuration and the CapabilityStatement.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::super::answer;
use super::super::answer::{fhir, outcome};
use super::super::office::knobs::Knobs;
use super::super::office::organization::{Kind, SHARED};
use super::super::office::state::Office;
use super::super::office::world::World;
use crate::fhir::outcome::IssueType;

/// The URL of an extension that US Core uses. It lists search parameters that a client must use together.
const COMBINATION: &str = "http://hl7.org/fhir/StructureDefinition/capabilitystatement-search-parameter-combination";

/// Returns the SMART configuration of an organization. That of a facility has no authorization endpoint, because nobody
/// logs in at a facility.
pub(in crate::sandbox::payer) async fn smart(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
) -> Response {
    let Some(office) = with_records(&world, &organization) else {
        return nobody();
    };
    let base = format!("{}/{organization}", world.base_url);
    let facility = office.organization.kind == Kind::Facility;
    let mut grants = vec!["authorization_code"];
    let mut scopes: Vec<String> = ["launch/patient", "patient/*.read", "patient/*.rs"]
        .map(str::to_owned)
        .into();
    let mut capabilities = vec![
        "launch-standalone",
        "context-standalone-patient",
        "permission-patient",
        "permission-v1",
        "permission-v2",
    ];
    let mut methods = vec!["client_secret_basic", "client_secret_post"];
    if office.organization.secret.is_none() {
        methods.push("none");
        capabilities.push("client-public");
    } else {
        capabilities.push("client-confidential-symmetric");
    }
    if office.refreshable() {
        grants.push("refresh_token");
        scopes.push("offline_access".to_owned());
        capabilities.push("permission-offline");
    }
    if office.knobs().fhir_user {
        scopes.extend(["openid", "fhirUser"].map(str::to_owned));
        capabilities.push("sso-openid-connect");
    }
    if office.knobs().no_patient {
        capabilities.retain(|one| *one != "context-standalone-patient");
    }
    if facility {
        grants = vec!["urn:ietf:params:oauth:grant-type:jwt-bearer", "client_credentials"];
        capabilities.retain(|one| *one != "launch-standalone");
    }
    scopes.extend(
        office
            .organization
            .types()
            .iter()
            .map(|resource_type| format!("patient/{resource_type}.read")),
    );
    let token_base = if office.knobs().token_elsewhere {
        base.replacen("127.0.0.1", "localhost", 1)
    } else {
        base.clone()
    };
    let mut configuration = json!({
        "issuer": format!("{base}/fhir"),
        "token_endpoint": format!("{token_base}/token"),
        "token_endpoint_auth_methods_supported": methods,
        "grant_types_supported": grants,
        "scopes_supported": scopes,
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "capabilities": capabilities,
    });
    if office.knobs().fhir_user {
        configuration["jwks_uri"] = format!("{}/identity/jwks", world.base_url).into();
    }
    if !facility {
        configuration["authorization_endpoint"] = format!("{base}/authorize").into();
    }
    answer::json(StatusCode::OK, &configuration)
}

/// Returns the CapabilityStatement of an organization.
pub(in crate::sandbox::payer) async fn capability(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
) -> Response {
    let Some(office) = with_records(&world, &organization) else {
        return nobody();
    };
    let knobs = office.knobs();
    if knobs.xml {
        return super::fhir::xml();
    }
    if knobs.no_statement {
        return nobody();
    }
    let base = format!("{}/{organization}", world.base_url);
    let mut uris = vec![json!({"url": "token", "valueUri": format!("{base}/token")})];
    if office.organization.kind != Kind::Facility {
        uris.push(json!({"url": "authorize", "valueUri": format!("{base}/authorize")}));
    }
    let types = office.organization.types().into_iter();
    let types = types.filter(|resource_type| !knobs.unlisted.iter().any(|one| one == resource_type));
    let resources: Vec<Value> = types.map(|resource_type| resource(resource_type, &knobs)).collect();
    // In DSTU2, the CapabilityStatement has the name Conformance.
    let name = if knobs.fhir_version.starts_with("1.") {
        "Conformance"
    } else {
        "CapabilityStatement"
    };
    let statement = json!({
        "resourceType": name,
        "description": "x".repeat(knobs.statement_padding),
        "status": "active",
        "date": "2026-01-01",
        "kind": "instance",
        "publisher": office.organization.name,
        "implementation": {"description": format!("{} (test)", office.organization.name), "url": world.fhir_base(office)},
        "fhirVersion": knobs.fhir_version,
        "format": ["application/fhir+json", "json"],
        "rest": [{
            "mode": "server",
            "security": {
                "service": [{"coding": [{
                    "system": "http://terminology.hl7.org/CodeSystem/restful-security-service",
                    "code": "SMART-on-FHIR",
                }]}],
                "extension": [{
                    "url": "http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris",
                    "extension": uris,
                }],
            },
            "resource": resources,
        }],
    });
    fhir(StatusCode::OK, statement.to_string())
}

fn resource(resource_type: &str, knobs: &Knobs) -> Value {
    let mut parameters = vec![json!({"name": "_id", "type": "token"})];
    if !SHARED.contains(&resource_type) && resource_type != "Patient" {
        parameters.push(json!({"name": "patient", "type": "reference"}));
    }
    if knobs.last_updated {
        parameters.push(json!({"name": "_lastUpdated", "type": "date"}));
    }
    let is_named = |types: &[String]| types.iter().any(|one| one == resource_type);
    let along = knobs.provenance_along;
    let mut interactions = Vec::new();
    if !is_named(&knobs.unserved) {
        interactions.push(json!({"code": "read"}));
    }
    let only_read = is_named(&knobs.unsearchable) || (along && resource_type == "Provenance");
    if !(is_named(&knobs.unserved) || only_read) {
        interactions.push(json!({"code": "search-type"}));
    }
    let mut resource = json!({"type": resource_type, "interaction": interactions, "searchParam": parameters});
    if along {
        resource["searchRevInclude"] = json!(["Provenance:target"]);
    }
    if let Some(required) = knobs.require.get(resource_type).filter(|_| knobs.tell_required) {
        let names = ["patient", required].map(|name| json!({"url": "required", "valueString": name}));
        resource["extension"] = json!([{"url": COMBINATION, "extension": names}]);
    }
    if resource_type == "Patient" {
        resource["operation"] = json!([{
            "name": "everything",
            "definition": "http://hl7.org/fhir/OperationDefinition/Patient-everything",
        }]);
    }
    resource
}

fn with_records<'w>(world: &'w World, organization: &str) -> Option<&'w Office> {
    world
        .office(organization)
        .filter(|office| office.organization.kind != Kind::Identity)
}

fn nobody() -> Response {
    outcome(
        StatusCode::NOT_FOUND,
        IssueType::NotFound,
        "there is no organization of this name",
    )
}
