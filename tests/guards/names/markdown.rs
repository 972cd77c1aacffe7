//! What a Markdown page names: texts in backticks, the files in its tables, and the targets of its links.

/// The lines outside of fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_fenced = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        (!is_fenced && !is_fence).then_some((at + 1, line))
    })
}

/// The texts between backticks.
fn in_backticks(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The texts between backticks, with their line numbers.
pub(super) fn quoted(text: &str) -> Vec<(usize, &str)> {
    prose(text)
        .flat_map(|(at, line)| in_backticks(line).map(move |name| (at, name)))
        .collect()
}

/// The texts between backticks in the column `file` of each table.
pub(super) fn listed(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    // The place of the column `file` in the table of this line.
    let mut column = None;
    for (at, line) in prose(text) {
        if !line.starts_with('|') {
            column = None;
            continue;
        }
        let mut cells = line.split('|').skip(1).map(str::trim);
        match column {
            None => column = Some(cells.position(|cell| cell == "file")),
            Some(place) => {
                let cell = place.and_then(|place| cells.nth(place)).unwrap_or_default();
                found.extend(in_backticks(cell).map(|name| (at, name)));
            }
        }
    }
    found
}

/// The targets of links to files, without their anchors.
pub(super) fn linked(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, line) in prose(text) {
        let targets = line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next());
        let is_file = |target: &&str| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:");
        found.extend(targets.filter(is_file).map(|target| (at, target)));
    }
    found
}

#[test]
fn links_and_tables_are_read() {
    let text = "[a](docs/a.md#top), [b](#b), [c](https://c.org/d.md)\n```\n[e](e.md)\n```\n\
                | holds | file |\n|---|---|\n| `x` | `f.rs`, `g` |\n\n| `h` |\n";
    assert_eq!(linked(text), [(1, "docs/a.md")]);
    assert_eq!(listed(text), [(7, "f.rs"), (7, "g")]);
    assert_eq!(quoted(text), [(7, "x"), (7, "f.rs"), (7, "g"), (9, "h")]);
}
