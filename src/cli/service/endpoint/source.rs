//! Queries a source for its capabilities.

use std::path::Path;

use crate::cli::terminal::failure::Failure;
use crate::fhir::{Kind, facts};
use crate::sync::client::{Client, Configuration, Error, Guard, HttpLimits, Registration, SecretTried, Statement};

/// The capabilities of a source.
pub(super) struct Found {
    pub(super) configuration: Configuration,
    pub(super) statement: Statement,
    /// The result of trying the service's client secret. `None` if the service has no client secret for this source.
    pub(super) secret: Option<SecretTried>,
}

/// The reason why a source cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    /// A request to the source failed.
    #[error(transparent)]
    Asked(#[from] Error),
    /// The CapabilityStatement shows that the source's records cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

impl Found {
    /// Queries the source at this FHIR base, and finds out how its token endpoint accepts the client secret. `private`
    /// allows private addresses.
    pub(super) fn at(fhir_base: &str, private: bool, registration: &Registration) -> Result<Found, Unfit> {
        let guard = if private { Guard::Private } else { Guard::Public };
        guard.check(fhir_base)?;
        let client = Client::new(guard, HttpLimits::default())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|_| Error::Setup)?;
        runtime.block_on(async {
            // Read the CapabilityStatement first. A source before R4 has no SMART configuration, so `discover` fails.
            // The CapabilityStatement shows the real problem: the FHIR version is too old.
            let statement = client.statement(fhir_base).await;
            if let Some(problem) = statement.as_ref().ok().and_then(Statement::problem) {
                return Err(Unfit::Unreadable(problem));
            }
            let configuration = client.discover(fhir_base).await?;
            let statement = statement?;
            let secret = client.try_secret(&configuration, registration).await?;
            Ok(Found {
                configuration,
                statement,
                secret,
            })
        })
    }

    /// Whether the source declares that it can issue refresh tokens.
    pub(super) fn grants_offline(&self) -> bool {
        let has = |list: &[String], word: &str| list.iter().any(|one| one == word);
        has(&self.configuration.capabilities, "permission-offline")
            || has(&self.configuration.scopes_supported, "offline_access")
    }

    /// Returns the R4 resource types that can be searched or read by id at the source.
    pub(super) fn resources(&self) -> Vec<String> {
        let served = self.statement.types.iter();
        let served = served.filter(|(_, served)| served.search || served.read);
        served
            .map(|(name, _)| name.clone())
            .filter(|name| is_resource(name))
            .collect()
    }

    /// Returns the scopes to request. They include `openid fhirUser` if the source says only in the ID token who the
    /// patient is, and `offline_access` if `lasting` is set.
    pub(super) fn scope(&self, lasting: bool) -> String {
        let has = |list: &[String], word: &str| list.iter().any(|one| one == word);
        let Configuration {
            capabilities,
            scopes_supported,
            ..
        } = &self.configuration;
        let says_patient = capabilities.is_empty() || has(capabilities, "context-standalone-patient");
        let by_token = has(scopes_supported, "openid") && has(scopes_supported, "fhirUser");
        let mut scope = "launch/patient patient/*.read".to_owned();
        if !says_patient && by_token {
            scope.push_str(" openid fhirUser");
        }
        if lasting {
            scope.push_str(" offline_access");
        }
        scope
    }

    /// Returns the CapabilityStatement as the JSON text that the directory stores.
    pub(super) fn stored_statement(&self) -> Result<String, Failure> {
        serde_json::to_string(&self.statement).map_err(Failure::other)
    }

    /// Returns the SMART configuration as the JSON text that the directory stores.
    pub(super) fn stored(&self) -> Result<String, Failure> {
        serde_json::to_string(&self.configuration).map_err(Failure::other)
    }
}

fn is_resource(name: &str) -> bool {
    let type_def = facts().lookup(name).map(|type_id| facts().get(type_id));
    type_def.is_some_and(|type_def| type_def.kind == Kind::Resource && !type_def.is_abstract)
}

/// Returns the FHIR base of an address. The user may have given the address of the SMART configuration or of the
/// CapabilityStatement.
pub(super) fn fhir_base(address: &str) -> &str {
    let address = address.trim_end_matches('/');
    let known = ["/.well-known/smart-configuration", "/metadata"];
    let base = known.iter().find_map(|suffix| address.strip_suffix(suffix));
    base.unwrap_or(address).trim_end_matches('/')
}

/// Reads a secret from a file, without the line break at the end. `None` if no file is given.
pub(super) fn secret(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let Some(file) = file else { return Ok(None) };
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::input(format!("cannot read the secret in {}: {error}", file.display())))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(Failure::input(format!("there is no secret in {}", file.display()))),
        secret => Ok(Some(secret.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_found_in_what_is_known_of_a_source() {
        for address in [
            "https://x.example/fhir",
            "https://x.example/fhir/",
            "https://x.example/fhir/metadata",
            "https://x.example/fhir/.well-known/smart-configuration",
        ] {
            assert_eq!(fhir_base(address), "https://x.example/fhir");
        }
    }
}
