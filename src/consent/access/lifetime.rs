//! How long tokens live.

/// The lifetime of a patient token, in seconds.
pub(in crate::consent) const PATIENT_SECONDS: i64 = 86_400;
/// The maximum lifetime of a refresh token, in seconds.
pub const REFRESH_SECONDS: i64 = 7_776_000;
