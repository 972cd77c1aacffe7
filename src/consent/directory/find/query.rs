//! Decides which organizations a query means, the nearest first.
//!
//! Each word of the query must mean a word of the organization: the same word, a word that begins with it, or a word of
//! which it is a misspelling. Two words of the query may mean the same word. The distances of the words add up.

use super::index::{Index, Token};
use super::misspelt::{Misspelt, mistakes_in};
use super::words::{is_filler, words};

/// The maximum number of words of a query that count.
const WORDS: usize = 10;
/// Distances between a typed word and a name. In this order: a word typed in part; one or two letters of a word, which
/// may be a state's code; a wrong letter; two words written as one; a word that is not in the name.
const BEGUN: u16 = 1;
const HARDLY_BEGUN: u16 = 4;
const MISTAKE: u16 = 6;
const JOINED: u16 = 1;
const LEFT_OUT: u16 = 5;
/// The distance of an organization that is not meant.
const FAR: u16 = u16::MAX;
/// An organization is left out if its distance exceeds the smallest distance by more than this.
const BEHIND: u16 = 20;
/// The number of letters of a state's code.
const STATE: usize = 2;

impl Index {
    /// At most `limit` admitted organizations that a text means. A text without words means all, in the order of the
    /// index.
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

    /// The distance of each organization from all words of a query.
    fn distances(&self, sought: &[String]) -> Vec<u16> {
        let mut before = vec![FAR; self.len()];
        let mut so_far = vec![0_u16; self.len()];
        for (at, word) in sought.iter().enumerate() {
            let alone = self.distances_of(word, mistakes_in(word));
            let pair = at.checked_sub(1).map(|first| {
                let word = format!("{}{word}", sought[first]);
                // Writing it as two words already counts as a mistake.
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

    /// The distance of each organization from one word with at most this many mistakes.
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

    /// How much of a name a query has: all of it, its beginning, or less.
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
