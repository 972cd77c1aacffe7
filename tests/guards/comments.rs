//! Comments fit into 120 columns, as code does.

use super::{files, read};

const COLUMNS: usize = 120;

/// The numbers of comment lines that are too long. Lines with code do not count.
fn too_long(text: &str) -> Vec<usize> {
    let is_too_long = |line: &&str| {
        let comment = line.trim_start();
        // A line without spaces cannot be broken.
        comment.starts_with("//") && line.chars().count() > COLUMNS && comment.split_whitespace().count() > 2
    };
    let numbered = text.lines().enumerate();
    numbered
        .filter(|(_, line)| is_too_long(line))
        .map(|(at, _)| at + 1)
        .collect()
}

#[test]
fn comments_fit_into_120_columns() {
    let mut faults = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for file in files(folder, &[".rs"]) {
            faults.extend(too_long(&read(&file)).into_iter().map(|line| format!("{file}:{line}")));
        }
    }
    assert_eq!(faults, [] as [&str; 0], "comment lines of over {COLUMNS} columns");
}

#[test]
fn a_comment_of_140_characters_is_found() {
    let long = format!("// {}", "word ".repeat(28).trim_end());
    assert!(long.chars().count() > 140);
    assert_eq!(too_long(&format!("fn x() {{\n    {long}\n}}\n")), [2]);
    let fits = format!("/// {}", "é".repeat(COLUMNS - 4));
    assert_eq!(too_long(&fits), [] as [usize; 0]);
    assert_eq!(too_long(&format!("// https://{}", "x".repeat(140))), [] as [usize; 0]);
}
