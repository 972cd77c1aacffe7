//! Turns bodies of answers into UTF-8 without a byte order mark. JSON is UTF-8 (RFC 8259, section 8.1), but some
//! servers begin it with a byte order mark, and some declare another charset.

use encoding_rs::{Encoding, UTF_8};

/// Returns the body as UTF-8. If it has a byte order mark, the mark decides the encoding, and else the charset that the
/// media type declares. A body in UTF-8 stays as it is, valid or not.
pub(super) fn utf8(body: Vec<u8>, content_type: Option<&str>) -> Vec<u8> {
    match Encoding::for_bom(&body) {
        Some((encoding, length)) if encoding == UTF_8 => body[length..].to_vec(),
        Some((encoding, length)) => encoding
            .decode_without_bom_handling(&body[length..])
            .0
            .into_owned()
            .into(),
        None => match declared(content_type).filter(|encoding| *encoding != UTF_8) {
            Some(encoding) => encoding.decode_without_bom_handling(&body).0.into_owned().into(),
            None => body,
        },
    }
}

/// Returns the encoding that a media type declares, or `None` if it declares none that is known.
pub(in crate::sync::client) fn declared(content_type: Option<&str>) -> Option<&'static Encoding> {
    let parameters = content_type?.split(';').skip(1);
    let mut charsets = parameters.filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"'))
    });
    Encoding::for_label(charsets.next()?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_utf8_whatever_it_was() {
        let utf16 = |big: bool| -> Vec<u8> {
            let units = "\u{feff}{\"é\":1}".encode_utf16();
            units
                .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect()
        };
        for (body, content_type) in [
            ("{\"é\":1}".as_bytes().to_vec(), None),
            ("\u{feff}{\"é\":1}".as_bytes().to_vec(), Some("application/fhir+json")),
            (utf16(true), None),
            (utf16(false), Some("application/json; charset=utf-8")),
            (utf16(false)[2..].to_vec(), Some("application/json;charset=UTF-16LE")),
            (
                b"{\"\xe9\":1}".to_vec(),
                Some("application/json; fhirVersion=4.0; Charset=\"ISO-8859-1\""),
            ),
        ] {
            let found = utf8(body, content_type);
            assert_eq!(std::str::from_utf8(&found), Ok("{\"é\":1}"), "{content_type:?}");
        }
        assert_eq!(
            utf8(b"\xff{".to_vec(), Some("application/json; charset=nonsense")),
            b"\xff{"
        );
        assert_eq!(utf8(Vec::new(), None), b"");
    }
}
