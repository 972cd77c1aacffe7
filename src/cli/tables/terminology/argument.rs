//! The option `--terminology`: value sets and code systems for expressions, in addition to those beside the lake.

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
    /// Loads the terminology of the option and that beside the lake in `data`. `None` if there is neither.
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

/// Opens the terminology beside the lake in `data`, and that in `path` if one is given.
pub(in crate::cli) fn open(data: &Path, path: Option<&Path>) -> Result<Arc<Terminology>, Failure> {
    Terminology::open(data, path).map(Arc::new).map_err(failure)
}

/// Converts the error to a failure. Its exit code is 2 for an error in a given file, and 1 for one in a stored file.
pub(in crate::cli) fn failure(error: TerminologyError) -> Failure {
    if error.is_of_input() {
        Failure::input(error.to_string())
    } else {
        Failure::other(error)
    }
}
