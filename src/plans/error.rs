//! Why plans are refused.

use super::publication::Publication;
use crate::published::PublishedError;

/// Why plans are refused.
#[derive(Debug, thiserror::Error)]
pub enum PlansError {
    /// A file, or a table beside the lake, cannot be found or read.
    #[error(transparent)]
    Published(#[from] PublishedError),
    /// Neither the file nor its name states the year of its plans.
    #[error("{name}: neither the file nor its name tells the year of its plans; give it by --year")]
    NoYear {
        /// The file.
        name: String,
    },
    /// There is no Medicare Advantage plan in the files.
    #[error("{name}: holds no Medicare Advantage plans (contracts H, R or E); is it cut off?")]
    NoPlans {
        /// The file.
        name: String,
    },
    /// Only CMS's enrollment file was given.
    #[error(
        "{name}: tells where members live, not where plans are offered; nothing of it is used. Give CPSC_Contract_Info, the \
         Landscape, or MA_Cnty_SA for areas"
    )]
    Enrollment {
        /// The file.
        name: String,
    },
    /// Two files of one command have the same content.
    #[error("{one} and {other} both hold the {publication} of {year}; load one of them")]
    Twice {
        /// A file.
        one: String,
        /// The other file.
        other: String,
        /// The publication.
        publication: Publication,
        /// The year of both.
        year: i32,
    },
    /// A table has more rows or text than the limit.
    #[error("{name}: has more than {limit} {what}")]
    TooLarge {
        /// The file.
        name: String,
        /// The maximum number.
        limit: usize,
        /// What there are too many of.
        what: &'static str,
    },
}

impl PlansError {
    /// Whether the input is wrong. Otherwise the machine or the stored data has a fault.
    pub fn is_of_input(&self) -> bool {
        match self {
            PlansError::Published(error) => error.is_of_input(),
            _ => true,
        }
    }
}
