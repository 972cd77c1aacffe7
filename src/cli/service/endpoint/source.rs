//! Queries a source for its capabilities.

use std::path::Path;

use crate::cli::terminal::failure::Failure;
use crate::fhir::{Kind, facts};
use crate::sync::client::{Client, Configuration, Error, Guard, HttpLimits, Registration, SecretTried, Statement};

/// The capabilities of a source.
pub(super) struct Found {
    pub(super) configuration: Configuration,
    pub(super) statement: Statement,
    /// The result of trying the service's secret, if there is one.
    pub(super) secret: Option<SecretTried>,
}

/// Why a source cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    /// A request to the source failed.
    #[error(transparent)]
    Asked(#[from] Error),
    /// The source's records cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

impl Found {
    /// Queries the source at this FHIR base, and tests how it accepts the service's secret.
    pub(super) fn at(fhir_base: &str, private: bool, registration: &Registration) -> Result<Found, Unfit> {
        let guard = if private { Guard::Private } else { Guard::Public };
        guard.check(fhir_base)?;
        let client = Client::new(guard, HttpLimits::default())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|_| Error::Setup)?;
        runtime.block_on(async {
            // Sources before R4 have no SMART configuration. Report their age instead.
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

    /// Whether the source declares that it issues refresh tokens.
    pub(super) fn grants_offline(&self) -> bool {
        let has = |list: &[String], word: &str| list.iter().any(|one| one == word);
        has(&self.configuration.capabilities, "permission-offline")
            || has(&self.configuration.scopes_supported, "offline_access")
    }

    /// The R4 types that the source serves, by search or by id.
    pub(super) fn resources(&self) -> Vec<String> {
        let served = self.statement.types.iter();
        let served = served.filter(|(_, served)| served.search || served.read);
        served
            .map(|(name, _)| name.clone())
            .filter(|name| is_resource(name))
            .collect()
    }

    /// The scopes to request. If the token response does not name the patient, the ID token does.
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

    /// The CapabilityStatement in the form that the directory stores.
    pub(super) fn stored_statement(&self) -> Result<String, Failure> {
        serde_json::to_string(&self.statement).map_err(Failure::other)
    }

    /// The SMART configuration in the form that the directory stores.
    pub(super) fn stored(&self) -> Result<String, Failure> {
        serde_json::to_string(&self.configuration).map_err(Failure::other)
    }
}

fn is_resource(name: &str) -> bool {
    let type_def = facts().lookup(name).map(|type_id| facts().get(type_id));
    type_def.is_some_and(|type_def| type_def.kind == Kind::Resource && !type_def.is_abstract)
}

/// The FHIR base. The user may have given the address of the SMART configuration or CapabilityStatement instead.
pub(super) fn fhir_base(address: &str) -> &str {
    let address = address.trim_end_matches('/');
    let known = ["/.well-known/smart-configuration", "/metadata"];
    let base = known.iter().find_map(|suffix| address.strip_suffix(suffix));
    base.unwrap_or(address).trim_end_matches('/')
}

/// Reads a secret from a file, without the line break at the end.
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
