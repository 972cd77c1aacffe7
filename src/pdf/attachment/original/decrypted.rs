//! Decrypts PDF files that open without a password, object by object.
//!
//! The library decrypts such files by itself, but then calls no filter for their objects. So the limits of a filter
//! would not hold. Here the library gets the file without its mark of encryption, and the filter decrypts each object.

use std::cell::RefCell;
use std::collections::BTreeSet;

use lopdf::encryption::decrypt_object;
use lopdf::xref::XrefEntry;
use lopdf::{Document, EncryptionState, LoadOptions, Object, ObjectId};
use memchr::memchr_iter;

/// The entry of a file's trailer that marks it as encrypted.
const MARK: &[u8] = b"Encrypt";

/// An encrypted file that opens without a password.
pub(super) struct Opened {
    /// The file without its mark of encryption.
    pub(super) bytes: Vec<u8>,
    key: Key,
}

struct Key {
    state: EncryptionState,
    /// The numbers of the objects that are encrypted by themselves. Others are in an encrypted stream.
    own: BTreeSet<u32>,
    /// The streams whose content the library reads after it has called the filter.
    late: Vec<ObjectId>,
}

thread_local! {
    /// The key of the file that is being read. The library accepts only a plain function as its filter.
    static KEY: RefCell<Option<Key>> = const { RefCell::new(None) };
}

/// Forgets the key when it is dropped.
struct Forgotten;

impl Drop for Forgotten {
    fn drop(&mut self) {
        KEY.set(None);
    }
}

/// Opens an encrypted file. `None` if the file is not encrypted. The error says whether the file has a password.
pub(super) fn open(bytes: &[u8], options: &LoadOptions) -> Option<Result<Opened, Locked>> {
    let bytes = without_mark(bytes)?;
    let options = LoadOptions {
        filter: Some(only_key),
        ..options.clone()
    };
    let mut head = Document::load_mem_with_options(&bytes, options).ok()?;
    let mark = head
        .trailer
        .iter()
        .find_map(|(name, value)| is_hidden(name).then_some(value))?;
    let Ok(place) = mark.as_reference() else {
        return Some(Err(Locked::Unreadable));
    };
    if head.get_dictionary(place).is_err() {
        return Some(Err(Locked::Unreadable));
    }
    head.trailer.set(MARK, place);
    if head.authenticate_password("").is_err() {
        return Some(Err(Locked::Password));
    }
    let entries = head.reference_table.entries.iter();
    let own = entries.filter(|(_, entry)| matches!(entry, XrefEntry::Normal { .. }));
    let own = own.map(|(number, _)| *number).collect();
    let opened = EncryptionState::decode(&head, b"").map(|state| Opened {
        bytes,
        key: Key {
            state,
            own,
            late: Vec::new(),
        },
    });
    Some(opened.map_err(|_| Locked::Password))
}

/// Why an encrypted file cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locked {
    /// It needs a password, or a cipher that the library does not know.
    Password,
    /// It does not say how it is encrypted.
    Unreadable,
}

impl Opened {
    /// Reads the file by `read`, which gets the bytes and must call [`decrypt`] in its filter.
    pub(super) fn read<E>(self, read: impl FnOnce(&[u8]) -> Result<Document, E>) -> Result<Document, E> {
        // The library may panic. The next file must not be decrypted with this key.
        let _forgotten = Forgotten;
        KEY.set(Some(self.key));
        let document = read(&self.bytes);
        let key = KEY.take();
        let mut document = document?;
        for id in key.iter().flat_map(|key| &key.late) {
            if let Some(object) = document.objects.get_mut(id) {
                decrypted(key.as_ref(), *id, object);
            }
        }
        let hidden: Vec<Vec<u8>> = document.trailer.iter().map(|(name, _)| name.clone()).collect();
        for name in hidden.iter().filter(|name| is_hidden(name)) {
            document.trailer.remove(name);
        }
        Ok(document)
    }
}

