//! What rules look up in a terminology.

use std::borrow::Cow;

use crate::terminology::Terminology;

/// A code with its display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concept<'c> {
    /// The code.
    pub code: Cow<'c, str>,
    /// The code's display.
    pub display: Option<Cow<'c, str>>,
}

/// The parts of a terminology that rules need. Systems are canonical URLs.
pub trait Codes: Sync {
    /// Returns the display of a code. `None` if it is unknown.
    fn display(&self, system: &str, code: &str) -> Option<Cow<'_, str>>;

    /// Returns the RxNorm concept of an NDC of 11 digits. `None` if it is unknown.
    fn rxnorm(&self, ndc: &str) -> Option<Concept<'_>>;

    /// Returns the RxNorm codes of the ingredients of an NDC of 11 digits, in ascending order. Empty if they are
    /// unknown.
    fn ingredients(&self, ndc: &str) -> Vec<String>;

    /// Whether an NDC of 11 digits is known.
    fn knows_ndc(&self, ndc: &str) -> bool;
}

/// A terminology without any codes.
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

impl Codes for Terminology {
    fn display(&self, system: &str, code: &str) -> Option<Cow<'_, str>> {
        Terminology::display(self, system, code)
    }

    fn rxnorm(&self, ndc: &str) -> Option<Concept<'_>> {
        let (code, display) = Terminology::rxnorm(self, ndc)?;
        Some(Concept {
            code: code.into(),
            display: display.map(Cow::Owned),
        })
    }

    fn ingredients(&self, ndc: &str) -> Vec<String> {
        Terminology::ingredients(self, ndc)
    }

    fn knows_ndc(&self, ndc: &str) -> bool {
        Terminology::knows_ndc(self, ndc)
    }
}
