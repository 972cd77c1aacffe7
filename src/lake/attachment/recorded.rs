//! A catalog's record of an attachment. The record of a clear file is clear. The record of a sealed file is encrypted
//! under the file's own key. When the key is destroyed, nobody can read the record any more. So an older copy of the
//! catalog reveals nothing about erased files.
//!
//! The catalog finds the record of a sealed file by keyed hashes ([`Mark`]): one of its `Binary` id, and one of its
//! authorization. The key of these hashes is the lake's owner key, which is in the catalog too. So anybody with the
//! data folder can see that two records have the same authorization, and can test whether a known id is there.

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

/// Authenticated data that binds the ciphertext to this use of the file's key.
const PLACE: &[u8] = b"a row of tabularium_attachment";
/// The number of bytes of the HMAC that a [`Mark`] keeps.
const MARK: usize = 16;

/// The facts about an attachment that a sealed lake's catalog encrypts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::lake) struct Contents {
    /// The id of the row of `Binary`.
    pub(in crate::lake) binary: String,
    pub(in crate::lake) authorization: String,
    /// The SHA-256 of the attachment's bytes, as hexadecimal digits. `sha1` has the same form.
    pub(in crate::lake) sha256: String,
    pub(in crate::lake) sha1: String,
    /// A hash of facts about the document, by which a sync recognizes an attachment that it already has.
    pub(in crate::lake) origin: String,
}

impl Contents {
    /// Returns the contents that a file's trailer states.
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

/// The [`Contents`] of an attachment, as a row of the catalog stores them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lake) enum Recorded {
    /// The record of a clear file.
    Clear(Contents),
    /// The record of a sealed file.
    Sealed {
        binary: Mark,
        authorization: Mark,
        /// [`Contents`] as JSON, encrypted under the file's key, in base64.
        sealed: String,
    },
}

impl Recorded {
    /// Makes the catalog's record of the attachment file with this name. For a sealed file, `keys` must have the file's
    /// key.
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
        // This cannot fail, because all fields are strings.
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

    /// Returns the contents that this record of the file `name` has. A sealed record can only be opened with the
    /// file's key.
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

/// A keyed hash of an id, by which the catalog finds the record of a sealed file. It has the first half of an
/// HMAC-SHA256 under the lake's owner key, as 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lake) struct Mark(String);

impl Mark {
    /// Makes the keyed hash of the id of a row of `Binary`.
    pub(in crate::lake) fn of_binary(key: OwnerKey, mode: Mode, application: &str, id: &str) -> Mark {
        Mark::of(key, ["binary", mode.schema(), application, id])
    }

    /// Makes the keyed hash of the id of an authorization.
    pub(in crate::lake) fn of_authorization(key: OwnerKey, mode: Mode, application: &str, id: &str) -> Mark {
        Mark::of(key, ["authorization", mode.schema(), application, id])
    }

    fn of(key: OwnerKey, texts: [&str; 4]) -> Mark {
        // No UTF-8 text has this byte. It keeps ("a", "bc") and ("ab", "c") apart.
        let bytes = texts.map(str::as_bytes).join(&0xff);
        let mark = sign(&Key::new(HMAC_SHA256, &key.bytes()), &bytes);
        Mark(hexadecimal(&mark.as_ref()[..MARK]))
    }

    /// Makes a mark from the hexadecimal digits in a row of the catalog.
    pub(in crate::lake) fn read(text: String) -> Mark {
        Mark(text)
    }

    /// Returns the hexadecimal digits.
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
