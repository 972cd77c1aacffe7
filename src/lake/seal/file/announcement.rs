//! The clear part of a sealed file's footer (Parquet format, `FileCryptoMetaData`): the id of the key, and the file's
//! part of the additional authenticated data of its modules (`aad_file_unique`).

use parquet::errors::ParquetError;

use super::pages::damaged;

/// The clear part of a footer, which precedes the encrypted part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lake) struct Announcement {
    /// The id of the key, as text.
    pub(in crate::lake) key: Vec<u8>,
    /// The file's part of the additional authenticated data.
    pub(in crate::lake) unique: Vec<u8>,
}

impl Announcement {
    /// Reads the clear part from the start of the footer.
    pub(in crate::lake) fn read(footer: &[u8]) -> Result<Announcement, ParquetError> {
        let mut left = Thrift(footer);
        let (mut key, mut unique) = (None, None);
        // `FileCryptoMetaData` has two fields: 1 is the algorithm, 2 the id of the key.
        let mut field = 0;
        while let Some((id, kind)) = left.field(field)? {
            field = id;
            match (id, kind) {
                (1, STRUCT) => unique = left.algorithm()?,
                (2, BINARY) => key = Some(left.binary()?.to_vec()),
                _ => return Err(damaged("its footer announces another encryption")),
            }
        }
        match (key, unique) {
            (Some(key), Some(unique)) => Ok(Announcement { key, unique }),
            _ => Err(damaged("its footer does not say which key sealed it")),
        }
    }
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BINARY: u8 = 8;
const STRUCT: u8 = 12;

/// A reader of Thrift's compact protocol that reads only what the clear part needs.
struct Thrift<'a>(&'a [u8]);

impl<'a> Thrift<'a> {
    fn byte(&mut self) -> Result<u8, ParquetError> {
        let (byte, rest) = self.0.split_first().ok_or_else(|| damaged("its footer is cut off"))?;
        self.0 = rest;
        Ok(*byte)
    }

    /// Reads the id and the type of the next field of a struct. `last` is the id of the previous field, or 0 if there
    /// is none. `None` at the end of the struct.
    fn field(&mut self, last: u8) -> Result<Option<(u8, u8)>, ParquetError> {
        let byte = self.byte()?;
        let (delta, kind) = (byte >> 4, byte & 15);
        match (delta, kind) {
            (_, 0) => Ok(None),
            (0, _) => Err(damaged("its footer announces another encryption")),
            _ => Ok(Some((last.saturating_add(delta), kind))),
        }
    }

    fn binary(&mut self) -> Result<&'a [u8], ParquetError> {
        let length = self.byte()?;
        let short = self.0.split_at_checked(usize::from(length)).filter(|_| length < 128);
        let (value, rest) = short.ok_or_else(|| damaged("its footer announces another encryption"))?;
        self.0 = rest;
        Ok(value)
    }

    /// Reads `aad_file_unique` from the algorithm, a union whose first alternative is AES_GCM_V1. Fails for any other
    /// alternative.
    fn algorithm(&mut self) -> Result<Option<Vec<u8>>, ParquetError> {
        let Some((1, STRUCT)) = self.field(0)? else {
            return Err(damaged("it is not sealed by AES_GCM_V1"));
        };
        let (mut field, mut unique) = (0, None);
        while let Some((id, kind)) = self.field(field)? {
            field = id;
            match (id, kind) {
                (2, BINARY) => unique = Some(self.binary()?.to_vec()),
                (3, TRUE | FALSE) => {}
                _ => return Err(damaged("its footer announces another encryption")),
            }
        }
        match self.field(1)? {
            None => Ok(unique),
            Some(_) => Err(damaged("its footer announces another encryption")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An example of `FileCryptoMetaData`: AES_GCM_V1 with `aad_file_unique`, then the id of the key.
    const SAID: &[u8] = b"\x1c\x1c\x28\x04abcd\x00\x00\x18\x03key\x00";

    #[test]
    fn key_and_unique_part_are_read() {
        let read = Announcement::read(&[SAID, b"what follows"].concat()).unwrap();
        assert_eq!(
            (read.key.as_slice(), read.unique.as_slice()),
            (&b"key"[..], &b"abcd"[..])
        );
    }

    #[test]
    fn what_is_cut_off_or_of_another_kind_is_refused() {
        for end in 0..SAID.len() {
            assert!(Announcement::read(&SAID[..end]).is_err(), "{end} bytes");
        }
        // This is AES_GCM_CTR_V1, the second alternative of the union.
        assert!(Announcement::read(b"\x1c\x2c\x28\x04abcd\x00\x00\x18\x03key\x00").is_err());
        // The id of the key is missing.
        assert!(Announcement::read(b"\x1c\x1c\x28\x04abcd\x00\x00\x00").is_err());
    }
}
