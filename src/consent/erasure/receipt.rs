//! Receipts of erasures: their content, their signature and its verification. A receipt names no person. It has a
//! salted hash of each Patient id, so only someone who knows the id can see whom it is about.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest as hash};
use chrono::{DateTime, SecondsFormat};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::access::es256::{KeyPurpose, PublicKey};
use super::super::error::Error;
use super::super::store::Store;
use super::digest::hexadecimal;
use super::erasure_jobs::ErasureJobs;
use super::job::ErasureJob;
use crate::lake::{ErasedIds, Evidence, Lake, LakeState};

/// How often the service tries to empty the store's log and pauses after a failure. One last attempt follows.
const EMPTYING: u32 = 40;
/// The pause after a failed attempt to empty the store's log.
const PAUSE: Duration = Duration::from_millis(25);

/// The JOSE type (`typ`) of a receipt.
pub const RECEIPT_TYPE: &str = "erasure-receipt+jwt";

/// The result of a search for one id in the service's store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreSearched {
    /// The number of texts and blobs that were searched.
    pub values: u64,
    /// How many of the searched values contain the id, by table and column.
    pub found: BTreeMap<String, u64>,
}

/// The evidence of one erasure request. The store keeps it until the receipt is signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The evidence from the lake.
    pub lake: Evidence,
    /// The result of the search in the service's store.
    pub store: StoreSearched,
}

impl Proof {
    /// Merges this evidence with that of a later attempt at the same request. The later search in the service's store
    /// replaces the earlier one.
    pub(in crate::consent) fn again(self, newer: Proof) -> Proof {
        Proof {
            lake: self.lake.again(newer.lake),
            store: newer.store,
        }
    }

    /// Merges the evidence of two requests of the same job.
    fn and(self, other: Proof) -> Proof {
        let mut store = self.store;
        store.values = store.values.max(other.store.values);
        for (place, count) in other.store.found {
            *store.found.entry(place).or_default() += count;
        }
        Proof {
            lake: self.lake.and(other.lake),
            store,
        }
    }
}

/// Why a string is not a valid receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptFault {
    /// The string is not a JWS with a `kid`.
    #[error("this is no receipt: it is not three parts of base64url between dots, with a header that names a key")]
    Form,
    /// The signed JWS is of another type.
    #[error("this is signed, but it is no receipt of an erasure")]
    Type,
    /// None of the keys has the `kid` of the receipt.
    #[error(
        "none of the keys is the one that the receipt names: it was signed elsewhere, or the keys are not those of its service"
    )]
    Key,
    /// The signature does not verify.
    #[error("the signature is not good: the receipt was changed after it was signed")]
    Signature,
}

/// Verifies a receipt with the key that its header names, which must be one of `keys`. Returns its claims.
pub fn verify_receipt(receipt: &str, keys: &[PublicKey]) -> Result<Value, ReceiptFault> {
    let receipt = receipt.trim();
    let header = jsonwebtoken::decode_header(receipt).map_err(|_| ReceiptFault::Form)?;
    let kid = header.kid.ok_or(ReceiptFault::Form)?;
    if header.typ.as_deref() != Some(RECEIPT_TYPE) {
        return Err(ReceiptFault::Type);
    }
    let mut named = keys.iter().filter(|key| key.kid == kid).peekable();
    if named.peek().is_none() {
        return Err(ReceiptFault::Key);
    }
    let (_, payload) = named
        .find_map(|key| key.verify(receipt))
        .ok_or(ReceiptFault::Signature)?;
    serde_json::from_slice(&payload).map_err(|_| ReceiptFault::Form)
}

/// Whether a receipt is about the records of this Patient.
pub fn is_about(claims: &Value, patient: &str) -> bool {
    let subject = &claims["subject"];
    let salt = subject["salt"].as_str().unwrap_or_default();
    let hashes = subject["patients"].as_array().into_iter().flatten();
    let own = salted(salt, patient);
    hashes.filter_map(Value::as_str).any(|hash| hash == own)
}

