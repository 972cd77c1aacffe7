//! The program's main help page, and the tips of clap's errors. The page lists the commands in groups, and those for
//! beginners come first.

use std::ffi::OsString;
use std::fmt::Write;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::terminal::manner::{HEADING, NAME, width};
use crate::fhir::nearest::nearest;

/// The titles of the groups, each with its commands. Every command is in exactly one group.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Begin", &["demo", "import", "info", "show", "describe"]),
    ("Ask", &["run", "sql", "search", "fhirpath", "validate-view", "explain"]),
    ("One person", &["everything", "summary", "pdf", "erase", "receipt"]),
    (
        "Serve",
        &[
            "serve", "config", "token", "app", "endpoint", "consents", "sync", "listen", "keys", "audit", "console",
        ],
    ),
    ("Codes and rules", &["normalize", "terminology", "plans"]),
    (
        "Look after a lake",
        &["check", "compact", "backup", "restore", "seal", "unseal"],
    ),
    (
        "Try and measure",
        &["generate", "sandbox", "bench", "run-plan", "completions", "man"],
    ),
];

/// The maximum width of help in columns, the same as clap's.
const WIDEST: usize = 100;

/// Returns the program with its main help page.
pub(super) fn grouped(program: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{HEADING}Options:{HEADING:#}\n{{options}}\n\nMore on a command: \
         tabularium help COMMAND\n",
        groups(&program, width().min(WIDEST))
    );
    program.help_template(template)
}

/// Returns the error of a command line with better tips. Adds clap's tip about a similar command to the errors of
/// `help`, which lack it. Removes the tip to write `--` before an unknown option, because it is of no use.
pub(super) fn with_tips(mut error: clap::Error, program: &Command, line: &[OsString]) -> clap::Error {
    if let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) {
        let useful = tips
            .into_iter()
            .filter(|tip| !tip.to_string().contains("as a value, use"));
        let useful: Vec<_> = useful.collect();
        if !useful.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(useful));
        }
    }
    let unknown = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(unknown)) => unknown.clone(),
        _ => return error,
    };
    if error.kind() == ErrorKind::InvalidSubcommand && error.get(ContextKind::SuggestedSubcommand).is_none() {
        // The words before the unknown one name the command that it should be a part of.
        let words = line.iter().skip(1).filter_map(|word| word.to_str());
        let words = words.take_while(|word| *word != unknown);
        let command = words.fold(program, |command, word| {
            command.find_subcommand(word).unwrap_or(command)
        });
        if let Some(meant) = nearest(&unknown, command.get_subcommands().map(Command::get_name)) {
            let meant = ContextValue::Strings(vec![meant.to_owned()]);
            error.insert(ContextKind::SuggestedSubcommand, meant);
        }
    }
    error
}

/// Formats the groups. Each command has its name and its description, wrapped at `width`.
fn groups(program: &Command, width: usize) -> String {
    let longest = program.get_subcommands().map(|command| command.get_name().len()).max();
    let indent = longest.unwrap_or(0) + 4;
    let mut text = String::new();
    for (title, names) in GROUPS {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{HEADING}{title}:{HEADING:#}");
        for command in names.iter().filter_map(|name| program.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let mut lines = wrapped(&about, width.saturating_sub(indent)).into_iter();
            let (name, first) = (command.get_name(), lines.next().unwrap_or_default());
            let gap = " ".repeat(indent - 2 - name.len());
            let _ = writeln!(text, "  {NAME}{name}{NAME:#}{gap}{first}");
            for line in lines {
                let _ = writeln!(text, "{}{line}", " ".repeat(indent));
            }
        }
        text.push('\n');
    }
    text
}

/// Splits a text into lines of at most `width` characters. A word that is longer than `width` gets a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::command::program;

    #[test]
    fn every_command_stands_in_one_group() {
        let program = program();
        let known: BTreeSet<&str> = program.get_subcommands().map(Command::get_name).collect();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(listed.len(), known.len(), "a command stands twice");
    }

    /// Commands without `--json`. They run a server, write output in a format of its own, or have no result.
    const WITHOUT_JSON: [&str; 7] = ["completions", "help", "man", "pdf", "run-plan", "sandbox", "serve"];

    fn without_json(path: &str, command: &Command, found: &mut Vec<String>) {
        let mut subcommands = command
            .get_subcommands()
            .filter(|sub| sub.get_name() != "help")
            .peekable();
        if subcommands.peek().is_none() && command.get_arguments().all(|argument| argument.get_id() != "json") {
            found.push(path.to_owned());
        }
        for sub in subcommands {
            without_json(format!("{path} {}", sub.get_name()).trim_start(), sub, found);
        }
    }

    #[test]
    fn every_command_with_results_has_them_as_json() {
        let mut found = Vec::new();
        without_json("", &program(), &mut found);
        found.retain(|command| !WITHOUT_JSON.contains(&command.as_str()));
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn groups_are_as_narrow_as_the_terminal() {
        let text = groups(&program(), 60);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert!(plain.lines().all(|line| line.chars().count() <= 60), "{plain}");
        assert!(plain.starts_with("Begin:\n  demo "), "{plain}");
        assert_eq!(wrapped("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(wrapped("", 4), Vec::<String>::new());
    }
}
