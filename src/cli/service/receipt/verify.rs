//! `tabularium receipt verify`: verifies a receipt, and prints what it says.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::back::files_back;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::input::reason;
use crate::consent::{Clock, KeyPurpose, PublicKey, ReceiptFault, Store, is_about, receipt_digest, verify_receipt};

/// The maximum number of bytes that are read of a receipt or of a key set. A receipt of a million files is smaller.
const LONGEST: u64 = 1 << 30;

/// Check the signature of a receipt, and print what it says
///
/// The keys come from a data folder, or from a JSON Web Key Set, which services publish at
/// /receipts/.well-known/jwks.json. With --data the command also reads all files of the folder, and checks whether a
/// replaced file is back, under any name.
///
/// Exit codes: 0 the receipt is good and the search found nothing; 3 it is good, but says that something was found, or
/// a replaced file is back; 1 it is not good: it was changed, or signed by another key; 2 the file or the keys cannot
/// be read, or are of another kind.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("keys").required(true).args(["data", "jwks"]))]
pub(super) struct Args {
    /// The receipt, a file; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The data folder whose service signed it
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The published keys, a file
    #[arg(long, value_name = "FILE")]
    jwks: Option<PathBuf>,
    /// Also say whether it is about this Patient
    #[arg(long, value_name = "ID")]
    patient: Option<String>,
    /// Print what the receipt says as one JSON object
    #[arg(long)]
    json: bool,
}

/// Verifies the receipt and prints what it says. Fails if the receipt is not good or not about `--patient`, if it says
/// that an erased id was still found, or if a replaced file is back.
pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    let receipt = text_of(&arguments.file)?;
    let keys = match (&arguments.data, &arguments.jwks) {
        (Some(data), _) => keys_of_store(data)?,
        (None, Some(file)) => keys_of_set(file)?,
        (None, None) => Vec::new(),
    };
    let claims = verify_receipt(&receipt, &keys).map_err(|fault| match fault {
        ReceiptFault::Form | ReceiptFault::Type => Failure::input(fault.to_string()),
        ReceiptFault::Key | ReceiptFault::Signature => Failure::other(fault),
    })?;
    if arguments.json {
        println!("{claims:#}");
    } else {
        print!("{}", said(&claims, &receipt));
    }
    if let Some(patient) = &arguments.patient {
        if !is_about(&claims, patient) {
            return Err(Failure::partial(format!(
                "the receipt is good, but it is not about Patient/{patient}"
            )));
        } else if !arguments.json {
            println!("It is about Patient/{patient}.");
        }
    }
    let back = arguments
        .data
        .as_deref()
        .map(|data| files_back(data, &claims))
        .transpose()?
        .unwrap_or_default();
    let found: u64 = ["files", "catalog", "attachments"]
        .iter()
        .map(|part| count(&claims["search"][part]["found"]))
        .sum();
    let (_, others) = places(&claims);
    let found = found + others.iter().map(|(_, count)| count).sum::<u64>();
    match (back.as_slice(), found) {
        ([], 0) => Ok(()),
        ([], found) => Err(Failure::partial(format!(
            "the receipt is good, and says that {found} values of what stays still had an id of what was erased"
        ))),
        (back, _) => Err(Failure::partial(format!(
            "the receipt is good, but files that were replaced are back: {}",
            back.join(", ")
        ))),
    }
}

