//! Documents that the lake holds, read through a scope.

use std::sync::Arc;

use super::attached::{Attached, Documents, FetchError, inside};
use crate::columns::json::Tape;
use crate::fhir::reference::is_id;
use crate::lake::{AttachmentContent, Lake, Scope};

/// Provides the Binaries that a scope shows, by their addresses in records.
#[derive(Clone, Copy, Debug)]
pub struct Held<'h> {
    /// The lake with the Binaries.
    pub lake: &'h Lake,
    /// The rows that may be read. For an operation on one Patient, these must be that Patient's rows, even if the
    /// caller may see others.
    pub scope: &'h Arc<Scope>,
    /// The base URL of the service's resources, with a trailing slash.
    pub base: &'h str,
}

impl Documents for Held<'_> {
    fn get(&self, url: &str, room: u64) -> Result<Attached, FetchError> {
        let id = binary_id(url, self.base).ok_or(FetchError::NotHeld)?;
        let found = self.lake.newest_attachment(self.scope, id).map_err(unreadable)?;
        let found = found.ok_or(FetchError::NotHeld)?;
        let mut tape = Tape::new();
        let binary = tape.parse(&found.row.resource).map_err(unreadable)?;
        let attached = match &found.content {
            Some(content) if content.bytes() > room => return Err(FetchError::NoRoom(content.bytes())),
            Some(content) => Attached {
                content_type: None,
                bytes: whole(content).map_err(unreadable)?,
            },
            None => inside(&binary.get_str("data").ok_or(FetchError::NotHeld)?, room)?,
        };
        Ok(Attached {
            content_type: binary.get_str("contentType").map(|text| text.into_owned()),
            ..attached
        })
    }
}

/// Returns the id of this service's Binary at an address. The address is relative, as in stored records, or begins with
/// `base`. `None` for other addresses.
pub fn binary_id<'u>(url: &'u str, base: &str) -> Option<&'u str> {
    let path = url.strip_prefix(base).unwrap_or(url);
    path.strip_prefix("Binary/").filter(|id| is_id(id))
}

/// Reads all bytes, piece by piece. [`AttachmentContent::piece`] returns an error if a piece is damaged.
fn whole(content: &AttachmentContent) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(content.bytes() as usize);
    while (bytes.len() as u64) < content.bytes() {
        bytes.extend(content.piece(bytes.len() as u64..content.bytes())?);
    }
    Ok(bytes)
}

fn unreadable(error: impl std::fmt::Display) -> FetchError {
    tracing::error!(%error, "an attachment could not be read");
    FetchError::Unreadable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_service_name_a_binary_of_it() {
        let id = |url: &str| binary_id(url, "https://records.example/fhir/").map(str::to_owned);
        for url in ["Binary/b-1", "https://records.example/fhir/Binary/b-1"] {
            assert_eq!(id(url).as_deref(), Some("b-1"), "{url}");
        }
        for url in [
            "https://elsewhere.example/fhir/Binary/b-1",
            "https://records.example/fhirBinary/b-1",
            "https://records.example/Binary/b-1",
            "/fhir/Binary/b-1",
            "Binary/",
            "Binary/b-1/_history/1",
            "Binary/../Patient/b-1",
            "Binary/b-1?x=1",
            "Patient/b-1",
            "",
        ] {
            assert_eq!(id(url), None, "{url}");
        }
    }
}
