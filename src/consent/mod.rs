//! Applications, their clients, consents, signing keys and access tokens, in an SQLite store of their own
//! (`service.sqlite`) beside the lake.
//!
//! This module decides which [`crate::lake::Scope`] a bearer token has. It reads and writes no health records.

mod access;
mod authorizations;
mod clock;
mod consents;
mod directory;
mod erasure;
mod error;
mod flow;
mod log;
mod migrations;
mod mode;
mod moves;
mod record;
mod settings;
mod states;
mod store;
mod sweep;
mod syncs;
mod tables;
mod unbegun;
mod webhooks;
mod with_sources;

pub use crate::ingest::LOCAL_APPLICATION;
pub use access::access_tokens::AccessTokens;
pub use access::cards::{Card, CardKey, HealthCards, NoCard, RevocationList};
pub use access::console::{
    CONSOLE_IDLE_SECONDS, CONSOLE_SESSION_SECONDS, CONSOLE_TOKEN_SECONDS, ConsoleLook, ConsoleSession, ConsoleSessions,
};
pub use access::credential::{Credential, Credentials};
pub use access::es256::{Es256Keys, KeyPurpose, PublicKey};
pub use access::grant::{Caller, Codes, GrantError, Granted, NewCode, Resync, Revoked};
pub use access::health_link::{
    Guess, HealthLink, HealthLinks, LINKS_AT_ONCE, LinkContent, LinkFile, LinkRefusal, LinkTerms, NewHealthLink,
    PASSCODE_ATTEMPTS,
};
pub use access::lifetime::REFRESH_SECONDS;
pub use access::rs256::rows::DiscardedKeys;
pub use access::rs256::signing_keys::SigningKeys;
pub use access::seal::{KEY_FILE, has_key_variable};
pub use access::signed_address::{ADDRESS_SECONDS, AttachmentAddress};
pub use access::token::{Claims, Inspected, Issued, Tokens, issuer};
pub use access::verified::Access;
pub use authorizations::Authorizations;
pub use clock::Clock;
pub use consents::{ConsentFilter, Consents};
pub use directory::applicant::Applicants;
pub use directory::application::{
    Application, Applications, Client, Clients, Key, ManagedRegistration, ManagedRegistrations, NewApplication,
    NewKeys, Origins, REGISTRATION_SECONDS, RedirectUris, RegistrationTokens, RegistrationUpdate, SyncFrequency,
    UpdatedRegistration,
};
pub use directory::dialect::{ClientAuth, Dialect, Dialects};
pub use directory::endpoint::{Endpoint, EndpointStatus, Endpoints, NewEndpoint};
pub use directory::identity::{IdentityProvider, IdentityProviders, RecordLocators};
pub use directory::organization::{Organization, Organizations};
pub use directory::profile::{
    ApplicationChange, ApplicationProfile, Logo, LogoOf, OrganizationChange, OrganizationProfile, Profiles,
};
pub use erasure::digest::receipt_digest;
pub use erasure::erased_since::{ErasedElsewhere, end_erased};
pub use erasure::erasure_jobs::{ErasureJobs, ErasureProgress, Expunge, Expunged};
pub use erasure::erasures::{AskedErasure, Erasures};
pub use erasure::forget::Forgotten;
pub use erasure::job::{ErasureCause, ErasureJob};
pub use erasure::receipt::{Proof, RECEIPT_TYPE, ReceiptFault, StoreSearched, is_about, verify_receipt};
pub use error::{Error, Refusal};
pub use flow::{
    Asked, Attempt, Attempts, Begun, Departure, Details, Display, Door, Ended, Flow, FlowError, FlowRequest, Flows,
    Hints, Holder, Progress, RecordLocation, Returned, SessionKey, SourceGrant, Step, Trouble, Verified, Way,
};
pub use log::audit::{Actor, Audit, AuditEntry};
pub use log::audit_archive::ARCHIVED_AFTER;
pub use moves::{Grant, IDLE_SECONDS, NewAuthorization, NewConsent, ONE_TIME_SECONDS};
pub use record::{Authorization, AuthorizationType, Consent, Job, Origin, Usage};
pub use settings::Settings;
pub use states::{AuthorizationEvent, AuthorizationState, ConsentEvent, ConsentState, IllegalMove, JobEvent, JobState};
pub use store::{STORE_FILE, Store, check_store, copy_store};
pub use sweep::Swept;
pub use syncs::dangling::Dangling;
pub use syncs::history::{LastSync, ListedJob};
pub use syncs::jobs::{BegunJob, Due, JobFailure, JobSuccess, Jobs};
pub use syncs::linked::LinkedPatient;
pub use syncs::missing::{Missing, MissingReason};
pub use syncs::outcome::SourceOutcome;
pub use syncs::presence::{Incomplete, Presence, Readiness};
pub use syncs::report::{AttachmentCounts, JobReport};
pub use syncs::retries::{NextRetry, RetryTarget};
pub use webhooks::{
    Delivery, DeliveryFilter, DeliveryState, DueDelivery, EventType, NewReceiver, Outcome, Outgoing, RECEIVERS,
    Receiver, ResentDeliveries, Settled, Webhooks,
};
pub use with_sources::{ChosenEndpoint, ConsentWithSources, MaxAuth, Source};
