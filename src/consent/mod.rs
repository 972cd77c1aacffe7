//! Access: applications, their clients, consents, signing keys and access tokens, in their own SQLite store
//! (`service.sqlite`) beside the lake.
//!
//! This room decides which [`crate::lake::Scope`] a bearer token stands for. It holds no records and reads none.

mod access;
mod clock;
mod directory;
mod erasure;
mod error;
mod flow;
mod listing;
mod log;
mod migrations;
mod moves;
mod record;
mod states;
mod store;
mod sweep;
mod syncs;
mod unbegun;
mod with_sources;

pub use crate::ingest::LOCAL_APPLICATION;
pub use access::cards::{Card, CardKey, NoCard, RevocationList};
pub use access::console::{
    CONSOLE_IDLE_SECONDS, CONSOLE_SESSION_SECONDS, CONSOLE_TOKEN_SECONDS, ConsoleLook, ConsoleSession,
};
pub use access::credential::Credential;
pub use access::es256::{KeyPurpose, PublicKey};
pub use access::grant::{Caller, GrantError, Granted, NewCode, REFRESH_SECONDS, Resync, Revoked};
pub use access::health_link::{
    Guess, HealthLink, LINKS_AT_ONCE, LinkContent, LinkFile, LinkRefusal, LinkTerms, NewHealthLink, PASSCODE_ATTEMPTS,
};
pub use access::key_rows::DiscardedKeys;
pub use access::seal::{KEY_FILE, has_key_variable};
pub use access::token::{Claims, Inspected, Issued, Tokens, issuer};
pub use access::verified::Access;
pub use clock::Clock;
pub use directory::application::{Application, Key, NewApplication, NewKeys, REGISTRATION_SECONDS, SyncFrequency};
pub use directory::dialect::{ClientAuth, Dialect};
pub use directory::endpoint::{Endpoint, EndpointStatus, NewEndpoint, Organization};
pub use directory::identity::IdentityProvider;
pub use directory::profile::{
    ApplicationChange, ApplicationProfile, Logo, LogoOf, OrganizationChange, OrganizationProfile,
};
pub use erasure::erased_since::{ErasedElsewhere, end_erased};
pub use erasure::erasure_jobs::{ErasureCause, ErasureJob, ErasureProgress, Expunge, Expunged};
pub use erasure::erasures::AskedErasure;
pub use erasure::forget::Forgotten;
pub use erasure::receipt::{
    Proof, RECEIPT_TYPE, ReceiptFault, StoreSearched, is_about, receipt_digest, verify_receipt,
};
pub use error::{Error, Refusal};
pub use flow::{
    Asked, Attempt, Begun, Departure, Details, Display, Door, Ended, Flow, FlowError, FlowRequest, Hints, Holder,
    Progress, RecordLocation, Returned, SessionKey, SourceGrant, Step, Trouble, Verified, Way,
};
pub use listing::ConsentFilter;
pub use log::audit::{Actor, AuditEntry};
pub use log::audit_archive::ARCHIVED_AFTER;
pub use moves::{Grant, IDLE_SECONDS, NewAuthorization, NewConsent, ONE_TIME_SECONDS};
pub use record::{Authorization, AuthorizationType, Consent, Job, Origin, Usage};
pub use states::{AuthorizationEvent, AuthorizationState, ConsentEvent, ConsentState, IllegalMove, JobEvent, JobState};
pub use store::{Client, STORE_FILE, Store, check_store, copy_store};
pub use sweep::Swept;
pub use syncs::jobs::{BegunJob, Due, JobFailure, JobSuccess};
pub use syncs::missing::{AttachmentCounts, JobReport, LastSync, ListedJob, Missing, MissingReason};
pub use syncs::readiness::{Presence, Readiness};
pub use with_sources::{ChosenEndpoint, ConsentWithSources, MaxAuth, Source};
