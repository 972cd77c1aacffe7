//! Adds settings from the environment variable `TABULARIUM_DATA` and from `tabularium.toml` to the command line, as if
//! the user had typed them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Command;

use super::file::{self, ConfigFile};
use super::given::Given;
use crate::cli::terminal::failure::Failure;

/// The environment variable with the data folder. It is used if the command line has no `--data`.
pub(in crate::cli) const VARIABLE: &str = "TABULARIUM_DATA";

/// Returns the data folder in the environment variable. `None` if the variable is unset or empty.
pub(super) fn of_environment() -> Option<PathBuf> {
    let folder = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
    folder.map(PathBuf::from)
}

/// Reads the configuration file in the working directory or in the nearest folder above it. `None` if there is none.
pub(super) fn of_file(program: &Command) -> Result<Option<ConfigFile>, Failure> {
    let folder = std::env::current_dir().map_err(Failure::other)?;
    let path = file::find(&folder);
    path.map(|path| file::read(&path, program)).transpose()
}

/// Inserts settings from the environment and the configuration file into the command line. Reads the file only for
/// `serve`, or if the command needs a data folder and the environment names none.
pub(in crate::cli) fn completed(program: &Command, line: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let given = Given::of(program, &line);
    if given.asks_for_help() {
        return Ok(line);
    }
    let is_serve = given.path == ["serve"];
    let wants_data = wants_data(&given);
    let environment = of_environment().filter(|_| wants_data);
    let file = if is_serve || (wants_data && environment.is_none()) {
        of_file(program)?
    } else {
        None
    };
    let mut added = Vec::new();
    match (environment, &file) {
        (Some(folder), _) => added.push(option("data", &folder)),
        (None, Some(file)) if wants_data => added.extend(file.data.iter().flat_map(|data| data.arguments())),
        _ => {}
    }
    if let Some(file) = file.filter(|_| is_serve) {
        let free = file.serve.iter().filter(|setting| !given.has(&setting.key));
        added.extend(free.flat_map(|setting| setting.arguments()));
    }
    let from = given.from;
    let mut line = line;
    line.splice(from..from, added);
    Ok(line)
}

fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(value);
    option
}

/// Whether the command takes its data folder from the environment or the configuration file. The command must have the
/// option `--data`, and the command line must not contain this option. The answer is also `false` if `otherwise` is
/// `true`: then another option replaces the folder, or the command must not use the folder.
fn wants_data(given: &Given<'_>) -> bool {
    let otherwise = match given.path.as_slice() {
        // The demo must not fill the folder of real records.
        ["demo"] => true,
        ["run" | "describe"] => given.has("input"),
        ["fhirpath"] => given.has("input") || !given.has("type"),
        ["normalize"] => !given.has("consent"),
        ["receipt", "verify"] => given.has("jwks"),
        // With a data folder, `backup --verify` would also make a new backup. `restore --list` uses no data folder.
        ["backup"] => given.has("verify"),
        ["restore"] => given.has("list"),
        _ => false,
    };
    given.takes("data") && !given.has("data") && !otherwise
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command::program;

    #[test]
    fn the_command_is_found_behind_options() {
        let program = program();
        for (line, path, from) in [
            ("tabularium info", vec!["info"], 2),
            ("tabularium --key-file serve info --json", vec!["info"], 4),
            ("tabularium --key-file=serve app list", vec!["app", "list"], 4),
            ("tabularium -q run info", vec!["run"], 3),
            ("tabularium -- info", vec![], 1),
            ("tabularium nothing info", vec![], 1),
            ("tabularium", vec![], 1),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let given = Given::of(&program, &words);
            assert_eq!((given.path.clone(), given.from), (path, from), "{line}");
        }
    }

    #[test]
    fn a_folder_is_put_in_where_it_means_no_more() {
        let program = program();
        for (line, wants) in [
            ("info", true),
            ("info --data x", false),
            ("info --data=x", false),
            ("run a.json --input b", false),
            ("run a.json", true),
            ("fhirpath 1+1", false),
            ("fhirpath name --type Patient", true),
            ("demo", false),
            ("backup --to b", true),
            ("backup --to b --verify", false),
            ("receipt verify r --jwks k", false),
            ("receipt list", true),
            ("generate --patients 1 --out x", false),
            ("search -- --data", true),
        ] {
            let words: Vec<OsString> = ["tabularium"]
                .into_iter()
                .chain(line.split(' '))
                .map(OsString::from)
                .collect();
            assert_eq!(wants_data(&Given::of(&program, &words)), wants, "{line}");
        }
    }
}
