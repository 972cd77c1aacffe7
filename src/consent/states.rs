//! The states of consents, patient authorizations and sync jobs, and their transitions.
//!
//! Only the methods named `after` compute a new state. They list the legal transitions, and return [`IllegalMove`] for
//! all other transitions. This file reads no clock and runs no SQL.

/// The error for an event that is not allowed in the current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {what} that is {from} cannot be {event}")]
pub struct IllegalMove {
    /// The kind of object that has the state: `consent`, for example.
    pub what: &'static str,
    /// The current state.
    pub from: &'static str,
    /// The event.
    pub event: &'static str,
}

/// Defines an enum whose members have fixed names. The store and the answers to clients use these names.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$member_doc:meta])* $member:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$member_doc])* $member,)+
        }

        impl $name {
            /// All members, in the order of their definition.
            pub const ALL: &[$name] = &[$($name::$member),+];

            /// Returns the member's name in the store and in answers.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$member => $text,)+
                }
            }

            /// Returns the member with this name. `None` if there is none.
            pub fn named(text: &str) -> Option<$name> {
                match text {
                    $($text => Some($name::$member),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<$name> {
                let text = value.as_str()?;
                $name::named(text).ok_or(rusqlite::types::FromSqlError::InvalidType)
            }
        }

        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.name().into())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                $name::named(&text).ok_or_else(|| serde::de::Error::custom("no name that is known"))
            }
        }
    };
}
pub(super) use named;

named! {
    /// The state of a consent.
    ConsentState {
        /// The patient is in the flow.
        Created = "CREATED",
        /// The patient has finished the flow, and the application has not exchanged the code or public token.
        Authorized = "AUTHORIZED",
        /// The application has exchanged the code or public token for access tokens.
        Exchanged = "EXCHANGED",
        /// The consent ended before the application got access tokens.
        Abandoned = "ABANDONED",
        /// The consent was revoked.
        Revoked = "REVOKED",
    }
}

named! {
    /// An event of a consent.
    ConsentEvent {
        /// The patient finishes with at least one authorized source.
        Finished = "finished",
        /// The patient cancels, closes the page or is idle for too long, and the consent ends without a code or
        /// public token.
        Left = "left",
        /// The application exchanges the code or public token.
        Exchanged = "exchanged",
        /// The code or public token expires before its exchange.
        CodeExpired = "left unused",
        /// The patient, the application or the operator revokes the consent.
        Revoked = "revoked",
    }
}

named! {
    /// The state of a patient authorization.
    AuthorizationState {
        /// The patient has chosen the source.
        Created = "CREATED",
        /// The patient is at the source, or the service is requesting access from it.
        Authorizing = "AUTHORIZING",
        /// The source has granted access.
        Authorized = "AUTHORIZED",
        /// The application has access tokens for the source's records.
        Exchanged = "EXCHANGED",
        /// There was a technical failure at the source, or the first sync stored nothing.
        Errored = "ERRORED",
        /// The patient did not complete the authorization, or the application did not exchange its code or public
        /// token.
        Abandoned = "ABANDONED",
        /// The source refused access.
        Bounced = "BOUNCED",
        /// The authorization was revoked.
        Revoked = "REVOKED",
        /// The refresh window has ended.
        Expired = "EXPIRED",
    }
}

named! {
    /// An event of a patient authorization.
    AuthorizationEvent {
        /// The patient is sent to the source, or the service requests access from it.
        Redirected = "sent to its source",
        /// The source grants access.
        Granted = "granted",
        /// The source refuses access.
        Refused = "refused",
        /// The patient cancels, closes the page or is idle for too long.
        Left = "left",
        /// The application exchanges the code or public token.
        Exchanged = "exchanged",
        /// The code or public token expires before its exchange.
        CodeExpired = "left unused",
        /// There is a technical failure at the source, or the first sync stores nothing.
        Failed = "failed",
        /// The application requests a first sync again after a failed one.
        Retried = "tried again",
        /// The refresh window ends.
        WindowElapsed = "expired",
        /// The patient, the application or the operator revokes the authorization.
        Revoked = "revoked",
    }
}

