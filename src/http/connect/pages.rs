//! What an operator decides about the pages.

use super::brand::Branding;
use super::language::Languages;

/// How the pages of a server look and what they say.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// The languages that they speak.
    pub languages: Languages,
    /// Who runs the service.
    pub branding: Branding,
}
