//! `tabularium config check`: checks the settings and prints the source of each.

use std::path::Path;

use clap::Subcommand;
use serde_json::{Value, json};

use super::apply::{VARIABLE, of_environment, of_file};
use super::file::{ConfigFile, NAME, Setting};
use crate::cli::service::serve::base_url;
use crate::cli::terminal::columns::listed;
use crate::cli::terminal::failure::Failure;
use crate::fhir::SearchParameters;
use crate::http::{Branding, Languages};
use crate::lake::KekSource;
use crate::terminology::Terminology;

/// Check tabularium.toml and print each setting and where it comes from
///
/// The file is searched for in the working directory, then in each folder above it. `data` sets the data folder of
/// every command. The section [serve] sets options of `tabularium serve`, without their dashes; all are allowed but
/// --key-command. Paths are relative to the file's folder. An option on the command line is used before
/// TABULARIUM_DATA, and TABULARIUM_DATA before the file.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Config,
}

#[derive(Debug, Subcommand)]
enum Config {
    Check(CheckArgs),
}

/// Check tabularium.toml and print each setting and where it comes from
///
/// Files and folders that settings of the server name are read, as `tabularium serve` does.
///
/// Exit codes: 0 it can be used, or there is none; 2 something in it is wrong, named with its key and line.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example of a file:\n  data = \"records\"\n\n  [serve]\n  listen = \"0.0.0.0:8080\"\n  \
                        base-url = \"https://records.example.org\"\n  allow-explain = true"
)]
struct CheckArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A setting with its source, as it is printed.
struct Shown {
    key: String,
    value: String,
    line: Option<usize>,
    /// Whether `TABULARIUM_DATA` overrides the setting of the file.
    overruled: bool,
}

/// Checks the settings and prints them, as a table or as JSON.
pub(in crate::cli) fn run(arguments: Args, program: &clap::Command) -> Result<(), Failure> {
    let Config::Check(CheckArgs { json }) = arguments.command;
    let environment = of_environment();
    let file = of_file(program)?;
    if let Some(file) = &file {
        Failure::all(file.serve.iter().filter_map(|setting| refused(file, setting)).collect())?;
    }
    let mut shown: Vec<Shown> = Vec::new();
    shown.extend(environment.iter().map(|folder| Shown {
        key: "data".to_owned(),
        value: folder.display().to_string(),
        line: None,
        overruled: false,
    }));
    for setting in file.iter().flat_map(|file| &file.data) {
        shown.push(Shown {
            key: setting.key.clone(),
            value: setting.join_values(),
            line: Some(setting.line),
            overruled: environment.is_some(),
        });
    }
    for setting in file.iter().flat_map(|file| &file.serve) {
        shown.push(Shown {
            key: format!("serve.{}", setting.key),
            value: setting.join_values(),
            line: Some(setting.line),
            overruled: false,
        });
    }
    if json {
        let path = file.as_ref().map(|file| file.path.display().to_string());
        println!(
            "{:#}",
            json!({"file": path, "settings": shown.iter().map(object).collect::<Vec<_>>()})
        );
        return Ok(());
    }
    match &file {
        Some(file) => println!("{}", file.path.display()),
        None => println!("no {NAME} in this folder or above it"),
    }
    if !shown.is_empty() {
        let rows: Vec<[String; 3]> = shown.iter().map(row).collect();
        print!("{}", listed(["setting", "value", "from"], &rows));
    }
    Ok(())
}

/// Checks what a setting names, such as a folder, in the same way as `tabularium serve`. Returns the failure.
fn refused(file: &ConfigFile, setting: &Setting) -> Option<Failure> {
    let mut values = setting.values.iter();
    let problem = match setting.key.as_str() {
        "base-url" | "binary-host" => {
            let mut faulty = values.filter_map(|value| base_url::checked(&value.to_string_lossy()).err());
            faulty.next()?.to_text()
        }
        key => {
            let path = Path::new(values.next()?);
            match key {
                "branding" => Branding::from_folder(path).err()?.to_string(),
                "languages" => Languages::with_folder(path).err()?.to_string(),
                "search-parameters" => SearchParameters::builtin().with_folder(path).err()?.to_string(),
                "terminology" => Terminology::load(path).err()?.to_string(),
                "key-file" => KekSource::File(path.to_owned()).load().err()?.to_string(),
                _ => return None,
            }
        }
    };
    let (path, line) = (file.path.display(), setting.line);
    Some(Failure::input(format!(
        "{path}:{line}: serve.{}: {problem}",
        setting.key
    )))
}

fn row(shown: &Shown) -> [String; 3] {
    let from = match shown.line {
        None => VARIABLE.to_owned(),
        Some(line) if shown.overruled => format!("line {line}, but {VARIABLE} goes before it"),
        Some(line) => format!("line {line}"),
    };
    [shown.key.clone(), shown.value.clone(), from]
}

fn object(shown: &Shown) -> Value {
    let from = if shown.line.is_some() { "file" } else { "environment" };
    json!({"key": shown.key, "value": shown.value, "from": from, "line": shown.line, "overruled": shown.overruled})
}
