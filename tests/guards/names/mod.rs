//! Files, modules and items named in docs exist.

mod house;
mod markdown;

use house::House;
use markdown::{linked, listed, quoted};

use super::{files, read};

/// Endings of names that must be files of this project.
const ENDS: &[&str] = &[
    ".rs", ".py", ".mjs", ".js", ".ts", ".pest", ".html", ".css", ".ftl", ".tsv", ".md", ".sh", ".dict", ".json",
];

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

/// Crates of others, which docs name items of.
const FOREIGN: [&str; 7] = ["arrow", "axum", "datafusion", "hyper", "parquet", "std", "tokio"];

/// The first parts of paths that are no files of this project: folders of data and of builds, media types.
const OUTSIDE: [&str; 7] = ["application", "audit", "data", "files", "spool", "target", "text"];

/// Names of files that others write or publish, and texts with a slash that are no paths.
const NO_FILES: [&str; 11] = [
    "ansi/type",
    "answers/s",
    "ar.ftl",
    "dataelements.json",
    "fr.ftl",
    "jwks.json",
    "live/local",
    "plans/tables.json",
    "profiles-resources.json",
    "pt-BR.ftl",
    "terminology/tables.json",
];

/// The page with the names of benchmarks, which have no ending.
const BENCHMARKS: &str = "benches/README.md";

/// The names in a page that do not exist.
fn missing(house: &House, page: &str, text: &str) -> Vec<(usize, String)> {
    let mut missing: Vec<(usize, String)> = Vec::new();
    for (line, name) in quoted(text) {
        if name.contains("::") {
            let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_:()".contains(c));
            if is_plain && !has_item(house, name) {
                missing.push((line, name.to_owned()));
            }
        } else if is_path(name) && (page != BENCHMARKS || has_end(name)) {
            let named = alternatives(name).into_iter();
            missing.extend(named.filter(|name| !house.has_name(name)).map(|name| (line, name)));
        }
    }
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let listed = listed(text).into_iter().filter(|(_, name)| is_plain_path(name));
    let listed = listed.flat_map(|(line, name)| alternatives(name).into_iter().map(move |name| (line, name)));
    missing.extend(listed.filter(|(_, name)| !is_listed(house, folder, name)));
    let linked = linked(text).into_iter();
    let linked = linked.filter(|(_, target)| !house.has_path(&below(folder, target)));
    missing.extend(linked.map(|(line, target)| (line, target.to_owned())));
    missing.sort();
    missing.dedup();
    missing
}

fn is_plain_path(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || "_-./{},".contains(c))
}