/// Formats the contents of the receipt as sentences.
fn said(claims: &Value, receipt: &str) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let (asked, search) = (&claims["asked"], &claims["search"]);
    let files = claims["files"].as_array().map_or(0, Vec::len);
    let rewritten = claims["files"].as_array().into_iter().flatten();
    let rewritten = rewritten.filter(|file| !file["replaced_by"].is_null()).count();
    let mut out = String::new();
    let mut line = |sentence: String| {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "{sentence}");
    };
    line("The signature is good.".to_owned());
    line(format!(
        "Erasure {}, {}.",
        text(&claims["jti"]),
        receipt_digest(receipt)
    ));
    line(format!(
        "Asked by the {} of {} ({} records) through {} at {}; signed at {}.",
        text(&asked["by"]),
        text(&asked["application"]),
        text(&asked["mode"]),
        text(&asked["how"]),
        text(&asked["time"]),
        text(&claims["time"]),
    ));
    line(format!(
        "{} rows went, from {files} files: {rewritten} rewritten, {} removed; and {} attachments.",
        count(&claims["rows"]),
        files - rewritten,
        claims["attachments"].as_array().map_or(0, Vec::len),
    ));
    line(format!(
        "A search for {} ids found {} in {} values of the rewritten files, {} in {} values of the catalog, {} files of attachments.",
        count(&search["ids"]),
        count(&search["files"]["found"]),
        count(&search["files"]["values"]),
        count(&search["catalog"]["found"]),
        count(&search["catalog"]["values"]),
        count(&search["attachments"]["found"]),
    ));
    let named = |places: &[(&str, u64)]| {
        let named = places.iter().map(|(place, count)| format!("{place} ({count})"));
        named.collect::<Vec<_>>().join(", ")
    };
    let (records, others) = places(claims);
    if others.is_empty() {
        line(format!(
            "It found none in {} {}values of the service's store.",
            count(&search["service_store"]["values"]),
            if records.is_empty() { "" } else { "other " },
        ));
    } else {
        line(format!("It found ids in the service's store: {}.", named(&others)));
    }
    if !records.is_empty() {
        line(format!(
            "The service's store names the Patient's id where it records the consent: {}.",
            named(&records)
        ));
    }
    out
}

/// The columns of the service store that record a consent. An erasure does not remove the Patient's id from them, so an
/// id that was found there is no fault.
const RECORDS: [&str; 2] = ["consent_patient.patient", "patient_authorization.patient"];

/// Columns of the service store, each with the number of ids that were found in it.
type Counts<'c> = Vec<(&'c str, u64)>;

/// Returns the columns of the service store in which an erased id was found. The first list has the columns of
/// `RECORDS`, the second list has all others.
fn places(claims: &Value) -> (Counts<'_>, Counts<'_>) {
    let found = claims["search"]["service_store"]["where"].as_object();
    let found = found.into_iter().flatten();
    let counted = found.map(|(place, found)| (place.as_str(), count(found)));
    counted.partition(|(place, _)| RECORDS.contains(place))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(LONGEST).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text))
    };
    read.map_err(|error| Failure::input(format!("cannot read {}: {}", path.display(), reason(&error))))?;
    Ok(text)
}

/// Reads the keys for receipts from the store of a data folder. Fails if there is no store.
fn keys_of_store(data: &Path) -> Result<Vec<PublicKey>, Failure> {
    let store = Store::open_existing(data, Clock::System).map_err(Failure::other)?;
    let Some(store) = store else {
        return Err(Failure::input(format!(
            "{} has no service.sqlite with keys",
            data.display()
        )));
    };
    store.es256_keys().all(KeyPurpose::Receipt).map_err(Failure::other)
}

fn keys_of_set(path: &Path) -> Result<Vec<PublicKey>, Failure> {
    let set: Option<Value> = serde_json::from_str(&text_of(path)?).ok();
    let keys = set.as_ref().and_then(|set| set["keys"].as_array());
    let Some(keys) = keys else {
        return Err(Failure::input(format!("{} is no JSON Web Key Set", path.display())));
    };
    Ok(keys.iter().filter_map(PublicKey::from_jwk).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_of_the_consents_record_are_told_from_others() {
        let receipt = |found: Value| json!({"search": {"service_store": {"values": 9, "where": found}}});
        let expected = receipt(json!({"consent_patient.patient": 1, "patient_authorization.patient": 2}));
        let (records, others) = places(&expected);
        assert_eq!((records.len(), others.len()), (2, 0));
        let told = said(&expected, "");
        assert!(told.contains("It found none in 9 other values"), "{told}");
        assert!(
            told.contains("where it records the consent: consent_patient.patient (1), "),
            "{told}"
        );
        let more = receipt(json!({"audit.detail": 3}));
        assert_eq!(places(&more).1, [("audit.detail", 3)]);
        let told = said(&more, "");
        assert!(
            told.contains("It found ids in the service's store: audit.detail (3)."),
            "{told}"
        );
        assert!(!told.contains("records the consent"), "{told}");
    }
}
