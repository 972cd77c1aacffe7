//! `tabularium keys`: the keys that sign access tokens.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use super::data_store::open;
use super::failure::Failure;
use crate::consent::Store;
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
        Command::Rotate(RotateArgs { data, discard, json }) => {
            if discard {
                Lake::open(&data).map_err(Failure::from_lake)?;
                Store::discard_unreadable_keys(&data).map_err(Failure::other)?;
            }
            let store = open(&data)?;
            store.rotate_signing_key().map_err(Failure::other)?;
            let kids = names(&store.jwks());
            let (new, earlier) = kids
                .split_first()
                .ok_or_else(|| Failure::other("there is no signing key"))?;
            if json {
                println!("{:#}", json!({"kid": new, "verifying": earlier}) as Value);
            } else {
                println!("{new} signs from now on.");
                println!("Keys that verify what was signed before: {}", earlier.join(", "));
            }
            Ok(())
        }
    }
}

fn names(keys: &jsonwebtoken::jwk::JwkSet) -> Vec<String> {
    keys.keys.iter().filter_map(|key| key.common.key_id.clone()).collect()
}
