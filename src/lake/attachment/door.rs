//! Opens attachments. A caller needs a scope that shows the attachment's row of `Binary`.

use std::sync::Arc;

use memchr::memmem;

use super::content::AttachmentContent;
use super::names::TABLE;
use super::recorded::Contents;
use crate::fhir::facts;
use crate::lake::catalog::{self, StoredAttachment};
use crate::lake::error::LakeError;
use crate::lake::owners::scope::{Mode, Scope};
use crate::lake::scan::{Row, ScanError};
use crate::lake::snapshot::Snapshot;
use crate::lake::store::open::Lake;

/// A row of `Binary`, and the attachment file if the bytes are not in the row.
#[derive(Debug)]
pub struct Attached {
    /// The row with the resource.
    pub row: Row,
    /// The content of the attachment. `None` if the row has no attachment, if the scope does not show it, or if the
    /// resource in the row does not name its SHA-256.
    pub content: Option<AttachmentContent>,
}

/// An attachment that an earlier sync stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAttachment {
    /// The number of the attachment in the catalog.
    pub number: u64,
    /// The id of the attachment's row of `Binary`.
    pub binary: String,
    /// The length of the attachment's bytes.
    pub bytes: u64,
    /// The SHA-256 of the attachment's bytes, as hexadecimal digits.
    pub sha256: String,
    /// The SHA-1 of the attachment's bytes, as hexadecimal digits.
    pub sha1: String,
    /// A hash of facts about the document, which the sync recorded. If the next sync computes the same hash, it does
    /// not fetch the document again.
    pub origin: String,
}

impl Lake {
    /// Reads the row of `Binary` with this id in a snapshot and opens its attachment. Returns `None` if the scope
    /// shows no such row.
    ///
    /// A missing or damaged file is an error. So is a file that an erasure has removed since the snapshot. A caller
    /// whose snapshot may be out of date should then try once more ([`erased_since`](Lake::erased_since)).
    pub fn attachment(
        &self,
        snapshot: &Arc<Snapshot>,
        scope: &Arc<Scope>,
        id: &str,
    ) -> Result<Option<Attached>, LakeError> {
        let Some(type_id) = facts().lookup(TABLE) else {
            return Ok(None);
        };
        let failed = |error: ScanError| LakeError::Damaged(error.to_string());
        let Some(row) = self.table(snapshot, type_id, scope).read(id).map_err(failed)? else {
            return Ok(None);
        };
        let found = self
            .with_reader(|reader| catalog::find_attachment(reader, scope.mode, &scope.application, id, snapshot.id))?;
        let mut content = None;
        if let Some(found) = found.filter(|found| self.is_shown(found, scope)) {
            let recorded = found.contents(self.folder().keys())?;
            if memmem::find(&row.resource, recorded.sha256.as_bytes()).is_some() {
                content = Some(self.open_attachment(scope.mode, &found, &recorded)?);
            }
        }
        Ok(Some(Attached { row, content }))
    }

    /// Reads the row and opens its attachment as [`attachment`](Lake::attachment) does, in the newest snapshot. Tries
    /// once more if an erasure has changed that snapshot meanwhile.
    pub fn newest_attachment(&self, scope: &Arc<Scope>, id: &str) -> Result<Option<Attached>, LakeError> {
        let snapshot = self.snapshot();
        match self.attachment(&snapshot, scope, id) {
            Err(_) if self.erased_since(snapshot.erasures()) => self.attachment(&self.snapshot(), scope, id),
            found => found,
        }
    }

    /// Whether the scope shows an attachment. A patient's scope shows those of its owners and authorizations, an
    /// application's scope shows all.
    fn is_shown(&self, found: &StoredAttachment, scope: &Scope) -> bool {
        scope.patient.as_ref().is_none_or(|patient| {
            patient.owners.contains(&found.owner) && found.is_of(&patient.authorizations, self.owner_key())
        })
    }

    fn open_attachment(
        &self,
        mode: Mode,
        found: &StoredAttachment,
        recorded: &Contents,
    ) -> Result<AttachmentContent, LakeError> {
        let path = self.folder().table(mode, TABLE).join(&found.name);
        let content = AttachmentContent::open(&path, self.folder().keys()).map_err(LakeError::io("read", &path))?;
        let trailer = content.trailer();
        let same = trailer.binary == recorded.binary
            && trailer.owner == found.owner
            && trailer.bytes == found.bytes
            && trailer.sha256 == recorded.sha256;
        if same {
            Ok(content)
        } else {
            Err(LakeError::Damaged(format!(
                "{} is another file than is recorded",
                path.display()
            )))
        }
    }

    /// Returns the attachments that the syncs of an authorization have stored. Leaves out those whose file is missing
    /// or does not have the recorded length.
    pub fn kept_attachments(
        &self,
        mode: Mode,
        application: &str,
        owner: i64,
        authorization: &str,
    ) -> Result<Vec<KeptAttachment>, LakeError> {
        let stored =
            self.with_reader(|reader| catalog::live_attachments(reader, mode, application, owner, authorization))?;
        let folder = self.folder().table(mode, TABLE);
        let is_there = |one: &StoredAttachment| {
            let facts = std::fs::metadata(folder.join(&one.name));
            facts.is_ok_and(|facts| facts.is_file() && facts.len() == one.file_bytes)
        };
        let kept = stored.into_iter().filter(is_there).map(|one| {
            let contents = one.contents(self.folder().keys())?;
            Ok(KeptAttachment {
                number: one.id,
                binary: contents.binary,
                bytes: one.bytes,
                sha256: contents.sha256,
                sha1: contents.sha1,
                origin: contents.origin,
            })
        });
        kept.collect()
    }
}