named! {
    /// The state of a sync job.
    JobState {
        /// The job was made, and no worker has added it to the queue yet.
        Created = "CREATED",
        /// The job is in the queue.
        Waiting = "WAITING",
        /// A worker is fetching and storing records.
        Active = "ACTIVE",
        /// The sync has finished and stored its records.
        Completed = "COMPLETED",
        /// The job ended without success.
        Failed = "FAILED",
    }
}

named! {
    /// An event of a sync job.
    JobEvent {
        /// A worker adds the job to the queue.
        Queued = "queued",
        /// A worker begins the job.
        Started = "started",
        /// The sync has finished and stored its records.
        Succeeded = "completed",
        /// The job failed, and no further attempt will be made.
        Failed = "failed",
        /// The job must be begun again, after a restart or a temporary failure.
        Returned = "returned to the queue",
        /// The job's authorization ended, or the service must not fetch its records any more.
        Stopped = "stopped",
    }
}

impl ConsentState {
    /// Returns the state after `event`.
    pub fn after(self, event: ConsentEvent) -> Result<ConsentState, IllegalMove> {
        use ConsentEvent as E;
        use ConsentState as S;
        match (self, event) {
            (S::Created, E::Finished) => Ok(S::Authorized),
            (S::Created, E::Left) => Ok(S::Abandoned),
            (S::Authorized, E::Exchanged) => Ok(S::Exchanged),
            (S::Authorized, E::CodeExpired) => Ok(S::Abandoned),
            (S::Created | S::Authorized | S::Exchanged, E::Revoked) => Ok(S::Revoked),
            _ => Err(IllegalMove {
                what: "consent",
                from: self.name(),
                event: event.name(),
            }),
        }
    }
}

impl AuthorizationState {
    /// Returns the state after `event`.
    pub fn after(self, event: AuthorizationEvent) -> Result<AuthorizationState, IllegalMove> {
        use AuthorizationEvent as E;
        use AuthorizationState as S;
        match (self, event) {
            (S::Created, E::Redirected) => Ok(S::Authorizing),
            (S::Authorizing, E::Granted) => Ok(S::Authorized),
            (S::Authorizing, E::Refused) => Ok(S::Bounced),
            (S::Created | S::Authorizing, E::Left) => Ok(S::Abandoned),
            (S::Authorized, E::Exchanged) => Ok(S::Exchanged),
            (S::Authorized, E::CodeExpired) => Ok(S::Abandoned),
            (S::Authorizing | S::Exchanged, E::Failed) => Ok(S::Errored),
            (S::Errored, E::Retried) => Ok(S::Exchanged),
            (S::Exchanged, E::WindowElapsed) => Ok(S::Expired),
            (S::Created | S::Authorizing | S::Authorized | S::Exchanged | S::Errored | S::Expired, E::Revoked) => {
                Ok(S::Revoked)
            }
            _ => Err(IllegalMove {
                what: "patient authorization",
                from: self.name(),
                event: event.name(),
            }),
        }
    }
}

impl JobState {
    /// Returns the state after `event`.
    pub fn after(self, event: JobEvent) -> Result<JobState, IllegalMove> {
        use JobEvent as E;
        use JobState as S;
        match (self, event) {
            (S::Created, E::Queued) => Ok(S::Waiting),
            (S::Waiting, E::Started) => Ok(S::Active),
            (S::Active, E::Succeeded) => Ok(S::Completed),
            (S::Active, E::Returned) => Ok(S::Waiting),
            (S::Active, E::Failed) => Ok(S::Failed),
            (S::Created | S::Waiting | S::Active, E::Stopped) => Ok(S::Failed),
            _ => Err(IllegalMove {
                what: "sync job",
                from: self.name(),
                event: event.name(),
            }),
        }
    }

    /// Whether the job has not ended.
    pub fn is_open(self) -> bool {
        matches!(self, JobState::Created | JobState::Waiting | JobState::Active)
    }
}
