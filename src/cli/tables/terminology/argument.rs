//! `--terminology`: value sets and code systems for expressions, besides those beside the lake.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::terminal::failure::Failure;
use crate::terminology::{Terminology, TerminologyError};

#[derive(Debug, Default, clap::Args)]
pub(in crate::cli) struct TerminologyArgument {
    /// A file or folder of ValueSets and CodeSystems (JSON, NDJSON, Bundles) for memberOf(), subsumes() and
    /// subsumedBy()
    #[arg(long, value_name = "FILE_OR_DIR")]
    terminology: Option<PathBuf>,
}

impl TerminologyArgument {
    /// The terminology of the files, and that beside the lake in `data`. `None` if there is neither.
    pub(in crate::cli) fn load(&self, data: Option<&Path>) -> Result<Option<Arc<Terminology>>, Failure> {
        let data = data.filter(|data| data.join("terminology").is_dir());
        let path = self.terminology.as_deref();
        let loaded = match (data, path) {
            (Some(data), path) => Terminology::open(data, path).map(Some),
            (None, Some(path)) => Terminology::load(path).map(Some),
            (None, None) => Ok(None),
        };
        loaded.map(|loaded| loaded.map(Arc::new)).map_err(failure)
    }
}

/// The terminology beside the lake in `data`, and that of the files.
pub(in crate::cli) fn open(data: &Path, path: Option<&Path>) -> Result<Arc<Terminology>, Failure> {
    Terminology::open(data, path).map(Arc::new).map_err(failure)
}

/// An error in a given file is the input's fault. One in a stored file is not.
pub(in crate::cli) fn failure(error: TerminologyError) -> Failure {
    if error.is_of_input() {
        Failure::input(error.to_string())
    } else {
        Failure::other(error)
    }
}
