//! Rewrites one file of a lake that is being sealed or unsealed. The new file is sealed if the lake is being sealed,
//! and unencrypted otherwise.

use std::path::PathBuf;
use std::sync::Arc;

use crate::fhir::facts;
use crate::lake::attachment::{self, Recorded, TABLE};
use crate::lake::catalog::{ConvertedAttachment, Exchange, NewPeriod, StoredAttachment, StoredFile};
use crate::lake::deletes;
use crate::lake::erase::{Fresh, random_name, rewrite};
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;
use crate::lake::seal::FileKey;
use crate::lake::snapshot::TableSnapshot;
use crate::lake::store::disk::file_name;
use crate::lake::store::folder::Folder;

/// A file that a conversion replaces. It is sealed if the lake is being unsealed, and unencrypted otherwise.
#[derive(Debug)]
pub(super) enum Old {
    Data(Arc<TableSnapshot>, StoredFile),
    Attachment(StoredAttachment),
}

/// The new files that replace an [`Old`]: a data file with its delete files, or an attachment with the key that seals
/// it.
#[derive(Debug)]
pub(super) enum New<'p> {
    Data(Exchange<'p>),
    Attachment(ConvertedAttachment, Option<FileKey>),
}

impl New<'_> {
    /// Returns the keys that seal the new files. There are none if the lake is being unsealed.
    pub(super) fn keys(&self) -> Vec<&FileKey> {
        match self {
            New::Data(exchange) => {
                let data = exchange.written.iter().filter_map(|(_, written)| written.key.as_ref());
                data.chain(exchange.deletes.iter().filter_map(|deletes| deletes.key.as_ref()))
                    .collect()
            }
            New::Attachment(_, key) => key.iter().collect(),
        }
    }

    /// Returns the size of the new files in bytes.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            New::Data(exchange) => {
                let data: u64 = exchange.written.iter().map(|(_, written)| written.bytes).sum();
                data + exchange.deletes.iter().map(|deletes| deletes.bytes).sum::<u64>()
            }
            New::Attachment(converted, _) => converted.file_bytes,
        }
    }
}

impl Old {
    /// Returns the file's number in the catalog.
    pub(super) fn number(&self) -> u64 {
        match self {
            Old::Data(_, file) => file.id,
            Old::Attachment(one) => one.id,
        }
    }

    /// Returns the path of the file.
    pub(super) fn path(&self, folder: &Folder) -> PathBuf {
        match self {
            Old::Data(table, file) => folder
                .table(table.mode, facts().get(table.type_id).name)
                .join(&file.name),
            Old::Attachment(one) => folder.table(one.mode, TABLE).join(&one.name),
        }
    }

    /// Writes the new files that replace this one: sealed if the lake is being sealed, unencrypted otherwise. Also
    /// returns the paths of the new files. If the returned [`Fresh`] is dropped, it removes these files.
    pub(super) fn convert(&self, folder: &Folder, owner_key: OwnerKey) -> Result<(New<'_>, Fresh), LakeError> {
        let mut fresh = Fresh::default();
        let new = match self {
            Old::Data(table, file) => New::Data(data_file(folder, table, file, &mut fresh)?),
            Old::Attachment(one) => attachment_file(folder, owner_key, one, &mut fresh)?,
        };
        Ok((new, fresh))
    }
}

/// Writes a new data file with the same rows at the same positions, and the delete files of the new data file.
fn data_file<'p>(
    folder: &Folder,
    table: &'p TableSnapshot,
    file: &StoredFile,
    fresh: &mut Fresh,
) -> Result<Exchange<'p>, LakeError> {
    let (data, keys) = (folder.data(), folder.keys());
    let dir = folder.table(table.mode, facts().get(table.type_id).name);
    let new = fresh.add(dir.join(format!("{}.parquet", random_name())));
    let written = rewrite(&dir.join(&file.name), &new, table.type_id, (file.rows, &[]), keys)?;
    let named = new.strip_prefix(&data).unwrap_or(&new).to_string_lossy().into_owned();
    let mut exchange = Exchange {
        table: table.table_id,
        layout: &table.layout,
        id: file.id,
        written: Some((file_name(&new), written)),
        end: file.end,
        deletes: Vec::with_capacity(file.deletes.len()),
    };
    for stored in &file.deletes {
        let positions = deletes::read(&dir.join(&stored.name), keys)?;
        let path = fresh.add(dir.join(format!("{}{}", random_name(), deletes::SUFFIX)));
        let written = deletes::write(&path, &named, &positions, keys)?;
        exchange.deletes.push(NewPeriod {
            begin: stored.begin,
            end: stored.end,
            name: file_name(&path),
            count: positions.len() as u64,
            bytes: written.bytes,
            footer_size: written.footer_size,
            key: written.key,
        });
    }
    Ok(exchange)
}

fn attachment_file<'p>(
    folder: &Folder,
    owner_key: OwnerKey,
    one: &StoredAttachment,
    fresh: &mut Fresh,
) -> Result<New<'p>, LakeError> {
    let dir = folder.table(one.mode, TABLE);
    let key = folder.keys().make()?;
    let path = fresh.add(attachment::renamed(&dir.join(&one.name), key.as_ref()));
    let file_bytes = attachment::convert(&dir.join(&one.name), &path, folder.keys(), key.as_ref())?;
    let (name, keys) = (file_name(&path), folder.keys());
    let whose = (one.mode, &*one.application);
    let converted = ConvertedAttachment {
        id: one.id,
        recorded: Recorded::new(&one.contents(keys)?, &name, whose, owner_key, keys)?,
        name,
        file_bytes,
    };
    Ok(New::Attachment(converted, key))
}
