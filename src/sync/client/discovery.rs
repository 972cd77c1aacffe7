//! Discovery: reads a source's SMART configuration or, without one, the addresses in its CapabilityStatement.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calls::Client;
use super::error::Error;
use super::http::JSON;
use super::http::guard::Guard;
use super::statement::Statement;

/// The maximum number of bytes of a configuration in its stored form.
const LARGEST: usize = 64 << 10;

/// The endpoints of an authorization server, and what it supports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Configuration {
    /// The authorization endpoint. A source that serves only located facilities has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    /// The token endpoint.
    pub token_endpoint: String,
    /// The issuer of the authorization server's ID tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The address of the keys with which the authorization server signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The scopes that the authorization server supports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes_supported: Vec<String>,
    /// The methods of PKCE that the authorization server supports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_challenge_methods_supported: Vec<String>,
    /// The methods of client authentication that the authorization server supports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub token_endpoint_auth_methods_supported: Vec<String>,
    /// The SMART capabilities that the authorization server supports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
}

impl Client {
    /// Gets the configuration of a source's authorization server, by the source's FHIR base.
    pub async fn discover(&self, fhir_base: &str) -> Result<Configuration, Error> {
        let base = fhir_base.trim_end_matches('/');
        let smart = self
            .http
            .get_json(&format!("{base}/.well-known/smart-configuration"), JSON)
            .await;
        let guard = self.http.guard();
        let found = match smart.and_then(|json| configuration(&json, guard, base)) {
            Ok(found) => return Ok(found),
            // After a temporary failure or a forbidden address, the source may still have a SMART configuration. So the
            // CapabilityStatement is not tried instead.
            Err(error) if error.may_pass() || matches!(error, Error::Forbidden(_)) => return Err(error),
            Err(error) => error,
        };
        match self.statement(base).await {
            Ok(statement) => oauth_uris(statement, guard).ok_or(found),
            Err(error) if error.may_pass() => Err(error),
            Err(_) => Err(found),
        }
    }
}

/// Reads a SMART configuration. Fails if it is malformed or too large, or if its endpoints may not be called.
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
    // Refuse a large configuration, because the store keeps one with the endpoint and one with each patient's session
    // that waits for the source's answer.
    if serde_json::to_string(&found).map_or(0, |text| text.len()) > LARGEST {
        return Err(malformed("a SMART configuration that is too large"));
    }
    Ok(found)
}

/// Returns the OAuth endpoints in a CapabilityStatement, if they may be called.
fn oauth_uris(statement: Statement, guard: Guard) -> Option<Configuration> {
    let callable = |address: &str| guard.check(address).is_ok();
    let found = Configuration {
        authorization_endpoint: statement.authorize,
        token_endpoint: statement.token?,
        ..Configuration::default()
    };
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
        // The stored form reads back to the same value.
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
        let statement = Statement {
            authorize: Some("https://payer.example/a".to_owned()),
            token: Some("https://payer.example/t".to_owned()),
            ..Statement::default()
        };
        let found = oauth_uris(statement, Guard::Public).unwrap();
        assert_eq!(found.token_endpoint, "https://payer.example/t");
        assert_eq!(found.authorization_endpoint.as_deref(), Some("https://payer.example/a"));
        assert_eq!(oauth_uris(Statement::default(), Guard::Public), None);
    }
}
