//! Making documents, and reading files back with a library that did not write their pages.

use chrono::{TimeZone, Utc};
use tabularium::pdf::{Document, Properties};

/// A document with a head that is easily told from what is under test.
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

/// A file as its pages' texts, white space made one space.
pub(crate) fn pages(file: &[u8]) -> Vec<String> {
    let file = lopdf::Document::load_mem(file).unwrap();
    let numbers: Vec<u32> = file.get_pages().into_keys().collect();
    let text = |number: u32| file.extract_text(&[number]).unwrap();
    numbers.into_iter().map(|number| squeezed(&text(number))).collect()
}

/// A file's text.
pub(crate) fn text(file: &[u8]) -> String {
    pages(file).join(" ")
}

/// A text without white space, which readers of PDF put where they think words end.
pub(crate) fn squeezed(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

/// Asserts that texts stand in a file in their order.
pub(crate) fn assert_in_order(file: &[u8], expected: &[&str]) {
    let text = text(file);
    let mut from = 0;
    for part in expected {
        let at = text[from..].find(&squeezed(part));
        from += at.unwrap_or_else(|| panic!("{part:?} is not behind {from} in {text}"));
    }
}
