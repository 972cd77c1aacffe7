//! Errors of writing a document.

use std::io;

/// Why a document could not be written. Retrying does not help.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    /// The built-in fonts cannot be read.
    #[error("the fonts of the program cannot be read")]
    Fonts,
    /// The writer refused the document. The message contains nothing of the document.
    #[error("the PDF cannot be written: {0}")]
    Writer(&'static str),
    /// The caller stopped the work.
    #[error("the document is not wanted any more")]
    Stopped,
    /// The process that reads attachments cannot be started or confined.
    #[error("the process that reads attachments cannot be started: {0}")]
    Apart(#[source] io::Error),
    /// The output cannot be written.
    #[error("the document cannot be kept: {0}")]
    Output(#[source] io::Error),
}
