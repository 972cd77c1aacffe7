//! The options of `serve` and `demo` for the look and the texts of the patient's pages.

use std::path::PathBuf;

use crate::cli::terminal::failure::Failure;
use crate::http::{Branding, Languages, Pages};

/// Folders for the patient's pages.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct PageArgs {
    /// Folder of further languages for the patient's pages: Fluent files like fr.ftl (docs/pages.md)
    #[arg(long, value_name = "DIR")]
    languages: Option<PathBuf>,
    /// Folder with a branding.toml: the name, logo, colour and links of who runs the service (docs/pages.md)
    #[arg(long, value_name = "DIR")]
    branding: Option<PathBuf>,
}

impl PageArgs {
    /// Reads and checks the folders. Without an option, uses the built-in languages or the default branding.
    pub(in crate::cli) fn pages(&self) -> Result<Pages, Failure> {
        let refused = |option: &str, error: &dyn std::error::Error| Failure::input(format!("{option}: {error}"));
        let languages = match &self.languages {
            Some(folder) => Languages::with_folder(folder).map_err(|error| refused("--languages", &error))?,
            None => Languages::default(),
        };
        let branding = match &self.branding {
            Some(folder) => Branding::from_folder(folder).map_err(|error| refused("--branding", &error))?,
            None => Branding::default(),
        };
        Ok(Pages { languages, branding })
    }
}
