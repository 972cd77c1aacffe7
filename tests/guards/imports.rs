//! A room imports only rooms that are above it in the table of `ARCHITECTURE.md`, which lists them from the ground up.

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

/// The rooms in a text's `crate::room` paths, each with its first line number.
fn imported(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let named = line.split("crate::").skip(1).map(|rest| {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            &rest[..end.unwrap_or(rest.len())]
        });
        for name in named {
            if found.iter().all(|(_, known)| known != name) {
                found.push((at + 1, name.to_owned()));
            }
        }
    }
    found
}

/// A file's imports of higher or unknown rooms.
fn upward(rooms: &[Room], path: &str, text: &str) -> Vec<String> {
    let floor = |name: &str| rooms.iter().find(|room| room.0 == name).map(|room| room.1);
    let own = floor(room(path));
    let leads_up = |name: &str| name != room(path) && (own.is_none() || floor(name).is_none() || floor(name) >= own);
    let imported = imported(text).into_iter().filter(|(_, name)| leads_up(name));
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
