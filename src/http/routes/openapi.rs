//! Builds the OpenAPI document from the table of routes.

use serde_json::{Map, Value, json};

use super::headers;
use super::refusals::Refusals;
use super::schema::take_named;
use super::table::{Family, table};
use crate::http::described;

const JSON: &str = "application/json";

/// Builds the document that describes all routes.
pub(super) fn described(base_url: &str) -> Value {
    let mut document = with_schemas_in_place(base_url, &table());
    let mut schemas = Map::new();
    for part in ["paths", "components"] {
        take_named(&mut document[part], &mut schemas);
    }
    document["components"]["schemas"] = schemas.into();
    document
}

fn with_schemas_in_place(base_url: &str, families: &[Family]) -> Value {
    let tags = families
        .iter()
        .map(|family| json!({"name": family.name, "description": family.about}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tabularium: health records in columns",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "tags": tags.collect::<Vec<_>>(),
        "security": [{"oauth2": []}, {"bearer": []}],
        "paths": paths(families),
        "components": {
            "securitySchemes": {
                "oauth2": oauth2(base_url),
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                    "description": "A patient or application access token"},
                "keys": {"type": "http", "scheme": "basic",
                    "description": "The publishable key as user name, the secret key as password"},
                "registration": {"type": "http", "scheme": "bearer",
                    "description": "The registration_access_token that a registration or its last change answered"},
            },
            "headers": headers::components(),
            "responses": refusals(),
        },
    })
}

/// Returns the OAuth 2 security scheme: the flows in which programs get access tokens.
fn oauth2(base_url: &str) -> Value {
    let token_url = format!("{base_url}/oauth/token");
    json!({
        "type": "oauth2",
        "description": "A patient token by consent, with PKCE (S256) and svc_external_id; an application token by a key pair",
        "flows": {
            "authorizationCode": {
                "authorizationUrl": format!("{base_url}/oauth/authorize"), "tokenUrl": token_url, "refreshUrl": token_url,
                "scopes": {
                    "launch/patient": "Records of the patient who consents; always asked for",
                    "offline_access": "Fresh records for as long as the consent lasts",
                },
            },
            "clientCredentials": {"tokenUrl": token_url, "scopes": {}},
        },
    })
}

/// Returns the responses of refusals: each format for all statuses, and for those that are described by themselves.
fn refusals() -> Map<String, Value> {
    let statuses = || std::iter::once(None).chain(headers::REFUSED.map(Some));
    let all = Refusals::ALL
        .into_iter()
        .flat_map(|form| statuses().map(move |status| (form, status)));
    all.map(|(form, status)| (form.component(status), refused(form, status)))
        .collect()
}

fn refused(form: Refusals, status: Option<u16>) -> Value {
    let (described, media, schema) = match form {
        Refusals::Outcome => ("as an OperationOutcome", described::FHIR, described::outcome()),
        Refusals::OAuth => ("as OAuth says it", JSON, described::oauth_error()),
        Refusals::Message => ("in a sentence", JSON, described::message()),
    };
    let about = match status {
        Some(401) => format!("The credential is missing or not valid, {described}"),
        Some(429) => format!("Too many requests, or the server is busy, {described}"),
        _ => format!("Why not, {described}"),
    };
    let mut response = json!({"description": about, "content": {media: {"schema": schema}}});
    headers::add_all(&mut response);
    headers::add_refused(&mut response, status, form == Refusals::Outcome);
    response
}

fn paths(families: &[Family]) -> Map<String, Value> {
    let mut paths = Map::new();
    for family in families {
        for route in family.routes.iter().filter(|route| !route.operations().is_empty()) {
            let described = route
                .operations()
                .iter()
                .map(|(method, operation)| ((*method).to_owned(), operation.at(route.path(), family.name)));
            let mut described: Map<String, Value> = described.collect();
            add_head(&mut described);
            paths.insert(route.path().to_owned(), described.into());
        }
    }
    paths
}

/// Adds HEAD to a path that has GET.
fn add_head(path: &mut Map<String, Value>) {
    let Some(mut head) = path.get("get").cloned() else {
        return;
    };
    let id = head["operationId"].as_str().unwrap_or_default();
    head["operationId"] = json!(format!("{id}Head"));
    head["summary"] = json!("The head of what GET answers");
    path.insert("head".to_owned(), head);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::schema::resolved;
    use super::*;

    #[test]
    fn ids_are_unique_and_every_operation_says_what_it_answers() {
        let document = described("https://x");
        let mut ids = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let id = operation["operationId"].as_str().unwrap();
                assert!(ids.insert(id.to_owned()), "{id} is there twice");
                assert!(!operation["summary"].as_str().unwrap().is_empty());
                let responses = operation["responses"].as_object().unwrap();
                assert!(responses.len() > 1, "{method} {path} has no answer but refusals");
                let content = responses
                    .values()
                    .filter_map(|response| response["content"].as_object());
                for (media, content) in content.flatten() {
                    let schema = resolved(&document, &content["schema"]);
                    let is_one = ["type", "oneOf"].iter().any(|name| schema.get(name).is_some());
                    assert!(is_one, "{method} {path} does not say what its {media} is");
                }
                let refusal = responses["default"]["$ref"].as_str().unwrap().replace("#/", "/");
                assert!(document.pointer(&refusal).is_some(), "{refusal}");
            }
        }
    }

    #[test]
    fn every_parameter_is_described() {
        let document = described("https://x");
        let mut bare = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    let about = parameter["description"].as_str().unwrap_or_default();
                    if about.trim().is_empty() || parameter["schema"].get("description").is_some() {
                        bare.insert(format!("{method} {path} {}", parameter["name"]));
                    }
                }
            }
        }
        assert!(bare.is_empty(), "{bare:#?}");
    }

    #[test]
    fn every_status_has_its_headers() {
        let document = described("https://x");
        let mut faults = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let responses = operation["responses"].as_object().unwrap();
                let is_open = operation["security"] == json!([]);
                for needed in ["401", "429"] {
                    let may_lack = is_open && needed == "401";
                    if !may_lack && !responses.contains_key(needed) {
                        faults.insert(format!("{method} {path} has no {needed}"));
                    }
                }
                for (status, response) in responses {
                    let response = resolved(&document, response);
                    let needed: &[&str] = match status.as_str() {
                        "206" => &["Accept-Ranges", "Content-Range", "ETag"],
                        "302" | "303" => &["Location"],
                        "304" => &["ETag"],
                        "401" => &["WWW-Authenticate"],
                        "429" => &["Retry-After"],
                        _ => &[],
                    };
                    for name in [&["X-Request-Id"], needed].concat() {
                        let header = resolved(&document, &response["headers"][name]);
                        if header["description"]
                            .as_str()
                            .is_none_or(|about| about.trim().is_empty())
                        {
                            faults.insert(format!("{method} {path} {status} has no {name}"));
                        }
                    }
                }
            }
        }
        assert!(faults.is_empty(), "{faults:#?}");
    }

    #[test]
    fn paths_are_declared_once() {
        let mut seen = BTreeSet::new();
        for family in table() {
            for route in family.routes {
                assert!(seen.insert(route.path()), "{} is there twice", route.path());
            }
        }
    }
}
