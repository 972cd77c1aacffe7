//! Errors of calls to a source.

/// Why a call to a source failed. The texts contain at most host names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The address is none that may be called.
    #[error("the address may not be called: {0}")]
    Forbidden(&'static str),
    /// No connection to the address, or the connection broke.
    #[error("{host} cannot be reached")]
    Unreachable {
        /// The host.
        host: String,
    },
    /// The answer did not come in time.
    #[error("{host} did not answer in time")]
    Timeout {
        /// The host.
        host: String,
    },
    /// The answer is larger than is taken.
    #[error("the answer of {host} is too large")]
    TooLarge {
        /// The host.
        host: String,
    },
    /// An answer with a status that says nothing more.
    #[error("{host} answered with status {status}")]
    Status {
        /// The host.
        host: String,
        /// HTTP's status.
        status: u16,
        /// For how many seconds not to ask again.
        retry_after: Option<u64>,
    },
    /// The answer is not what the protocol asks for.
    #[error("{host} gave {what}")]
    Malformed {
        /// The host.
        host: String,
        /// What is wrong.
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
    /// The token endpoint is at another origin than the FHIR base, and the operator has not said that it is the
    /// source's.
    #[error(
        "its token endpoint is at {origin}, and the client secret goes to the origin of its FHIR base only; if that is the \
         source's, add it with --token-endpoint {origin}"
    )]
    Elsewhere {
        /// The origin.
        origin: String,
    },
    /// An ID token that does not hold.
    #[error("the identity cannot be trusted: {0}")]
    Identity(&'static str),
    /// The HTTP client could not be made, or the system gave no random numbers.
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

    /// For how many seconds the source asks to be left alone.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Error::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// Whether a status tells of a trouble that may pass.
pub(in crate::sync) fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}
