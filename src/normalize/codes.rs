//! What rules ask a terminology.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A code with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concept<'c> {
    /// The code.
    pub code: Cow<'c, str>,
    /// Its display.
    pub display: Option<Cow<'c, str>>,
}

/// A terminology, as far as rules need it. Systems are canonical URLs.
pub trait Codes: Sync {
    /// The display of a code.
    fn display(&self, system: &str, code: &str) -> Option<Cow<'_, str>>;

    /// The RxNorm concept of an NDC of 11 digits.
    fn rxnorm(&self, ndc: &str) -> Option<Concept<'_>>;

    /// The RxNorm codes of the ingredients of an NDC of 11 digits, in order; empty where they are not known.
    fn ingredients(&self, ndc: &str) -> Vec<String>;

    /// Whether an NDC of 11 digits is known.
    fn knows_ndc(&self, ndc: &str) -> bool;
}

/// A terminology that knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCodes;

impl Codes for NoCodes {
    fn display(&self, _: &str, _: &str) -> Option<Cow<'_, str>> {
        None
    }

    fn rxnorm(&self, _: &str) -> Option<Concept<'_>> {
        None
    }

    fn ingredients(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn knows_ndc(&self, _: &str) -> bool {
        false
    }
}

/// Gives the newest terminology whenever it is asked.
#[derive(Clone)]
pub struct NewestCodes(Arc<dyn Fn() -> Arc<dyn Codes + Send + Sync> + Send + Sync>);

impl NewestCodes {
    /// Terminologies that a function gives.
    pub fn new(newest: impl Fn() -> Arc<dyn Codes + Send + Sync> + Send + Sync + 'static) -> NewestCodes {
        NewestCodes(Arc::new(newest))
    }

    /// The newest, which stays as it is for as long as it is held.
    pub fn get(&self) -> Arc<dyn Codes + Send + Sync> {
        (self.0)()
    }
}

impl Default for NewestCodes {
    fn default() -> NewestCodes {
        NewestCodes::new(|| Arc::new(NoCodes))
    }
}

impl fmt::Debug for NewestCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewestCodes(..)")
    }
}
