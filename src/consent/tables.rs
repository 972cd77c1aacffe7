//! The tables of the store. Each table has a repository: a type with the methods that read and change the table. Some
//! tables have no repository of their own, such as the addresses of an endpoint or the counts of a job. The repository
//! of the endpoints or jobs reads and changes them, too.
//!
//! An operation over several independent tables is a method of [`Store`] in a file of its own: `sweep`, `expunge`,
//! `forget_imported`, `search_ids`, `revoke_links`.

use super::access::access_tokens::AccessTokens;
use super::access::cards::HealthCards;
use super::access::console::ConsoleSessions;
use super::access::credential::Credentials;
use super::access::es256::Es256Keys;
use super::access::grant::Codes;
use super::access::health_link::HealthLinks;
use super::access::rs256::signing_keys::SigningKeys;
use super::authorizations::Authorizations;
use super::consents::Consents;
use super::directory::applicant::Applicants;
use super::directory::application::{
    Applications, Clients, ManagedRegistrations, Origins, RedirectUris, RegistrationTokens,
};
use super::directory::dialect::Dialects;
use super::directory::endpoint::Endpoints;
use super::directory::identity::{IdentityProviders, RecordLocators};
use super::directory::organization::Organizations;
use super::directory::profile::Profiles;
use super::erasure::erasure_jobs::ErasureJobs;
use super::erasure::erasures::Erasures;
use super::flow::{Attempts, Flows};
use super::log::audit::Audit;
use super::settings::Settings;
use super::store::Store;
use super::syncs::dangling::Dangling;
use super::syncs::jobs::Jobs;
use super::webhooks::Webhooks;

impl Store {
    /// Returns the repository of issued and revoked access tokens.
    pub fn access_tokens(&self) -> AccessTokens<'_> {
        AccessTokens { store: self }
    }

    /// Returns the repository of requests for access to the service.
    pub fn applicants(&self) -> Applicants<'_> {
        Applicants { store: self }
    }

    /// Returns the repository of registered applications.
    pub fn applications(&self) -> Applications<'_> {
        Applications { store: self }
    }

    /// Returns the repository of redirects of patients to sources and identity providers.
    pub fn attempts(&self) -> Attempts<'_> {
        Attempts { store: self }
    }

    /// Returns the repository of the audit log and its archive.
    pub fn audit(&self) -> Audit<'_> {
        Audit { store: self }
    }

    /// Returns the repository of patient authorizations.
    pub fn authorizations(&self) -> Authorizations<'_> {
        Authorizations { store: self }
    }

    /// Returns the repository of clients, which are the key pairs of applications.
    pub fn clients(&self) -> Clients<'_> {
        Clients { store: self }
    }

    /// Returns the repository of authorization codes and public tokens.
    pub fn codes(&self) -> Codes<'_> {
        Codes { store: self }
    }

    /// Returns the repository of consents.
    pub fn consents(&self) -> Consents<'_> {
        Consents { store: self }
    }

    /// Returns the repository of tokens and sessions of the console.
    pub fn console_sessions(&self) -> ConsoleSessions<'_> {
        ConsoleSessions { store: self }
    }

    /// Returns the repository of the sealed credentials for sources.
    pub fn credentials(&self) -> Credentials<'_> {
        Credentials { store: self }
    }

    /// Returns the repository of references whose targets are missing.
    pub fn dangling(&self) -> Dangling<'_> {
        Dangling { store: self }
    }

    /// Returns the repository of what the service has found out about endpoints.
    pub fn dialects(&self) -> Dialects<'_> {
        Dialects { store: self }
    }

    /// Returns the repository of endpoints and the addresses of their further pages.
    pub fn endpoints(&self) -> Endpoints<'_> {
        Endpoints { store: self }
    }

    /// Returns the repository of erasure jobs and their receipts.
    pub fn erasure_jobs(&self) -> ErasureJobs<'_> {
        ErasureJobs { store: self }
    }

    /// Returns the repository of requested erasures of rows.
    pub fn erasures(&self) -> Erasures<'_> {
        Erasures { store: self }
    }

    /// Returns the repository of registrations that applications manage themselves.
    pub fn managed_registrations(&self) -> ManagedRegistrations<'_> {
        ManagedRegistrations { store: self }
    }

    /// Returns the repository of the P-256 keys that sign health cards and receipts.
    pub fn es256_keys(&self) -> Es256Keys<'_> {
        Es256Keys { store: self }
    }

    /// Returns the repository of the browser sessions of patients in the consent flow.
    pub fn flows(&self) -> Flows<'_> {
        Flows { store: self }
    }

    /// Returns the repository of issued and revoked health cards.
    pub fn health_cards(&self) -> HealthCards<'_> {
        HealthCards { store: self }
    }

    /// Returns the repository of SMART Health Links and their files.
    pub fn health_links(&self) -> HealthLinks<'_> {
        HealthLinks { store: self }
    }

    /// Returns the repository of identity providers.
    pub fn identity_providers(&self) -> IdentityProviders<'_> {
        IdentityProviders { store: self }
    }

    /// Returns the repository of sync jobs and their results.
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs { store: self }
    }

    /// Returns the repository of organizations.
    pub fn organizations(&self) -> Organizations<'_> {
        Organizations { store: self }
    }

    /// Returns the repository of the origins that may embed the link component.
    pub fn origins(&self) -> Origins<'_> {
        Origins { store: self }
    }

    /// Returns the repository of the profiles of applications and organizations.
    pub fn profiles(&self) -> Profiles<'_> {
        Profiles { store: self }
    }

    /// Returns the repository of the record locators, at most one for each mode.
    pub fn record_locators(&self) -> RecordLocators<'_> {
        RecordLocators { store: self }
    }

    /// Returns the repository of the redirect URIs of applications.
    pub fn redirect_uris(&self) -> RedirectUris<'_> {
        RedirectUris { store: self }
    }

    /// Returns the repository of initial access tokens for the registration of applications in live mode.
    pub fn registration_tokens(&self) -> RegistrationTokens<'_> {
        RegistrationTokens { store: self }
    }

    /// Returns the repository of settings that a server stores for commands.
    pub fn settings(&self) -> Settings<'_> {
        Settings { store: self }
    }

    /// Returns the repository of the RSA keys that sign access tokens.
    pub fn signing_keys(&self) -> SigningKeys<'_> {
        SigningKeys { store: self }
    }

    /// Returns the repository of the receivers of webhooks and of their deliveries.
    pub fn webhooks(&self) -> Webhooks<'_> {
        Webhooks { store: self }
    }
}