/// Decrypts an object, if the file that is being read is encrypted.
pub(super) fn decrypt(id: ObjectId, object: &mut Object) {
    KEY.with_borrow_mut(|key| {
        let Some(opened) = key else { return };
        if !opened.own.contains(&id.0) {
            return;
        }
        if object.as_stream().is_ok_and(|stream| stream.content.is_empty()) {
            opened.late.push(id);
        } else {
            decrypted(key.as_ref(), id, object);
        }
    });
}

fn decrypted(key: Option<&Key>, id: ObjectId, object: &mut Object) {
    if let Some(key) = key {
        // Whatever of a damaged object can be decrypted is still of use.
        let _ = decrypt_object(&key.state, id, object);
    }
}

/// Keeps only objects that say how a file is encrypted.
fn only_key(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let is_key = object
        .as_dict()
        .is_ok_and(|entries| entries.has(b"O") && entries.has(b"U"));
    // The library takes the returned object only for objects that were in a stream.
    is_key.then_some((id, Object::Null))
}

/// Returns the file with other names in place of those that could mark it as encrypted. They are as long, so everything
/// stays at its place. `None` if there are no such names.
fn without_mark(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut other: Option<Vec<u8>> = None;
    for place in memchr_iter(b'/', bytes) {
        if let Some(length) = mark_at(&bytes[place + 1..]) {
            let other = other.get_or_insert_with(|| bytes.to_vec());
            other[place + 1..][..length].fill(HIDDEN);
        }
    }
    other
}

/// The byte of which hidden names consist.
const HIDDEN: u8 = b'_';

fn is_hidden(name: &[u8]) -> bool {
    name.len() >= MARK.len() && name.iter().all(|byte| *byte == HIDDEN)
}

/// Returns the length of the name [`MARK`] at the beginning of `bytes`. Its letters may be written as numbers (`#45`).
fn mark_at(bytes: &[u8]) -> Option<usize> {
    let mut length = 0;
    for letter in MARK {
        let rest = &bytes[length..];
        length += match rest {
            [first, ..] if first == letter => 1,
            [b'#', digits @ ..] => {
                let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
                (u8::from_str_radix(digits, 16).ok()? == *letter).then_some(3)?
            }
            _ => return None,
        };
    }
    let ends = bytes.get(length).is_none_or(|next| !next.is_ascii_alphanumeric());
    ends.then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key used to stay after a panic, and garbled the next file.
    #[test]
    fn a_panic_leaves_no_key() {
        let mut document = Document::with_version("1.5");
        let pages = document.add_object(lopdf::dictionary! {"Type" => "Pages", "Kids" => vec![], "Count" => 0});
        let root = document.add_object(lopdf::dictionary! {"Type" => "Catalog", "Pages" => pages});
        document.trailer.set("Root", root);
        let id = Object::string_literal("0123456789abcdef");
        document.trailer.set("ID", vec![id.clone(), id]);
        let version = lopdf::EncryptionVersion::V2 {
            document: &document,
            owner_password: "owner",
            user_password: "",
            key_length: 128,
            permissions: lopdf::Permissions::PRINTABLE,
        };
        let state = EncryptionState::try_from(version).unwrap();
        document.encrypt(&state).unwrap();
        let mut bytes = Vec::new();
        document.save_to(&mut bytes).unwrap();
        let opened = open(&bytes, &LoadOptions::default()).unwrap().ok().unwrap();
        let read = || opened.read(|_| -> Result<Document, ()> { panic!("damaged") });
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).is_err());
        assert!(KEY.with_borrow(Option::is_none));
    }

    #[test]
    fn only_the_mark_gets_another_name() {
        let hidden = |text: &str| without_mark(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(hidden("<</Encrypt 7 0 R>>").unwrap(), "<</_______ 7 0 R>>");
        assert_eq!(
            hidden("<</EncryptMetadata true/Encrypt<<>>>>").unwrap(),
            "<</EncryptMetadata true/_______<<>>>>"
        );
        assert_eq!(hidden("/#45ncryp#74 7").unwrap(), "/___________ 7");
        for text in ["", "/", "/Encryp", "/EncryptMetadata", "/#4", "/#zzncrypt", "Encrypt"] {
            assert_eq!(hidden(text), None, "{text}");
        }
        assert_eq!(hidden("/Encrypt").unwrap(), "/_______");
    }
}
