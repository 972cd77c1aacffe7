//! Finds the command and its options in a command line that clap has not parsed yet.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, Command};

/// A command line and the command in it.
pub(super) struct Given<'c> {
    /// The names of the command and the commands above it, outermost first, such as `app` and `list`.
    pub(super) path: Vec<&'c str>,
    pub(super) command: &'c Command,
    /// The index in `line` of the first word after the command's name. It is 1 if the line contains no command.
    pub(super) from: usize,
    line: &'c [OsString],
}

impl<'c> Given<'c> {
    /// Finds the command in the line, as clap does: skips options and their values, and takes each word that names a
    /// subcommand. Stops at `--` and at any other word.
    pub(super) fn of(program: &'c Command, line: &'c [OsString]) -> Given<'c> {
        let mut given = Given {
            path: Vec::new(),
            command: program,
            from: 1,
            line,
        };
        let mut words = line.iter().enumerate().skip(1);
        while let Some((at, word)) = words.next() {
            let Some(word) = word.to_str().filter(|word| *word != "--") else {
                break;
            };
            if let Some(option) = word.strip_prefix("--") {
                let takes_value = |argument: &Arg| {
                    argument.get_long() == Some(option)
                        && matches!(argument.get_action(), ArgAction::Set | ArgAction::Append)
                };
                let mut known = given.command.get_arguments().chain(program.get_arguments());
                if known.any(takes_value) {
                    words.next();
                }
            } else if !word.starts_with('-') {
                match given.command.find_subcommand(word) {
                    Some(command) => {
                        given.path.push(command.get_name());
                        given.command = command;
                        given.from = at + 1;
                    }
                    None => break,
                }
            }
        }
        given
    }

    /// Whether the command has an option of this name.
    pub(super) fn takes(&self, long: &str) -> bool {
        self.command
            .get_arguments()
            .any(|argument| argument.get_long() == Some(long))
    }

    /// Whether the line contains an option of this name before any `--`.
    pub(super) fn has(&self, long: &str) -> bool {
        let is_it = |word: &OsString| {
            let rest = word
                .to_str()
                .and_then(|word| word.strip_prefix("--")?.strip_prefix(long));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        self.options().any(is_it)
    }

    /// Whether the line asks for help or for the version.
    pub(super) fn asks_for_help(&self) -> bool {
        let words = ["-h", "--help", "-V", "--version"];
        self.options()
            .any(|word| words.iter().any(|asks| word.as_os_str() == OsStr::new(asks)))
    }

    fn options(&self) -> impl Iterator<Item = &OsString> {
        self.line.iter().skip(1).take_while(|word| word.as_os_str() != "--")
    }
}
