//! What a source says of itself: its SMART configuration, or for want of one the addresses in its CapabilityStatement; and what
//! it can be asked for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::Error;
use super::http::{FHIR_JSON, JSON};
use super::{Client, Guard};

/// Bytes that are kept of what a source says of itself.
const LARGEST: usize = 64 << 10;

const OAUTH_URIS: &str = "http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris";

/// Where and how a source grants access.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Configuration {
    /// Where the patient is sent. A source that only serves located facilities has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    /// Where codes and refresh tokens are exchanged.
    pub token_endpoint: String,
    /// Who it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Its keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// Scopes that it knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes_supported: Vec<String>,
    /// How PKCE challenges may be made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_challenge_methods_supported: Vec<String>,
    /// How clients may authenticate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub token_endpoint_auth_methods_supported: Vec<String>,
    /// SMART capabilities.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
}

/// What a source can be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The version of FHIR.
    pub fhir_version: String,
    /// Types that can be searched, in the source's order.
    pub searchable: Vec<String>,
}

impl Client {
    /// Asks a source, known by its FHIR base, where it grants access.
    pub async fn discover(&self, fhir_base: &str) -> Result<Configuration, Error> {
        let base = fhir_base.trim_end_matches('/');
        let smart = self
            .http
            .get_json(&format!("{base}/.well-known/smart-configuration"), JSON)
            .await;
        let guard = self.http.guard();
        let found = match smart.and_then(|json| configuration(&json, guard, base)) {
            Ok(found) => return Ok(found),
            // A failure that may pass is none of the source's decisions.
            Err(error) if error.may_pass() || matches!(error, Error::Forbidden(_)) => return Err(error),
            Err(error) => error,
        };
        match self.http.get_json(&format!("{base}/metadata"), FHIR_JSON).await {
            Ok(statement) => oauth_uris(&statement, guard).ok_or(found),
            Err(error) if error.may_pass() => Err(error),
            Err(_) => Err(found),
        }
    }

    /// Asks a source for its CapabilityStatement.
    pub async fn capabilities(&self, fhir_base: &str) -> Result<Capabilities, Error> {
        let base = fhir_base.trim_end_matches('/');
        let statement = self.http.get_json(&format!("{base}/metadata"), FHIR_JSON).await?;
        if statement["resourceType"] != "CapabilityStatement" {
            let url = self.http.guard().check(base)?;
            return Err(super::http::malformed(&url, "no CapabilityStatement"));
        }
        let searches = |resource: &&Value| {
            let interactions = resource["interaction"].as_array().into_iter().flatten();
            let mut codes = interactions.filter_map(|one| one["code"].as_str());
            codes.any(|code| code == "search-type")
        };
        let rest = statement["rest"].as_array().into_iter().flatten();
        let resources = rest.flat_map(|rest| rest["resource"].as_array().into_iter().flatten());
        Ok(Capabilities {
            fhir_version: statement["fhirVersion"].as_str().unwrap_or_default().to_owned(),
            searchable: resources
                .filter(searches)
                .filter_map(|resource| resource["type"].as_str())
                .map(str::to_owned)
                .collect(),
        })
    }
}

/// A SMART configuration, if its endpoints may be called.
fn configuration(json: &Value, guard: Guard, base: &str) -> Result<Configuration, Error> {
    let malformed = |what| match guard.check(base) {
        Ok(url) => super::http::malformed(&url, what),
        Err(error) => error,
    };
    let found: Configuration =
        serde_json::from_value(json.clone()).map_err(|_| malformed("a SMART configuration that cannot be read"))?;
    if found.token_endpoint.is_empty() {
        return Err(malformed("a SMART configuration without a token endpoint"));
    }
    guard.check(&found.token_endpoint)?;
    found
        .authorization_endpoint
        .as_deref()
        .map(|address| guard.check(address))
        .transpose()?;
    let methods = &found.code_challenge_methods_supported;
    if !methods.is_empty() && !methods.iter().any(|method| method == "S256") {
        return Err(malformed("a SMART configuration without S256"));
    }
    // It is kept with the endpoint, and with each patient who is on the way there.
    if serde_json::to_string(&found).map_or(0, |text| text.len()) > LARGEST {
        return Err(malformed("a SMART configuration that is too large"));
    }
    Ok(found)
}

/// The addresses in a CapabilityStatement.
fn oauth_uris(statement: &Value, guard: Guard) -> Option<Configuration> {
    let rest = statement["rest"].as_array()?.iter();
    let extensions = rest.flat_map(|rest| rest["security"]["extension"].as_array().into_iter().flatten());
    let uris = extensions.filter(|extension| extension["url"] == OAUTH_URIS);
    let mut parts = uris.flat_map(|uris| uris["extension"].as_array().into_iter().flatten());
    let mut found = Configuration::default();
    for part in parts.by_ref() {
        let uri = part["valueUri"].as_str().or_else(|| part["valueUrl"].as_str());
        match (part["url"].as_str(), uri) {
            (Some("authorize"), Some(uri)) => found.authorization_endpoint = Some(uri.to_owned()),
            (Some("token"), Some(uri)) => found.token_endpoint = uri.to_owned(),
            _ => {}
        }
    }
    let callable = |address: &str| guard.check(address).is_ok();
    let whole = callable(&found.token_endpoint) && found.authorization_endpoint.as_deref().is_none_or(callable);
    whole.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_configuration_names_endpoints_that_may_be_called() {
        let read = |json: Value| configuration(&json, Guard::Public, "https://payer.example/fhir");
        let good = json!({"authorization_endpoint": "https://payer.example/a", "token_endpoint": "https://payer.example/t",
                          "code_challenge_methods_supported": ["S256"], "other": 1});
        let found = read(good.clone()).unwrap();
        assert_eq!(found.authorization_endpoint.as_deref(), Some("https://payer.example/a"));
        assert_eq!(found.token_endpoint, "https://payer.example/t");
        // What is stored of it is read again as it was.
        let stored = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Configuration>(&stored).unwrap(), found);
        for (name, value) in [
            ("token_endpoint", json!("http://payer.example/t")),
            ("token_endpoint", json!("https://10.0.0.1/t")),
            ("token_endpoint", json!(null)),
            ("token_endpoint", json!("")),
            ("authorization_endpoint", json!("javascript:alert(1)")),
            ("code_challenge_methods_supported", json!(["plain"])),
            ("scopes_supported", json!("openid")),
            ("scopes_supported", json!(vec!["x".repeat(1_000); 70])),
        ] {
            let mut bad = good.clone();
            bad[name] = value;
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
        assert!(read(json!([1])).is_err());
    }

    #[test]
    fn a_capability_statement_may_name_the_endpoints() {
        let statement = json!({"rest": [{"security": {"extension": [{"url": OAUTH_URIS, "extension": [
            {"url": "authorize", "valueUri": "https://payer.example/a"},
            {"url": "token", "valueUri": "https://payer.example/t"}]}]}}]});
        let found = oauth_uris(&statement, Guard::Public).unwrap();
        assert_eq!(found.token_endpoint, "https://payer.example/t");
        assert_eq!(found.authorization_endpoint.as_deref(), Some("https://payer.example/a"));
        assert_eq!(oauth_uris(&json!({"rest": [{}]}), Guard::Public), None);
        assert_eq!(oauth_uris(&json!({}), Guard::Public), None);
    }
}
