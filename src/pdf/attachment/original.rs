//! Reads attached PDF files with limits, repairs damaged ones, and refuses those that cannot be opened.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use krilla::Document as Writer;
use krilla::pdf::{Pdf, PdfDocument};
use lopdf::{DecompressError, Document, Error, LoadOptions};

/// The maximum unpacked size of one object stream or cross-reference stream, in bytes.
const MAX_UNPACKED: usize = 64 << 20;

/// Reads a PDF whose pages can be appended, and repairs a damaged one. The error says why it cannot be read.
pub(super) fn read(bytes: &[u8]) -> Result<Document, &'static str> {
    // The parsing libraries may panic on damaged files. A panic counts as damage.
    let read = catch_unwind(AssertUnwindSafe(|| as_it_is(bytes))).unwrap_or(Err(DAMAGED));
    match read {
        Err(DAMAGED) => catch_unwind(AssertUnwindSafe(|| mended(bytes))).unwrap_or(Err(DAMAGED)),
        other => other,
    }
}

const DAMAGED: &str = "the PDF is damaged";
const LOCKED: &str = "the PDF is protected by a password";
const TOO_LARGE: &str = "the PDF unpacks to more than this file has room for";

fn as_it_is(bytes: &[u8]) -> Result<Document, &'static str> {
    let options = LoadOptions::with_max_decompressed_size(MAX_UNPACKED);
    let document = match Document::load_mem_with_options(bytes, options) {
        Ok(document) => document,
        Err(Error::InvalidPassword | Error::Decryption(_)) => return Err(LOCKED),
        // Refuse the file here, because the tolerant reader would unpack it.
        Err(Error::Decompress(DecompressError::MemoryLimitExceeded { .. })) => return Err(TOO_LARGE),
        Err(_) => return Err(DAMAGED),
    };
    if document.is_encrypted() {
        return Err(LOCKED);
    }
    let pages = document.get_pages();
    let readable = |page: &lopdf::ObjectId| document.get_dictionary(*page).is_ok();
    if pages.is_empty() || !pages.values().all(readable) {
        return Err(DAMAGED);
    }
    Ok(document)
}

/// Rewrites the pages that a more tolerant reader finds, and reads the result.
fn mended(bytes: &[u8]) -> Result<Document, &'static str> {
    let pdf = Pdf::new(bytes.to_vec()).map_err(|_| DAMAGED)?;
    let count = pdf.pages().len();
    if count == 0 {
        return Err(DAMAGED);
    }
    let places: Vec<usize> = (0..count).collect();
    let mut writer = Writer::new();
    writer.embed_pdf_pages(&PdfDocument::new(Arc::new(pdf)), &places);
    let written = writer.finish().map_err(|_| DAMAGED)?;
    as_it_is(&written)
}
