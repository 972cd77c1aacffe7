//! Runs the subcommands of `tabularium keys`, and has the code of `keys list` and `keys rotate`.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::super::data_store::open;
use super::copies;
use crate::cli::lake::lake_key::source;
use crate::cli::terminal::failure::Failure;
use crate::consent::{DiscardedKeys, KeyPurpose, Store};
use crate::lake::seal::{KEYS_FILE, KeyStore, Rotated};
use crate::lake::store::image::is_sealed;
use crate::lake::{KekSource, Lake, SealError};

/// List or rotate the keys that sign access tokens, health cards and receipts; rotate the key of a sealed lake;
/// copy the keys of its files
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(ListArgs),
    Rotate(RotateArgs),
    Copy(copies::CopyArgs),
    Copies(copies::CopiesArgs),
    Forget(copies::ForgetArgs),
}

/// List the keys that verify; the one that signs comes first
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// What the keys sign
    #[arg(long, value_enum, default_value_t = Signed::AccessToken)]
    of: Signed,
    /// Print the JSON Web Key Set
    #[arg(long)]
    json: bool,
}

/// Make a new signing key, or give a sealed lake another key
///
/// A running server signs with the new key within a second. Earlier keys of access tokens stay valid for verification,
/// and in /.well-known/jwks.json, until the last token that they signed has expired. Earlier keys of health cards and
/// receipts verify for ever; the service replaces these keys by itself after a year.
///
/// With --lake the keys of a sealed lake's files are wrapped by a new key-encryption key; the files do not change. If
/// the rotation is interrupted, give the same command again. A server with the earlier key fails at files whose keys it
/// does not yet know. So, with servers running: rotate with --keep-earlier, restart the servers with the new key, and
/// rotate again without --keep-earlier. Registered copies of keys.sqlite are rotated, too; exit code 3 names those that
/// could not be written.
#[derive(Debug, clap::Args)]
struct RotateArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// What the new key signs
    #[arg(long, value_enum, default_value_t = Signed::AccessToken)]
    of: Signed,
    /// Give the sealed lake another key-encryption key
    #[arg(long, conflicts_with_all = ["of", "discard"])]
    lake: bool,
    /// File with the lake's new key; only its owner may be able to read it
    #[arg(long, requires = "lake", value_name = "FILE")]
    new_key_file: Option<PathBuf>,
    /// Command of the shell that prints the lake's new key
    #[arg(long, requires = "lake", value_name = "COMMAND")]
    new_key_command: Option<String>,
    /// Let the earlier key open the lake, too, until the next rotation without this option
    #[arg(long, requires = "lake")]
    keep_earlier: bool,
    /// Drop earlier keys that cannot be opened because TABULARIUM_KEY or service.key is lost. What they signed can no
    /// longer be verified
    #[arg(long)]
    discard: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The objects that a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Signed {
    AccessToken,
    HealthCard,
    Receipt,
}

impl Signed {
    /// Returns the purpose under which the store keeps the ES256 keys for these objects. `None` for access tokens,
    /// which RSA keys sign.
    fn purpose(self) -> Option<KeyPurpose> {
        match self {
            Signed::AccessToken => None,
            Signed::HealthCard => Some(KeyPurpose::HealthCard),
            Signed::Receipt => Some(KeyPurpose::Receipt),
        }
    }
}

/// Runs the subcommand.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    match arguments.command {
        Command::List(ListArgs { data, of, json }) => {
            let keys = key_set(&open(&data)?, of)?;
            if json {
                println!("{keys:#}");
                return Ok(());
            }
            for (at, kid) in names(&keys).into_iter().enumerate() {
                println!("{kid}  {}", if at == 0 { "signs" } else { "verifies" });
            }
            Ok(())
        }
        Command::Rotate(arguments) if arguments.lake => rotate_lake_key(arguments),
        Command::Copy(arguments) => copies::copy(arguments),
        Command::Copies(arguments) => copies::list(arguments),
        Command::Forget(arguments) => copies::forget(arguments),
        Command::Rotate(arguments) => rotate(&arguments.data, arguments.of, arguments.discard, arguments.json),
    }
}

