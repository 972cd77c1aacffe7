//! Help, versions, completions, manual pages, colours and quiet.

use std::process::Stdio;

use super::{command, done, folder, run, text};

#[test]
fn help_begins_with_what_people_do_first() {
    let folder = tempfile::tempdir().unwrap();
    let help = done(folder.path(), &["--help"]);
    let titles: Vec<&str> = help
        .lines()
        .filter(|line| line.ends_with(':') && !line.starts_with(' '))
        .collect();
    assert_eq!(titles[..2], ["Begin:", "Ask:"]);
    assert!(help.contains("\n  import ") && help.contains("\nOptions:\n"), "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    let narrow = command(folder.path(), &["info", "--help"])
        .env("COLUMNS", "60")
        .output()
        .unwrap();
    assert!(
        text(&narrow.stdout).contains("[env: TABULARIUM_DATA]"),
        "{}",
        text(&narrow.stdout)
    );
}

#[test]
fn the_version_is_the_packages() {
    let folder = tempfile::tempdir().unwrap();
    let version = done(folder.path(), &["--version"]);
    let rest = version
        .strip_prefix(concat!("tabularium ", env!("CARGO_PKG_VERSION")))
        .unwrap()
        .trim_end();
    // In a build from git, the commit follows.
    let commit = rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    assert!(
        rest.is_empty() || commit.is_some_and(|commit| commit.len() >= 7),
        "{version}"
    );
}

#[test]
fn shells_complete_commands() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, word) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef tabularium"),
        ("fish", "complete -c tabularium"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = done(folder.path(), &["completions", shell]);
        assert!(script.contains(word) && script.contains("validate-view"), "{shell}");
    }
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let told = done(folder.path(), &["man", "pages"]);
    let pages = folder.path().join("pages");
    let count = std::fs::read_dir(&pages).unwrap().count();
    assert_eq!(told, format!("{count} pages to pages\n"));
    for page in ["tabularium.1", "tabularium-run.1", "tabularium-endpoint-add.1"] {
        let page = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".TH "), "{page}");
    }
}

#[test]
fn quiet_leaves_results_and_warnings() {
    let folder = folder();
    let path = folder.path();
    let line = ["run", "view.json", "--data", "lake", "--out", "rows.csv"];
    assert_eq!(done(path, &line), "3 rows to rows.csv\n");
    let quiet = run(path, &[&["-q"], &line[..], &["--patient", "nobody"]].concat());
    assert_eq!(text(&quiet.stdout), "");
    assert!(text(&quiet.stderr).starts_with("tabularium: warning: there is no Patient \"nobody\""));
    assert_eq!(
        done(path, &["info", "--data", "lake", "--quiet"]),
        done(path, &["info", "--data", "lake"])
    );
}

#[test]
fn colours_are_for_terminals_and_whoever_asks() {
    let folder = folder();
    let path = folder.path();
    let said = |variables: &[(&str, &str)]| {
        let mut command = command(path, &["info", "--data", "nowhere"]);
        command
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied())
            .stderr(Stdio::piped());
        text(&command.output().unwrap().stderr)
    };
    assert!(!said(&[]).contains('\u{1b}'));
    assert!(said(&[("CLICOLOR_FORCE", "1")]).starts_with("\u{1b}["));
    assert!(!said(&[("NO_COLOR", "1")]).contains('\u{1b}'));
}
