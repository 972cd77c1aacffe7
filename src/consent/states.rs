//! The states of consents, patient authorizations and sync jobs, and their transitions.
//!
//! Only an event changes a state, by `after`. A transition that the tables below do not list is an [`IllegalMove`].
//! This file knows nothing of time or of the store.

/// An event that is illegal in the current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {what} that is {from} cannot be {event}")]
pub struct IllegalMove {
    /// The kind of record.
    pub what: &'static str,
    /// The current state.
    pub from: &'static str,
    /// The event.
    pub event: &'static str,
}

/// An enum whose members have their own names in the store and in answers.
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

            /// The member's name in the store and in answers.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$member => $text,)+
                }
            }

            /// The member with this name.
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
        /// The patient has finished, and the code waits to be exchanged.
        Authorized = "AUTHORIZED",
        /// The application has tokens.
        Exchanged = "EXCHANGED",
        /// It ended without a result.
        Abandoned = "ABANDONED",
        /// It was revoked.
        Revoked = "REVOKED",
    }
}

named! {
    /// An event of a consent.
    ConsentEvent {
        /// The patient finishes with at least one authorized source.
        Finished = "finished",
        /// The patient cancels, closes or idles without an authorized source.
        Left = "left",
        /// The code or public token is exchanged.
        Exchanged = "exchanged",
        /// The code or public token expires unused.
        CodeExpired = "left unused",
        /// The patient or the application revokes it.
        Revoked = "revoked",
    }
}

named! {
    /// The state of a patient authorization.
    AuthorizationState {
        /// A source is chosen.
        Created = "CREATED",
        /// The patient is at the source.
        Authorizing = "AUTHORIZING",
        /// The source has granted access.
        Authorized = "AUTHORIZED",
        /// The application has tokens.
        Exchanged = "EXCHANGED",
        /// A technical failure, or a first sync that stored nothing.
        Errored = "ERRORED",
        /// The patient did not complete it.
        Abandoned = "ABANDONED",
        /// The source refused.
        Bounced = "BOUNCED",
        /// It was revoked.
        Revoked = "REVOKED",
        /// Its refresh window has ended.
        Expired = "EXPIRED",
    }
}

named! {
    /// An event of a patient authorization.
    AuthorizationEvent {
        /// The patient is sent to the source.
        Redirected = "sent to its source",
        /// The source grants access.
        Granted = "granted",
        /// The source refuses or rejects.
        Refused = "refused",
        /// The patient cancels, closes or idles.
        Left = "left",
        /// The code or public token is exchanged.
        Exchanged = "exchanged",
        /// The code or public token expires unused.
        CodeExpired = "left unused",
        /// A technical failure at the source, or the first sync failed with nothing stored.
        Failed = "failed",
        /// The application requests the first records again, and the source still grants access.
        Retried = "tried again",
        /// The refresh window elapses.
        WindowElapsed = "expired",
        /// The patient or the application revokes it.
        Revoked = "revoked",
    }
}

named! {
    /// The state of a sync job.
    JobState {
        /// Made, and not yet seen by a worker.
        Created = "CREATED",
        /// In the queue.
        Waiting = "WAITING",
        /// Fetching and storing.
        Active = "ACTIVE",
        /// All is stored.
        Completed = "COMPLETED",
        /// It ended with an error.
        Failed = "FAILED",
    }
}

named! {
    /// An event of a sync job.
    JobEvent {
        /// A worker queues it.
        Queued = "queued",
        /// A worker begins it.
        Started = "started",
        /// All was stored.
        Succeeded = "completed",
        /// It cannot be completed.
        Failed = "failed",
        /// It must be begun again: after a restart or a temporary failure.
        Returned = "returned to the queue",
        /// Its authorization ended.
        Stopped = "stopped",
    }
}

impl ConsentState {
    /// The state after `event`.
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
    /// The state after `event`.
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
    /// The state after `event`.
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

    /// Whether there is still work to do.
    pub fn is_open(self) -> bool {
        matches!(self, JobState::Created | JobState::Waiting | JobState::Active)
    }
}
