//! A document with one attachment.

use tabularium::pdf::{Attachment, Document, Properties};

/// Adds bytes as an attachment, and finishes the document. Panics if the document cannot be finished.
pub fn attach(content_type: Option<&str>, bytes: &[u8]) {
    let properties = Properties {
        title: "Health records".to_owned(),
        author: "Tabularium".to_owned(),
        language: "en".to_owned(),
        created: chrono::DateTime::UNIX_EPOCH,
        running_head: "records".to_owned(),
    };
    let Ok(mut document) = Document::new(properties) else { return };
    document.paragraph("before");
    document.attachment(Attachment {
        title: "attachment".to_owned(),
        content_type: content_type.map(str::to_owned),
        url: None,
        bytes: bytes.to_vec(),
    });
    document.paragraph("behind");
    let file = document.finish().unwrap_or_else(|error| panic!("{error}"));
    assert!(file.starts_with(b"%PDF-"));
}
