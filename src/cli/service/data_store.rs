//! The service store of a data folder, for commands about applications, endpoints, keys and consents.

use std::path::Path;

use super::super::terminal::failure::Failure;
use crate::consent::{Clock, Error, Store};
use crate::lake::Lake;
use crate::maintenance::Before;

/// The store of a folder that holds a lake.
pub(in crate::cli) fn open(data: &Path) -> Result<Store, Failure> {
    Lake::open(data).map_err(Failure::from_lake)?;
    Store::open(data, Clock::System).map_err(Failure::other)
}

/// The same. If there is no folder or no lake, creates them, so that a service can start with them.
pub(in crate::cli) fn open_or_create(data: &Path) -> Result<Store, Failure> {
    Before::look(data).map_err(Failure::from_folder)?;
    Lake::open_or_create(data).map_err(Failure::from_lake)?;
    Store::open(data, Clock::System).map_err(Failure::other)
}

/// A refusal of the store is the input's fault. Other errors are not.
pub(in crate::cli) fn refused(error: Error) -> Failure {
    match error {
        Error::UnknownApplication(_)
        | Error::ApplicationExists(_)
        | Error::RedirectUri { .. }
        | Error::Invalid { .. }
        | Error::UnknownOrganization(_)
        | Error::EndpointExists(_) => Failure::input(error.to_string()),
        error => Failure::other(error),
    }
}
