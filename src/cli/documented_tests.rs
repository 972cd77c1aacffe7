//! Checks that this program accepts every command line of README.md, docs/ and benches/README.md.

use std::path::{Path, PathBuf};

use super::command::program;

/// A line of a document that runs the program.
struct Line {
    file: PathBuf,
    text: String,
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_dir(root.join("docs")).unwrap();
    let mut files: Vec<PathBuf> = docs.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.extend(["README.md", "benches/README.md"].map(|name| root.join(name)));
    files.sort();
    files
}

/// Returns the lines in code blocks that run `tabularium`. A command that spans several lines becomes one line.
fn lines(file: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(file).unwrap();
    let (mut found, mut in_block, mut open) = (Vec::<Line>::new(), false, false);
    for line in text.lines() {
        if line.starts_with("```") {
            (in_block, open) = (!in_block, false);
            continue;
        }
        let line = line.strip_prefix("$ ").unwrap_or(line);
        match found.last_mut().filter(|_| open) {
            Some(begun) => begun.text = format!("{} {}", begun.text.trim_end_matches('\\').trim_end(), line.trim()),
            None if in_block && runs(line) => found.push(Line {
                file: file.to_owned(),
                text: line.to_owned(),
            }),
            None => continue,
        }
        let text = &found.last().unwrap().text;
        open = text.ends_with('\\') || text.matches('"').count() % 2 == 1;
    }
    found
}

fn runs(line: &str) -> bool {
    line.starts_with("tabularium ") && !line.starts_with("tabularium: ") || line.contains("$(tabularium ")
}

/// Returns the arguments of each call of `tabularium` in a line, for example of two calls for a line with `&&`. Removes
/// pipes, redirections and other shell syntax.
fn calls(line: &str) -> Vec<Vec<String>> {
    // In the documents, three spaces separate a command from its description. Drop the description.
    let line = line.split("   ").next().unwrap();
    let parts = line
        .split(" && ")
        .flat_map(|part| part.split("$(").map(str::to_owned).collect::<Vec<_>>());
    parts
        .filter_map(|part| part.trim().strip_prefix("tabularium ").map(str::to_owned))
        .map(|part| {
            let within = part.split(" | ").next().unwrap().split(" > ").next().unwrap();
            let within = within.split(" &").next().unwrap().split(" #").next().unwrap();
            let words = shell_words::split(within.trim_end_matches([')', '\\', ';']));
            words.unwrap_or_else(|error| panic!("{part}: {error}"))
        })
        .collect()
}

#[test]
fn documented_commands_are_commands() {
    let mut count = 0;
    for line in documents().iter().flat_map(|file| lines(file)) {
        for call in calls(&line.text) {
            let taken = program().try_get_matches_from(std::iter::once("tabularium".to_owned()).chain(call));
            if let Err(error) = taken {
                assert!(!error.use_stderr(), "{}: {}\n{error}", line.file.display(), line.text);
            }
            count += 1;
        }
    }
    assert!(count > 60, "{count} calls");
}
