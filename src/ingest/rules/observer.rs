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
    /// The text before the change. `None` for a new resource. `{}` for a deleted one, because its text is not kept
    /// until then.
    pub before: Option<&'c str>,
    /// The text after the change. `None` for a deleted resource.
    pub after: Option<&'c str>,
}

/// A function that is called for each change, by several threads.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Change<'_>) + Send + Sync>);

impl Observer {
    /// Creates an observer that calls this function.
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
