//! Limits how much work (searches, views, operations on all of a patient's records) runs at once, in total and per
//! credential. By default a credential may use half of the places.
//!
//! A credential has at most one *first work* at a time: the work that it begins while it has none. All its other work
//! is *further work*. First work has separate places, so it does not wait for the further work of other credentials.
//!
//! Work that turns out to be slow exchanges its place for one of the places for *slow work*, and may have to wait for
//! it. So only slow work waits for slow work. A credential has at most one of these places.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// For each place for further work, there are this many places for first work.
const FIRST_FOR_EACH: usize = 4;

/// The places for one kind of expensive work.
#[derive(Clone)]
pub(in crate::http) struct Turns(Arc<Places>);

struct Places {
    /// The places for first work. Each credential may use one.
    first: Arc<Semaphore>,
    /// The places for further work.
    further: Arc<Semaphore>,
    /// The places for slow work. Each credential may use one.
    slow: Arc<Semaphore>,
    /// The maximum number of places that one credential uses at once.
    each: usize,
    /// The credentials whose work runs or waits, each with its places.
    shares: Mutex<FxHashMap<Box<str>, Arc<Share>>>,
}

/// The places that one credential uses.
struct Share {
    own: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    has_first: AtomicBool,
}

/// A place for one piece of work. Dropping it returns the place.
pub(in crate::http) struct Turn {
    place: Option<OwnedSemaphorePermit>,
    /// The right of the credential to use a place for slow work.
    slow: Option<OwnedSemaphorePermit>,
    first: Option<First>,
    _own: OwnedSemaphorePermit,
    member: Member,
}

/// Keeps a credential's entry in `shares` while its work runs or waits.
struct Member {
    places: Arc<Places>,
    credential: Box<str>,
    share: Arc<Share>,
}

/// Exists while a credential's first work runs. After this is dropped, the next work of the credential is first work
/// again.
struct First(Arc<Share>);

impl Turns {
    /// Creates `places` places for further work, and `FIRST_FOR_EACH` times as many for first work. One credential may
    /// use half of `places`, but at least one, its first work included.
    pub(in crate::http) fn new(places: usize) -> Turns {
        Turns::with_share(places, (places / 2).max(1))
    }

    /// Creates `places` places for further work, and `FIRST_FOR_EACH` times as many for first work. One credential may
    /// use `each` places at once, its first work included.
    pub(in crate::http) fn with_share(places: usize, each: usize) -> Turns {
        Turns(Arc::new(Places {
            first: Arc::new(Semaphore::new(places.max(1) * FIRST_FOR_EACH)),
            further: Arc::new(Semaphore::new(places)),
            slow: Arc::new(Semaphore::new(places.max(1))),
            each,
            shares: Mutex::default(),
        }))
    }

    /// Waits for a place for this credential. Never `None`, because the semaphores are never closed.
    pub(in crate::http) async fn take(&self, credential: &str) -> Option<Turn> {
        let member = self.member(credential);
        let own = member.share.own.clone().acquire_owned().await.ok()?;
        let first = First::claim(&member.share);
        let of = match first {
            Some(_) => &self.0.first,
            None => &self.0.further,
        };
        let place = of.clone().acquire_owned().await.ok()?;
        Some(Turn {
            place: Some(place),
            slow: None,
            first,
            _own: own,
            member,
        })
    }

    fn member(&self, credential: &str) -> Member {
        let mut shares = self.0.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let share = shares.entry(credential.into()).or_insert_with(|| {
            Arc::new(Share {
                own: Arc::new(Semaphore::new(self.0.each)),
                slow: Arc::new(Semaphore::new(1)),
                has_first: AtomicBool::new(false),
            })
        });
        Member {
            places: self.0.clone(),
            credential: credential.into(),
            share: share.clone(),
        }
    }
}

impl Turn {
    /// Exchanges the place for a place for slow work. Frees the one and then waits for the other. Never `None`, because
    /// the semaphores are never closed.
    pub(in crate::http) async fn slow(mut self) -> Option<Turn> {
        self.place = None;
        self.slow = Some(self.member.share.slow.clone().acquire_owned().await.ok()?);
        self.place = Some(self.member.places.slow.clone().acquire_owned().await.ok()?);
        Some(self)
    }