fn has_end(name: &str) -> bool {
    ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether a name can only be the path of a file or a folder of this project.
fn is_path(name: &str) -> bool {
    // Addresses begin with a slash, `Patient/1` and `DIR/lake` with a capital. `{id}` stands for something else.
    let is_open =
        name.starts_with(|c: char| c == '/' || c.is_uppercase()) || (name.contains('{') && !name.contains(','));
    let first = name.split('/').next().unwrap_or_default();
    let is_outside = NO_FILES.contains(&name) || (name.contains('/') && OUTSIDE.contains(&first));
    is_plain_path(name) && (name.contains('/') || has_end(name)) && !is_open && !is_outside
}

/// Folders of this project, which paths in sources begin with.
const FOLDERS: [&str; 8] = [
    "src/",
    "tests/",
    "docs/",
    "benches/",
    "examples/",
    "grammar/",
    "schemas/",
    "templates/",
];

/// The paths of files in the comments and texts of a source file that do not exist.
fn missing_in_source(house: &House, text: &str) -> Vec<(usize, String)> {
    let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let paths = text.lines().enumerate().flat_map(|(at, line)| {
        let words = line.split(|c| !is_part(c)).map(|word| word.trim_end_matches('.'));
        words.map(move |word| (at + 1, word))
    });
    let is_own = |path: &str| FOLDERS.iter().any(|folder| path.starts_with(folder)) && has_end(path);
    paths
        .filter(|(_, path)| is_own(path) && !house.has_path(path))
        .map(|(line, path)| (line, path.to_owned()))
        .collect()
}

/// Whether a path with `::` names a module, an item or a member of a type.
fn has_item(house: &House, name: &str) -> bool {
    let name = name.strip_prefix("crate::").unwrap_or(name);
    let first = name.split("::").next().unwrap_or_default();
    FOREIGN.contains(&first) || house.has_module(name) || house.has_type(name)
}

/// Whether a table lists a file or a folder: one below the page's folder or, if the name has a folder, below a folder
/// above it.
fn is_listed(house: &House, folder: &str, name: &str) -> bool {
    if house.has_path(&below(folder, name)) {
        return true;
    }
    let above = folder.match_indices('/').map(|(end, _)| &folder[..end]);
    name.trim_end_matches('/').contains('/') && above.chain([""]).any(|folder| house.has_path(&below(folder, name)))
}

/// A path in a folder, with its steps upwards taken.
fn below(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let mut rest = name;
    while let Some(after) = rest.strip_prefix("../") {
        parts.pop();
        rest = after;
    }
    parts.push(rest.strip_prefix("./").unwrap_or(rest));
    parts.join("/")
}

/// The project as it is checked out.
fn house() -> House {
    House::new(files("", &[""]), read)
}

/// A project of these files, without texts.
#[cfg(test)]
fn planned(files: &[&str]) -> House {
    House::new(files.iter().map(|&file| file.to_owned()).collect(), |_| String::new())
}

#[test]
fn what_docs_name_is_there() {
    let house = house();
    let mut faults = Vec::new();
    for page in files("", &[".md"]) {
        let missing = missing(&house, &page, &read(&page)).into_iter();
        faults.extend(missing.map(|(line, name)| format!("{page}:{line} names {name}")));
    }
    assert_eq!(faults, [] as [&str; 0]);
}

#[test]
fn what_sources_name_is_there() {
    let house = house();
    let mut faults = Vec::new();
    // The guards name what does not exist.
    let sources = ["src", "tests", "benches"]
        .into_iter()
        .flat_map(|folder| files(folder, &[".rs", ".py", ".mjs"]));
    for file in sources.filter(|file| !file.starts_with("tests/guards/")) {
        let missing = missing_in_source(&house, &read(&file)).into_iter();
        faults.extend(missing.map(|(line, name)| format!("{file}:{line} names {name}")));
    }
    assert_eq!(faults, [] as [&str; 0]);
}

#[test]
fn a_path_in_a_source_that_does_not_exist_is_found() {
    let house = planned(&["tests/crash.rs"]);
    let text = "// As in tests/crash.rs.\nlet why = \"runs in tests/gone.rs\";\n";
    assert_eq!(missing_in_source(&house, text), [(2, "tests/gone.rs".to_owned())]);
}

/// The faults of a text as a page in `src/lake`.
fn faults(house: &House, text: &str) -> Vec<String> {
    let missing = missing(house, "src/lake/README.md", text).into_iter();
    missing.map(|(_, name)| name).collect()
}

#[test]
fn a_module_that_does_not_exist_is_found() {
    let house = planned(&["src/lake/mod.rs", "src/lake/scan/mod.rs", "src/lake/scan/point.rs"]);
    let text = "`lake::scan`, `crate::lake::scan::point`, `std::fs::File`\n```\n`lake::gone`\n```\n";
    assert_eq!(faults(&house, text), [] as [&str; 0]);
    for gone in ["lake::gone::deep", "nosuchroom::scan", "scan::point"] {
        assert_eq!(faults(&house, &format!("`{gone}`")), [gone]);
    }
}

#[test]
fn a_path_that_does_not_exist_is_found() {
    let house = planned(&[
        "docs/lake.md",
        "src/lake/mod.rs",
        "src/lake/scan/visible/mentions.rs",
        "tests/crash.rs",
        "templates/home/style.css",
    ]);
    let text = "`tests/crash.rs`, `crash.rs`, `visible/mentions`, `scan/{visible,visible/mentions.rs}`, `src/lake/scan/`\n\
                `docs/lake.md`, `home/style.css`, `lake/`\n\
                `/fhir/Patient`, `Patient/1`, `{base_url}/x`, `application/json`, `data/live`, `a / b`\n";
    assert_eq!(faults(&house, text), [] as [&str; 0]);
    for gone in [
        "gone.rs",
        "scan/mentions",
        "scan/gone.rs",
        "tests/no_such_folder/",
        "tests/crash.rs/",
        "docs/gone.md",
        "gone.css",
        "no-such.json",
    ] {
        assert_eq!(faults(&house, &format!("`{gone}`")), [gone]);
    }
    assert_eq!(faults(&house, "`scan/{visible,gone}`"), ["scan/gone"]);
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let house = planned(&["docs/lake.md", "src/lake/mod.rs"]);
    let text = "[a](../../docs/lake.md), [b](../../docs/lake.md#top), [c](mod.rs), [d](https://d.org/d.md)";
    assert_eq!(faults(&house, text), [] as [&str; 0]);
    assert_eq!(faults(&house, "[a](docs/lake.md)"), ["docs/lake.md"]);
    assert_eq!(faults(&house, "[a](../../docs/gone.md#top)"), ["../../docs/gone.md"]);
}

#[test]
fn a_table_of_files_that_do_not_exist_is_found() {
    let house = planned(&[
        "src/lake/mod.rs",
        "src/lake/scan/point.rs",
        "src/http/mod.rs",
        "src/http/server/frame.rs",
    ]);
    let table =
        |name: &str| format!("| file | decides |\n|---|---|\n| `lake`, `{name}` | `x` |\n").replace("`lake`, ", "");
    for there in [
        "scan/point",
        "scan/point.rs",
        "scan/",
        "mod.rs",
        "http/server/frame",
        "http/server/",
    ] {
        assert_eq!(faults(&house, &table(there)), [] as [&str; 0]);
    }
    // A file of a folder below is named with this folder.
    for gone in ["point", "point.rs", "gone", "server/", "http/frame"] {
        assert_eq!(faults(&house, &table(gone)), [gone]);
    }
}

#[test]
fn an_item_that_does_not_exist_is_found() {
    let files = ["src/lake/mod.rs", "src/lake/scan.rs"];
    let texts = |file: &str| match file {
        "src/lake/mod.rs" => "mod scan;\npub use scan::{\n    Provider,\n};\nuse scan::hidden;\n".to_owned(),
        _ => "pub const fn open() {}\npub struct Row {\n    key: u8,\n}\nimpl Row {\n    fn width(&self) {}\n}\n\
              pub struct Provider;\nimpl Provider {\n    fn new() {}\n}\n// fn gone() {}\n"
            .to_owned(),
    };
    let house = House::new(files.map(str::to_owned).into(), texts);
    let there = "`lake::Provider::new`, `lake::scan::open`, `lake::scan::open()`, `lake::scan::Row::width`, `Row::key`, \
                 `Row::width()`";
    assert_eq!(faults(&house, there), [] as [&str; 0]);
    for gone in [
        "lake::Gone",
        "lake::hidden",
        "lake::Provider::gone",
        "lake::scan::gone",
        "lake::scan::gone()",
        "lake::scan::Gone",
        "lake::scan::Row::height",
        "Row::height",
        "Gone::key",
    ] {
        assert_eq!(faults(&house, &format!("`{gone}`")), [gone]);
    }
}
