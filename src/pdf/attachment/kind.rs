//! Decides the kind of an attachment: by its first bytes if they identify a kind, and by its declared type if not.

use super::charset;

/// The kinds of attachments that can be shown, and others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// C-CDA, or other XML.
    Xml,
    Pdf,
    Html,
    Text,
    Rtf,
    Png,
    Jpeg,
    Gif,
    Webp,
    Other,
}

/// Returns the kind of an attachment. The first bytes decide before the declared type, which is often wrong, such as
/// `text/plain` for everything, `application/octet-stream`, or XML for a PDF.
pub(super) fn kind_of(content_type: Option<&str>, bytes: &[u8]) -> Kind {
    if let Some(kind) = by_first_bytes(bytes) {
        return kind;
    }
    let declared = content_type.map_or(Kind::Other, declared);
    match declared {
        // The first bytes did not identify a kind, so the declared type counts.
        Kind::Pdf | Kind::Png | Kind::Jpeg | Kind::Gif | Kind::Webp | Kind::Rtf => declared,
        Kind::Other if content_type.is_none() && is_text(bytes) => Kind::Text,
        other => other,
    }
}

/// Whether the first bytes identify a kind.
pub(super) fn has_signature(bytes: &[u8]) -> bool {
    by_first_bytes(bytes).is_some()
}

/// Returns the kind that a media type declares. Types of documents that are not shown are [`Kind::Other`].
fn declared(content_type: &str) -> Kind {
    let media = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match media.as_str() {
        "text/xml"
        | "application/xml"
        | "application/hl7-v3+xmlsolid"
        | "application/hl7-v3+xml"
        | "application/hl7-sdwg-cda+xml"
        | "application/cda+xml" => Kind::Xml,
        "application/pdf" | "application/x-pdf" => Kind::Pdf,
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "text/plain" => Kind::Text,
        "application/rtf" | "text/rtf" | "text/richtext" => Kind::Rtf,
        "image/png" => Kind::Png,
        "image/jpeg" | "image/jpg" | "image/pjpeg" => Kind::Jpeg,
        "image/gif" => Kind::Gif,
        "image/webp" => Kind::Webp,
        _ => Kind::Other,
    }
}

fn by_first_bytes(bytes: &[u8]) -> Option<Kind> {
    // Only the first kilobyte is examined. White space and a byte order mark may precede the signature of a PDF or RTF.
    let head = &bytes[..bytes.len().min(1024)];
    let trimmed = head.trim_ascii_start();
    let trimmed = trimmed
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(trimmed)
        .trim_ascii_start();
    if trimmed.starts_with(b"%PDF-") {
        return Some(Kind::Pdf);
    }
    if trimmed.starts_with(b"{\\rtf") {
        return Some(Kind::Rtf);
    }
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(Kind::Png);
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Some(Kind::Jpeg);
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Some(Kind::Gif);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some(Kind::Webp);
    }
    let lower = charset::decode(trimmed, None).to_ascii_lowercase();
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        return Some(Kind::Html);
    }
    let is_xml = lower.starts_with("<?xml");
    if is_xml && lower.contains("<html") {
        return Some(Kind::Html);
    }
    (is_xml || lower.starts_with("<clinicaldocument")).then_some(Kind::Xml)
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.is_empty() && !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_go_before_a_declared_type() {
        assert_eq!(kind_of(Some("text/xml"), b"%PDF-1.4\n"), Kind::Pdf);
        assert_eq!(kind_of(Some("text/plain"), b"{\\rtf1 x}"), Kind::Rtf);
        assert_eq!(
            kind_of(Some("application/octet-stream"), b"\x89PNG\r\n\x1a\n"),
            Kind::Png
        );
        assert_eq!(kind_of(Some("text/plain"), b" <!DOCTYPE html><p>"), Kind::Html);
        assert_eq!(kind_of(None, b"<?xml version=\"1.0\"?><ClinicalDocument/>"), Kind::Xml);
        assert_eq!(kind_of(Some("text/plain; charset=utf-8"), b"hello"), Kind::Text);
        assert_eq!(kind_of(None, b"hello"), Kind::Text);
        assert_eq!(kind_of(Some("application/dicom"), b"hello"), Kind::Other);
        assert_eq!(kind_of(Some("application/hl7-v3+xmlsolid"), b"<a/>"), Kind::Xml);
    }
}