impl ErasureJobs<'_> {
    /// Returns the public keys that verify receipts, as a JSON Web Key Set.
    pub fn receipt_jwks(&self) -> Result<Value, Error> {
        let keys = self.store.es256_keys().all(KeyPurpose::Receipt)?;
        Ok(json!({"keys": keys.iter().map(PublicKey::jwk).collect::<Vec<_>>()}))
    }

    /// Signs the receipt of a job for the records of these Patients.
    pub fn sign_receipt(&self, job: &ErasureJob, patients: &[String], proof: &Proof) -> Result<String, Error> {
        let issuer = self.store.settings().base_url()?;
        let claims = claims(job, patients, proof, issuer.as_deref(), self.store.clock().now());
        let header = Map::from_iter([("typ".to_owned(), json!(RECEIPT_TYPE))]);
        self.store
            .es256_keys()
            .sign(KeyPurpose::Receipt, header, claims.to_string().as_bytes())
    }

    /// Signs and stores the receipts of all jobs whose rows are erased. Returns their number. Signs none if another
    /// process reads the store, because then the write-ahead log may still contain erased texts. The next call tries
    /// again.
    pub fn sign_receipts(&self, lake: &Lake) -> Result<usize, Error> {
        let jobs = self.unreceipted()?;
        if !jobs.is_empty() && !self.log_is_emptied()? {
            tracing::debug!("the store's log could not be emptied; receipts wait for it");
            return Ok(0);
        }
        for job in &jobs {
            let mut proof = self.proof(job)?;
            if proof.lake.after == LakeState::default() {
                let snapshot = lake.snapshot();
                proof.lake.after = LakeState {
                    snapshot: snapshot.id,
                    erasures: snapshot.erasures(),
                };
            }
            let consent = job
                .consent
                .as_deref()
                .map(|id| self.store.consents().get(id))
                .transpose()?;
            let patients = consent.flatten().map(|consent| consent.patients).unwrap_or_default();
            let receipt = self.sign_receipt(job, &patients, &proof)?;
            self.keep_receipt(job, &receipt)?;
        }
        Ok(jobs.len())
    }

    /// Empties the store's log. Waits up to one second for readers. Returns whether it succeeded.
    fn log_is_emptied(&self) -> Result<bool, Error> {
        for _ in 0..EMPTYING {
            if self.store.empty_log()? {
                return Ok(true);
            }
            std::thread::sleep(PAUSE);
        }
        self.store.empty_log()
    }

    /// Returns the merged evidence of all requests of a job.
    fn proof(&self, job: &ErasureJob) -> Result<Proof, Error> {
        self.store.read(|connection| {
            let sql = "SELECT evidence FROM erasure WHERE job = ?1 AND evidence IS NOT NULL ORDER BY id";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(params![job.id], |row| row.get::<_, String>(0))?;
            let texts = rows.collect::<Result<Vec<_>, _>>()?;
            let proofs = texts
                .iter()
                .map(|text| serde_json::from_str(text).map_err(|_| Error::Lost("evidence")));
            let proofs: Vec<Proof> = proofs.collect::<Result<_, _>>()?;
            Ok(proofs.into_iter().reduce(Proof::and).unwrap_or_default())
        })
    }
}

impl Store {
    /// Searches all texts and blobs of the store for the ids of erasures. `numbers` are the numbers of these erasures
    /// in `ids`. Returns one result for each of them, in the same order. Skips the table `erasure`, because it has the
    /// Patient's id until the request is finished.
    pub fn search_ids(&self, ids: &ErasedIds, numbers: &[u32]) -> Result<Vec<StoreSearched>, Error> {
        let path = self.folder().join(super::super::store::FILE);
        // Use a connection of its own, so that a long search does not block other users of the store.
        search(&path, ids, numbers).map_err(|error| error.at(&path))
    }
}

fn search(path: &Path, ids: &ErasedIds, numbers: &[u32]) -> Result<Vec<StoreSearched>, Error> {
    let only_reading = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, only_reading)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    let mut tables = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'erasure'")?;
    let tables = tables
        .query_map([], |row| row.get(0))?
        .collect::<Result<Vec<String>, _>>()?;
    let (mut values, mut found) = (0, vec![BTreeMap::new(); numbers.len()]);
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{table}\""))?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for (at, name) in names.iter().enumerate() {
                let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(at)? else {
                    continue;
                };
                values += 1;
                for whose in ids.in_cell(name, &String::from_utf8_lossy(bytes)) {
                    for (_, found) in numbers.iter().zip(&mut found).filter(|(number, _)| **number == whose) {
                        *found.entry(format!("{table}.{name}")).or_default() += 1;
                    }
                }
            }
        }
    }
    Ok(found.into_iter().map(|found| StoreSearched { values, found }).collect())
}

