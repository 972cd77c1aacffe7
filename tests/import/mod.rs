//! After an import the lake holds all resources once, filed under the right person, in their latest version.

mod command;
mod contexts;
mod input;
mod model;
mod real_records;
mod references;
mod rules;
mod versions;

use std::path::{Path, PathBuf};

use tabularium::ingest::{Options, Summary, import};
use tabularium::lake::Lake;

/// An empty lake and a folder for input files.
struct Fixture {
    folder: tempfile::TempDir,
    lake: Lake,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("input")).unwrap();
        let lake = Lake::open_or_create(folder.path().join("lake")).unwrap();
        Fixture { folder, lake }
    }

    fn input(&self) -> PathBuf {
        self.folder.path().join("input")
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.input().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn import(&self, paths: &[&Path]) -> Summary {
        self.import_with(Options::default(), paths)
    }

    fn import_with(&self, options: Options, paths: &[&Path]) -> Summary {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
        import(&mut self.lake.writer().unwrap(), options, &paths).unwrap()
    }

    /// Imports one file with this content.
    fn import_text(&self, name: &str, content: &str) -> Summary {
        let path = self.write(name, content);
        self.import(&[&path])
    }

    /// The live row of a resource of the built-in application.
    fn row(&self, resource_type: &str, id: &str) -> crate::harness::stored::Stored {
        let rows = crate::harness::stored::stored(&self.lake);
        let found = rows
            .into_iter()
            .find(|((_, _, name, row), _)| *name == resource_type && row == id);
        found.unwrap_or_else(|| panic!("no {resource_type}/{id}")).1
    }
}

/// The counts: read, stored, unchanged, replaced, refused.
fn totals(summary: &Summary) -> [u64; 5] {
    let total = summary.total();
    [total.read, total.stored, total.unchanged, total.replaced, total.refused]
}
