//! How long tokens live.

/// How long a patient token lives.
pub(in crate::consent) const PATIENT_SECONDS: i64 = 86_400;
