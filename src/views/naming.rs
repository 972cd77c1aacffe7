//! Finds the resource that causes an error. Rows name no resources, so a run that fails over a value reads the records
//! again, with their ids.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::error::RunError;

/// A function that returns an error together with the resource that causes it. If it does not find the resource, it
/// returns the error as it is.
#[derive(Clone)]
pub struct Naming(Arc<dyn Fn(RunError) -> BoxFuture<'static, RunError> + Send + Sync>);

impl Naming {
    pub(super) fn new(find: impl Fn(RunError) -> BoxFuture<'static, RunError> + Send + Sync + 'static) -> Naming {
        Naming(Arc::new(find))
    }

    /// Returns the error together with the resource that causes it.
    pub(super) async fn named(&self, error: RunError) -> RunError {
        (self.0)(error).await
    }
}

impl fmt::Debug for Naming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Naming")
    }
}
