//! Tells a caller which resources the rules generate, change and delete.

use std::sync::Arc;

use crate::fhir::TypeId;

/// A resource that the rules generate, change or delete.
#[derive(Clone, Copy, Debug)]
pub struct Change<'c> {
    /// The resource's type.
    pub resource_type: TypeId,
    /// The resource's id.
    pub id: &'c str,
    /// The text before. `None` for a new resource.
    pub before: Option<&'c str>,
    /// The text after. `None` for a deleted resource.
    pub after: Option<&'c str>,
}

/// Gets notified of changes, from several threads.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Change<'_>) + Send + Sync>);

impl Observer {
    /// An observer that calls a function.
    pub fn new(hear: impl Fn(&Change<'_>) + Send + Sync + 'static) -> Observer {
        Observer(Arc::new(hear))
    }

    pub(super) fn hear(&self, change: &Change<'_>) {
        (self.0)(change);
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer(..)")
    }
}
