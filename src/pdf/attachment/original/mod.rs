//! Reads attached PDF files with limits, repairs damaged ones, and refuses those that cannot be opened.

mod decrypted;
mod values;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use krilla::Document as Writer;
use krilla::pdf::{Pdf, PdfDocument};
use lopdf::{DecompressError, Document, Error, LoadOptions, Object, ObjectId};

use self::decrypted::Locked;
use self::values::TOO_LARGE;

/// The maximum unpacked size of one object stream or cross-reference stream, in bytes.
const MAX_UNPACKED: usize = 64 << 20;
/// The maximum estimated memory of all values of a file.
const MAX_VALUES: usize = 384 << 20;

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

fn as_it_is(bytes: &[u8]) -> Result<Document, &'static str> {
    ROOM.set(values::left_outside_streams(MAX_VALUES, bytes));
    let read = load(bytes, false);
    let document = match &read {
        // The table of objects leads to other places than the objects. Find the objects themselves.
        Ok(document) if !document.is_encrypted() && document.get_pages().is_empty() => load(bytes, true).or(read)?,
        _ => read?,
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

/// Reads a file, with or without its table of objects.
fn load(bytes: &[u8], force_reconstruct: bool) -> Result<Document, &'static str> {
    ROOM.get()?;
    let options = LoadOptions {
        force_reconstruct,
        filter: Some(within_room),
        ..LoadOptions::with_max_decompressed_size(MAX_UNPACKED)
    };
    let read = match decrypted::open(bytes, &options) {
        None => Document::load_mem_with_options(bytes, options),
        Some(Ok(opened)) => opened.read(|bytes| Document::load_mem_with_options(bytes, options)),
        Some(Err(Locked::Password)) => return Err(LOCKED),
        // The table of objects may lead to another place than the object that says how the file is encrypted.
        Some(Err(Locked::Unreadable)) if !force_reconstruct => return load(bytes, true),
        Some(Err(Locked::Unreadable)) => return Err(DAMAGED),
    };
    ROOM.get()?;
    read.map_err(|error| match error {
        Error::InvalidPassword | Error::Decryption(_) => LOCKED,
        // Refuse the file here, because the tolerant reader would unpack it.
        Error::Decompress(DecompressError::MemoryLimitExceeded { .. }) => TOO_LARGE,
        _ => DAMAGED,
    })
}

thread_local! {
    /// The memory that further values of the file may take, or why its values so far cannot be read. The library
    /// accepts only a plain function as its filter, so the filter cannot own this.
    static ROOM: Cell<Result<usize, &'static str>> = const { Cell::new(Ok(0)) };
}

/// Decrypts an object and keeps it, unless the file's values need more memory than there is room for, or are nested too
/// deeply. The library calls this before it parses the objects in a stream.
fn within_room(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let room = ROOM.get().ok()?;
    decrypted::decrypt(id, object);
    let Object::Stream(stream) = object else {
        return Some((id, object.clone()));
    };
    if stream.dict.has_type(b"ObjStm")
        && let Ok(content) = stream.get_plain_content_with_limit(MAX_UNPACKED)
    {
        ROOM.set(values::left(room, &content));
        ROOM.get().ok()?;
    }
    // The library takes the returned object only for objects that were in a stream, and those are no streams.
    Some((id, Object::Null))
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
