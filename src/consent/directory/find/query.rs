//! Decides which organizations match a query, the nearest first.
//!
//! Each word of the query must match a word of the organization: the same word, a word that begins with it, or a word
//! that it may misspell. Two words of the query may match the same word. Two words may also match as one joined word,
//! and a filler word need not match. The distance of an organization is the sum over the words of the query.

use super::index::{Index, Token};
use super::misspelt::{Misspelt, mistakes_in};
use super::synonyms;
use super::words::{is_filler, words};

/// The maximum number of words of a query. Further words are ignored.
const WORDS: usize = 10;
/// What a difference between the query and a name adds to the distance. In this order: only the beginning of a word
/// was typed; only one or two letters were typed, which may be a state's code; a mistake; two typed words are one
/// word; a filler word is not in the name.
const BEGUN: u16 = 1;
const HARDLY_BEGUN: u16 = 4;
const MISTAKE: u16 = 6;
const JOINED: u16 = 1;
const LEFT_OUT: u16 = 5;
/// The distance of an organization that does not match.
const FAR: u16 = u16::MAX;
/// The maximum difference from the distance of the best match. Organizations that are further away are left out.
const BEHIND: u16 = 20;
/// The number of letters of a state's code.
const STATE: usize = 2;

impl Index {
    /// Returns at most `limit` organizations that `admits` accepts and that match a text, the best match first. A text
    /// without words matches all organizations, in the order of the index.
    pub(super) fn find(&self, text: &str, limit: usize, admits: impl Fn(usize) -> bool) -> Vec<usize> {
        let sought: Vec<String> = words(text).into_iter().take(WORDS).collect();
        if sought.is_empty() {
            return (0..self.len()).filter(|number| admits(*number)).take(limit).collect();
        }
        let whole = sought.concat();
        let distances = self.distances(&sought).into_iter().enumerate();
        let meant = distances.filter(|(number, distance)| *distance != FAR && admits(*number));
        let mut meant: Vec<(u16, u8, usize)> = meant
            .map(|(number, distance)| (distance, self.likeness(number, &whole), number))
            .collect();
        meant.sort_unstable();
        let nearest = meant.first().map_or(0, |(distance, ..)| *distance);
        let near = meant
            .into_iter()
            .take_while(|(distance, ..)| distance.saturating_sub(nearest) <= BEHIND);
        near.take(limit).map(|(.., number)| number).collect()
    }

    /// Returns the distance of each organization from all words of a query.
    fn distances(&self, sought: &[String]) -> Vec<u16> {
        let mut before = vec![FAR; self.len()];
        let mut so_far = vec![0_u16; self.len()];
        for (at, word) in sought.iter().enumerate() {
            let mut alone = self.distances_of(word, mistakes_in(word));
            if let Some(other) = synonyms::meant_by(word) {
                for (known, distance) in alone.iter_mut().zip(self.distances_of(other, 0)) {
                    *known = distance.min(*known);
                }
            }
            let pair = at.checked_sub(1).map(|first| {
                let word = format!("{}{word}", sought[first]);
                // Writing one word as two is already a mistake, so allow one other mistake at most.
                self.distances_of(&word, mistakes_in(&word).min(1))
            });
            let left_out = if sought.len() > 1 && is_filler(word) {
                LEFT_OUT
            } else {
                FAR
            };
            let next = (0..self.len()).map(|number| {
                let alone = so_far[number].saturating_add(alone[number].min(left_out));
                let pair = pair.as_ref().map_or(FAR, |pair| pair[number]);
                alone.min(before[number].saturating_add(pair).saturating_add(JOINED))
            });
            let next = next.collect();
            before = std::mem::replace(&mut so_far, next);
        }
        so_far
    }

    /// Returns the distance of each organization from one word, which may have this many mistakes.
    fn distances_of(&self, word: &str, mistakes: usize) -> Vec<u16> {
        let mut distances = vec![FAR; self.len()];
        let mut note = |token: &Token, distance: u16| {
            for (number, own) in self.postings(token) {
                let known = &mut distances[*number as usize];
                *known = distance.saturating_add(u16::from(*own)).min(*known);
            }
        };
        let letters = word.chars().count();
        for token in self.beginning(word) {
            let distance = if token.letters == letters {
                0
            } else if letters <= STATE {
                HARDLY_BEGUN
            } else {
                BEGUN
            };
            note(token, distance);
        }
        if mistakes == 0 {
            return distances;
        }
        for (token, near) in Misspelt::new(word, mistakes).meant(&self.tokens) {
            let begun = if near.begun { BEGUN } else { 0 };
            let mistakes = u16::try_from(near.mistakes).unwrap_or(FAR);
            note(token, mistakes.saturating_mul(MISTAKE).saturating_add(begun));
        }
        distances
    }

    /// Compares the joined words of the query (`whole`) with the names of an organization. Returns 0 if they are a
    /// whole name, 1 if they are the beginning of a name, and otherwise 2.
    fn likeness(&self, number: usize, whole: &str) -> u8 {
        let names = &self.joined[number];
        if names.iter().any(|name| name == whole) {
            0
        } else if names.iter().any(|name| name.starts_with(whole)) {
            1
        } else {
            2
        }
    }
}
