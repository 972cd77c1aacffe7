//! Files and modules named in docs exist.

use std::collections::BTreeSet;

use super::{files, read, root};

/// Endings of names that must be files of this project.
const ENDS: &[&str] = &[".rs", ".py", ".mjs", ".ts", ".pest", ".html"];

/// The texts between backticks, with their line numbers. Fenced blocks are left out.
fn quoted(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_fenced = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            found.extend(line.split('`').skip(1).step_by(2).map(|name| (at + 1, name)));
        }
    }
    found
}

/// The names that `a/{b,c}.rs` expands to.
fn alternatives(name: &str) -> Vec<String> {
    let Some((head, (list, tail))) = name
        .split_once('{')
        .and_then(|(head, rest)| Some((head, rest.split_once('}')?)))
    else {
        return vec![name.to_owned()];
    };
    let named = list.split(',').map(|part| format!("{head}{}{tail}", part.trim()));
    named.flat_map(|name| alternatives(&name)).collect()
}

/// The files and modules of the project.
struct House {
    /// Paths from the root.
    files: Vec<String>,
    /// Modules as `room::module`, without `src`, and their last parts.
    modules: BTreeSet<String>,
    rooms: BTreeSet<String>,
}

impl House {
    fn new(files: Vec<String>) -> House {
        let (mut modules, mut rooms) = (BTreeSet::new(), BTreeSet::new());
        for file in &files {
            let Some(path) = file.strip_prefix("src/").and_then(|path| path.strip_suffix(".rs")) else {
                continue;
            };
            let path = path.strip_suffix("/mod").unwrap_or(path);
            let parts: Vec<&str> = path.split('/').collect();
            rooms.insert(parts[0].to_owned());
            modules.insert(parts.join("::"));
        }
        House { files, modules, rooms }
    }

    /// Whether a file's path ends with this name after a slash.
    fn has_file(&self, name: &str) -> bool {
        self.files.iter().any(|file| {
            let head = file.strip_suffix(name);
            head.is_some_and(|head| head.is_empty() || head.ends_with('/'))
        })
    }

    /// Whether a path names a module of a room, or an item of one. Names after the last module count as items.
    fn has_module(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split("::").collect();
        let is_item = |part: &str| part.chars().any(char::is_uppercase) || part.ends_with("()");
        let modules: Vec<&str> = parts.iter().take_while(|part| !is_item(part)).copied().collect();
        // The last part may be an item.
        (1..=2).any(|left| {
            let named = &modules[..modules.len().saturating_sub(left - 1)];
            named.len() > 1 && self.modules.contains(&named.join("::")) || named.len() == 1
        })
    }

    /// The names in a text that do not exist.
    fn missing(&self, text: &str) -> Vec<(usize, String)> {
        let mut missing = Vec::new();
        for (line, name) in quoted(text) {
            let is_path = |name: &str| name.chars().all(|c| c.is_alphanumeric() || "_-./{},".contains(c));
            let first = name.split("::").next().unwrap_or_default();
            if name.contains("::") {
                let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_:()".contains(c));
                if is_plain && self.rooms.contains(first) && !self.has_module(name) {
                    missing.push((line, name.to_owned()));
                }
            } else if is_path(name) && ENDS.iter().any(|end| name.ends_with(end)) {
                let named = alternatives(name).into_iter();
                missing.extend(named.filter(|name| !self.has_file(name)).map(|name| (line, name)));
            }
        }
        missing
    }
}

fn house() -> House {
    let mut all = Vec::new();
    for folder in ["src", "tests", "benches", "templates", "grammar", "schemas", "fuzz"] {
        if root().join(folder).is_dir() {
            all.extend(files(folder, &[""]));
        }
    }
    House::new(all)
}

#[test]
fn what_docs_name_is_there() {
    let house = house();
    let mut docs: Vec<String> = ["ARCHITECTURE.md", "LAYOUT.md", "README.md"].map(str::to_owned).into();
    for folder in ["docs", "src", "tests", "benches", "schemas"] {
        docs.extend(files(folder, &[".md"]));
    }
    let mut faults = Vec::new();
    for file in docs {
        let missing = house.missing(&read(&file)).into_iter();
        faults.extend(missing.map(|(line, name)| format!("{file}:{line} names {name}")));
    }
    assert_eq!(faults, [] as [&str; 0]);
}

#[test]
fn a_module_that_does_not_exist_is_found() {
    let files = [
        "src/lake/mod.rs",
        "src/lake/scan/mod.rs",
        "src/lake/scan/point.rs",
        "tests/crash.rs",
    ];
    let house = House::new(files.map(str::to_owned).into());
    let text = "`lake::scan` and `lake::scan::Provider`, `point.rs`, `tests/crash.rs`, `scan/{mod,point}.rs`\n\
                `lake::gone::deep`, `gone.rs`, `scan/{mod,gone}.rs`, `std::fs::File`\n```\n`gone.rs`\n```\n";
    let expected = [(2, "lake::gone::deep"), (2, "gone.rs"), (2, "scan/gone.rs")];
    assert_eq!(
        house.missing(text),
        expected.map(|(line, name)| (line, name.to_owned()))
    );
}
