//! Decodes bytes to text. The encoding comes from a byte order mark, or else from the declared charset. Without these,
//! bytes are UTF-16 if they begin with `<` in UTF-16, UTF-8 if they are valid UTF-8, and Windows-1252 otherwise.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Decodes bytes. `declared` is the encoding that the media type or the document names.
pub(super) fn decode<'a>(bytes: &'a [u8], declared: Option<&str>) -> Cow<'a, str> {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[length..]).0;
    }
    if let Some(encoding) = declared.and_then(|label| Encoding::for_label(label.trim().as_bytes())) {
        return encoding.decode_without_bom_handling(bytes).0;
    }
    if let Some(encoding) = wide(bytes) {
        return encoding.decode_without_bom_handling(bytes).0;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

/// Recognizes UTF-16 without a byte order mark: its first character must be `<`. Returns the encoding with the byte
/// order.
fn wide(bytes: &[u8]) -> Option<&'static Encoding> {
    match bytes {
        [b'<', 0, ..] => Some(encoding_rs::UTF_16LE),
        [0, b'<', ..] => Some(encoding_rs::UTF_16BE),
        _ => None,
    }
}

/// Returns the `charset` parameter of a media type.
pub(super) fn parameter(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"'))
    })
}

/// Returns the encoding that an XML declaration or an HTML `meta` names within the first 1,024 bytes.
pub(super) fn declared_inside(bytes: &[u8]) -> Option<String> {
    let head: String = bytes
        .iter()
        .take(1024)
        .map(|byte| char::from(*byte).to_ascii_lowercase())
        .collect();
    let place = head.find("charset=").map(|at| at + 8);
    let place = place.or_else(|| {
        let declaration = head.trim_start().starts_with("<?xml");
        let end = head.find("?>")?;
        let at = head.find("encoding=")?;
        (declaration && at < end).then_some(at + 9)
    })?;
    let rest = head[place..].trim_start_matches(['"', '\'', ' ']);
    let end = rest.find(['"', '\'', ' ', ';', '>', '/', '?']).unwrap_or(rest.len());
    let label = &rest[..end];
    // The declaration was readable as ASCII, so the document cannot be UTF-16. Ignore a label that names an encoding
    // which is not compatible with ASCII.
    let usable = Encoding::for_label(label.as_bytes()).is_some_and(Encoding::is_ascii_compatible);
    usable.then(|| label.to_owned())
}

/// Decodes bytes in a code page. `page` is its number in RTF. An unknown number means Windows-1252.
pub(super) fn decode_code_page(bytes: &[u8], page: u16) -> String {
    let encoding = match page {
        437 | 850 | 819 => WINDOWS_1252,
        65001 => UTF_8,
        932 => encoding_rs::SHIFT_JIS,
        936 => encoding_rs::GBK,
        949 => encoding_rs::EUC_KR,
        950 => encoding_rs::BIG5,
        10000 => encoding_rs::MACINTOSH,
        10007 => encoding_rs::X_MAC_CYRILLIC,
        874 | 1250..=1258 => Encoding::for_label(format!("windows-{page}").as_bytes()).unwrap_or(WINDOWS_1252),
        866 => encoding_rs::IBM866,
        _ => WINDOWS_1252,
    };
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_goes_before_what_is_declared_and_utf_8_before_windows_1252() {
        assert_eq!(decode(b"\xef\xbb\xbfh\xc3\xa9", Some("latin1")), "h\u{e9}");
        assert_eq!(decode(b"h\xe9", None), "h\u{e9}");
        assert_eq!(decode("h\u{e9}".as_bytes(), None), "h\u{e9}");
        assert_eq!(decode(b"\xb1", Some("iso-8859-2")), "\u{105}");
        assert_eq!(decode(b"<\0a\0", None), "<a");
    }

    #[test]
    fn finds_the_encoding_that_a_document_names() {
        assert_eq!(
            declared_inside(b"<meta charset=\"ISO-8859-2\">").as_deref(),
            Some("iso-8859-2")
        );
        assert_eq!(
            declared_inside(b"<?xml version='1.0' encoding='windows-1250'?>").as_deref(),
            Some("windows-1250")
        );
        assert_eq!(declared_inside(b"<?xml version='1.0' encoding='utf-16'?>"), None);
        assert_eq!(parameter("text/html; Charset=\"koi8-r\""), Some("koi8-r"));
    }
}
