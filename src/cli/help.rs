//! The program's main help page. It lists the commands in groups, and those for beginners come first.

use std::fmt::Write;

use clap::Command;

use super::terminal::manner::{HEADING, NAME, width};

/// The titles of the groups, each with its commands. Every command is in exactly one group.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Begin", &["demo", "import", "info", "show", "describe"]),
    ("Ask", &["run", "sql", "search", "fhirpath", "validate-view", "explain"]),
    ("One person", &["everything", "summary", "pdf", "erase", "receipt"]),
    (
        "Serve",
        &[
            "serve", "config", "token", "app", "endpoint", "consents", "sync", "keys", "audit", "console",
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
    const WITHOUT_JSON: [&str; 14] = [
        "completions",
        "demo",
        "everything",
        "fhirpath",
        "man",
        "pdf",
        "run",
        "run-plan",
        "sandbox",
        "search",
        "serve",
        "sql",
        "summary",
        "help",
    ];

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
