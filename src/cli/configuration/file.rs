//! Finds, parses and checks `tabularium.toml`.

use std::ffi::OsString;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::address;
use crate::cli::terminal::failure::Failure;
use crate::fhir::nearest::did_you_mean;
use crate::private;

/// The file's name.
pub(super) const NAME: &str = "tabularium.toml";
/// The name of the table with the options of `tabularium serve`.
const SERVE: &str = "serve";
/// The key of the data folder. The option `--data` has the same name.
const DATA: &str = "data";
/// The maximum size of the file in bytes, 1 MiB. Real configuration files are far smaller.
const LONGEST: u64 = 1 << 20;

/// A parsed configuration file.
#[derive(Debug)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// The setting `data`, if the file has it.
    pub(super) data: Option<Setting>,
    /// The settings of the table `serve`, in the order of their lines. A flag that is `false` is left out, because the
    /// command line has no such argument.
    pub(super) serve: Vec<Setting>,
}

/// One setting of the file.
#[derive(Debug)]
pub(super) struct Setting {
    /// The option's name without its dashes.
    pub(super) key: String,
    pub(super) line: usize,
    /// The value as strings for the command line: one string for each item of a TOML array, none for a flag, and
    /// otherwise one.
    pub(super) values: Vec<OsString>,
    /// Whether this is a flag with the value `true`.
    pub(super) flag: bool,
}

impl Setting {
    /// Returns the setting as command-line arguments, such as `--listen=127.0.0.1:8080`.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        if self.flag {
            return vec![format!("--{}", self.key).into()];
        }
        let argument = |value: &OsString| {
            let mut argument = OsString::from(format!("--{}=", self.key));
            argument.push(value);
            argument
        };
        self.values.iter().map(argument).collect()
    }

    /// Returns the values as one string for display, joined by commas. For a flag the string is `true` or `false`.
    pub(super) fn join_values(&self) -> String {
        let values: Vec<_> = self.values.iter().map(|value| value.to_string_lossy()).collect();
        match values.as_slice() {
            [] => self.flag.to_string(),
            values => values.join(", "),
        }
    }
}

/// Returns the path of the nearest configuration file, in `folder` or in a folder above it.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .map(|folder| folder.join(NAME))
        .find(|path| path.is_file())
}

/// Reads and checks a configuration file. The error has one sentence for each fault, with its line.
pub(super) fn read(path: &Path, program: &Command) -> Result<ConfigFile, Failure> {
    let failed = |problem: &dyn std::fmt::Display| Failure::input(format!("{}: {problem}", path.display()));
    let mut text = String::new();
    let read = private::named(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    let size = read.map_err(|error| failed(&error))?;
    if size as u64 > LONGEST {
        return Err(failed(&format_args!("is larger than {} MiB", LONGEST >> 20)));
    }
    let mut reading = Reading {
        path,
        text: &text,
        program,
        problems: Vec::new(),
    };
    let table = DeTable::parse(&text).map_err(|error| {
        let line = reading.line(error.span().unwrap_or_default());
        Failure::input(format!("{}:{line}: {}", path.display(), error.message()))
    })?;
    let file = reading.file(table.get_ref());
    Failure::all(reading.problems)?;
    Ok(file)
}

/// Returns the options that the table `serve` knows: those of the command `serve` and the program's global ones,
/// except hidden options, `--data`, `--help`, `--version` and `--quiet`.
fn options(program: &Command) -> impl Iterator<Item = &Arg> {
    let serve = program
        .find_subcommand(SERVE)
        .into_iter()
        .flat_map(Command::get_arguments);
    let global = program.get_arguments().filter(|argument| argument.is_global_set());
    serve.chain(global).filter(|argument| {
        let long = argument.get_long();
        !argument.is_hide_set() && long.is_some_and(|long| !matches!(long, DATA | "help" | "version" | "quiet"))
    })
}

struct Reading<'r> {
    path: &'r Path,
    text: &'r str,
    program: &'r Command,
    problems: Vec<Failure>,
}

