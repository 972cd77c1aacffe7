//! Canonical systems, and codes in their system's form.

use std::borrow::Cow;

use crate::normalize::codes::Codes;

/// The canonical URL of a well-known code system; any other system as it is.
pub fn canonical_system(system: &str) -> &str {
    system
}

/// A code in the form of its canonical system; one that does not fit stays as it is.
pub fn canonical_code<'c>(_system: &str, code: &'c str, _: &dyn Codes) -> Cow<'c, str> {
    Cow::Borrowed(code)
}
