//! A catalog's record of an attachment: clear in an open lake, and encrypted under the file's own key in a sealed one.
//! Once the key is destroyed, nobody can read the record. So an older copy of the catalog reveals nothing about erased
//! files.
//!
//! The catalog finds a sealed row by marks of its `Binary` and its authorization. The lake's owner key makes these
//! marks, and the catalog holds that key. So anybody with the folder can see that two rows have the same authorization,
//! and can check whether a known id is there.

use std::path::Path;

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use super::names::key_of;
use super::trailer::{Trailer, hexadecimal};
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;
use crate::lake::owners::scope::Mode;
use crate::lake::seal::{Keys, PieceCipher};

/// Binds the ciphertext to this use of the file's key.
const PLACE: &[u8] = b"a row of tabularium_attachment";
/// Bytes of a mark.
const MARK: usize = 16;

/// What the catalog records of an attachment's contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::lake) struct Contents {
    /// The id of the row of `Binary`.
    pub(in crate::lake) binary: String,
    pub(in crate::lake) authorization: String,
    /// Hexadecimal digits.
    pub(in crate::lake) sha256: String,
    pub(in crate::lake) sha1: String,
    /// The origin by which a sync recognizes an attachment that it already has.
    pub(in crate::lake) origin: String,
}

impl Contents {
    /// The contents that a file's trailer states.
    pub(in crate::lake) fn of(trailer: &Trailer) -> Contents {
        Contents {
            binary: trailer.binary.clone(),
            authorization: trailer.authorization.clone(),
            sha256: trailer.sha256.clone(),
            sha1: trailer.sha1.clone(),
            origin: trailer.origin.clone(),
        }
    }
}

/// The contents in the form in which a row of the catalog holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lake) enum Recorded {
    /// The record of a clear file.
    Clear(Contents),
    /// The record of a sealed file.
    Sealed {
        binary: Mark,
        authorization: Mark,
        /// [`Contents`] under the file's key, in base64.
        sealed: String,
    },
}

impl Recorded {
    /// The record of the contents of the file with this name.
    pub(in crate::lake) fn new(
        contents: &Contents,
        name: &str,
        (mode, application): (Mode, &str),
        owner_key: OwnerKey,
        keys: &Keys,
    ) -> Result<Recorded, LakeError> {
        let Some(id) = key_of(Path::new(name))? else {
            return Ok(Recorded::Clear(contents.clone()));
        };
        let failed = |error| LakeError::Damaged(format!("what is recorded of {name} cannot be sealed: {error}"));
        // Texts always become JSON.
        let text = serde_json::to_vec(contents).unwrap_or_default();
        let mut sealed = Vec::new();
        let cipher = PieceCipher::new(keys.key(&id)?.secret()).map_err(failed)?;
        cipher.seal(PLACE, &text, &mut sealed).map_err(failed)?;
        Ok(Recorded::Sealed {
            binary: Mark::of_binary(owner_key, mode, application, &contents.binary),
            authorization: Mark::of_authorization(owner_key, mode, application, &contents.authorization),
            sealed: STANDARD_NO_PAD.encode(sealed),
        })
    }

    /// The contents that the row of this file records. Only the file's key opens a sealed record.
    pub(in crate::lake) fn open(&self, name: &str, keys: &Keys) -> Result<Contents, LakeError> {
        let sealed = match self {
            Recorded::Clear(contents) => return Ok(contents.clone()),
            Recorded::Sealed { sealed, .. } => sealed,
        };
        let damaged = || LakeError::Damaged(format!("what is recorded of {name} is not what was sealed"));
        let id = key_of(Path::new(name))?.ok_or_else(damaged)?;
        let cipher = PieceCipher::new(keys.key(&id)?.secret()).map_err(|_| damaged())?;
        let mut bytes = STANDARD_NO_PAD.decode(sealed).map_err(|_| damaged())?;
        let clear = cipher.open(PLACE, &mut bytes).ok_or_else(damaged)?;
        serde_json::from_slice(clear).map_err(|_| damaged())
    }
}

/// The mark that finds a sealed row: 32 hexadecimal digits of an HMAC-SHA256 under the lake's owner key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lake) struct Mark(String);

impl Mark {
    /// The mark of a row of `Binary`.
    pub(in crate::lake) fn of_binary(key: OwnerKey, mode: Mode, application: &str, id: &str) -> Mark {
        Mark::of(key, ["binary", mode.schema(), application, id])
    }

    /// The mark of an authorization.
    pub(in crate::lake) fn of_authorization(key: OwnerKey, mode: Mode, application: &str, id: &str) -> Mark {
        Mark::of(key, ["authorization", mode.schema(), application, id])
    }

    fn of(key: OwnerKey, texts: [&str; 4]) -> Mark {
        // A byte that no UTF-8 text contains keeps ("a", "bc") and ("ab", "c") apart.
        let bytes = texts.map(str::as_bytes).join(&0xff);
        let mark = sign(&Key::new(HMAC_SHA256, &key.bytes()), &bytes);
        Mark(hexadecimal(&mark.as_ref()[..MARK]))
    }

    /// The mark that a row holds.
    pub(in crate::lake) fn read(text: String) -> Mark {
        Mark(text)
    }

    /// The digits.
    pub(in crate::lake) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lake::seal::{Kek, KeyStore};

    fn contents() -> Contents {
        Contents {
            binary: "letter-1".to_owned(),
            authorization: "auth-1".to_owned(),
            sha256: "ab".repeat(32),
            sha1: "cd".repeat(20),
            origin: "https://source.example/Binary/1".to_owned(),
        }
    }

    #[test]
    fn a_sealed_row_opens_with_the_files_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::of(KeyStore::create(folder.path(), Kek::random().unwrap()).unwrap());
        let owner_key = OwnerKey::random();
        let names = [(); 2].map(|()| {
            let key = keys.make().unwrap().unwrap();
            keys.keep(std::slice::from_ref(&key)).unwrap();
            crate::lake::attachment::new_name("0123456789abcdef", Some(key.id()))
        });
        let whose = (Mode::Live, "app");
        let recorded = Recorded::new(&contents(), &names[0], whose, owner_key, &keys).unwrap();
        assert_eq!(recorded.open(&names[0], &keys).unwrap(), contents());
        assert!(recorded.open(&names[1], &keys).is_err());
        assert!(recorded.open(&names[0], &Keys::none()).is_err());
        let text = format!("{recorded:?}");
        for told in ["letter-1", "auth-1", "abab", "cdcd", "source.example"] {
            assert!(!text.contains(told), "{told}");
        }
        let in_clear = Recorded::new(&contents(), "a.attachment", whose, owner_key, &keys).unwrap();
        assert_eq!(in_clear, Recorded::Clear(contents()));
    }

    #[test]
    fn marks_are_of_one_lake_mode_application_and_id() {
        let keys = [OwnerKey::random(), OwnerKey::random()];
        let mark = Mark::of_binary(keys[0], Mode::Live, "app", "1");
        assert_eq!(mark, Mark::of_binary(keys[0], Mode::Live, "app", "1"));
        assert_eq!(mark.as_str().len(), 2 * MARK);
        for other in [
            Mark::of_binary(keys[1], Mode::Live, "app", "1"),
            Mark::of_binary(keys[0], Mode::Test, "app", "1"),
            Mark::of_binary(keys[0], Mode::Live, "ap", "p1"),
            Mark::of_binary(keys[0], Mode::Live, "app", "2"),
            Mark::of_authorization(keys[0], Mode::Live, "app", "1"),
        ] {
            assert_ne!(mark, other);
        }
    }
}