/// Makes the claims of a receipt.
fn claims(job: &ErasureJob, patients: &[String], proof: &Proof, issuer: Option<&str>, now: i64) -> Value {
    let salt = Uuid::new_v4().simple().to_string();
    let hashes: Vec<String> = patients.iter().map(|id| salted(&salt, id)).collect();
    let Proof { lake, store } = proof;
    let mut resources: BTreeMap<&str, u64> = BTreeMap::new();
    for file in lake.files.iter().filter(|file| file.resources > 0) {
        *resources.entry(&file.resource_type).or_default() += file.resources;
    }
    let replaced = || lake.files.iter().filter_map(|file| file.replaced_by.as_ref());
    let mut subject = json!({"salt": salt, "patients": hashes});
    if let Some(consent) = &job.consent {
        subject["consent"] = salted(&salt, consent).into();
    }
    let mut claims = json!({
        "jti": job.id,
        "iat": now,
        "time": time(now),
        "asked": {
            "by": job.actor.name(),
            "how": job.cause.name(),
            "application": job.application,
            "mode": job.mode.schema(),
            "time": time(job.asked_at),
        },
        "subject": subject,
        "snapshots": {"before": lake.before.unwrap_or(lake.after), "after": lake.after},
        "rows": lake.rows(),
        "resources": resources,
        "files": lake.files,
        "attachments": lake.attachments,
        "search": {
            "ids": lake.ids,
            "files": {
                "values": replaced().map(|file| file.values).sum::<u64>(),
                "found": replaced().map(|file| file.found).sum::<u64>(),
            },
            "catalog": lake.catalog,
            "attachments": {"files": lake.attachment_files.values, "found": lake.attachment_files.found},
            "service_store": {
                "values": store.values,
                "found": store.found.values().sum::<u64>(),
                "where": store.found,
            },
        },
    });
    if let Some(issuer) = issuer {
        claims["iss"] = format!("{}/receipts", issuer.trim_end_matches('/')).into();
    }
    if let Some(request) = &job.request {
        claims["asked"]["request"] = request.as_str().into();
    }
    claims
}

/// Returns the SHA-256 of the salt followed by the id, in hexadecimal digits.
fn salted(salt: &str, id: &str) -> String {
    hexadecimal(hash(&SHA256, format!("{salt}{id}").as_bytes()).as_ref())
}

fn time(seconds: i64) -> String {
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::super::job::ErasureCause;
    use super::*;
    use crate::consent::clock::Clock;
    use crate::consent::log::audit::Actor;
    use crate::lake::Mode;

    fn signed() -> (tempfile::TempDir, Store, String) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), Clock::at(1_000)).unwrap();
        let job = ErasureJob {
            id: "j".to_owned(),
            consent: None,
            application: "local".to_owned(),
            mode: Mode::Live,
            cause: ErasureCause::Command,
            actor: Actor::Operator,
            request: None,
            asked_at: 900,
            done_at: None,
            receipt: None,
        };
        let receipt = store
            .erasure_jobs()
            .sign_receipt(&job, &["ann".to_owned()], &Proof::default())
            .unwrap();
        (folder, store, receipt)
    }

    #[test]
    fn a_receipt_verifies_and_names_the_person_by_a_hash_only() {
        let (_folder, store, receipt) = signed();
        let keys = store.es256_keys().all(KeyPurpose::Receipt).unwrap();
        let claims = verify_receipt(&format!("{receipt}\n"), &keys).unwrap();
        assert_eq!(claims["asked"]["how"], "tabularium erase");
        assert_eq!(claims["time"], "1970-01-01T00:16:40Z");
        assert!(is_about(&claims, "ann") && !is_about(&claims, "anna"));
        assert!(!claims.to_string().contains("ann"));
    }

    #[test]
    fn what_is_not_a_receipt_is_told_apart() {
        let (_folder, store, receipt) = signed();
        let keys = store.es256_keys().all(KeyPurpose::Receipt).unwrap();
        let (_other_folder, other, _) = signed();
        let others = other.es256_keys().all(KeyPurpose::Receipt).unwrap();
        assert_eq!(verify_receipt("nothing", &keys), Err(ReceiptFault::Form));
        assert_eq!(verify_receipt(&receipt, &others), Err(ReceiptFault::Key));
        let plain = store.es256_keys().sign(KeyPurpose::Receipt, Map::new(), b"{}").unwrap();
        assert_eq!(verify_receipt(&plain, &keys), Err(ReceiptFault::Type));
        let (head, rest) = receipt.split_once('.').unwrap();
        let (payload, signature) = rest.split_once('.').unwrap();
        let changed = format!("{head}.{}A{}.{signature}", &payload[..9], &payload[10..]);
        assert_eq!(verify_receipt(&changed, &keys), Err(ReceiptFault::Signature));
    }
}
