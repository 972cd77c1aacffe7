//! Who may ask: applications, their clients, consents, signing keys and access tokens, in a SQLite store of their own
//! (`service.sqlite`) beside the lake.
//!
//! This room decides which [`crate::lake::Scope`] a bearer token stands for. It holds no records and reads none.

mod access;
mod address;
mod applicant;
mod application;
mod audit;
mod audit_archive;
mod cards;
mod clock;
mod credential;
mod dangling;
mod dialect;
mod endpoint;
mod endpoint_search;
mod erased_since;
mod erasure_jobs;
mod erasures;
mod error;
mod es256;
mod flow;
mod forget;
mod given_out;
mod grant;
mod health_link;
mod identity;
mod jobs;
mod key_rows;
mod keys;
mod listing;
mod migrations;
mod missing;
mod moves;
mod readiness;
mod receipt;
mod record;
mod seal;
mod secret;
mod standing;
mod states;
mod store;
mod sweep;
mod token;
mod unbegun;

pub use crate::ingest::LOCAL_APPLICATION;
pub use access::Access;
pub use application::{Application, Key, NewApplication, NewKeys, REGISTRATION_SECONDS, SyncFrequency};
pub use audit::{Actor, AuditEntry};
pub use audit_archive::ARCHIVED_AFTER;
pub use cards::{Card, CardKey, NoCard, RevocationList};
pub use clock::Clock;
pub use credential::Credential;
pub use dialect::{ClientAuth, Dialect};
pub use endpoint::{Endpoint, EndpointStatus, NewEndpoint, Organization};
pub use erased_since::{ErasedElsewhere, end_erased};
pub use erasure_jobs::{ErasureCause, ErasureJob, ErasureProgress, Expunge, Expunged};
pub use erasures::AskedErasure;
pub use error::{Error, Refusal};
pub use es256::{KeyPurpose, PublicKey};
pub use flow::{
    Asked, Attempt, Begun, Departure, Details, Display, Door, Ended, Flow, FlowError, FlowRequest, Hints, Holder,
    Place, Progress, Returned, SessionKey, SourceGrant, Step, Trouble, Verified, Way,
};
pub use forget::Forgotten;
pub use grant::{Caller, GrantError, Granted, NewCode, REFRESH_SECONDS, Resync, Revoked};
pub use health_link::{
    Guess, HealthLink, LINKS_AT_ONCE, LinkContent, LinkFile, LinkRefusal, LinkTerms, NewHealthLink, PASSCODE_ATTEMPTS,
};
pub use identity::IdentityProvider;
pub use jobs::{Due, Errand, JobFailure, JobSuccess};
pub use key_rows::DiscardedKeys;
pub use listing::ConsentFilter;
pub use missing::{AttachmentCounts, JobReport, LastSync, ListedJob, Missing, MissingReason};
pub use moves::{Grant, IDLE_SECONDS, NewAuthorization, NewConsent, ONE_TIME_SECONDS};
pub use readiness::{Presence, Readiness};
pub use receipt::{Proof, RECEIPT_TYPE, ReceiptFault, StoreSearched, is_about, receipt_digest, verify_receipt};
pub use record::{Authorization, AuthorizationType, Consent, Job, Origin, Usage};
pub use seal::{KEY_FILE, has_key_variable};
pub use standing::{ChosenEndpoint, MaxAuth, Source, Standing};
pub use states::{AuthorizationEvent, AuthorizationState, ConsentEvent, ConsentState, IllegalMove, JobEvent, JobState};
pub use store::{Client, STORE_FILE, Store, check_store, copy_store};
pub use sweep::Swept;
pub use token::{Claims, Inspected, Issued, Tokens, issuer};
