//! The index: every word by which patients may know an organization, with its organizations.
//!
//! Words are sorted, so words with the same beginning are neighbours. `misspelt` decides which words a misspelt word
//! may mean.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::states;
use super::synonyms;
use super::words::{initials, words};

/// The distance of an organization by the kind of word: a word of its name; two words of its name written as one; a
/// synonym of such a word, its initials, or the operator's name of its endpoint; its place; its type.
const BY_NAME: u8 = 0;
const BY_JOINED: u8 = 1;
const BY_SYNONYM: u8 = 2;
const BY_PLACE: u8 = 3;
const BY_KIND: u8 = 4;
/// The numbers of letters at a word's beginning for which masks are kept.
pub(super) const FIRST: usize = 3;
pub(super) const HEAD: usize = 6;

/// The texts by which patients know an organization that can be connected.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Its names: brands, and the organization that runs it.
    pub(super) names: Vec<String>,
    /// The operator's name of its endpoint.
    pub(super) technical: String,
    /// The organization's place.
    pub(super) place: Option<String>,
    /// The organization's type: `PAYER` or another one.
    pub(super) kind: String,
}

/// The words of organizations. An organization is a number: its index among those from which the index was made. The
/// lower number comes first if distances are equal.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) tokens: Vec<Token>,
    /// The organizations with each word and their distances, one word after the other.
    postings: Vec<(u32, u8)>,
    /// The names of each, without spaces.
    pub(super) joined: Vec<Vec<String>>,
}

/// A word.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: Box<str>,
    /// How many letters it has.
    pub(super) letters: usize,
    /// Bit masks of its letters: of all, of its first [`HEAD`] and of its first [`FIRST`].
    pub(super) mask: u64,
    pub(super) head: u64,
    pub(super) first: u64,
    /// Whether a misspelt word may mean this word. False for numbers and initials.
    pub(super) may_be_misspelt: bool,
    /// The range of its postings.
    from: u32,
    to: u32,
}

impl Token {
    /// Its first letters, or all if it has fewer.
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

/// Words during collection: the distance of each organization, and whether the word may be misspelt.
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

    /// Adds the words of a text. Also adds each pair of neighbouring words joined, and all words joined.
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
    /// The index of organizations in this order.
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

    /// The number of organizations in it.
    pub(super) fn len(&self) -> usize {
        self.joined.len()
    }

    /// The words that begin with these letters.
    pub(super) fn beginning(&self, letters: &str) -> &[Token] {
        let from = self.tokens.partition_point(|token| &*token.text < letters);
        let rest = &self.tokens[from..];
        &rest[..rest.partition_point(|token| token.text.starts_with(letters))]
    }

    /// The organizations of a word, and the distance of each.
    pub(super) fn postings(&self, token: &Token) -> &[(u32, u8)] {
        &self.postings[token.from as usize..token.to as usize]
    }
}

/// A bit for each letter that occurs. Letters other than a to z and the digits share some bits.
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