impl Reading<'_> {
    fn file(&mut self, table: &DeTable<'_>) -> ConfigFile {
        let mut file = ConfigFile {
            path: self.path.to_owned(),
            data: None,
            serve: Vec::new(),
        };
        for (key, value) in table.iter() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                (DATA, DeValue::String(folder)) if !folder.is_empty() => {
                    file.data = Some(Setting {
                        key: DATA.to_owned(),
                        line: self.line(key.span()),
                        values: vec![self.beside(folder)],
                        flag: false,
                    });
                }
                (DATA, _) => self.wrong(key.span(), DATA, "is a folder, in quotes"),
                (SERVE, DeValue::Table(options)) => file.serve = self.serve(options),
                (SERVE, _) => self.wrong(key.span(), SERVE, "is a table: [serve], with an option a line"),
                (unknown, _) => {
                    let serve = options(self.program)
                        .filter_map(Arg::get_long)
                        .any(|known| known == unknown);
                    let problem = if serve {
                        "belongs below [serve]".to_owned()
                    } else {
                        format!("is not known{}", did_you_mean(unknown, [DATA, SERVE].into_iter()))
                    };
                    self.wrong(key.span(), unknown, &problem);
                }
            }
        }
        file.serve.sort_by_key(|setting| setting.line);
        file
    }

    fn serve(&mut self, table: &DeTable<'_>) -> Vec<Setting> {
        let mut settings = Vec::new();
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            let whole = format!("{SERVE}.{name}");
            let Some(option) = options(self.program).find(|option| option.get_long() == Some(name)) else {
                let names = options(self.program).filter_map(Arg::get_long);
                let problem = match name {
                    DATA => "stands above [serve], because all commands take it".to_owned(),
                    _ => format!("is no option of serve{}", did_you_mean(name, names)),
                };
                self.wrong(key.span(), &whole, &problem);
                continue;
            };
            match self.setting(option, key.span(), value) {
                Ok(Some(setting)) => match self.accepted(&setting) {
                    Ok(()) => settings.push(setting),
                    Err(problem) => self.wrong(key.span(), &format!("{whole}:"), &problem),
                },
                Ok(None) => {}
                Err(problem) => self.wrong(key.span(), &whole, &problem),
            }
        }
        settings
    }

    /// Reads the value of one option. Returns `None` for a flag that is `false`. The error is a part of a sentence,
    /// such as "is true or false". The caller writes the name of the option before it.
    fn setting(
        &self,
        option: &Arg,
        span: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Option<Setting>, String> {
        let key = option.get_long().unwrap_or_default();
        if key == "key-command" {
            return Err("runs a command, and no file is trusted with that; give --key-command".to_owned());
        }
        let mut setting = Setting {
            key: key.to_owned(),
            line: self.line(span),
            values: Vec::new(),
            flag: false,
        };
        match (option.get_action(), value.get_ref()) {
            (ArgAction::SetTrue, DeValue::Boolean(set)) => {
                setting.flag = *set;
                return Ok(set.then_some(setting));
            }
            (ArgAction::SetTrue, _) => return Err("is true or false".to_owned()),
            (ArgAction::Append, DeValue::Array(values)) => {
                for value in values.iter() {
                    setting.values.push(self.text(option, value.get_ref())?);
                }
            }
            (_, DeValue::Array(_)) => return Err("takes one value, not a list".to_owned()),
            (_, value) => setting.values.push(self.text(option, value)?),
        }
        if key == "listen" {
            let text = setting.join_values();
            address::checked(&text).map_err(|problem| format!("{text:?} {problem}"))?;
        }
        Ok(Some(setting))
    }

    /// Converts a TOML value to a string for the command line. A relative path is resolved against the folder of the
    /// configuration file.
    fn text(&self, option: &Arg, value: &DeValue<'_>) -> Result<OsString, String> {
        let is_path = option.get_value_parser().type_id() == clap::builder::ValueParser::path_buf().type_id();
        match value {
            DeValue::String(text) if is_path => Ok(self.beside(text)),
            DeValue::String(text) => Ok(text.as_ref().into()),
            DeValue::Integer(number) => Ok(number.to_string().into()),
            _ => Err("is a text in quotes or a whole number".to_owned()),
        }
    }

    /// Checks that `tabularium serve` accepts the setting. The error is the message of clap, a sentence.
    fn accepted(&self, setting: &Setting) -> Result<(), String> {
        let mut line: Vec<OsString> = ["tabularium", SERVE, "--data=x"].map(OsString::from).into();
        line.extend(setting.arguments());
        let parsed = self.program.clone().try_get_matches_from(line);
        parsed.map(drop).map_err(|error| {
            let said = error.to_string();
            let said = said.split("\n\n").next().unwrap_or_default();
            let said: Vec<&str> = said.lines().map(str::trim).collect();
            let said = said.join(" ");
            said.strip_prefix("error: ").unwrap_or(&said).to_owned()
        })
    }

    fn beside(&self, path: &str) -> OsString {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        folder.join(path).into_os_string()
    }

    fn wrong(&mut self, span: Range<usize>, key: &str, problem: &str) {
        let (path, line) = (self.path.display(), self.line(span));
        self.problems
            .push(Failure::input(format!("{path}:{line}: {key} {problem}")));
    }

    fn line(&self, span: Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or_default();
        before.matches('\n').count() + 1
    }
}
