//! `app rotate-keys`: a new key pair for a mode; and how key pairs are shown.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::service::data_store::{open, refused};
use crate::cli::service::mode::Mode;
use crate::cli::terminal::columns::{lined_up, time};
use crate::cli::terminal::failure::Failure;
use crate::consent::{Actor, NewKeys};

/// What is said beside secrets.
pub(super) const SHOWN_ONCE: &str = "Secret keys are shown this once only.";

/// Make a new key pair for one mode
///
/// The present one begins nothing any more: at once, or after the hours that are given for putting the new one in
/// place. Tokens that were given out with it stay good, and refresh tokens go on with the new one.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The application's id
    id: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// For which mode
    #[arg(long, value_enum)]
    mode: Mode,
    /// For how many hours the present keys stay good
    #[arg(long, value_name = "HOURS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=8_760))]
    grace: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Makes the keys and prints them.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let grace = i64::from(arguments.grace) * 3_600;
    let keys = store
        .clients()
        .rotate(&arguments.id, arguments.mode.into(), grace, Actor::Operator)
        .map_err(refused)?;
    if arguments.json {
        println!("{:#}", json(&keys));
        return Ok(());
    }
    print!("{}", shown(std::slice::from_ref(&keys)));
    match grace {
        0 => println!("\nThe earlier keys begin nothing any more. {SHOWN_ONCE}"),
        grace => println!(
            "\nThe earlier keys stay good until {}. {SHOWN_ONCE}",
            time(store.clock().now() + grace)
        ),
    }
    Ok(())
}

/// Key pairs as a table.
pub(super) fn shown(keys: &[NewKeys]) -> String {
    let rows: Vec<[String; 3]> = keys
        .iter()
        .map(|keys| {
            let secret = keys
                .secret
                .clone()
                .unwrap_or_else(|| "none: a public client".to_owned());
            [keys.mode.schema().to_owned(), keys.publishable.clone(), secret]
        })
        .collect();
    lined_up(["mode", "publishable key", "secret key"], &rows)
}

/// A key pair for programs.
pub(super) fn json(keys: &NewKeys) -> Value {
    json!({"mode": keys.mode.schema(), "publishableKey": keys.publishable, "secretKey": keys.secret})
}
