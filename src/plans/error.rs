//! Why files of plans are refused.

use super::publication::Publication;
use crate::published::PublishedError;

/// Why files of plans are refused.
#[derive(Debug, thiserror::Error)]
pub enum PlansError {
    /// A file, or a table beside the lake, was refused. The inner error gives the reason.
    #[error(transparent)]
    Published(#[from] PublishedError),
    /// The year of the plans is unknown: neither the file nor its name states it.
    #[error("{name}: neither the file nor its name tells the year of its plans; give it by --year")]
    NoYear {
        /// The path of the file.
        name: String,
    },
    /// The files have no Medicare Advantage plan or contract.
    #[error("{name}: holds no Medicare Advantage plans (contracts H, R or E); is it cut off?")]
    NoPlans {
        /// The path of the file, or of several files.
        name: String,
    },
    /// Only CMS's enrollment file was given, which has no facts about plans.
    #[error(
        "{name}: tells where members live, not where plans are offered; nothing of it is used. Give CPSC_Contract_Info, the \
         Landscape, or MA_Cnty_SA for areas"
    )]
    Enrollment {
        /// The path of the file.
        name: String,
    },
    /// Two files of one command have the same publication and year, and this publication consists of one file.
    #[error("{one} and {other} both hold the {publication} of {year}; load one of them")]
    Twice {
        /// The path of one file.
        one: String,
        /// The path of the other file.
        other: String,
        /// The publication of both files.
        publication: Publication,
        /// The year of both files.
        year: i32,
    },
    /// A table has more rows, areas or text than the limit.
    #[error("{name}: has more than {limit} {what}")]
    TooLarge {
        /// The path of the file.
        name: String,
        /// The limit.
        limit: usize,
        /// What is limited, such as `plans`.
        what: &'static str,
    },
}

impl PlansError {
    /// Whether the given files are the cause. False if the stored tables or another process are the cause.
    pub fn is_of_input(&self) -> bool {
        match self {
            PlansError::Published(error) => error.is_of_input(),
            _ => true,
        }
    }
}
