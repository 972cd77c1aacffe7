//! Splits names and queries into words in the form in which they are compared: lower case, without accents and
//! apostrophes.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Words that do not distinguish organizations. Patients add them or leave them out.
const FILLERS: [&str; 14] = [
    "a", "an", "and", "at", "de", "del", "el", "for", "in", "los", "near", "of", "the", "y",
];
/// The maximum number of letters of a word. Further letters are ignored.
const LONGEST: usize = 64;
/// The minimum number of initials that count as a name.
const INITIALS: usize = 3;

/// Returns the words of a text in order.
pub(super) fn words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let parts = folded.split(|letter: char| !letter.is_alphanumeric());
    let words = parts.filter(|word| !word.is_empty());
    words.map(|word| word.chars().take(LONGEST).collect()).collect()
}

/// Converts a text to lower case without accents. Removes apostrophes, because "Mary's" is also written "Marys".
pub(super) fn fold(text: &str) -> String {
    let plain = text
        .nfkd()
        .filter(|letter| !is_combining_mark(*letter) && !matches!(letter, '\'' | '’' | 'ʼ' | '`'));
    plain.flat_map(char::to_lowercase).collect()
}

/// Whether a word of a query need not be in a name.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

/// Returns the initials of a name: both "Blue Cross Blue Shield" and "BlueCross BlueShield" give "bcbs". `None` if
/// there are fewer than three.
pub(super) fn initials(name: &str) -> Option<String> {
    let mut initials = String::new();
    for word in name.split(|letter: char| !letter.is_alphanumeric()) {
        if is_filler(&word.to_lowercase()) {
            continue;
        }
        let mut before = None;
        for letter in word.chars() {
            let begins = match before {
                None => true,
                Some(before) => char::is_lowercase(before) && letter.is_uppercase(),
            };
            if begins {
                initials.push(letter);
            }
            before = Some(letter);
        }
    }
    let initials = fold(&initials);
    (initials.chars().count() >= INITIALS).then_some(initials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded() {
        assert_eq!(words("  Santé-Plus (O'Brien’s) "), ["sante", "plus", "obriens"]);
        assert_eq!(words("% -- '"), [] as [&str; 0]);
        assert_eq!(words(&"x".repeat(1_000))[0].len(), LONGEST);
    }

    #[test]
    fn initials_skip_what_tells_nothing() {
        for (name, expected) in [
            ("Blue Cross Blue Shield of Illinois", Some("bcbsi")),
            ("BlueCross BlueShield", Some("bcbs")),
            ("University of California San Francisco", Some("ucsf")),
            ("Lakeshore Plan", None),
            ("", None),
        ] {
            assert_eq!(initials(name).as_deref(), expected, "{name}");
        }
    }
}
