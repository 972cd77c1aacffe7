//! A room imports only rooms of lower floors. The table of `ARCHITECTURE.md` lists the floors from the ground up.

use super::{files, read};

/// A room and the number of its floor. Rooms of one floor have the same number. Each room that stands aside has its
/// own.
type Room = (String, usize);

/// The rooms of a table from the ground up. The first cell of a row is the floor, the second has one or more names in
/// backticks.
fn rooms(architecture: &str) -> Vec<Room> {
    let table = architecture
        .lines()
        .skip_while(|line| !line.starts_with("| floor |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let (mut rooms, mut number, mut before) = (Vec::new(), 0, "");
    for row in table {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let (floor, names) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        if floor != before || floor == "aside" {
            number += 1;
        }
        before = floor;
        let names = names.split('`').skip(1).step_by(2);
        rooms.extend(names.map(|name| (name.trim_end_matches(".rs").to_owned(), number)));
    }
    rooms
}

/// The room of a source file.
fn room(path: &str) -> &str {
    let below = path.strip_prefix("src/").unwrap_or(path);
    below.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

/// How many modules a source file's module is in, itself included: 1 for a room's own file.
fn depth(path: &str) -> usize {
    let below = path.strip_prefix("src/").unwrap_or(path);
    below.split('/').filter(|part| *part != "mod.rs").count()
}

/// The rooms that a text names, each with its first line number: in `crate::room`, and in a path of so many `super::`
/// that it leaves the file's own room.
fn imported(text: &str, depth: usize) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    // The indents of the modules around a line. `rustfmt` puts the end of each at the same column as its beginning.
    let mut modules: Vec<usize> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if trimmed.starts_with('}') && modules.last() == Some(&indent) {
            modules.pop();
        }
        let named = line.split("crate::").skip(1).map(first_name);
        let outside = supers(line).filter(|(count, _)| *count >= depth + modules.len());
        for name in named.chain(outside.map(|(_, name)| name)) {
            if found.iter().all(|(_, known)| known != name) {
                found.push((at + 1, name.to_owned()));
            }
        }
        let is_module = trimmed.starts_with("mod ") || trimmed.contains(") mod ") || trimmed.starts_with("pub mod ");
        if is_module && trimmed.ends_with('{') {
            modules.push(indent);
        }
    }
    found
}

/// Each run of `super::` in a line, as its length and the name after it.
fn supers(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = &rest[rest.find("super::")?..];
        let mut count = 0;
        while let Some(after) = rest.strip_prefix("super::") {
            count += 1;
            rest = after;
        }
        Some((count, first_name(rest)))
    })
}

/// The name that a text begins with.
fn first_name(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    &text[..end.unwrap_or(text.len())]
}

/// A file's imports of higher or unknown rooms.
fn upward(rooms: &[Room], path: &str, text: &str) -> Vec<String> {
    let floor = |name: &str| rooms.iter().find(|room| room.0 == name).map(|room| room.1);
    let own = floor(room(path));
    let leads_up = |name: &str| name != room(path) && (own.is_none() || floor(name).is_none() || floor(name) >= own);
    let imported = imported(text, depth(path))
        .into_iter()
        .filter(|(_, name)| leads_up(name));
    imported
        .map(|(line, name)| format!("{path}:{line} imports {name}"))
        .collect()
}

#[test]
fn rooms_import_downwards_only() {
    let rooms = rooms(&read("ARCHITECTURE.md"));
    assert!(rooms.len() > 15, "{rooms:?}");
    let mut faults = Vec::new();
    for file in files("src", &[".rs"]) {
        if file == "src/lib.rs" {
            continue;
        }
        assert!(
            rooms.iter().any(|(name, _)| name == room(&file)),
            "{file} is in no room of the table"
        );
        faults.extend(upward(&rooms, &file, &read(&file)));
    }
    assert_eq!(faults, [] as [&str; 0]);
}

#[test]
fn an_upward_import_is_found() {
    let table = "| floor | module | holds |\n|---|---|---|\n| 1 | `fhir` | x |\n| 2 | `plans`, `lake` | x |\n\
                 | 2 | `pdf` | x |\n| aside | `bench` | x |\n| aside | `sandbox` | x |\n| 3 | `main.rs` | x |\n";
    let rooms = rooms(table);
    let expected = [
        ("fhir", 1),
        ("plans", 2),
        ("lake", 2),
        ("pdf", 2),
        ("bench", 3),
        ("sandbox", 4),
        ("main", 5),
    ];
    assert_eq!(rooms, expected.map(|(name, floor)| (name.to_owned(), floor)));
    let text = "use crate::fhir::facts;\nfn x() { crate::lake::open(); crate::nowhere::x(); }\n";
    let expected = ["src/plans/mod.rs:2 imports lake", "src/plans/mod.rs:2 imports nowhere"];
    assert_eq!(upward(&rooms, "src/plans/mod.rs", text), expected);
    assert_eq!(
        upward(&rooms, "src/pdf/mod.rs", "use crate::plans;"),
        ["src/pdf/mod.rs:1 imports plans"]
    );
    assert_eq!(
        upward(&rooms, "src/bench/mod.rs", text),
        ["src/bench/mod.rs:2 imports nowhere"]
    );
    assert_eq!(upward(&rooms, "src/main.rs", "use crate::lake;"), [] as [&str; 0]);
}

#[test]
fn an_upward_import_by_super_is_found() {
    let table = "| floor | module | holds |\n|---|---|---|\n| 1 | `fhir` | x |\n| 2 | `lake` | x |\n";
    let rooms = rooms(table);
    let text = "use super::x;\nuse super::super::lake;\nmod tests {\n    use super::super::lake;\n    \
                use super::super::super::lake::open;\n}\n";
    let found = |path: &str| upward(&rooms, path, text);
    assert_eq!(
        found("src/fhir/mod.rs"),
        ["src/fhir/mod.rs:1 imports x", "src/fhir/mod.rs:2 imports lake"]
    );
    assert_eq!(found("src/fhir/types.rs"), ["src/fhir/types.rs:2 imports lake"]);
    assert_eq!(found("src/fhir/types/mod.rs"), ["src/fhir/types/mod.rs:2 imports lake"]);
    // This module is three levels deep, so two levels up is still the same room.
    assert_eq!(found("src/fhir/types/table.rs"), [] as [&str; 0]);
    let inside = "mod tests {\n    use super::super::super::lake;\n}\n";
    assert_eq!(
        upward(&rooms, "src/fhir/types.rs", inside),
        ["src/fhir/types.rs:2 imports lake"]
    );
}
