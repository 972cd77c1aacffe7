//! Opens a sealed file: finds its key by the clear part of the footer, decrypts the footer, and presents the file as if
//! it were unencrypted.

use crate::private;
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

/// The last bytes of a sealed Parquet file, after the length of its footer.
pub(in crate::lake) const SEALED_MAGIC: &[u8; 4] = b"PARE";
/// The number of bytes of the footer's length and the magic number.
const END: u64 = 8;

/// Returns the properties with which the Parquet library encrypts a whole file under a key, including the footer.
pub(in crate::lake) fn encryption(key: &FileKey) -> Result<Arc<FileEncryptionProperties>, ParquetError> {
    FileEncryptionProperties::builder(key.secret().to_vec())
        .with_footer_key_metadata(key.id().to_string().into_bytes())
        .build()
}

/// An opened sealed file.
#[derive(Debug)]
pub(in crate::lake) struct OpenSealed {
    pub(in crate::lake) key: FileKey,
    pub(in crate::lake) pages: SealedPages,
    /// The footer. Its offsets are positions in the clear file, as in `pages`.
    pub(in crate::lake) metadata: ParquetMetaData,
}

/// Opens a sealed file. Returns `None` for an unencrypted file, if the lake may have such files. If `is_held` is true,
/// a sealed lake accepts the unencrypted file, too: an answer has held it since before the lake was sealed. Any other
/// unencrypted file is an error. A sealed file is an error if the lake is open and no answer holds the file's key.
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
    // A sealed file of an open lake is accepted if an answer holds the key, because an answer can go on after the lake
    // was unsealed.
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

/// Returns the key of a sealed file. `None` if the file is not sealed, or if the lake is open. As long as the caller
/// has the key, the file can be opened, even after the key was destroyed in the database.
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

/// Whether a file ends as a sealed file does. `false` if it cannot be read.
pub(in crate::lake) fn is_sealed(path: &Path) -> bool {
    let read = || {
        let file = private::open(path)?;
        let length = file.metadata()?.len();
        footer_length(&file, length)
    };
    matches!(read(), Ok(Some(_)))
}

/// Reads the length of a sealed file's footer. `None` if the file does not end as a sealed file does.
fn footer_length(file: &File, length: u64) -> Result<Option<u64>, ParquetError> {
    if length < END {
        return Ok(None);
    }
    let mut end = [0; END as usize];
    file.read_exact_at(&mut end, length - END)?;
    let [a, b, c, d, magic @ ..] = end;
    Ok((magic == *SEALED_MAGIC).then(|| u64::from(u32::from_le_bytes([a, b, c, d]))))
}

/// Reads the clear part of the footer: the id of the key that sealed the file, and the file's part of the additional
/// authenticated data (`aad_file_unique`).
fn announced(file: &File, length: u64, footer: u64) -> Result<(KeyId, Vec<u8>), ParquetError> {
    let start = (length - END)
        .checked_sub(footer)
        .ok_or_else(|| damaged("its footer is cut off"))?;
    // Read only the start of the footer, because its clear part is short.
    let mut bytes = vec![0; footer.min(ANNOUNCED) as usize];
    file.read_exact_at(&mut bytes, start)?;
    let said = Announcement::read(&bytes)?;
    let id = std::str::from_utf8(&said.key).ok().and_then(|text| text.parse().ok());
    let id = id.ok_or_else(|| damaged("its footer names no key"))?;
    Ok((id, said.unique))
}

/// The maximum length of the clear part of a footer in bytes.
const ANNOUNCED: u64 = 512;
