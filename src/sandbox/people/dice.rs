//! Random numbers that are the same on every machine. Each entity has its own stream, which depends on the seed, the
//! kind of entity and its index. So the numbers of a person do not depend on other people.
//!
//! All computation is integer arithmetic, because floating-point functions differ between platforms in the last digits.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use uuid::Uuid;

/// What a stream of random numbers generates.
#[derive(Clone, Copy)]
pub(in crate::sandbox) enum Stream {
    /// The nation's directory: payers, laboratories, pharmacies, drugs.
    Nation = 1,
    /// A district's providers.
    District = 2,
    /// A person's profile.
    Profile = 3,
    /// The events of a person's life.
    Story = 4,
}

/// A stream of random numbers.
pub(in crate::sandbox) struct Dice(ChaCha8Rng);

impl Dice {
    /// Creates the stream for the entity with this index.
    pub(in crate::sandbox) fn new(seed: u64, stream: Stream, index: u64) -> Dice {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&index.to_le_bytes());
        key[16] = stream as u8;
        key[24..].copy_from_slice(b"populace");
        Dice(ChaCha8Rng::from_seed(key))
    }

    /// Returns a number in `0..end`.
    pub(in crate::sandbox) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// Returns a number from `low` to `high`, both included.
    pub(in crate::sandbox) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1).max(1) as u64) as i64
    }

    /// Returns a number near `middle`, at most `reach` away. The distribution is bell-shaped.
    pub(in crate::sandbox) fn near(&mut self, middle: i64, reach: i64) -> i64 {
        let sum: i64 = (0..3).map(|_| self.between(-reach, reach)).sum();
        middle + sum / 3
    }

    /// Returns true with a probability of `chance` in a thousand.
    pub(in crate::sandbox) fn per_mille(&mut self, chance: u64) -> bool {
        self.below(1000) < chance
    }

    /// Returns true with a probability of `chance` in a hundred.
    pub(in crate::sandbox) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// Returns a random index into a table of `length` entries.
    pub(in crate::sandbox) fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Returns a random entry of a table, which must not be empty.
    pub(in crate::sandbox) fn pick<'a, T>(&mut self, table: &'a [T]) -> &'a T {
        &table[self.index(table.len())]
    }

    /// Returns a random index into `weights`. The probability of an index is proportional to its weight.
    pub(in crate::sandbox) fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut throw = self.below(weights.iter().sum());
        for (at, weight) in weights.iter().enumerate() {
            if throw < *weight {
                return at;
            }
            throw -= weight;
        }
        weights.len() - 1
    }

    /// Returns a random id. It has the form of a UUID of version 4.
    pub(in crate::sandbox) fn id(&mut self) -> Uuid {
        let mut bytes = [0; 16];
        self.0.fill_bytes(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throws_are_the_same_everywhere() {
        let mut dice = Dice::new(1, Stream::Story, 0);
        let throws: Vec<u64> = (0..6).map(|_| dice.below(1000)).collect();
        expect_test::expect!["[873, 872, 945, 340, 16, 192] ded3b1bb-a5e2-4cc1-b525-94a0dc64972d"]
            .assert_eq(&format!("{throws:?} {}", dice.id()));
    }

    #[test]
    fn ranges_include_both_ends_and_nothing_beyond() {
        let mut dice = Dice::new(7, Stream::Profile, 3);
        let throws: std::collections::BTreeSet<i64> = (0..500).map(|_| dice.between(-2, 2)).collect();
        assert_eq!(throws.into_iter().collect::<Vec<_>>(), [-2, -1, 0, 1, 2]);
        assert!((0..500).all(|_| (40..=60).contains(&dice.near(50, 10))));
        assert_eq!(dice.weighted(&[0, 5, 0]), 1);
    }
}
