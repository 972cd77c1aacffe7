//! Opens the service store of a data folder, for commands about applications, endpoints, keys and consents.

use std::path::Path;

use super::super::terminal::failure::Failure;
use crate::consent::{Clock, Error, Store};
use crate::lake::Lake;
use crate::maintenance::Before;

/// Opens the store of a data folder. Fails if the folder holds no lake.
pub(in crate::cli) fn open(data: &Path) -> Result<Store, Failure> {
    Lake::open(data).map_err(Failure::from_lake)?;
    Store::open(data, Clock::System).map_err(Failure::other)
}

/// Opens the store of a data folder. Creates the folder and the lake if they do not exist, so that a server can start
/// on them.
pub(in crate::cli) fn open_or_create(data: &Path) -> Result<Store, Failure> {
    Before::look(data).map_err(Failure::from_folder)?;
    Lake::open_or_create(data).map_err(Failure::from_lake)?;
    Store::open(data, Clock::System).map_err(Failure::other)
}

/// Converts the error to a failure. Its exit code is 2 if the store refused the input, and 1 for other errors.
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
