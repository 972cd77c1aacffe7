//! Opens a sealed file: finds its key by the clear part of the footer, decrypts the footer, and presents the file as if
//! it were clear.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use parquet::encryption::decrypt::FileDecryptionProperties;
use parquet::encryption::encrypt::FileEncryptionProperties;
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

use super::super::{FileKey, KeyId, Keys};
use super::announcement::Announcement;
use super::pages::{SealedPages, damaged};

/// The end of a sealed file, after the length of its footer.
pub(in crate::lake) const SEALED_MAGIC: &[u8; 4] = b"PARE";
/// The length of the footer and the magic number.
const END: u64 = 8;

/// The properties that encrypt a whole file under a key, including the footer.
pub(in crate::lake) fn encryption(key: &FileKey) -> Result<Arc<FileEncryptionProperties>, ParquetError> {
    FileEncryptionProperties::builder(key.secret().to_vec())
        .with_footer_key_metadata(key.id().to_string().into_bytes())
        .build()
}

/// A sealed file, opened.
#[derive(Debug)]
pub(in crate::lake) struct OpenSealed {
    pub(in crate::lake) key: FileKey,
    pub(in crate::lake) pages: SealedPages,
    /// The footer. Its offsets are those of `pages`.
    pub(in crate::lake) metadata: ParquetMetaData,
}

/// Opens a sealed file. `None` for a clear one. Refuses a file of the other kind than the lake's, unless a reader has
/// held it since the lake was of that kind (`is_held`).
pub(in crate::lake) fn open(
    file: &File,
    length: u64,
    keys: &Keys,
    is_held: bool,
) -> Result<Option<OpenSealed>, ParquetError> {
    let footer = footer_length(file, length)?;
    let footer = match footer {
        None if is_held || keys.kind().takes_clear() => return Ok(None),
        None => return Err(damaged("it does not end as a sealed file does")),
        Some(footer) => footer,
    };
    let (id, unique) = announced(file, length, footer)?;
    // An answer that holds the key continues after the lake is unsealed.
    if !keys.open_sealed() && !keys.is_lent(&id) {
        return Err(ParquetError::General("it is sealed, and the lake is not".to_owned()));
    }
    let key = keys.key(&id).map_err(|error| ParquetError::External(Box::new(error)))?;
    let decryption = FileDecryptionProperties::builder(key.secret().to_vec()).build()?;
    let metadata = ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Required)
        .with_decryption_properties(Some(decryption))
        .parse_and_finish(file)?;
    let (pages, metadata) = SealedPages::new(key.secret(), &unique, metadata)?;
    Ok(Some(OpenSealed { key, pages, metadata }))
}

/// The key of a file, if it is sealed. The file can be opened while this is held.
pub(in crate::lake) fn hold_key(file: &File, keys: &Keys) -> Result<Option<FileKey>, ParquetError> {
    if !keys.open_sealed() {
        return Ok(None);
    }
    let length = file.metadata()?.len();
    let Some(footer) = footer_length(file, length)? else {
        return Ok(None);
    };
    let (id, _) = announced(file, length, footer)?;
    let key = keys
        .hold(&id)
        .map_err(|error| ParquetError::External(Box::new(error)))?;
    Ok(Some(key))
}

/// Whether a file ends like a sealed file.
pub(in crate::lake) fn is_sealed(path: &Path) -> bool {
    let read = || {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        footer_length(&file, length)
    };
    matches!(read(), Ok(Some(_)))
}

/// The length of a sealed file's footer. `None` if the file does not end like a sealed one.
fn footer_length(file: &File, length: u64) -> Result<Option<u64>, ParquetError> {
    if length < END {
        return Ok(None);
    }
    let mut end = [0; END as usize];
    file.read_exact_at(&mut end, length - END)?;
    let [a, b, c, d, magic @ ..] = end;
    Ok((magic == *SEALED_MAGIC).then(|| u64::from(u32::from_le_bytes([a, b, c, d]))))
}

/// The id of the key that sealed a file, and the file's part of the data that authenticates its modules.
fn announced(file: &File, length: u64, footer: u64) -> Result<(KeyId, Vec<u8>), ParquetError> {
    let start = (length - END)
        .checked_sub(footer)
        .ok_or_else(|| damaged("its footer is cut off"))?;
    // The clear part is short, however long the footer is.
    let mut bytes = vec![0; footer.min(ANNOUNCED) as usize];
    file.read_exact_at(&mut bytes, start)?;
    let said = Announcement::read(&bytes)?;
    let id = std::str::from_utf8(&said.key).ok().and_then(|text| text.parse().ok());
    let id = id.ok_or_else(|| damaged("its footer names no key"))?;
    Ok((id, said.unique))
}

/// The maximum length of an announcement.
const ANNOUNCED: u64 = 512;