/// Wraps the keys of a sealed lake's files with another key-encryption key, in `keys.sqlite` and in its registered
/// copies.
fn rotate_lake_key(arguments: RotateArgs) -> Result<(), Failure> {
    let options = ["--new-key-file", "--new-key-command"];
    let new = source(arguments.new_key_file, arguments.new_key_command, options)?;
    let new = new.ok_or_else(|| Failure::input("give the new key with --new-key-file or --new-key-command"))?;
    let has_keys = arguments.data.join(KEYS_FILE).exists();
    if !has_keys && !is_sealed(&arguments.data).map_err(Failure::from_lake)? {
        let lake = arguments.data.display();
        return Err(Failure::input(format!(
            "the lake at {lake} is not sealed, so it has no key; `tabularium seal` gives it one"
        )));
    }
    let (earlier, new) = (
        KekSource::default().load().map_err(of_keys)?,
        new.load().map_err(of_keys)?,
    );
    let rotated = KeyStore::rotate(&arguments.data, &earlier, &new, arguments.keep_earlier).map_err(of_keys)?;
    let left = KeyStore::rotate_copies(&arguments.data).map_err(of_keys)?;
    let Rotated { keys, accepts_earlier } = rotated;
    if arguments.json {
        println!("{:#}", json!({"keys": keys, "acceptsEarlier": accepts_earlier}));
    } else if accepts_earlier {
        println!("The new key opens the {keys} keys of the lake's files, and so does the earlier one.");
        println!("Start servers with the new key, then give this command without --keep-earlier.");
    } else {
        println!("The new key alone opens the {keys} keys of the lake's files.");
    }
    let left = left.into_iter().map(|left| {
        Failure::partial(format!(
            "the earlier key still opens a registered copy of keys.sqlite: {left}; give this command again, or `tabularium keys copy`"
        ))
    });
    Failure::all(left.collect())
}

/// Converts the error to a failure. Its exit code is 2 for a missing or wrong key, and 1 for other errors.
pub(super) fn of_keys(error: SealError) -> Failure {
    if error.is_of_input() {
        Failure::input(error.to_string())
    } else {
        Failure::other(error)
    }
}

/// Makes a new signing key. With `discard`, first discards the keys that cannot be opened. Prints the new key, the
/// discarded ones, and those that still verify.
fn rotate(data: &Path, of: Signed, discard: bool, as_json: bool) -> Result<(), Failure> {
    let keys = if discard {
        Lake::open(data).map_err(Failure::from_lake)?;
        Some(Store::discard_unreadable_keys(data).map_err(Failure::other)?)
    } else {
        None
    };
    let store = open(data)?;
    // If all keys for access tokens were discarded, `open` has made a new one. `is_new` then returns `true`. The new
    // key is not replaced, because it has signed nothing yet.
    let signs = names(&key_set(&store, Signed::AccessToken)?).into_iter().next();
    let is_new = |keys: &DiscardedKeys| signs.is_some_and(|kid| !keys.kept.contains(&kid));
    match of.purpose() {
        Some(purpose) => store.es256_keys().rotate(purpose).map_err(Failure::other)?,
        None if keys.as_ref().is_some_and(is_new) => {}
        None => store.signing_keys().rotate().map_err(Failure::other)?,
    }
    let discarded = keys.map(|keys| keys.discarded).unwrap_or_default();
    let kids = names(&key_set(&store, of)?);
    let (new, earlier) = kids
        .split_first()
        .ok_or_else(|| Failure::other("there is no signing key"))?;
    if as_json {
        let told: Value = json!({"kid": new, "verifying": earlier, "discarded": discarded});
        println!("{told:#}");
        return Ok(());
    }
    println!("{new} signs from now on.");
    if !discarded.is_empty() {
        println!(
            "Discarded; what they signed is good no longer: {}",
            discarded.join(", ")
        );
    } else if discard {
        println!("No key was discarded: all of them open.");
    }
    if !earlier.is_empty() {
        println!("Keys that verify what was signed before: {}", earlier.join(", "));
    }
    Ok(())
}

/// Returns the public keys of this kind as a JSON Web Key Set. The first one is the signing key.
fn key_set(store: &Store, of: Signed) -> Result<Value, Failure> {
    match of.purpose() {
        None => serde_json::to_value(store.signing_keys().jwks()).map_err(Failure::other),
        Some(purpose) => {
            let keys = store.es256_keys().all(purpose).map_err(Failure::other)?;
            let keys: Vec<Value> = keys.iter().map(|key| key.jwk()).collect();
            Ok(json!({"keys": keys}))
        }
    }
}

fn names(keys: &Value) -> Vec<String> {
    let keys = keys["keys"].as_array().into_iter().flatten();
    keys.filter_map(|key| key["kid"].as_str().map(str::to_owned)).collect()
}
