//! `app rotate-keys`: creates a new key pair for one mode. Also formats key pairs for other commands.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::service::data_store::{open, refused};
use crate::cli::service::mode::Mode;
use crate::cli::terminal::columns::{lined_up, time};
use crate::cli::terminal::failure::Failure;
use crate::consent::{Actor, NewKeys};

/// The note below printed secret keys.
pub(super) const SHOWN_ONCE: &str = "Secret keys are shown only once.";

/// Make a new key pair for one mode
///
/// The present key pair stops working at once, or after the hours of --grace. Tokens that it obtained stay valid, and
/// refresh tokens work with the new pair.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The application's id
    id: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The mode of the new keys
    #[arg(long, value_enum)]
    mode: Mode,
    /// Hours for which the present keys stay valid
    #[arg(long, value_name = "HOURS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=8_760))]
    grace: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Creates the keys and prints them.
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
    print!("{}", format_table(std::slice::from_ref(&keys)));
    match grace {
        0 => println!("\nThe earlier keys no longer work. {SHOWN_ONCE}"),
        grace => println!(
            "\nThe earlier keys work until {}. {SHOWN_ONCE}",
            time(store.clock().now() + grace)
        ),
    }
    Ok(())
}

/// Formats key pairs as a table.
pub(super) fn format_table(keys: &[NewKeys]) -> String {
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

/// Returns a key pair as JSON.
pub(super) fn json(keys: &NewKeys) -> Value {
    json!({"mode": keys.mode.schema(), "publishableKey": keys.publishable, "secretKey": keys.secret})
}
