//! The operator's settings for the pages.

use super::brand::Branding;
use super::language::Languages;

/// The texts and the look of a server's pages.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// The languages of the pages.
    pub languages: Languages,
    /// The operator's brand.
    pub branding: Branding,
}
