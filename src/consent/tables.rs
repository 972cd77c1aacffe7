//! The tables of the store. Each has a repository with the changes of the table. A table that belongs to another one
//! (the addresses of an endpoint, the counts of a job) is in that one's repository.
//!
//! Operations over several independent tables are methods of [`Store`], each in its file: `sweep`, `expunge`,
//! `forget_imported`, `search_ids`, `revoke_links`.

use super::access::access_tokens::AccessTokens;
use super::access::cards::HealthCards;
use super::access::console::ConsoleSessions;
use super::access::credential::Credentials;
use super::access::es256::Es256Keys;
use super::access::grant::Codes;
use super::access::health_link::HealthLinks;
use super::access::signing_keys::SigningKeys;
use super::authorizations::Authorizations;
use super::consents::Consents;
use super::directory::applicant::Applicants;
use super::directory::application::{Applications, Clients, Origins, RedirectUris, RegistrationTokens};
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

impl Store {
    /// Issued and revoked access tokens.
    pub fn access_tokens(&self) -> AccessTokens<'_> {
        AccessTokens { store: self }
    }

    /// The applications for access.
    pub fn applicants(&self) -> Applicants<'_> {
        Applicants { store: self }
    }

    /// Registered applications.
    pub fn applications(&self) -> Applications<'_> {
        Applications { store: self }
    }

    /// Redirects to sources and identity providers.
    pub fn attempts(&self) -> Attempts<'_> {
        Attempts { store: self }
    }

    /// The audit log and its archive.
    pub fn audit(&self) -> Audit<'_> {
        Audit { store: self }
    }

    /// Patient authorizations: the sources of consents.
    pub fn authorizations(&self) -> Authorizations<'_> {
        Authorizations { store: self }
    }

    /// Clients: an application's keys, a pair for each mode.
    pub fn clients(&self) -> Clients<'_> {
        Clients { store: self }
    }

    /// Authorization codes and public tokens.
    pub fn codes(&self) -> Codes<'_> {
        Codes { store: self }
    }

    /// Consents.
    pub fn consents(&self) -> Consents<'_> {
        Consents { store: self }
    }

    /// Tokens and sessions of the console.
    pub fn console_sessions(&self) -> ConsoleSessions<'_> {
        ConsoleSessions { store: self }
    }

    /// The sealed credentials that the service presents to sources.
    pub fn credentials(&self) -> Credentials<'_> {
        Credentials { store: self }
    }

    /// References of an authorization's records without a target.
    pub fn dangling(&self) -> Dangling<'_> {
        Dangling { store: self }
    }

    /// The facts that the service has learned about each endpoint.
    pub fn dialects(&self) -> Dialects<'_> {
        Dialects { store: self }
    }

    /// The endpoints of organizations, with the addresses of their further pages.
    pub fn endpoints(&self) -> Endpoints<'_> {
        Endpoints { store: self }
    }

    /// Erasures that were requested together, with their receipts.
    pub fn erasure_jobs(&self) -> ErasureJobs<'_> {
        ErasureJobs { store: self }
    }

    /// Requested erasures of rows.
    pub fn erasures(&self) -> Erasures<'_> {
        Erasures { store: self }
    }

    /// The P-256 keys that sign health cards and receipts.
    pub fn es256_keys(&self) -> Es256Keys<'_> {
        Es256Keys { store: self }
    }

    /// The sessions of patients in the consent flow.
    pub fn flows(&self) -> Flows<'_> {
        Flows { store: self }
    }

    /// Health cards: the issued ones and the revoked ones.
    pub fn health_cards(&self) -> HealthCards<'_> {
        HealthCards { store: self }
    }

    /// SMART Health Links with their files.
    pub fn health_links(&self) -> HealthLinks<'_> {
        HealthLinks { store: self }
    }

    /// Identity providers.
    pub fn identity_providers(&self) -> IdentityProviders<'_> {
        IdentityProviders { store: self }
    }

    /// Sync jobs with their results.
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs { store: self }
    }

    /// The organizations of the directory.
    pub fn organizations(&self) -> Organizations<'_> {
        Organizations { store: self }
    }

    /// The origins of applications that may embed the link component.
    pub fn origins(&self) -> Origins<'_> {
        Origins { store: self }
    }

    /// The profiles of applications and organizations that patients see.
    pub fn profiles(&self) -> Profiles<'_> {
        Profiles { store: self }
    }

    /// The record locator of each mode.
    pub fn record_locators(&self) -> RecordLocators<'_> {
        RecordLocators { store: self }
    }

    /// The redirect URIs of applications.
    pub fn redirect_uris(&self) -> RedirectUris<'_> {
        RedirectUris { store: self }
    }

    /// Tokens that allow an application to register itself in live mode.
    pub fn registration_tokens(&self) -> RegistrationTokens<'_> {
        RegistrationTokens { store: self }
    }

    /// Settings of the service.
    pub fn settings(&self) -> Settings<'_> {
        Settings { store: self }
    }

    /// The RSA keys that sign access tokens.
    pub fn signing_keys(&self) -> SigningKeys<'_> {
        SigningKeys { store: self }
    }
}
