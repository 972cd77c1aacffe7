//! `_text` and `_content`: the words that a text must have.
//!
//! R4 leaves the syntax to the server (search, 3.1.1.4.1). Here, all words of a sequence must occur. `and`, `or`, `not`
//! and parentheses combine words, and quotation marks enclose a phrase. An unescaped comma means `or`, as between the
//! values of every parameter. Words are compared like strings, without regard to case and combining marks. A word
//! matches if a word of the text begins with it.

use std::iter::Peekable;

use super::super::parameters::values::{fold, is_silent};

/// The maximum nesting of parentheses and `not`.
const MAX_DEPTH: usize = 32;

/// A condition on the words of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::search) enum Words {
    /// The text must have these folded words one after the other. The last one may be the beginning of a longer word.
    Phrase(Vec<String>),
    /// The text must meet all of these conditions.
    All(Vec<Words>),
    /// The text must meet at least one of these conditions.
    Any(Vec<Words>),
    /// The text must not meet this condition.
    Not(Box<Words>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    Word(String),
    Phrase(String),
}

impl Words {
    /// Parses a parameter's value, which still has its escapes. Returns `None` if it is malformed or has no word.
    pub(in crate::search) fn parse(text: &str) -> Option<Words> {
        let mut tokens = tokens(text)?.into_iter().peekable();
        let words = any(&mut tokens, 0)?;
        tokens.next().is_none().then_some(words)
    }

    /// Returns the number of words in the condition.
    pub(in crate::search) fn count(&self) -> usize {
        match self {
            Words::Phrase(phrase) => phrase.len(),
            Words::All(parts) | Words::Any(parts) => parts.iter().map(Words::count).sum(),
            Words::Not(part) => part.count(),
        }
    }

    /// Whether a text that consists of these folded words meets the condition.
    pub(in crate::search) fn hold(&self, text: &[String]) -> bool {
        match self {
            Words::Phrase(phrase) => text.windows(phrase.len()).any(|window| {
                let (last, before) = (phrase.len() - 1, phrase.len() - 1);
                window[..before] == phrase[..before] && window[last].starts_with(&phrase[last])
            }),
            Words::All(parts) => parts.iter().all(|part| part.hold(text)),
            Words::Any(parts) => parts.iter().any(|part| part.hold(text)),
            Words::Not(part) => !part.hold(text),
        }
    }
}

/// Appends the folded words of a text.
pub(in crate::search) fn split_into(text: &str, words: &mut Vec<String>) {
    let found = text
        .split(|c: char| !c.is_alphanumeric() && !is_silent(c))
        .filter(|word| !word.is_empty());
    words.extend(found.map(fold).filter(|word| !word.is_empty()));
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' => {
                tokens.push(if first == '(' { Token::Open } else { Token::Close });
                1
            }
            '"' => {
                let end = rest[1..].find('"')?;
                tokens.push(Token::Phrase(rest[1..=end].to_owned()));
                end + 2
            }
            ',' => {
                tokens.push(Token::Word("or".to_owned()));
                1
            }
            _ => {
                let end = end_of_word(rest);
                tokens.push(Token::Word(rest[..end].to_owned()));
                end
            }
        };
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

/// Returns the end of the word at the beginning of a text. An escaped character is a part of the word, even if it would
/// end the word otherwise.
fn end_of_word(text: &str) -> usize {
    let mut escaped = false;
    let ends = |c: char| {
        let ends = !escaped && (c.is_whitespace() || matches!(c, '(' | ')' | '"' | ','));
        escaped = !escaped && c == '\\';
        ends
    };
    text.find(ends).unwrap_or(text.len())
}

type Tokens = Peekable<std::vec::IntoIter<Token>>;

fn is_word(token: Option<&Token>, word: &str) -> bool {
    matches!(token, Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
}

fn any(tokens: &mut Tokens, depth: usize) -> Option<Words> {
    let mut parts = vec![all(tokens, depth)?];
    while is_word(tokens.peek(), "or") {
        tokens.next();
        parts.push(all(tokens, depth)?);
    }
    Some(only(parts, Words::Any))
}

fn all(tokens: &mut Tokens, depth: usize) -> Option<Words> {
    let mut parts = vec![one(tokens, depth)?];
    loop {
        match tokens.peek() {
            None | Some(Token::Close) => break,
            next if is_word(next, "or") => break,
            next if is_word(next, "and") => {
                tokens.next();
            }
            _ => {}
        }
        parts.push(one(tokens, depth)?);
    }
    Some(only(parts, Words::All))
}

fn one(tokens: &mut Tokens, depth: usize) -> Option<Words> {
    if depth > MAX_DEPTH {
        return None;
    }
    match tokens.next()? {
        Token::Open => {
            let inner = any(tokens, depth + 1)?;
            (tokens.next()? == Token::Close).then_some(inner)
        }
        Token::Close => None,
        Token::Word(word) if word.eq_ignore_ascii_case("not") => Some(Words::Not(Box::new(one(tokens, depth + 1)?))),
        Token::Word(word) if ["and", "or"].iter().any(|operator| word.eq_ignore_ascii_case(operator)) => None,
        Token::Word(text) | Token::Phrase(text) => {
            let mut words = Vec::new();
            split_into(&text, &mut words);
            (!words.is_empty()).then_some(Words::Phrase(words))
        }
    }
}

fn only(mut parts: Vec<Words>, combine: fn(Vec<Words>) -> Words) -> Words {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            parts.extend(last);
            combine(parts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(condition: &str, text: &str) -> bool {
        let mut words = Vec::new();
        split_into(text, &mut words);
        Words::parse(condition).unwrap().hold(&words)
    }

    #[test]
    fn words_phrases_and_combinations() {
        let text = "Bone marrow: Métastases found, no liver disease";
        for condition in [
            "bone",
            "metastas",
            "liver bone",
            "bone AND liver",
            "(kidney OR liver) and metastases",
            "\"bone marrow\"",
            "not kidney",
            "bone and not kidney",
            "marrow-Metastases",
            "bon found",
            "kidney,liver",
            "spleen, bone marrow",
            "(kidney,bone) liver",
            r"marrow\,metastases",
            r"\(metastases\)",
            "Meta\u{ad}stases",
            "Me\u{301}tastases found",
        ] {
            assert!(holds(condition, text), "{condition}");
        }
        assert!(holds("metastases", "Me\u{301}ta\u{200b}stases"));
        for condition in [
            "one",
            "kidney",
            "\"marrow bone\"",
            "bone not liver",
            "kidney or spleen",
            "kidney,spleen",
            r"bone\,liver",
            "\"bone,liver\"",
        ] {
            assert!(!holds(condition, text), "{condition}");
        }
    }

    #[test]
    fn what_is_no_condition() {
        for text in [
            "", "  ", "\u{200b}", "()", "(bone", "bone)", "or", "bone or", "not", "\"bone", "...", "and bone", "bone,",
        ] {
            assert_eq!(Words::parse(text), None, "{text}");
        }
        assert_eq!(Words::parse(&"(".repeat(100_000)), None);
        assert_eq!(Words::parse(&"not ".repeat(100_000)), None);
    }
}
