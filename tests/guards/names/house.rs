//! The files, modules and types of the project.

use std::collections::{BTreeMap, BTreeSet};

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

/// Words before the name of a type.
const TYPES: [&str; 4] = ["struct", "enum", "trait", "type"];

/// The files and modules of the project.
pub(super) struct House {
    /// Paths of files from the root.
    files: BTreeSet<String>,
    /// Paths of folders from the root.
    folders: BTreeSet<String>,
    /// The texts of modules, by `room::module`.
    modules: BTreeMap<String, String>,
    /// The members of each type: methods, constants, fields and variants.
    types: BTreeMap<String, BTreeSet<String>>,
}

impl House {
    pub(super) fn new(files: Vec<String>, read: impl Fn(&str) -> String) -> House {
        let (mut modules, mut types) = (BTreeMap::new(), BTreeMap::new());
        for file in &files {
            let Some(path) = file.strip_suffix(".rs") else {
                continue;
            };
            let text = read(file);
            add_types(&text, &mut types);
            if let Some(path) = path.strip_prefix("src/") {
                let path = path.strip_suffix("/mod").unwrap_or(path);
                let parts: Vec<&str> = path.split('/').collect();
                modules.insert(parts.join("::"), text);
            }
        }
        let parents = files.iter().flat_map(|file| {
            file.match_indices('/')
                .map(|(end, _)| file[..end].to_owned())
                .collect::<Vec<_>>()
        });
        House {
            folders: parents.collect(),
            files: files.into_iter().collect(),
            modules,
            types,
        }
    }

    /// Whether there is a file or a folder of this path from the root. A Rust file may be named without its ending. A
    /// path that ends with a slash is one of a folder.
    pub(super) fn has_path(&self, path: &str) -> bool {
        match path.strip_suffix('/') {
            Some(folder) => self.folders.contains(folder),
            None => {
                self.files.contains(path) || self.folders.contains(path) || self.files.contains(&format!("{path}.rs"))
            }
        }
    }

    /// Whether the path of a file or folder ends with this name after a slash.
    pub(super) fn has_name(&self, name: &str) -> bool {
        let ends = |path: &String, name: &str| {
            let head = path.strip_suffix(name);
            head.is_some_and(|head| head.is_empty() || head.ends_with('/'))
        };
        let is_folder = |name: &str| self.folders.iter().any(|folder| ends(folder, name));
        match name.strip_suffix('/') {
            Some(folder) => is_folder(folder),
            None => {
                let rust = format!("{name}.rs");
                self.files.iter().any(|file| ends(file, name) || ends(file, &rust)) || is_folder(name)
            }
        }
    }

    /// Whether a path names a module, an item of one, or a member of an item. An item is defined or re-exported in its
    /// module's file. The file of a re-exported item is not known, so its members are looked up by the type's name.
    pub(super) fn has_module(&self, path: &str) -> bool {
        let parts: Vec<&str> = parts(path).collect();
        let depth = (1..=parts.len())
            .rev()
            .find(|depth| self.modules.contains_key(&parts[..*depth].join("::")));
        let Some(depth) = depth else { return false };
        let text = &self.modules[&parts[..depth].join("::")];
        let has_item = |item: &str| defined(text).contains(item) || exported(text).contains(item);
        match &parts[depth..] {
            [] => true,
            [item] => has_item(item),
            [item, member] => has_item(item) && self.has_member(item, member),
            _ => false,
        }
    }

    /// Whether a type of this name has a member of this name.
    pub(super) fn has_member(&self, name: &str, member: &str) -> bool {
        self.types.get(name).is_some_and(|members| members.contains(member))
    }

    /// Whether a path of a type and its member, `Type::member`, exists.
    pub(super) fn has_type(&self, path: &str) -> bool {
        match &parts(path).collect::<Vec<_>>()[..] {
            // `Type::` stands for all members.
            [name, ""] => self.types.contains_key(*name),
            [name, member] => self.has_member(name, member),
            _ => false,
        }
    }
}

/// The parts of `a::b::c()`.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split("::").map(|part| part.trim_end_matches("()"))
}

/// The lines that are no comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The items that a source file defines, at its top or inside of others.
fn defined(text: &str) -> BTreeSet<String> {
    code(text).flat_map(|line| after(line, &ITEMS)).collect()
}

/// The words that follow one of these words.
fn after(line: &str, before: &[&str]) -> Vec<String> {
    let words: Vec<&str> = words(line).collect();
    let pairs = words.windows(2).filter(|pair| before.contains(&pair[0]));
    pairs.map(|pair| pair[1].to_owned()).collect()
}

/// Adds the types of a source file, with the members that it gives them. The blocks are those of `rustfmt`: they end
/// with a brace at the column of their first line.
fn add_types(text: &str, types: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut lines = code(text).peekable();
    while let Some(line) = lines.next() {
        let head = line.trim_start();
        let indent = &line[..line.len() - head.len()];
        let names = match head.split(['<', ' ']).next() {
            Some("impl") => block_types(head),
            _ => after(head, &TYPES).into_iter().take(1).collect(),
        };
        if names.is_empty() || head.starts_with('"') {
            continue;
        }
        let mut members: BTreeSet<String> = BTreeSet::new();
        if let Some((_, inside)) = head.split_once('{') {
            members.extend(words(inside).map(str::to_owned));
        }
        let is_whole = head.ends_with(';') || head.ends_with('}');
        let close = format!("{indent}}}");
        let end = |line: &&str| line.starts_with(&close) || *line == format!("{indent});");
        while let Some(line) = lines.next_if(|line| !is_whole && !end(line)) {
            // Fields and variants begin their line; functions and constants follow a word.
            let inner = line.trim_start();
            let is_direct = line.len() - inner.len() == indent.len() + 4;
            if is_direct {
                members.extend(after(inner, &["fn", "const", "type"]));
                let first = words(inner).find(|word| !["pub", "crate", "super", "in"].contains(word));
                members.extend(first.map(str::to_owned));
            }
        }
        for name in names {
            types.entry(name).or_default().extend(members.iter().cloned());
        }
    }
}

/// The type of `impl Trait for Type<..> {`, and nothing else.
fn block_types(head: &str) -> Vec<String> {
    let head = head.split(" where").next().unwrap_or_default();
    let named = head.rsplit(" for ").next().unwrap_or_default();
    let named = match named.strip_prefix("impl<") {
        Some(rest) => rest.split_once("> ").map_or("", |(_, name)| name),
        None => named.strip_prefix("impl ").unwrap_or(named),
    };
    let path = named.split('<').next().unwrap_or_default();
    words(path).last().map(str::to_owned).into_iter().collect()
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

#[test]
fn members_of_types_are_read() {
    let text = "pub struct Row {\n    pub width: u32,\n    /// Not `gone`.\n    key: Key,\n}\n\
                impl fmt::Display for Row {\n    fn fmt(&self) {\n        let gone = 1;\n    }\n}\n\
                pub enum Side {\n    Left,\n    Right(u8),\n}\nimpl<'a> Side<'a> {\n    pub(super) const MAX: u8 = 1;\n}\n\
                enum Small { One, Two }\n";
    let mut types = BTreeMap::new();
    add_types(text, &mut types);
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let expected = BTreeMap::from([
        ("Row".to_owned(), names(&["fmt", "fn", "key", "width"])),
        ("Side".to_owned(), names(&["Left", "MAX", "Right", "const"])),
        ("Small".to_owned(), names(&["One", "Two"])),
    ]);
    assert_eq!(types, expected);
}
