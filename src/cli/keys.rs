//! `tabularium keys`: the keys that sign access tokens.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::{Value, json};

use super::data_store::open;
use super::failure::Failure;
use crate::consent::{DiscardedKeys, Store};
use crate::lake::Lake;

/// List or rotate the keys that sign access tokens
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(ListArgs),
    Rotate(RotateArgs),
}

/// List the names of the keys that verify tokens, the one that signs first
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print the JSON Web Key Set
    #[arg(long)]
    json: bool,
}

/// Make a new signing key
///
/// A running server signs with it within a second. Earlier keys go on verifying until the last token that they signed has expired, and
/// stand in /.well-known/jwks.json until then.
#[derive(Debug, clap::Args)]
struct RotateArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Give up earlier keys that do not open because TABULARIUM_KEY or service.key is lost; what they signed is good no longer
    #[arg(long)]
    discard: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Carries the subcommand out.
pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    match arguments.command {
        Command::List(ListArgs { data, json }) => {
            let keys = open(&data)?.jwks();
            if json {
                println!("{:#}", serde_json::to_value(&keys).map_err(Failure::other)?);
                return Ok(());
            }
            for (at, kid) in names(&keys).into_iter().enumerate() {
                println!("{kid}  {}", if at == 0 { "signs" } else { "verifies" });
            }
            Ok(())
        }
        Command::Rotate(RotateArgs { data, discard, json }) => rotate(&data, discard, json),
    }
}

/// Makes a new key, and names the ones that go on verifying and the ones that were given up.
fn rotate(data: &Path, discard: bool, as_json: bool) -> Result<(), Failure> {
    let keys = if discard {
        Lake::open(data).map_err(Failure::from_lake)?;
        Some(Store::discard_unreadable_keys(data).map_err(Failure::other)?)
    } else {
        None
    };
    let store = open(data)?;
    // Opening makes a key if none is left that signs. Such a key signed nothing yet and need not be replaced.
    let signs = names(&store.jwks()).into_iter().next();
    let is_new = |keys: &DiscardedKeys| signs.is_some_and(|kid| !keys.kept.contains(&kid));
    if !keys.as_ref().is_some_and(is_new) {
        store.rotate_signing_key().map_err(Failure::other)?;
    }
    let discarded = keys.map(|keys| keys.discarded).unwrap_or_default();
    let kids = names(&store.jwks());
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

fn names(keys: &jsonwebtoken::jwk::JwkSet) -> Vec<String> {
    keys.keys.iter().filter_map(|key| key.common.key_id.clone()).collect()
}
