//! Artificial languages generated from the English file. All texts are marked and 40 % longer. So a page reveals texts
//! from elsewhere and texts that do not fit.

use std::path::Path;

use fluent_syntax::ast::{Entry, Expression, Pattern, PatternElement};
use fluent_syntax::{parser, serializer};

const ENGLISH: &str = include_str!("../../../templates/languages/en.ftl");
/// The marks around all texts.
pub(crate) const MARKS: [char; 2] = ['\u{27e6}', '\u{27e7}'];

/// Writes `tag.ftl` with other letters instead of the English ones.
pub(crate) fn write(folder: &Path, tag: &str, letter: fn(char) -> char) {
    let mut resource = parser::parse(ENGLISH.to_owned()).unwrap();
    for entry in &mut resource.body {
        let Entry::Message(message) = entry else { continue };
        let Some(pattern) = &mut message.value else { continue };
        lengthened(pattern, letter);
        let mark = |mark: char| PatternElement::TextElement {
            value: mark.to_string(),
        };
        pattern.elements.insert(0, mark(MARKS[0]));
        pattern.elements.push(mark(MARKS[1]));
    }
    std::fs::write(folder.join(format!("{tag}.ftl")), serializer::serialize(&resource)).unwrap();
}

fn lengthened(pattern: &mut Pattern<String>, letter: fn(char) -> char) {
    for element in &mut pattern.elements {
        match element {
            PatternElement::TextElement { value } => {
                let longer = value.chars().enumerate().flat_map(|(at, one)| {
                    let times = if one.is_alphabetic() && at % 5 < 2 { 2 } else { 1 };
                    std::iter::repeat_n(letter(one), times)
                });
                *value = longer.collect();
            }
            PatternElement::Placeable {
                expression: Expression::Select { variants, .. },
            } => {
                for variant in variants {
                    lengthened(&mut variant.value, letter);
                }
            }
            PatternElement::Placeable { .. } => {}
        }
    }
}

/// Latin letters that differ from English ones.
pub(crate) fn accented(letter: char) -> char {
    match letter {
        'a' => 'à',
        'e' => 'ë',
        'i' => 'ï',
        'o' => 'ô',
        'u' => 'ü',
        other => other,
    }
}

/// Arabic letters.
pub(crate) fn arabic(letter: char) -> char {
    const LETTERS: [char; 26] = [
        'ا', 'ب', 'ث', 'د', 'ع', 'ف', 'غ', 'ه', 'ي', 'ج', 'ك', 'ل', 'م', 'ن', 'و', 'ح', 'ق', 'ر', 'س', 'ت', 'ط', 'ظ',
        'ش', 'خ', 'ص', 'ز',
    ];
    match letter.to_ascii_lowercase() {
        letter @ 'a'..='z' => LETTERS[letter as usize - 'a' as usize],
        other => other,
    }
}
