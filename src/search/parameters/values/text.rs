//! String values. They are compared without regard to case, combining marks and invisible characters (R4 search,
//! 3.1.1.4.8), except with `:exact`.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::fhir::case::folded;

/// Returns the form in which strings are compared: one case, without combining marks and invisible characters.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd().filter(|c| !is_silent(*c)).flat_map(folded).collect()
}

/// Whether comparisons ignore a character, because it is a combining mark or invisible.
pub(crate) fn is_silent(c: char) -> bool {
    !c.is_ascii() && (is_combining_mark(c) || is_invisible(c))
}

/// Whether a character has no visible form of its own: soft hyphens, joiners, spaces without width, direction marks
/// (Unicode's `Default_Ignorable_Code_Point`).
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns the form in which strings are searched: folded, without punctuation, with single blanks. A string that
/// consists only of punctuation keeps its punctuation.
pub(crate) fn plain(text: &str) -> String {
    let folded = fold(text);
    match without_noise(&folded) {
        plain if plain.is_empty() => folded,
        plain => plain,
    }
}

/// Whether a folded text begins with `plain`, which the function [`plain`] has returned. Punctuation and surplus blanks
/// in the text are ignored.
pub(crate) fn begins(folded: &str, plain: &str) -> bool {
    folded.starts_with(plain) || has_noise(folded) && without_noise(folded).starts_with(plain)
}

/// Whether a folded text contains `plain`, which the function [`plain`] has returned. Punctuation and surplus blanks in
/// the text are ignored.
pub(crate) fn contains(folded: &str, plain: &str) -> bool {
    folded.contains(plain) || has_noise(folded) && without_noise(folded).contains(plain)
}

/// Whether a text has punctuation or surplus white space, which comparisons ignore.
pub(crate) fn has_noise(text: &str) -> bool {
    let mut blank = true;
    for c in text.chars() {
        if is_punctuation(c) || c.is_whitespace() && (blank || c != ' ') {
            return true;
        }
        blank = c == ' ';
    }
    blank && !text.is_empty()
}

pub(super) fn without_noise(folded: &str) -> String {
    let mut out = String::with_capacity(folded.len());
    for c in folded.chars().filter(|c| !is_punctuation(*c)) {
        if !c.is_whitespace() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Whether a character is punctuation, which only separates words or letters. Signs with a meaning of their own, such
/// as `+`, `%` and `<`, are not punctuation.
fn is_punctuation(c: char) -> bool {
    matches!(
        c,
        '!' | '"'
            | '\''
            | '('
            | ')'
            | ','
            | '-'
            | '.'
            | '/'
            | ':'
            | ';'
            | '?'
            | '['
            | ']'
            | '_'
            | '{'
            | '}'
            | '\\'
            | '`'
            | '\u{b4}'
            | '\u{2010}'..='\u{201f}' | '\u{2026}' | '\u{2032}' | '\u{2033}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_marks_do_not_count() {
        assert_eq!(fold("Ordóñez"), "ordonez");
        assert_eq!(fold("JÜRGEN"), fold("jurgen"));
        assert_eq!(fold("abc"), "abc");
        assert_eq!(fold("Straße"), fold("STRASSE"));
        assert_eq!(fold("STRAẞE"), "strasse");
        assert_eq!(fold("Ὀδυσσεύς"), fold("ΟΔΥΣΣΕΥΣ"));
    }

    #[test]
    fn what_nobody_sees_does_not_count() {
        assert_eq!(fold("Mül\u{ad}ler\u{200b}"), "muller");
        assert_eq!(fold("\u{feff}Anna"), "anna");
        assert_eq!(plain("\u{200b}\u{301}"), "");
        assert!(begins(&fold("O\u{2060}'Brien"), &plain("ob")));
    }

    #[test]
    fn folding_again_changes_nothing() {
        for c in (0..=0x0010_ffff).filter_map(char::from_u32) {
            let folded = fold(c.encode_utf8(&mut [0; 4]));
            assert_eq!(fold(&folded), folded, "{c:?}");
        }
    }

    #[test]
    fn punctuation_and_blanks_do_not_count() {
        assert_eq!(plain("  O'Brien-\tSmith  Jr. "), "obrien smith jr");
        assert_eq!(plain("--"), "--");
        let begins = |text: &str, wanted: &str| begins(&fold(text), &plain(wanted));
        assert!(begins("O\u{2019}Brien", "o'b"));
        assert!(begins("O'Brien", "OBRI"));
        assert!(begins("Anna  Maria", "anna maria"));
        assert!(begins("-- none", "--"));
        assert!(!begins("Brien", "O'Brien"));
        assert!(contains(&fold("St. Mary's"), &plain("marys")));
    }
}
