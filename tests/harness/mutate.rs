//! Changes texts at random from a seed: removes, doubles or moves parts, copies parts of other texts, and inserts odd
//! characters.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Generates changed texts from known ones.
pub(crate) struct Mutator<'a> {
    random: ChaCha8Rng,
    seeds: Vec<&'a str>,
    words: &'a [&'a str],
}

impl<'a> Mutator<'a> {
    /// Changes `seeds`, and inserts `words`.
    pub(crate) fn new(seed: u64, seeds: Vec<&'a str>, words: &'a [&'a str]) -> Mutator<'a> {
        let random = ChaCha8Rng::seed_from_u64(seed);
        Mutator { random, seeds, words }
    }

    fn below(&mut self, count: usize) -> usize {
        self.random.next_u32() as usize % count.max(1)
    }

    /// A random position between two characters.
    fn place(&mut self, text: &str) -> usize {
        let place = self.below(text.len() + 1);
        (0..=place)
            .rev()
            .find(|place| text.is_char_boundary(*place))
            .unwrap_or(0)
    }

    fn range(&mut self, text: &str) -> std::ops::Range<usize> {
        let (one, other) = (self.place(text), self.place(text));
        one.min(other)..one.max(other)
    }

    /// The next text: a known one, changed at one to four places.
    pub(crate) fn next(&mut self) -> String {
        let pick = self.below(self.seeds.len());
        let mut text = self.seeds[pick].to_string();
        for _ in 0..=self.below(4) {
            let range = self.range(&text);
            match self.below(7) {
                0 => text.replace_range(range, ""),
                1 => {
                    let part = text[range.clone()].to_string();
                    let times = 1 + self.below(3);
                    text.insert_str(range.end, &part.repeat(times));
                }
                2 => {
                    let part = text[range].to_string();
                    let place = self.place(&text);
                    text.insert_str(place, &part);
                }
                3 => {
                    let other = self.below(self.seeds.len());
                    let other = self.seeds[other];
                    let part = &other[self.range(other)];
                    text.replace_range(range, part);
                }
                4 | 5 => {
                    let word = self.below(self.words.len());
                    text.insert_str(range.start, self.words[word]);
                }
                _ => {
                    let letter = char::from_u32(self.random.next_u32() % 0x2_0000).unwrap_or('\u{0}');
                    text.insert(range.start, letter);
                }
            }
        }
        text
    }

    /// Random bytes, decoded as text.
    pub(crate) fn noise(&mut self) -> String {
        let mut bytes = vec![0; self.below(60)];
        self.random.fill_bytes(&mut bytes);
        if self.below(2) == 0 {
            bytes.iter_mut().for_each(|byte| *byte &= 0x7f);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Runs `exercise`. If it panics, the failure names the text.
pub(crate) fn survives(text: &str, exercise: impl FnOnce(&str)) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| exercise(text)));
    assert!(outcome.is_ok(), "panicked on {text:?}");
}
