//! `--terminology`: the value sets and code systems that expressions ask.

use std::path::PathBuf;
use std::sync::Arc;

use super::failure::Failure;
use crate::fhir::terminology::Terminology;

#[derive(Debug, Default, clap::Args)]
pub(super) struct TerminologyArgument {
    /// A file or folder of ValueSets and CodeSystems (JSON, NDJSON, Bundles) for memberOf(), subsumes() and subsumedBy()
    #[arg(long, value_name = "FILE_OR_DIR")]
    terminology: Option<PathBuf>,
}

impl TerminologyArgument {
    pub(super) fn load(&self) -> Result<Option<Arc<Terminology>>, Failure> {
        let load = |path: &PathBuf| Terminology::load(path).map(Arc::new);
        let loaded = self.terminology.as_ref().map(load).transpose();
        loaded.map_err(|error| Failure::input(error.to_string()))
    }
}
