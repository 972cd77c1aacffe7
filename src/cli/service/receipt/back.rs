//! Finds files in a data folder that a receipt lists as replaced or removed. A file that came back may have another
//! name, so this compares the bytes of all files with the receipt's digests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Read, Result};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use serde_json::Value;

use crate::cli::terminal::failure::Failure;
use crate::parallel;
use crate::private::{Kind, OwnFolder};

const CHUNK: usize = 1 << 20;

/// Returns the paths, below the folder `data/`, of files and attachments that the receipt lists as replaced or removed,
/// and that are in the data folder again: under the listed path with any bytes, or under any path with the listed
/// bytes. Ignores listed paths that contain `..`. Follows no link below the data folder.
///
/// The digest of an attachment is that of its document, which is the beginning of its file. An encrypted attachment is
/// found only under its listed path.
pub(super) fn files_back(data: &Path, claims: &Value) -> std::result::Result<Vec<String>, Failure> {
    let listed = |name: &str| {
        claims[name]
            .as_array()
            .into_iter()
            .flatten()
            .cloned()
            .collect::<Vec<_>>()
    };
    let (files, attachments) = (listed("files"), listed("attachments"));
    let paths = files
        .iter()
        .chain(&attachments)
        .filter_map(|file| file["path"].as_str());
    let plain = paths.filter(|path| !path.split('/').any(|part| part == ".."));
    let mut back: BTreeSet<String> = plain
        .filter(|path| std::fs::symlink_metadata(data.join("data").join(path)).is_ok())
        .map(str::to_owned)
        .collect();
    let sum = |file: &Value| file["sha256"].as_str().filter(|sum| !sum.is_empty()).map(str::to_owned);
    let wanted = Wanted {
        files: files.iter().filter_map(sum).collect(),
        documents: attachments
            .iter()
            .filter_map(|file| Some((file["bytes"].as_u64()?, sum(file)?)))
            .fold(
                BTreeMap::new(),
                |mut all: BTreeMap<u64, BTreeSet<String>>, (bytes, sum)| {
                    all.entry(bytes).or_default().insert(sum);
                    all
                },
            ),
    };
    if wanted.files.is_empty() && wanted.documents.is_empty() {
        return Ok(back.into_iter().collect());
    }
    let failed =
        |path: &Path, error: std::io::Error| Failure::other(format!("cannot read {}: {error}", path.display()));
    let mut all = Vec::new();
    let root = OwnFolder::open(data).map_err(|error| failed(data, error))?;
    walk(&root, &mut all).map_err(|error| failed(data, error))?;
    let found = parallel::map(&all, parallel::processors(), |path| match wanted.is_in(path) {
        Ok(true) => Some(Ok(path)),
        Ok(false) => None,
        // Another process has just removed it.
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(Err(failed(path, error))),
    });
    for path in found.into_iter().flatten() {
        let path = path?.strip_prefix(data).unwrap_or(Path::new(""));
        let below = path.strip_prefix("data").unwrap_or(path);
        back.insert(below.to_string_lossy().into_owned());
    }
    Ok(back.into_iter().collect())
}

/// The digests of a receipt.
struct Wanted {
    /// The digests of whole files.
    files: BTreeSet<String>,
    /// The digests of documents, by the length of the document.
    documents: BTreeMap<u64, BTreeSet<String>>,
}

impl Wanted {
    /// Whether a file is one of the receipt's, or begins with a document of the receipt's.
    fn is_in(&self, path: &Path) -> Result<bool> {
        let mut file = crate::private::open(path)?;
        let mut context = Context::new(&SHA256);
        let mut read = 0;
        for (bytes, sums) in &self.documents {
            if !take(&mut file, &mut context, bytes - read)? {
                break;
            }
            read = *bytes;
            if *bytes > 0 && sums.contains(&digits(context.clone())) {
                return Ok(true);
            }
        }
        take(&mut file, &mut context, u64::MAX)?;
        Ok(self.files.contains(&digits(context)))
    }
}

/// Adds so many bytes to the digest. Returns `false` if the file ends before.
fn take(file: &mut File, context: &mut Context, mut bytes: u64) -> Result<bool> {
    let mut chunk = vec![0; CHUNK];
    while bytes > 0 {
        let most = usize::try_from(bytes).unwrap_or(CHUNK).min(CHUNK);
        match file.read(&mut chunk[..most]) {
            Ok(0) => return Ok(false),
            Ok(count) => {
                context.update(&chunk[..count]);
                bytes -= count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn digits(context: Context) -> String {
    let digest = context.finish();
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lists the regular files below a folder.
fn walk(folder: &OwnFolder, all: &mut Vec<PathBuf>) -> Result<()> {
    for (name, kind) in folder.entries()? {
        match kind {
            Kind::File => all.push(folder.path().join(name)),
            Kind::Folder => match folder.folder(&name) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                below => walk(&below?, all)?,
            },
            Kind::Link | Kind::Other => {}
        }
    }
    Ok(())
}
