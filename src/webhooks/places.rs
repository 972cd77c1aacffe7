//! The places for concurrent attempts, and who may take one.
//!
//! A receiver has its own share of the places. A receiver whose last attempt has failed or was slow gets one place, and
//! all such receivers have half of the places together. So they leave places for the others.

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
}

impl Places {
    pub(super) fn new(settings: Settings) -> Places {
        Places {
            settings,
            attempts: HashMap::new(),
            failing: HashSet::new(),
        }
    }

    /// Whether all places are taken.
    pub(super) fn is_full(&self) -> bool {
        self.attempts.len() >= self.settings.all
    }

    /// Takes a place for a delivery. Returns `false` if there is none for its receiver, or it has one already.
    pub(super) fn take(&mut self, due: &DueDelivery) -> bool {
        let may_begin = self.may_begin(due);
        if may_begin {
            self.attempts.insert(due.delivery, due.receiver.clone());
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
        } else {
            at_receiver < self.settings.of_receiver
        }
    }

    /// Gives a place back. `is_prompt` says whether the receiver has accepted the message soon.
    pub(super) fn leave(&mut self, due: &DueDelivery, is_prompt: bool) {
        self.attempts.remove(&due.delivery);
        if is_prompt {
            self.failing.remove(&due.receiver);
        } else {
            self.failing.insert(due.receiver.clone());
        }
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
}
