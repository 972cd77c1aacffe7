//! Sets of many strings that are searched at the beginning of a text, or anywhere in it. A text is compared with all
//! strings of a set at once.

use aho_corasick::AhoCorasick;

use super::text::{has_noise, without_noise};

/// A set of strings that `plain` has normalized. A text matches if it begins with one of them.
#[derive(Clone, Debug)]
pub(crate) struct Beginnings {
    /// The strings in order. No string begins with another one.
    texts: Vec<String>,
}

impl Beginnings {
    /// Creates a set of these strings.
    pub(crate) fn of(mut texts: Vec<String>) -> Beginnings {
        texts.sort_unstable();
        texts.dedup_by(|text, before| text.starts_with(before.as_str()));
        Beginnings { texts }
    }

    /// Whether a folded text begins with one of the strings. Punctuation and surplus blanks in the text are ignored.
    pub(crate) fn begin(&self, folded: &str) -> bool {
        self.begin_exactly(folded) || has_noise(folded) && self.begin_exactly(&without_noise(folded))
    }

    /// Whether a text begins with one of the strings, character by character. No string of the set begins with another
    /// one. So only the last string that is not greater than the text can be its beginning.
    fn begin_exactly(&self, text: &str) -> bool {
        let count = self.texts.partition_point(|other| other.as_str() <= text);
        count > 0 && text.starts_with(&self.texts[count - 1])
    }
}

/// A set of strings that `plain` has normalized. A text matches if it contains one of them.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    texts: AhoCorasick,
}

impl Parts {
    /// Creates the automaton. Returns `None` if it cannot be built, because the strings are too many or too long.
    pub(crate) fn of(texts: &[String]) -> Option<Parts> {
        let texts = AhoCorasick::new(texts).ok()?;
        Some(Parts { texts })
    }

    /// Whether a folded text contains one of the strings. Punctuation and surplus blanks in the text are ignored.
    pub(crate) fn are_in(&self, folded: &str) -> bool {
        self.texts.is_match(folded) || has_noise(folded) && self.texts.is_match(&without_noise(folded))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{begins, contains, fold, plain};
    use super::*;

    #[test]
    fn sets_find_what_their_texts_find_one_by_one() {
        let wanted = ["an", "anna", "b", "O'B", "st marys", "ö", "--", "a b", "Straße"];
        let texts = [
            "Anna",
            "ANN",
            "bert",
            "O\u{2019}Brien",
            "obr",
            "St. Mary's Hospital",
            "Österreich",
            "--x",
            "-x",
            "A  B c",
            "strasse 5",
            "x a b",
            "",
            "c",
            "Strass",
        ];
        for chosen in 1..1 << wanted.len() {
            let some = (0..wanted.len()).filter(|at| chosen & (1 << at) != 0);
            let some: Vec<String> = some.map(|at| plain(wanted[at])).collect();
            let (beginnings, parts) = (Beginnings::of(some.clone()), Parts::of(&some).unwrap());
            for text in texts.map(fold) {
                let expected = some.iter().any(|wanted| begins(&text, wanted));
                assert_eq!(beginnings.begin(&text), expected, "{text} {some:?}");
                let expected = some.iter().any(|wanted| contains(&text, wanted));
                assert_eq!(parts.are_in(&text), expected, "{text} {some:?}");
            }
        }
    }
}
