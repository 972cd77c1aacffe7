//! Characters that nobody sees. A name with such characters can look like another name, and one of them can turn the
//! text that follows it on the page.

/// Whether a character changes the direction of the text around it.
pub fn turns(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character has no place in a name: control characters, characters that change the direction, breaks of
/// lines, and characters without a form of their own. Joiners and variation selectors are no such characters, because
/// the words of some languages need them.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || turns(letter)
        || matches!(
            letter,
            '\u{ad}'
                | '\u{34f}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{2028}'..='\u{2029}'
                | '\u{2060}'..='\u{2065}'
                | '\u{206a}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e00ff}'
        )
}

/// Returns a text without hidden characters. White space other than a blank becomes a blank.
pub fn shown(text: &str) -> String {
    let blank = |letter: char| if letter.is_whitespace() { ' ' } else { letter };
    text.chars().map(blank).filter(|letter| !is_hidden(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_what_its_language_needs() {
        for name in [
            "Dr. Ames",
            "דר׳ כהן",
            "دکتر می\u{200c}خواهم",
            "क्\u{200d}ष",
            "辻\u{e0100}",
            "👩\u{200d}⚕\u{fe0f}",
        ] {
            assert_eq!(shown(name), name);
        }
        assert_eq!(
            shown("a\u{202e}b\u{2066}c\u{2069}\u{200e}\u{61c}\u{0}d\u{ad}\u{200b}\u{feff}\u{e0041}"),
            "abcd"
        );
        assert_eq!(shown("a\tb\u{2028}c"), "a b c");
    }
}
