//! Comments fit into 120 columns, as code does. A comment may be a line or the end of a line of code.

use super::{files, read};

const COLUMNS: usize = 120;

/// Endings of files with the mark that begins a comment in them.
const MARKS: [(&str, &str); 11] = [
    (".rs", "//"),
    (".pest", "//"),
    (".js", "//"),
    (".mjs", "//"),
    (".ts", "//"),
    (".css", "/*"),
    (".sql", "--"),
    (".py", "#"),
    (".sh", "#"),
    (".toml", "#"),
    ("/run", "#"),
];

/// The mark that begins a comment in a file.
fn mark(file: &str) -> Option<&'static str> {
    MARKS.iter().find(|(end, _)| file.ends_with(end)).map(|(_, mark)| *mark)
}

/// The comment of a line. After code, a mark counts only between spaces. So addresses and colors are no comments.
fn comment<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let trimmed = line.trim_start();
    if trimmed.starts_with(mark) {
        return Some(trimmed);
    }
    line.find(&format!(" {mark} ")).map(|at| &line[at + 1..])
}

/// The numbers of lines that a comment makes too long.
fn too_long(text: &str, mark: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut is_block = false;
    for (at, line) in text.lines().enumerate() {
        let comment = if is_block { Some(line) } else { comment(line, mark) };
        // A comment without spaces cannot be broken.
        let is_breakable = comment.is_some_and(|comment| comment.split_whitespace().count() > 2);
        if is_breakable && line.chars().count() > COLUMNS {
            found.push(at + 1);
        }
        if mark == "/*" {
            is_block = comment.is_some_and(|comment| !comment.contains("*/"));
        }
    }
    found
}

#[test]
fn comments_fit_into_120_columns() {
    let mut faults = Vec::new();
    for file in files("", &[""]) {
        let Some(mark) = mark(&file) else { continue };
        faults.extend(
            too_long(&read(&file), mark)
                .into_iter()
                .map(|line| format!("{file}:{line}")),
        );
    }
    assert_eq!(faults, [] as [&str; 0], "comments beyond column {COLUMNS}");
}

#[test]
fn a_comment_of_140_characters_is_found() {
    let words = "word ".repeat(28);
    let words = words.trim_end();
    assert_eq!(words.len(), 139);
    for (end, mark) in MARKS {
        let long = format!("{mark} {words}");
        assert_eq!(too_long(&format!("x\n    {long}\n"), mark), [2], "{end}");
        assert_eq!(too_long(&format!("let x = 1; {long}\n"), mark), [1], "{end}");
    }
    let fits = format!("/// {}", "é".repeat(COLUMNS - 4));
    assert_eq!(too_long(&fits, "//"), [] as [usize; 0]);
    for no_comment in [format!("// https://{}", "x".repeat(140)), format!("\"http://{words}\"")] {
        assert_eq!(too_long(&no_comment, "//"), [] as [usize; 0]);
    }
    assert_eq!(too_long(&format!("/* one\n{words} */\n{words}\n"), "/*"), [2]);
}
