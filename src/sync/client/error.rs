//! Errors of calls to a source.

/// Why a call to a source failed. The messages contain hosts and statuses, but no path, query or token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The address must not be called.
    #[error("the address may not be called: {0}")]
    Forbidden(&'static str),
    /// No connection to the address, or the connection broke.
    #[error("{host} cannot be reached")]
    Unreachable {
        /// The host.
        host: String,
    },
    /// The answer did not arrive in time.
    #[error("{host} did not answer in time")]
    Timeout {
        /// The host.
        host: String,
    },
    /// The answer exceeds the size limit.
    #[error("the answer of {host} is too large")]
    TooLarge {
        /// The host.
        host: String,
    },
    /// An unexpected status, without an OAuth error.
    #[error("{host} answered with status {status}")]
    Status {
        /// The host.
        host: String,
        /// HTTP's status.
        status: u16,
        /// The number of seconds that the source asks to wait, if it states one.
        retry_after: Option<u64>,
    },
    /// The answer does not follow the protocol.
    #[error("{host} gave {what}")]
    Malformed {
        /// The host.
        host: String,
        /// What the answer is instead, or what it lacks.
        what: &'static str,
    },
    /// An OAuth error, by its code.
    #[error("{host} refused: {code}")]
    Refused {
        /// The host.
        host: String,
        /// The `error` of RFC 6749, shortened to letters, digits, `_`, `-` and `.`.
        code: String,
    },
    /// The token endpoint has another origin than the FHIR base, and the operator has not confirmed this origin.
    #[error(
        "its token endpoint is at {origin}, and the client secret goes to the origin of its FHIR base only; if that is the \
         source's, add it with --token-endpoint {origin}"
    )]
    Elsewhere {
        /// The origin of the token endpoint.
        origin: String,
    },
    /// An ID token that is not valid.
    #[error("the identity cannot be trusted: {0}")]
    Identity(&'static str),
    /// The HTTP client could not be created, or the system has no random numbers.
    #[error("the client could not be set up")]
    Setup,
}

impl Error {
    /// Whether the same call may succeed later.
    pub fn may_pass(&self) -> bool {
        match self {
            Error::Unreachable { .. } | Error::Timeout { .. } => true,
            Error::Status { status, .. } => is_passing(*status),
            Error::Refused { code, .. } => code == "temporarily_unavailable" || code == "server_error",
            Error::Forbidden(_)
            | Error::Elsewhere { .. }
            | Error::TooLarge { .. }
            | Error::Malformed { .. }
            | Error::Identity(_)
            | Error::Setup => false,
        }
    }

    /// Returns the number of seconds that the source asks to wait.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Error::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// Whether a status means a temporary failure.
pub(in crate::sync) fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}
