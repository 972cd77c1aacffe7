//! The places for concurrent attempts, and who may take one.
//!
//! A receiver has its own share of the places, once it has accepted a message. A receiver whose last attempt has failed
//! or was slow gets one place, and all such receivers have half of the places together. So they leave places for the
//! others. Among all, those come first that have waited longest for a place.

use std::collections::{HashMap, HashSet};

use super::settings::Settings;
use crate::consent::DueDelivery;

/// The running attempts.
#[derive(Debug)]
pub(super) struct Places {
    settings: Settings,
    /// The receiver of each delivery that is being attempted.
    attempts: HashMap<i64, String>,
    /// The receivers whose last attempt has failed or was slow.
    failing: HashSet<String>,
    /// The receivers whose last attempt was accepted soon.
    proven: HashSet<String>,
    /// The number of places that were taken so far, and its value when each receiver took its last one.
    taken: u64,
    last: HashMap<String, u64>,
}

impl Places {
    pub(super) fn new(settings: Settings) -> Places {
        Places {
            settings,
            attempts: HashMap::new(),
            failing: HashSet::new(),
            proven: HashSet::new(),
            taken: 0,
            last: HashMap::new(),
        }
    }

    /// Whether all places are taken.
    pub(super) fn is_full(&self) -> bool {
        self.attempts.len() >= self.settings.all
    }

    /// Sorts deliveries by the order in which they may take places.
    pub(super) fn sort(&self, due: &mut [DueDelivery]) {
        let last = |due: &DueDelivery| self.last.get(&due.receiver).copied().unwrap_or_default();
        due.sort_by_key(|due| (last(due), due.delivery));
    }

    /// Takes a place for a delivery. Returns `false` if there is none for its receiver, or it has one already.
    pub(super) fn take(&mut self, due: &DueDelivery) -> bool {
        let may_begin = self.may_begin(due);
        if may_begin {
            self.attempts.insert(due.delivery, due.receiver.clone());
            self.taken += 1;
            self.last.insert(due.receiver.clone(), self.taken);
        }
        may_begin
    }

    fn may_begin(&self, due: &DueDelivery) -> bool {
        if self.is_full() || self.attempts.contains_key(&due.delivery) {
            return false;
        }
        let at_receiver = self.attempts.values().filter(|one| **one == due.receiver).count();
        if self.failing.contains(&due.receiver) {
            let at_failing = self.attempts.values().filter(|one| self.failing.contains(*one)).count();
            at_receiver == 0 && at_failing < self.settings.all.div_ceil(2)
        } else if self.proven.contains(&due.receiver) {
            at_receiver < self.settings.of_receiver
        } else {
            at_receiver == 0
        }
    }

    /// Gives a place back. `is_prompt` says whether the receiver has accepted the message soon.
    pub(super) fn leave(&mut self, due: &DueDelivery, is_prompt: bool) {
        self.attempts.remove(&due.delivery);
        let (gains, loses) = match is_prompt {
            true => (&mut self.proven, &mut self.failing),
            false => (&mut self.failing, &mut self.proven),
        };
        loses.remove(&due.receiver);
        gains.insert(due.receiver.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(delivery: i64, receiver: &str) -> DueDelivery {
        DueDelivery {
            delivery,
            receiver: receiver.to_owned(),
        }
    }

    #[test]
    fn failing_receivers_have_half_of_the_places_and_one_each() {
        let settings = Settings {
            of_receiver: 2,
            all: 6,
            ..Settings::default()
        };
        let mut places = Places::new(settings);
        // A receiver begins with one place.
        assert!(places.take(&due(1, "a")) && !places.take(&due(2, "a")));
        places.leave(&due(1, "a"), true);
        assert!(places.take(&due(1, "a")) && places.take(&due(2, "a")));
        assert!(!places.take(&due(1, "a")) && !places.take(&due(3, "a")));
        for (delivery, receiver) in [(10, "b"), (11, "c"), (12, "d"), (13, "e")] {
            assert!(places.take(&due(delivery, receiver)));
            places.leave(&due(delivery, receiver), false);
            assert!(places.take(&due(delivery, receiver)) == (delivery < 13));
            assert!(!places.take(&due(delivery + 10, receiver)));
        }
        // Two of one receiver and three of failing ones are under way. The last place is for a healthy one.
        assert!(!places.take(&due(13, "e")) && places.take(&due(30, "f")));
        assert!(places.is_full() && !places.take(&due(31, "g")));
        places.leave(&due(10, "b"), true);
        assert!(places.take(&due(10, "b")));
    }

    #[test]
    fn who_has_waited_longest_comes_first() {
        let mut places = Places::new(Settings::default());
        assert!(places.take(&due(1, "busy")));
        places.leave(&due(1, "busy"), false);
        let mut waiting = vec![due(2, "busy"), due(3, "busy"), due(9, "new")];
        places.sort(&mut waiting);
        assert_eq!(waiting[0], due(9, "new"));
        assert!(places.take(&due(9, "new")));
        places.sort(&mut waiting);
        assert_eq!(waiting[0], due(2, "busy"));
    }
}
