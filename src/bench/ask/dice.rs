//! Seeded random numbers. Each purpose has its own stream, so the draws of one family do not change those of another.

use std::hash::Hasher;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use siphasher::sip::SipHasher13;

/// A stream of random numbers.
#[derive(Clone)]
pub(in crate::bench) struct Dice(ChaCha8Rng);

impl Dice {
    /// Creates the stream for a purpose. `index` distinguishes several streams of one purpose.
    pub(in crate::bench) fn new(seed: u64, purpose: &str, index: u64) -> Dice {
        let mut hasher = SipHasher13::new_with_keys(seed, index);
        hasher.write(purpose.as_bytes());
        Dice(ChaCha8Rng::seed_from_u64(hasher.finish()))
    }

    /// Returns a number in `0..end`, or 0 if `end` is 0.
    pub(in crate::bench) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.0.next_u64()) * end as u128) >> 64) as usize
    }

    /// Returns one of these items. `None` if there are none.
    pub(in crate::bench) fn one_of<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Draws `many` different items and moves them to the front of `items`.
    pub(in crate::bench) fn deal<T>(&mut self, items: &mut [T], many: usize) {
        for at in 0..many.min(items.len()) {
            let other = at + self.below(items.len() - at);
            items.swap(at, other);
        }
    }
}

/// A random sample of a stream of unknown length. Each item of the stream has the same chance to be in the sample.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Reservoir<T> {
    items: Vec<T>,
    seen: u64,
    capacity: usize,
}

impl<T> Reservoir<T> {
    /// Creates an empty sample of at most this many items.
    pub(in crate::bench) fn new(capacity: usize) -> Reservoir<T> {
        Reservoir {
            items: Vec::new(),
            seen: 0,
            capacity,
        }
    }

    /// Offers the next item of the stream. The item is made only if it becomes part of the sample.
    pub(in crate::bench) fn offer(&mut self, dice: &mut Dice, item: impl FnOnce() -> T) {
        self.seen += 1;
        if self.items.len() < self.capacity {
            self.items.push(item());
        } else {
            let at = dice.below(usize::try_from(self.seen).unwrap_or(usize::MAX));
            if let Some(place) = self.items.get_mut(at) {
                *place = item();
            }
        }
    }

    /// Returns the number of all offered items, including those that are not in the sample.
    pub(in crate::bench) fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the sample.
    pub(in crate::bench) fn items(&self) -> &[T] {
        &self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_throws_and_another_others() {
        let throws = |seed, purpose, index| {
            let mut dice = Dice::new(seed, purpose, index);
            (0..20).map(|_| dice.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(throws(1, "a", 0), throws(1, "a", 0));
        for (seed, purpose, index) in [(2, "a", 0), (1, "b", 0), (1, "a", 1)] {
            assert_ne!(throws(1, "a", 0), throws(seed, purpose, index));
        }
    }

    #[test]
    fn a_reservoir_takes_early_and_late_items_alike() {
        let mut halves = [0u32; 2];
        for seed in 0..200 {
            let mut dice = Dice::new(seed, "reservoir", 0);
            let mut reservoir = Reservoir::new(10);
            for item in 0..1000 {
                reservoir.offer(&mut dice, || item);
            }
            assert_eq!((reservoir.items().len(), reservoir.seen()), (10, 1000));
            for item in reservoir.items() {
                halves[usize::from(*item >= 500)] += 1;
            }
        }
        assert!(halves.iter().all(|half| (900..1100).contains(half)), "{halves:?}");
    }

    #[test]
    fn dealing_repeats_nothing() {
        let mut items: Vec<u32> = (0..50).collect();
        Dice::new(1, "deal", 0).deal(&mut items, 20);
        assert_ne!(items[..20], (0..20).collect::<Vec<_>>()[..]);
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
        Dice::new(1, "deal", 0).deal(&mut items, 100);
    }
}
