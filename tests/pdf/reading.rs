//! Creates documents, and reads files back with a library that did not write their pages.

use std::collections::BTreeMap;

use chrono::{TimeZone, Utc};
use lopdf::content::Content;
use lopdf::{Encoding, Object, ObjectId};
use tabularium::pdf::{Document, Properties};

/// A document whose header is easy to distinguish from its content.
pub(crate) fn document() -> Document {
    Document::new(Properties {
        title: "Health records".to_owned(),
        author: "Tabularium".to_owned(),
        language: "en".to_owned(),
        created: Utc.with_ymd_and_hms(2024, 2, 3, 4, 5, 6).unwrap(),
        running_head: "~head~".to_owned(),
    })
    .unwrap()
}

/// The texts of a file's pages, without white space.
pub(crate) fn pages(file: &[u8]) -> Vec<String> {
    let file = lopdf::Document::load_mem(file).unwrap();
    let pages = file.get_pages().into_values();
    pages.map(|page| squeezed(&page_text(&file, page))).collect()
}

/// A page's text. `ActualText` replaces the glyphs that it covers (PDF 32000-1, 14.9.4), because the glyph of a missing
/// character may stand for any. Text in fonts with unknown encodings is left out.
pub(crate) fn page_text(file: &lopdf::Document, page: ObjectId) -> String {
    let Ok(content) = Content::decode(&file.get_page_content(page)) else {
        return String::new();
    };
    let fonts = file.get_page_fonts(page).unwrap_or_default();
    let encodings: BTreeMap<_, _> = fonts
        .iter()
        .filter_map(|(name, font)| Some((name.as_slice(), font.get_font_encoding(file).ok()?)))
        .collect();
    let (mut text, mut encoding, mut replaced) = (String::new(), None, Vec::new());
    for operation in &content.operations {
        let operands = operation.operands.as_slice();
        match operation.operator.as_str() {
            "Tf" => {
                let name = operands.first().and_then(|name| name.as_name().ok());
                encoding = name.and_then(|name| encodings.get(name));
            }
            "BMC" => replaced.push(false),
            "BDC" => {
                let properties = operands.last().and_then(|properties| properties.as_dict().ok());
                let actual = properties.and_then(|properties| properties.get(b"ActualText").ok());
                let actual = actual.and_then(|actual| lopdf::decode_text_string(actual).ok());
                replaced.push(actual.is_some());
                text.extend(actual);
            }
            "EMC" => {
                replaced.pop();
            }
            "Tj" | "TJ" | "'" | "\"" if !replaced.contains(&true) => {
                let Some(encoding) = encoding else { continue };
                operands.iter().for_each(|shown| add_shown(shown, encoding, &mut text));
            }
            _ => {}
        }
    }
    text
}

/// Adds the text of a string, or of an array of strings and distances.
fn add_shown(shown: &Object, encoding: &Encoding<'_>, text: &mut String) {
    match shown {
        Object::String(bytes, _) => {
            text.extend(lopdf::Document::decode_text(encoding, bytes));
        }
        Object::Array(parts) => parts.iter().for_each(|part| add_shown(part, encoding, text)),
        _ => {}
    }
}

/// The text of a file.
pub(crate) fn text(file: &[u8]) -> String {
    pages(file).join(" ")
}

/// A text without white space, because readers of PDF guess the spaces between words.
pub(crate) fn squeezed(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

/// Asserts that a file contains these texts in order.
pub(crate) fn assert_in_order(file: &[u8], expected: &[&str]) {
    let text = text(file);
    let mut from = 0;
    for part in expected {
        let at = text[from..].find(&squeezed(part));
        from += at.unwrap_or_else(|| panic!("{part:?} is not behind {from} in {text}"));
    }
}
