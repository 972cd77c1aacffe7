//! The hashes by which a ledger lists the erased rows of a lake.

use aws_lc_rs::hmac;
use rustc_hash::FxHashSet;

use super::super::super::owners::owner::OwnerKey;
use super::super::super::owners::scope::Mode;
use super::super::Erasure;

/// The ledger keeps only this many bytes of each hash: the first ones.
const HASH_BYTES: usize = 16;

/// The rows of one owner that an erasure covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whose<'a> {
    /// Imported rows that are filed under this Patient.
    Patient(&'a str),
    /// Rows that the syncs of this authorization stored.
    Authorization(&'a str),
}

/// Returns the name of a lake in ledgers and backups. It reveals nothing about the owner key.
pub(crate) fn lake_id(key: OwnerKey) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key.bytes());
    hexadecimal(&hmac::sign(&key, b"lake").as_ref()[..HASH_BYTES])
}

/// The hashes of everything that was erased from a lake after the erasure whose number was given to
/// [`Ledger::since`](super::Ledger::since).
#[derive(Debug)]
pub struct ErasedSince {
    pub(super) keyer: Keyer,
    pub(super) rows: FxHashSet<String>,
    pub(super) newest: u64,
}

impl ErasedSince {
    /// Whether nothing was erased after that erasure.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of the newest erasure that the ledger has of the lake. If there is none, returns the number
    /// that was given to `Ledger::since`.
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// Whether the rows of this owner that belong to `whose` were erased.
    pub fn has(&self, mode: Mode, application: &str, owner: i64, whose: Whose<'_>) -> bool {
        !self.is_empty() && self.rows.contains(&self.keyer.hash(mode, application, owner, whose))
    }
}

/// Makes the hashes by which a ledger lists the erased rows of a lake.
#[derive(Debug)]
pub(super) struct Keyer {
    key: hmac::Key,
    /// The name by which the ledger knows the lake. See [`lake_id`].
    pub(super) lake: String,
}

impl Keyer {
    pub(super) fn new(key: OwnerKey, salt: &[u8]) -> Keyer {
        let bytes = [key.bytes().as_slice(), salt].concat();
        Keyer {
            key: hmac::Key::new(hmac::HMAC_SHA256, &bytes),
            lake: lake_id(key),
        }
    }

    fn hash(&self, mode: Mode, application: &str, owner: i64, whose: Whose<'_>) -> String {
        let (kind, id) = match whose {
            Whose::Patient(id) => ("patient", id),
            Whose::Authorization(id) => ("authorization", id),
        };
        let mut context = hmac::Context::with_key(&self.key);
        for text in [mode.schema(), application, kind, id] {
            context.update(&(text.len() as u64).to_le_bytes());
            context.update(text.as_bytes());
        }
        context.update(&owner.to_le_bytes());
        hexadecimal(&context.sign().as_ref()[..HASH_BYTES])
    }

    /// Returns the hashes of the rows that an erasure covers.
    pub(super) fn rows(&self, erasure: &Erasure) -> Vec<String> {
        let scope = &erasure.scope;
        let mut rows = Vec::new();
        if let Some(patient) = scope.patient.as_deref() {
            for owner in &patient.owners {
                let patients = patient.patients.iter().map(|id| Whose::Patient(id));
                let authorizations = patient.authorizations.iter().map(|id| Whose::Authorization(id));
                let whose = patients.chain(authorizations);
                rows.extend(whose.map(|whose| self.hash(scope.mode, &scope.application, *owner, whose)));
            }
        }
        rows
    }
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
