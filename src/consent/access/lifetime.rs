//! How long tokens live.

/// How long a patient token lives.
pub(in crate::consent) const PATIENT_SECONDS: i64 = 86_400;
/// The lifetime of a refresh token in seconds, and so of the right to refresh.
pub const REFRESH_SECONDS: i64 = 7_776_000;
