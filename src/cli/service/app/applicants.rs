//! `app applicants`: lists the requests for access that came by `POST /apply`.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::cli::service::data_store::open;
use crate::cli::terminal::columns::{plain, time};
use crate::cli::terminal::failure::Failure;

/// List the applications for access that came by POST /apply, newest first
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print at most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Prints the newest requests.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let mut list = Vec::new();
    for (id, at, body) in store.applicants().newest(arguments.limit).map_err(Failure::other)? {
        let fields: Map<String, Value> = serde_json::from_str(&body).map_err(Failure::other)?;
        list.push((id, time(at), fields));
    }
    if arguments.json {
        let list = list.into_iter().map(|(id, at, fields)| {
            let mut object = json!({"id": id, "receivedAt": at});
            if let Some(object) = object.as_object_mut() {
                object.extend(fields);
            }
            object
        });
        println!("{:#}", Value::from_iter(list));
        return Ok(());
    }
    let texts: Vec<String> = list.iter().map(|(id, at, fields)| text(id, at, fields)).collect();
    print!("{}", texts.join("\n"));
    Ok(())
}

/// Formats one request: its id and time, and then each field. A field with several lines keeps its line breaks.
fn text(id: &str, at: &str, fields: &Map<String, Value>) -> String {
    let mut text = format!("{id}, {at}\n");
    for (name, value) in fields {
        for (at, line) in value.as_str().unwrap_or_default().lines().enumerate() {
            let name = if at == 0 { name } else { "" };
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "  {name:<8}  {}", plain(line));
        }
    }
    text
}