    /// Frees the place for other credentials, because the computation has ended. The work counts against the limit of
    /// its own credential until the client has received the result.
    pub(in crate::http) fn computed(mut self) -> Turn {
        self.place = None;
        self.slow = None;
        self.first = None;
        self
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut shares = self.places.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // The map has one reference to the share, and this member has one. If there are no others, no other work of the
        // credential runs or waits. Other members are created only under this lock. A [`Turn`] drops `first`, which
        // also refers to the share, before its member.
        if Arc::strong_count(&self.share) <= 2 {
            shares.remove(&self.credential);
        }
    }
}

impl First {
    fn claim(share: &Arc<Share>) -> Option<First> {
        let free = !share.has_first.swap(true, Ordering::Relaxed);
        free.then(|| First(share.clone()))
    }
}

impl Drop for First {
    fn drop(&mut self) {
        self.0.has_first.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn now(turns: &Turns, credential: &str) -> Option<Turn> {
        turns.take(credential).now_or_never().flatten()
    }

    /// Costly views of one patient's token must not block the views of others.
    #[test]
    fn one_credential_keeps_no_other_waiting() {
        let turns = Turns::new(4);
        let held: Vec<Turn> = std::iter::from_fn(|| now(&turns, "greedy")).collect();
        assert_eq!(held.len(), 2);
        let others: Vec<Option<Turn>> = (0..8).map(|at| now(&turns, &format!("other {at}"))).collect();
        assert!(others.iter().all(Option::is_some));
        assert!(now(&turns, "greedy").is_none());
        assert!(now(&turns, "other 0").is_some());
        drop(held);
        assert!(now(&turns, "greedy").is_some());
    }

    /// A client that reads its result slowly delays only its own work.
    #[test]
    fn what_is_computed_counts_for_its_credential_alone() {
        let turns = Turns::with_share(1, 2);
        let mut slow: Vec<Turn> = Vec::new();
        for at in 0..FIRST_FOR_EACH * 3 {
            let name = format!("slow {at}");
            slow.push(now(&turns, &name).unwrap().computed());
            slow.push(now(&turns, &name).unwrap().computed());
            assert!(now(&turns, &name).is_none());
        }
        assert!(now(&turns, "other").is_some());
        slow.clear();
        assert!(turns.0.shares.lock().unwrap().is_empty());
        assert!(now(&turns, "slow 0").is_some());
    }

    /// Hostile documents of many patients must not keep the documents of others waiting.
    #[test]
    fn slow_work_waits_only_for_slow_work() {
        let turns = Turns::with_share(2, 2);
        let slow = |turn: Turn| turn.slow().now_or_never().flatten();
        let greedy = now(&turns, "greedy").and_then(slow);
        assert!(greedy.is_some());
        // A second place for slow work is not for the same credential.
        assert!(now(&turns, "greedy").and_then(slow).is_none());
        let other = now(&turns, "other").and_then(slow);
        assert!(other.is_some());
        for at in 0..FIRST_FOR_EACH * 3 {
            assert!(now(&turns, &format!("slow {at}")).and_then(slow).is_none());
        }
        let quick: Vec<Option<Turn>> = (0..7).map(|at| now(&turns, &format!("quick {at}"))).collect();
        assert!(quick.iter().all(Option::is_some));
        let computed = greedy.map(Turn::computed);
        assert!(now(&turns, "greedy").and_then(slow).is_some());
        drop((computed, other, quick));
        assert!(turns.0.shares.lock().unwrap().is_empty());
        assert_eq!(turns.0.slow.available_permits(), 2);
    }

    #[test]
    fn nothing_is_kept_of_who_is_gone() {
        let turns = Turns::new(2);
        let held = now(&turns, "a");
        assert!(held.is_some() && now(&turns, "a").is_none());
        assert_eq!(turns.0.shares.lock().unwrap().len(), 1);
        drop(held);
        assert!(turns.0.shares.lock().unwrap().is_empty());
        assert!(now(&turns, "a").is_some());
        assert_eq!(turns.0.first.available_permits(), 2 * FIRST_FOR_EACH);
    }
}
