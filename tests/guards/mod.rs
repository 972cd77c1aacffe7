//! The house itself: comments that fit the page, docs that name what is there, rooms that import downwards only.
//!
//! Each guard is a function from texts to faults, so that a planted fault shows that it looks.

mod comments;
mod imports;
mod names;

use std::path::{Path, PathBuf};

/// The checkout.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files below a folder of the checkout whose names end so, by their path from the root, in order; nothing that a
/// build made.
fn files(folder: &str, ends: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["target", ".git", "node_modules"].contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if ends.iter().any(|end| name.ends_with(end)) {
                found.push(from_root(&path));
            }
        }
    }
    found.sort();
    found
}

fn from_root(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()
}

fn read(path: &str) -> String {
    let path: PathBuf = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
