//! The index: all words by which patients may look for an organization. Each word has the list of the organizations
//! that it finds.
//!
//! The words are sorted, so words with the same beginning are neighbours. The file `misspelt` decides which words of
//! the index a misspelt word may mean.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::states;
use super::synonyms;
use super::words::{initials, words};

/// The distance between a word and an organization that it finds. A smaller distance is a better match. In this order,
/// the word is: a word of a name; two words of a name written as one; a synonym of a word, the initials of a name, or a
/// word of the endpoint's unique name; a word of the place; a word for the organization's type.
const BY_NAME: u8 = 0;
const BY_JOINED: u8 = 1;
const BY_SYNONYM: u8 = 2;
const BY_PLACE: u8 = 3;
const BY_KIND: u8 = 4;
/// The index has bit masks of the first `FIRST` and of the first `HEAD` letters of each word.
pub(super) const FIRST: usize = 3;
pub(super) const HEAD: usize = 6;

/// The strings by which patients may look for an organization. There is one `Known` for each endpoint, so an
/// organization with several endpoints has several.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The names that patients see: the endpoint's labels and the organization's name.
    pub(super) names: Vec<String>,
    /// The endpoint's unique name.
    pub(super) technical: String,
    /// The organization's place.
    pub(super) place: Option<String>,
    /// The organization's type, such as `PAYER`.
    pub(super) kind: String,
}

/// The words of all organizations. The index knows an organization by a number: its position in the list of [`Known`]
/// from which the index was built. If two match a query equally well, the one with the lower number comes first.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) tokens: Vec<Token>,
    /// For each word, the numbers of the organizations that it finds, each with the distance. The lists of all words
    /// follow one another.
    postings: Vec<(u32, u8)>,
    /// The names of each organization as single words without spaces.
    pub(super) joined: Vec<Vec<String>>,
}

/// A word of the index.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: Box<str>,
    /// The number of letters.
    pub(super) letters: usize,
    /// Bit masks, in this order: of all letters, of the first [`HEAD`] letters, and of the first [`FIRST`] letters.
    pub(super) mask: u64,
    pub(super) head: u64,
    pub(super) first: u64,
    /// Whether a misspelt word may mean this word. False for initials and for words with digits.
    pub(super) may_be_misspelt: bool,
    /// The range of the word in the index's `postings`.
    from: u32,
    to: u32,
}

impl Token {
    /// Returns the first `letters` letters, or the whole word if it is shorter.
    pub(super) fn beginning(&self, letters: usize) -> &str {
        let end = if self.text.is_ascii() {
            letters.min(self.text.len())
        } else {
            self.text
                .char_indices()
                .nth(letters)
                .map_or(self.text.len(), |(at, _)| at)
        };
        &self.text[..end]
    }
}

/// The words while the index is built. Each word has the numbers of the organizations that it finds, with their
/// distances, and whether a misspelt word may mean it.
#[derive(Default)]
struct Collected(BTreeMap<String, (BTreeMap<u32, u8>, bool)>);

impl Collected {
    fn add(&mut self, number: u32, word: String, distance: u8, spelt: bool) {
        let (postings, may_be_misspelt) = self.0.entry(word).or_default();
        *may_be_misspelt |= spelt;
        match postings.entry(number) {
            Entry::Vacant(vacant) => {
                vacant.insert(distance);
            }
            Entry::Occupied(mut known) => {
                let nearer = distance.min(*known.get());
                known.insert(nearer);
            }
        }
    }

    /// Adds the words of a string with their synonyms. Also adds each pair of neighbouring words as one word, all words
    /// as one word, and the other names of states in the string.
    fn add_text(&mut self, number: u32, text: &str, distance: u8) {
        let words = words(text);
        for pair in words.windows(2) {
            self.add(number, pair.concat(), distance.max(BY_JOINED), true);
        }
        if words.len() > 2 {
            self.add(number, words.concat(), distance.max(BY_JOINED), true);
        }
        for word in words {
            for other in synonyms::others(&word) {
                self.add(number, other.to_owned(), distance.max(BY_SYNONYM), true);
            }
            self.add(number, word, distance, true);
        }
        for state in states::other_names(text) {
            let words = self::words(state);
            self.add(number, words.concat(), distance.max(BY_SYNONYM), true);
            for word in words {
                self.add(number, word, distance.max(BY_SYNONYM), true);
            }
        }
    }
}

impl Index {
    /// Builds the index of these organizations.
    pub(super) fn of(all: &[Known]) -> Index {
        let mut collected = Collected::default();
        for (number, known) in (0u32..).zip(all) {
            for name in &known.names {
                collected.add_text(number, name, BY_NAME);
                if let Some(initials) = initials(name) {
                    collected.add(number, initials, BY_SYNONYM, false);
                }
            }
            collected.add_text(number, &known.technical, BY_SYNONYM);
            if let Some(place) = &known.place {
                collected.add_text(number, place, BY_PLACE);
            }
            for word in synonyms::of_kind(&known.kind) {
                collected.add(number, word.to_owned(), BY_KIND, true);
            }
        }
        let joined = all.iter().map(|known| {
            let names = known.names.iter().map(|name| words(name).concat());
            names.collect()
        });
        let mut index = Index {
            tokens: Vec::with_capacity(collected.0.len()),
            postings: Vec::new(),
            joined: joined.collect(),
        };
        for (word, (postings, spelt)) in collected.0 {
            index.enter(&word, postings, spelt);
        }
        index
    }

    fn enter(&mut self, word: &str, postings: BTreeMap<u32, u8>, spelt: bool) {
        let from = self.postings.len();
        self.postings.extend(postings);
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.tokens.push(Token {
            text: word.into(),
            letters: word.chars().count(),
            mask: mask(word.chars()),
            head: mask(word.chars().take(HEAD)),
            first: mask(word.chars().take(FIRST)),
            may_be_misspelt: spelt && !word.chars().any(char::is_numeric),
            from: place(from),
            to: place(self.postings.len()),
        });
    }

    /// Returns the number of organizations. An organization counts once for each of its endpoints.
    pub(super) fn len(&self) -> usize {
        self.joined.len()
    }

    /// Returns the words that begin with these letters.
    pub(super) fn beginning(&self, letters: &str) -> &[Token] {
        let from = self.tokens.partition_point(|token| &*token.text < letters);
        let rest = &self.tokens[from..];
        &rest[..rest.partition_point(|token| token.text.starts_with(letters))]
    }

    /// Returns the numbers of the organizations that a word finds, each with the distance.
    pub(super) fn postings(&self, token: &Token) -> &[(u32, u8)] {
        &self.postings[token.from as usize..token.to as usize]
    }
}

/// Returns a mask with a bit for each letter that occurs. Letters other than a to z and the digits share 28 bits.
pub(super) fn mask(letters: impl Iterator<Item = char>) -> u64 {
    letters.fold(0, |mask, letter| {
        let bit = match letter {
            'a'..='z' => letter as u32 - 'a' as u32,
            '0'..='9' => 26 + letter as u32 - '0' as u32,
            _ => 36 + letter as u32 % 28,
        };
        mask | 1 << bit
    })
}
