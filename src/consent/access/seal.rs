//! Encrypts secrets that the service needs in clear later, such as tokens of sources and private keys: AES-256-GCM
//! under a key that is not in the store. The key comes from the environment variable `TABULARIUM_KEY`, or from the
//! file `service.key` beside the store.

use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::super::error::Error;
use crate::private;

/// The name of the key's file in the data folder.
pub const KEY_FILE: &str = "service.key";
const FILE: &str = KEY_FILE;
const VARIABLE: &str = "TABULARIUM_KEY";
/// The first byte of every sealed value: the version of its format.
const VERSION: u8 = 1;
const KEY_LEN: usize = 32;

/// What the key that signs addresses of attachments is derived from, beside the service's key.
const ADDRESSES: &[u8] = b"addresses of attachments";

/// The keys of the service: the one that seals values, and the one that signs addresses of attachments.
pub(in crate::consent) struct Sealer {
    seals: RandomizedNonceKey,
    addresses: hmac::Key,
}

impl Sealer {
    /// Reads the key from the environment variable, or else from the key file in `folder`. Makes that file if it is
    /// missing.
    pub(in crate::consent) fn open(folder: &Path) -> Result<Sealer, Error> {
        let key = match std::env::var(VARIABLE) {
            Ok(text) => parsed(&text)?,
            Err(std::env::VarError::NotPresent) => parsed(&key_file(&folder.join(FILE))?)?,
            Err(std::env::VarError::NotUnicode(_)) => return Err(Error::Key("TABULARIUM_KEY is no text")),
        };
        let derived = hmac::sign(&hmac::Key::new(HMAC_SHA256, &key), ADDRESSES);
        Ok(Sealer {
            seals: RandomizedNonceKey::new(&AES_256_GCM, &key).map_err(|_| Error::Key("it cannot seal"))?,
            addresses: hmac::Key::new(HMAC_SHA256, derived.as_ref()),
        })
    }

    /// Returns the key that signs addresses of attachments.
    pub(super) fn addresses(&self) -> &hmac::Key {
        &self.addresses
    }

    pub(in crate::consent) fn seal(&self, purpose: &str, plain: &[u8]) -> Result<Vec<u8>, Error> {
        let mut text = plain.to_vec();
        let nonce = self
            .seals
            .seal_in_place_append_tag(Aad::from(purpose.as_bytes()), &mut text)
            .map_err(|_| Error::Key("it could not seal"))?;
        let mut sealed = vec![VERSION];
        sealed.extend_from_slice(nonce.as_ref());
        sealed.append(&mut text);
        Ok(sealed)
    }

    pub(in crate::consent) fn unseal(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        let bad = || Error::Key("it does not open what was sealed: was TABULARIUM_KEY or service.key changed?");
        let (version, rest) = sealed.split_first().ok_or_else(bad)?;
        if *version != VERSION || rest.len() < NONCE_LEN {
            return Err(bad());
        }
        let (nonce, text) = rest.split_at(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| bad())?;
        let mut text = text.to_vec();
        let plain = self
            .seals
            .open_in_place(nonce, Aad::from(purpose.as_bytes()), &mut text);
        Ok(plain.map_err(|_| bad())?.to_vec())
    }
}

/// Whether the environment variable with the key exists. If so, the key file is not used.
pub fn has_key_variable() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Parses 32 bytes in base64, in the standard or the URL-safe alphabet, with or without padding.
fn parsed(text: &str) -> Result<[u8; KEY_LEN], Error> {
    let text = text.trim().trim_end_matches('=');
    let standard = || STANDARD.decode(format!("{text}={}", if text.len() % 4 == 2 { "=" } else { "" }));
    let bytes = URL_SAFE_NO_PAD.decode(text).or_else(|_| standard()).ok();
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or(Error::Key("TABULARIUM_KEY or service.key is not 32 bytes in base64"))
}

/// Reads the key file. Makes it if it is missing. If several processes open the store at the same time, all get the
/// same key.
fn key_file(path: &Path) -> Result<String, Error> {
    let open = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    // A link counts as a file, and is refused below.
    if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        let mut bytes = [0u8; KEY_LEN];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Error::Key("the system gave no random numbers"))?;
        // Write the whole file under a unique name, and then make a hard link to it. So no reader sees a partial
        // file, and of several writers the first one wins.
        let mut name = [0u8; 8];
        aws_lc_rs::rand::fill(&mut name).map_err(|_| Error::Key("the system gave no random numbers"))?;
        let draft = path.with_extension(format!("key.{:016x}", u64::from_le_bytes(name)));
        let mut file = private::options()
            .write(true)
            .create_new(true)
            .open(&draft)
            .map_err(open)?;
        let written = file
            .write_all(format!("{}\n", URL_SAFE_NO_PAD.encode(bytes)).as_bytes())
            .and_then(|()| file.sync_all());
        let linked = written.and_then(|()| match std::fs::hard_link(&draft, path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        });
        let removed = std::fs::remove_file(&draft);
        linked.and(removed).map_err(open)?;
    }
    let mut text = String::new();
    let file = private::open(path).map_err(open)?;
    file.take(1_024).read_to_string(&mut text).map_err(open)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::clock::Clock;
    use crate::consent::store::Store;

    #[test]
    fn what_is_sealed_opens_for_its_purpose_only() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        let sealed = store.seal("credential/a", b"secret").unwrap();
        assert!(!sealed.windows(6).any(|bytes| bytes == b"secret"));
        assert_ne!(store.seal("credential/a", b"secret").unwrap(), sealed);
        assert_eq!(store.unseal("credential/a", &sealed).unwrap(), b"secret");
        assert!(store.unseal("credential/b", &sealed).is_err());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(store.unseal("credential/a", &changed).is_err(), "byte {at}");
            assert!(store.unseal("credential/a", &sealed[..at]).is_err(), "byte {at}");
        }
        drop(store);
        let again = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        assert_eq!(again.unseal("credential/a", &sealed).unwrap(), b"secret");
        let other = tempfile::tempdir().unwrap();
        let other = Store::open(other.path(), Clock::at(1_000)).unwrap();
        assert!(other.unseal("credential/a", &sealed).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_the_key() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        Store::open(folder.path(), Clock::at(1_000)).unwrap();
        let mode = std::fs::metadata(folder.path().join(FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_key_is_32_bytes_in_base64() {
        let bytes = [0xfbu8; KEY_LEN];
        for text in [
            STANDARD.encode(bytes),
            URL_SAFE_NO_PAD.encode(bytes),
            format!(" {}\n", STANDARD.encode(bytes)),
        ] {
            assert_eq!(parsed(&text).unwrap(), bytes);
        }
        for text in ["", "abc", &STANDARD.encode([1u8; 31]), "not a key"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
