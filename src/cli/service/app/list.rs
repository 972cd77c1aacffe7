//! `app list`: lists the applications.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::service::data_store::open;
use crate::cli::terminal::columns::{plain, time};
use crate::cli::terminal::failure::Failure;
use crate::consent::Application;

/// List the applications with their publishable keys, redirect URIs and origins
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Prints the list, as text or as JSON.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    let applications = open(&arguments.data)?.applications().all().map_err(Failure::other)?;
    if arguments.json {
        let list: Vec<Value> = applications.iter().map(object).collect();
        println!("{:#}", Value::from(list));
        return Ok(());
    }
    let texts: Vec<String> = applications.iter().map(text).collect();
    print!("{}", texts.join("\n"));
    Ok(())
}

fn text(application: &Application) -> String {
    let mut text = String::new();
    let made = time(application.created_at);
    let (id, name, sync) = (&application.id, plain(&application.name), application.sync_frequency);
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{id} ({name}), made {made}, sync {sync}");
    for key in &application.keys {
        let until = key.retired_at.map(|at| format!(", until {}", time(at)));
        let public = if key.confidential { "" } else { ", without a secret key" };
        let _ = writeln!(
            text,
            "  key       {}{public}{}",
            key.publishable,
            until.unwrap_or_default()
        );
    }
    for uri in &application.redirect_uris {
        let _ = writeln!(text, "  redirect  {uri}");
    }
    for origin in &application.origins {
        let _ = writeln!(text, "  origin    {origin}");
    }
    text
}

fn object(application: &Application) -> Value {
    let keys = application.keys.iter().map(|key| {
        json!({
            "mode": key.mode.schema(), "publishableKey": key.publishable, "confidential": key.confidential,
            "createdAt": time(key.created_at), "retiredAt": key.retired_at.map(time),
        })
    });
    json!({
        "id": application.id, "name": application.name, "createdAt": time(application.created_at),
        "syncFrequency": application.sync_frequency, "keys": keys.collect::<Vec<_>>(),
        "redirectUris": application.redirect_uris, "origins": application.origins,
        "registered": application.registration.is_some(),
    })
}
