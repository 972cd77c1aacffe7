//! Asking a source what it is.

use std::path::Path;

use crate::cli::failure::Failure;
use crate::fhir::{Kind, facts};
use crate::sync::client::{Capabilities, Client, Configuration, Error, Guard, HttpLimits};

/// What a source said.
pub(super) struct Found {
    pub(super) configuration: Configuration,
    pub(super) capabilities: Capabilities,
}

impl Found {
    /// Asks the source at this FHIR base, over the network.
    pub(super) fn at(fhir_base: &str, private: bool) -> Result<Found, Error> {
        let guard = if private { Guard::Private } else { Guard::Public };
        guard.check(fhir_base)?;
        let client = Client::new(guard, HttpLimits::default())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|_| Error::Setup)?;
        runtime.block_on(async {
            Ok(Found {
                configuration: client.discover(fhir_base).await?,
                capabilities: client.capabilities(fhir_base).await?,
            })
        })
    }

    /// Whether it gives refresh tokens, as far as it says.
    pub(super) fn grants_offline(&self) -> bool {
        let has = |list: &[String], word: &str| list.iter().any(|one| one == word);
        has(&self.configuration.capabilities, "permission-offline")
            || has(&self.configuration.scopes_supported, "offline_access")
    }

    /// The R4 types that it can be searched for.
    pub(super) fn resources(&self) -> Vec<String> {
        let known = |name: &&String| {
            let ty = facts().lookup(name).map(|ty| facts().get(ty));
            ty.is_some_and(|ty| ty.kind == Kind::Resource && !ty.is_abstract)
        };
        self.capabilities.searchable.iter().filter(known).cloned().collect()
    }

    /// The configuration as the directory keeps it.
    pub(super) fn stored(&self) -> Result<String, Failure> {
        serde_json::to_string(&self.configuration).map_err(Failure::other)
    }
}

/// A FHIR base, of which the address of its SMART configuration or CapabilityStatement may have been given.
pub(super) fn fhir_base(address: &str) -> &str {
    let address = address.trim_end_matches('/');
    let known = ["/.well-known/smart-configuration", "/metadata"];
    let base = known.iter().find_map(|suffix| address.strip_suffix(suffix));
    base.unwrap_or(address).trim_end_matches('/')
}

/// A secret out of a file, whose last line end is not part of it.
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
