//! What rules know besides the records: a terminology and a table of health plans.

use std::fmt;
use std::sync::Arc;

use super::codes::{Codes, NoCodes};
use super::plans::{NoPlans, Plans};

/// A terminology and a table of health plans.
#[derive(Clone)]
pub struct Knowledge {
    /// The terminology.
    pub codes: Arc<dyn Codes + Send + Sync>,
    /// The table of Medicare Advantage plans.
    pub plans: Arc<dyn Plans + Send + Sync>,
}

impl Default for Knowledge {
    fn default() -> Knowledge {
        Knowledge {
            codes: Arc::new(NoCodes),
            plans: Arc::new(NoPlans),
        }
    }
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Knowledge(..)")
    }
}

/// A function that returns the newest knowledge. A [`Knowledge`] that a caller already has does not change.
#[derive(Clone)]
pub struct NewestKnowledge(Arc<dyn Fn() -> Knowledge + Send + Sync>);

impl NewestKnowledge {
    /// Wraps a function that returns the newest knowledge.
    pub fn new(newest: impl Fn() -> Knowledge + Send + Sync + 'static) -> NewestKnowledge {
        NewestKnowledge(Arc::new(newest))
    }

    /// Returns the newest knowledge.
    pub fn get(&self) -> Knowledge {
        (self.0)()
    }
}

impl Default for NewestKnowledge {
    fn default() -> NewestKnowledge {
        NewestKnowledge::new(Knowledge::default)
    }
}

impl fmt::Debug for NewestKnowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewestKnowledge(..)")
    }
}
