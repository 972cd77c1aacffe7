//! The kind of lakes that tests create: open ones, or sealed ones in a process that `sealed::kinds` has started. Also
//! reads a lake's files with the Parquet library alone, independently of the program.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arrow::array::AsArray;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::encryption::decrypt::{FileDecryptionProperties, KeyRetriever};
use parquet::errors::{ParquetError, Result};
use tabularium::lake::seal::KeyStore;
use tabularium::lake::{KekSource, KeyId, Keys, Lake, LakeOptions, deletes};

/// `1` if tests create sealed lakes.
pub(crate) const SEALED: &str = "TABULARIUM_TEST_SEALED";
/// A key-encryption key for them, in the variable that the program reads.
pub(crate) const KEK: (&str, &str) = (
    "TABULARIUM_LAKE_KEY",
    "6f1d7f0f5b6c4d3e2a190817263544536271809fa0b1c2d3e4f5061728394a5b",
);

/// Whether tests of this process create sealed lakes.
pub(crate) fn is_sealed() -> bool {
    let is_sealed = std::env::var_os(SEALED).is_some_and(|set| set == "1");
    assert!(
        !is_sealed || std::env::var(KEK.0).is_ok_and(|key| key == KEK.1),
        "tests over sealed lakes need {}={}",
        KEK.0,
        KEK.1
    );
    is_sealed
}

/// The options for a lake of the tested kind.
pub(crate) fn options() -> LakeOptions {
    LakeOptions {
        sealed: is_sealed().then_some(true),
        ..LakeOptions::default()
    }
}

/// The same key-encryption key, in a file outside of all lakes.
pub(crate) fn kek() -> KekSource {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let made = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (new, file) = (folder.join(format!("kek-{}", std::process::id())), folder.join("kek"));
        std::fs::write(&new, KEK.1).unwrap();
        std::fs::set_permissions(&new, PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::rename(&new, &file).unwrap();
        file
    };
    KekSource::File(FILE.get_or_init(made).clone())
}

/// Opens the lake in a folder, or creates one of the tested kind.
pub(crate) fn open_or_create(dir: impl AsRef<Path>) -> Lake {
    Lake::open_or_create_with(dir, options()).unwrap()
}

/// The arguments of `tabularium import` for a lake of the tested kind.
pub(crate) fn flags() -> &'static [&'static str] {
    if is_sealed() { &["--sealed"] } else { &[] }
}

/// The keys of the lake that contains a data file.
pub(crate) fn keys_of(file: &Path) -> Keys {
    let folder = file.ancestors().find(|folder| folder.join("keys.sqlite").exists());
    folder.map_or_else(Keys::none, |folder| {
        let kek = kek().load().unwrap();
        Keys::of(KeyStore::open(folder, kek).unwrap())
    })
}

/// The keys of a lake that open no file. Files of all snapshots count, and those that expired since the last erasure.
pub(crate) fn stray_keys(data: &Path, keys: &Keys) -> Vec<KeyId> {
    if !keys.seals() {
        return Vec::new();
    }
    let catalog = rusqlite::Connection::open(data.join("catalog.sqlite")).unwrap();
    let sql = "SELECT encryption_key FROM ducklake_data_file WHERE encryption_key IS NOT NULL
         UNION SELECT encryption_key FROM ducklake_delete_file WHERE encryption_key IS NOT NULL
         UNION SELECT key_id FROM tabularium_expired_key";
    let mut named = catalog.prepare(sql).unwrap();
    let named = named.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let named: Vec<KeyId> = named.map(|id| id.unwrap().parse().unwrap()).collect();
    let mut stray = keys.ids().unwrap();
    stray.retain(|id| !named.contains(id));
    stray
}

/// The deleted positions of a delete file of a lake.
pub(crate) fn deleted(path: &Path) -> Vec<u64> {
    deletes::read(path, &keys_of(path)).unwrap()
}

/// A reader of a lake's Parquet file that is independent of the program, except for the file's key.
pub(crate) fn parquet(path: &Path) -> ParquetRecordBatchReaderBuilder<File> {
    try_parquet(path).unwrap()
}

/// The same for a file that may not be Parquet.
pub(crate) fn try_parquet(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    let options = ArrowReaderOptions::new();
    let keys = keys_of(path);
    let options = if keys.seals() {
        let retriever = Arc::new(Retriever(keys));
        options.with_file_decryption_properties(FileDecryptionProperties::with_key_retriever(retriever).build()?)
    } else {
        options
    };
    ParquetRecordBatchReaderBuilder::try_new_with_options(File::open(path).unwrap(), options)
}

/// The texts of the resources in a data file if one of these keys opens it, whichever key the file names. Delete files
/// and other files have none.
pub(crate) fn opened_by_any(path: &Path, secrets: &[Vec<u8>]) -> Option<Vec<String>> {
    let reader = secrets.iter().find_map(|secret| {
        let properties = FileDecryptionProperties::builder(secret.clone()).build().unwrap();
        let options = ArrowReaderOptions::new().with_file_decryption_properties(properties);
        ParquetRecordBatchReaderBuilder::try_new_with_options(File::open(path).unwrap(), options).ok()
    })?;
    let mut texts = Vec::new();
    for batch in reader.build().unwrap() {
        if let Some(column) = batch.unwrap().column_by_name("resource") {
            texts.extend(column.as_string::<i32>().iter().flatten().map(str::to_owned));
        }
    }
    Some(texts)
}

/// Gives the Parquet library the key that a file names.
struct Retriever(Keys);

impl KeyRetriever for Retriever {
    fn retrieve_key(&self, metadata: &[u8]) -> Result<Vec<u8>> {
        let id = std::str::from_utf8(metadata).ok().and_then(|text| text.parse().ok());
        let id = id.ok_or_else(|| ParquetError::General("no id of a key".to_owned()))?;
        let key = self
            .0
            .key(&id)
            .map_err(|error| ParquetError::External(Box::new(error)))?;
        Ok(key.secret().to_vec())
    }
}
