//! The operator's settings for the patient's pages.

use super::brand::Branding;
use super::language::Languages;

/// The languages and the design of the patient's pages.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// The languages of the pages.
    pub languages: Languages,
    /// The operator's brand.
    pub branding: Branding,
}
