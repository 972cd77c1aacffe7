//! `tabularium console`: gives an operator access to the console of a server.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::json;

use super::super::terminal::columns::time;
use super::super::terminal::failure::Failure;
use super::data_store::{open, refused};
use super::token::DEFAULT_BASE_URL;
use crate::consent::{CONSOLE_TOKEN_SECONDS, Store};

/// Let an operator sign in to the console of a server that was started with --console
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Token(TokenArgs),
}

/// Print a token that signs in to the console, once and within ten minutes
///
/// The token goes to standard output. The address to use it at goes to standard error. Whoever has the token can see
/// all records.
///
/// Exit codes: 0 printed; 2 the name cannot be used; 1 another failure.
#[derive(Debug, clap::Args)]
struct TokenArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Name of the operator in the audit log [default: the user of this system, or operator]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print one JSON object with the token and where to use it
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    match arguments.command {
        Command::Token(arguments) => token(&arguments.data, arguments.name.as_deref(), arguments.json),
    }
}

fn token(data: &Path, name: Option<&str>, as_json: bool) -> Result<(), Failure> {
    let store = open(data)?;
    let token = store.console_sessions().make_token(&operator(name)).map_err(refused)?;
    let base_url = store.settings().base_url().map_err(Failure::other)?;
    let base_url = base_url.unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
    let sign_in = format!("{}/console/sign-in", base_url.trim_end_matches('/'));
    if as_json {
        let until = time(store.clock().now() + CONSOLE_TOKEN_SECONDS);
        println!("{:#}", json!({"token": token, "signIn": sign_in, "expiresAt": until}));
        return Ok(());
    }
    eprintln!(
        "Sign in with it at {sign_in}, once and within {} minutes:",
        CONSOLE_TOKEN_SECONDS / 60
    );
    println!("{token}");
    Ok(())
}

/// Returns an address that signs an operator in to the console. It works once, within ten minutes.
pub(in crate::cli) fn sign_in_address(store: &Store, base_url: &str) -> Result<String, Failure> {
    let token = store.console_sessions().make_token(&operator(None)).map_err(refused)?;
    Ok(format!(
        "{}/console/sign-in?token={token}",
        base_url.trim_end_matches('/')
    ))
}

/// Returns the operator's name: the given one, or else that of the system's user, or else `operator`.
fn operator(given: Option<&str>) -> String {
    let system = || std::env::var("USER").or_else(|_| std::env::var("USERNAME")).ok();
    let name = given.map(str::to_owned).or_else(system);
    name.filter(|name| given.is_some() || !name.trim().is_empty())
        .unwrap_or_else(|| "operator".to_owned())
}
