//! Files, modules and items named in docs exist.

use std::collections::{BTreeMap, BTreeSet};

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

/// Words before the name of an item.
const ITEMS: [&str; 9] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "const",
    "static",
    "type",
    "mod",
    "macro_rules",
];

/// The items that a source file defines, at its top or inside of others.
fn defined(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let words: Vec<&str> = words(line).collect();
        let pairs = words.windows(2).filter(|pair| ITEMS.contains(&pair[0]));
        names.extend(pairs.map(|pair| pair[1].to_owned()));
    }
    names
}

/// The names in a source file's re-exports.
fn exported(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut is_inside = false;
    for line in text.lines() {
        is_inside |= line.starts_with("pub") && line.contains(" use ");
        if is_inside {
            names.extend(words(line).map(str::to_owned));
            is_inside = !line.ends_with(';');
        }
    }
    names
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    parts.filter(|word| !word.is_empty())
}

/// The files and modules of the project.
struct House {
    /// Paths from the root.
    files: Vec<String>,
    /// The texts of modules, by `room::module`.
    modules: BTreeMap<String, String>,
    rooms: BTreeSet<String>,
}

impl House {
    fn new(files: Vec<String>, read: impl Fn(&str) -> String) -> House {
        let (mut modules, mut rooms) = (BTreeMap::new(), BTreeSet::new());
        for file in &files {
            let Some(path) = file.strip_prefix("src/").and_then(|path| path.strip_suffix(".rs")) else {
                continue;
            };
            let path = path.strip_suffix("/mod").unwrap_or(path);
            let parts: Vec<&str> = path.split('/').collect();
            rooms.insert(parts[0].to_owned());
            modules.insert(parts.join("::"), read(file));
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

    /// Whether a path names a module, an item of one, or a member of an item. An item is defined or re-exported in its
    /// module's file. The file of a re-exported item is not known, so its members are not looked up.
    fn has_module(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split("::").map(|part| part.trim_end_matches("()")).collect();
        let depth = (1..=parts.len())
            .rev()
            .find(|depth| self.modules.contains_key(&parts[..*depth].join("::")));
        let Some(depth) = depth else { return false };
        let text = &self.modules[&parts[..depth].join("::")];
        let defined = defined(text);
        match &parts[depth..] {
            [] => true,
            [item] => defined.contains(*item) || exported(text).contains(*item),
            [item, members @ ..] if defined.contains(*item) => {
                let known: BTreeSet<&str> = words(text).collect();
                members.iter().all(|member| known.contains(member))
            }
            [item, ..] => exported(text).contains(*item),
        }
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
    House::new(all, read)
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
    let house = House::new(files.map(str::to_owned).into(), |_| String::new());
    let text = "`lake::scan` and `lake::scan::point`, `point.rs`, `tests/crash.rs`, `scan/{mod,point}.rs`\n\
                `lake::gone::deep`, `gone.rs`, `scan/{mod,gone}.rs`, `std::fs::File`\n```\n`gone.rs`\n```\n";
    let expected = [(2, "lake::gone::deep"), (2, "gone.rs"), (2, "scan/gone.rs")];
    assert_eq!(
        house.missing(text),
        expected.map(|(line, name)| (line, name.to_owned()))
    );
}

#[test]
fn an_item_that_does_not_exist_is_found() {
    let files = ["src/lake/mod.rs", "src/lake/scan.rs"];
    let texts = |file: &str| match file {
        "src/lake/mod.rs" => "mod scan;\npub use scan::{\n    Provider,\n};\nuse scan::hidden;\n".to_owned(),
        _ => "pub const fn open() {}\npub struct Row;\nimpl Row {\n    fn width(&self) {}\n}\n// fn gone() {}\n"
            .to_owned(),
    };
    let house = House::new(files.map(str::to_owned).into(), texts);
    let there = "`lake::Provider::new`, `lake::scan::open`, `lake::scan::open()`, `lake::scan::Row::width`";
    assert_eq!(house.missing(there), []);
    for gone in [
        "lake::Gone",
        "lake::hidden",
        "lake::scan::gone",
        "lake::scan::gone()",
        "lake::scan::Gone",
        "lake::scan::Row::height",
    ] {
        assert_eq!(house.missing(&format!("`{gone}`")), [(1, gone.to_owned())]);
    }
}
