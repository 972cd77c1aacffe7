//! Places for connections. If all are taken and another client comes, one connection loses its place.
//!
//! A connection keeps its place while the server answers it. All others wait for their client. The one to close is
//! chosen in this order:
//!
//! 1. Its address holds more than its share.
//! 2. It has been waiting for over a second.
//! 3. It waits between requests; then for a head, for a body, for the client to read its answer.
//! 4. Its address has the most places.
//! 5. It has waited longest.
//!
//! So neither idle nor slow connections keep new clients out, and a new client has a moment to send its request.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rustc_hash::FxHashMap;
use tokio::sync::Notify;

/// An address with more than this fraction of all places loses places before others do. If no other client needs
/// places, it may have all of them.
const SHARE: usize = 4;
/// For this many milliseconds a new connection keeps its place, if other connections can be closed.
const SPARED: u64 = 1_000;
/// At most one in this many slots is closed at once.
const BATCH: usize = 64;
/// The bits of a state for its activity. The higher bits hold the milliseconds at its start.
const ACTIVITY_BITS: u32 = 3;

/// The places of a server.
#[derive(Debug)]
pub(in crate::http) struct Places {
    max: usize,
    /// If an address has more connections than this, its own are closed first. `None` if one address stands for many
    /// clients.
    share: Option<usize>,
    started: Instant,
    taken: Mutex<Taken>,
    /// Tells that a place was freed, or that a connection began to wait for its client.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Taken {
    seats: FxHashMap<u64, Arc<Seat>>,
    by_address: FxHashMap<IpAddr, usize>,
    next: u64,
}

/// A connection's slot. Dropping it frees the slot.
#[derive(Debug)]
pub(in crate::http) struct ConnectionSlot {
    places: Arc<Places>,
    id: u64,
    seat: Arc<Seat>,
}

/// The activity of a connection, as the connection reports it.
#[derive(Debug)]
pub(in crate::http) struct Seat {
    address: IpAddr,
    started: Instant,
    /// An [`Activity`] and when it began.
    state: AtomicU64,
    /// When a write began to wait for the client. Zero if none waits.
    unread: AtomicU64,
    evicted: Notify,
    changed: Arc<Notify>,
}

/// The activity of a connection, in the order in which connections are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Activity {
    /// Between two requests.
    Idle = 0,
    /// The connection waits for a request's head.
    Head = 1,
    /// The connection waits for a request's body.
    Body = 2,
    /// The client does not read its answer.
    Unread = 3,
    /// A request is being answered.
    Work = 4,
    /// Another connection got the place.
    Evicted = 5,
}

/// The order in which places are given up, and the state that it was computed from. `None` if the place is kept.
type Rank = (usize, bool, std::cmp::Reverse<Activity>, usize, u64);

impl Activity {
    fn of(state: u64) -> Activity {
        match state & ((1 << ACTIVITY_BITS) - 1) {
            0 => Activity::Idle,
            1 => Activity::Head,
            2 => Activity::Body,
            3 => Activity::Unread,
            4 => Activity::Work,
            _ => Activity::Evicted,
        }
    }

    fn since(self, millis: u64) -> u64 {
        millis << ACTIVITY_BITS | self as u64
    }
}

impl Places {
    /// This many slots. If all connections come `from_one_address`, that of a proxy, addresses have no share.
    pub(in crate::http) fn new(max: usize, from_one_address: bool) -> Arc<Places> {
        Arc::new(Places {
            max,
            share: (!from_one_address).then_some(max / SHARE),
            started: Instant::now(),
            taken: Mutex::default(),
            changed: Arc::default(),
        })
    }

    /// A place for a connection from this address. If all are taken, it closes another connection. Waits if all are
    /// answering requests.
    pub(in crate::http) async fn take(self: &Arc<Places>, address: IpAddr) -> ConnectionSlot {
        loop {
            let changed = self.changed.notified();
            if let Some(place) = self.try_take(address) {
                return place;
            }
            changed.await;
        }
    }

    /// Closes waiting connections, if there are any, because the system ran out of another resource.
    pub(in crate::http) fn evict(&self) {
        let mut taken = self.locked();
        self.evict_from(&mut taken, self.now());
    }

    /// Waits until no place is taken.
    pub(in crate::http) async fn emptied(&self) {
        loop {
            let changed = self.changed.notified();
            if self.locked().seats.is_empty() {
                return;
            }
            changed.await;
        }
    }

    fn try_take(self: &Arc<Places>, address: IpAddr) -> Option<ConnectionSlot> {
        let mut taken = self.locked();
        let now = self.now();
        while taken.seats.len() >= self.max {
            if !self.evict_from(&mut taken, now) {
                return None;
            }
        }
        let seat = Arc::new(Seat {
            address,
            started: self.started,
            state: AtomicU64::new(Activity::Head.since(now)),
            unread: AtomicU64::new(0),
            evicted: Notify::new(),
            changed: self.changed.clone(),
        });
        let id = taken.next;
        taken.next += 1;
        taken.seats.insert(id, seat.clone());
        *taken.by_address.entry(address).or_default() += 1;
        Some(ConnectionSlot {
            places: self.clone(),
            id,
            seat,
        })
    }

    /// Whether a connection was closed. In a flood several are closed at once, because otherwise every new connection
    /// would have to search all places.
    fn evict_from(&self, taken: &mut Taken, now: u64) -> bool {
        let batch = (self.max / BATCH).max(1);
        loop {
            let ranked = taken.seats.iter().filter_map(|(id, seat)| {
                let (rank, state) = self.rank(taken, seat, now)?;
                Some((rank, *id, state))
            });
            let mut first: Vec<(Rank, u64, u64)> = ranked.collect();
            if first.is_empty() {
                return false;
            }
            if first.len() > batch {
                first.select_nth_unstable_by(batch - 1, |one, other| other.cmp(one));
                first.truncate(batch);
            }
            first.sort_unstable_by(|one, other| other.cmp(one));
            let mut evicted = false;
            for ((above_share, spared_no_more, ..), id, state) in first {
                // One connection must be closed. More are closed only if that harms nobody.
                if evicted && above_share == 0 && !spared_no_more {
                    break;
                }
                // The connection may have continued in the meantime.
                if taken.seats.get(&id).is_some_and(|seat| seat.evict(state)) {
                    taken.remove(id);
                    evicted = true;
                }
            }
            if evicted {
                tracing::debug!("connections that only waited were closed for another");
                return true;
            }
        }
    }

    /// The priority of closing a place, and the state from which it was computed. `None` if it must not be closed.
    fn rank(&self, taken: &Taken, seat: &Seat, now: u64) -> Option<(Rank, u64)> {
        let (state, activity, since) = seat.waiting()?;
        let held = taken.by_address.get(&seat.address).copied().unwrap_or(0);
        let above_share = self.share.filter(|share| held > *share).map_or(0, |_| held);
        let waited = now.saturating_sub(since);
        let rank = (above_share, waited >= SPARED, std::cmp::Reverse(activity), held, waited);
        Some((rank, state))
    }

    fn free(&self, id: u64) {
        self.locked().remove(id);
        self.changed.notify_waiters();
    }

    fn now(&self) -> u64 {
        millis(self.started)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn remove(&mut self, id: u64) {
        let Some(seat) = self.seats.remove(&id) else { return };
        if let Some(held) = self.by_address.get_mut(&seat.address) {
            *held -= 1;
            if *held == 0 {
                self.by_address.remove(&seat.address);
            }
        }
    }
}

impl ConnectionSlot {
    /// The connection's handle for reporting its activity.
    pub(in crate::http) fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.places.free(self.id);
    }
}

impl Seat {
    /// Bytes arrived from the client. For an idle connection they begin the next request.
    pub(in crate::http) fn heard(&self) {
        let state = self.state.load(Ordering::Acquire);
        if Activity::of(state) == Activity::Idle {
            self.turn(Activity::Head);
        }
    }

    /// A request's head has arrived, and the answer begins. `false` if the slot was given to another connection.
    pub(in crate::http) fn answers(&self) -> bool {
        self.turn(Activity::Work)
    }

    /// The answer needs more of the request's body.
    pub(in crate::http) fn awaits_body(&self) {
        self.turn(Activity::Body);
        self.changed.notify_waiters();
    }

    /// The answer is made.
    pub(in crate::http) fn answered(&self) {
        self.turn(Activity::Idle);
        self.changed.notify_waiters();
    }

    /// Whether a write waits for the client.
    pub(in crate::http) fn is_unread(&self, waits: bool) {
        let since = if waits { millis(self.started).max(1) } else { 0 };
        if waits != (self.unread.load(Ordering::Relaxed) > 0) {
            self.unread.store(since, Ordering::Release);
            self.changed.notify_waiters();
        }
    }

    /// Ready when another connection got the place.
    pub(in crate::http) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// The state, the activity, and the start of the activity. `None` if the connection does not wait for its client.
    fn waiting(&self) -> Option<(u64, Activity, u64)> {
        let unread = self.unread.load(Ordering::Acquire);
        let state = self.state.load(Ordering::Acquire);
        match Activity::of(state) {
            Activity::Evicted => None,
            _ if unread > 0 => Some((state, Activity::Unread, unread)),
            Activity::Work => None,
            activity => Some((state, activity, state >> ACTIVITY_BITS)),
        }
    }

    /// Changes the activity, unless another connection got the place.
    fn turn(&self, activity: Activity) -> bool {
        let next = activity.since(millis(self.started));
        let goes_on = |state| (Activity::of(state) != Activity::Evicted).then_some(next);
        self.state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, goes_on)
            .is_ok()
    }

    fn evict(&self, state: u64) -> bool {
        let evicted = Activity::Evicted.since(0);
        let took = self
            .state
            .compare_exchange(state, evicted, Ordering::AcqRel, Ordering::Acquire);
        if took.is_ok() {
            self.evicted.notify_one();
        }
        took.is_ok()
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 100_000;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    /// A slot whose connection has had this activity for this many milliseconds.
    fn place(places: &Arc<Places>, last: u8, activity: Activity, waited: u64) -> ConnectionSlot {
        let place = places.try_take(address(last)).unwrap();
        place.seat.state.store(activity.since(NOW - waited), Ordering::Release);
        place
    }

    /// The index of the one that is closed next.
    fn next(places: &Places, held: &[ConnectionSlot]) -> Option<usize> {
        let gone = |place: &ConnectionSlot| Activity::of(place.seat.state.load(Ordering::Acquire)) == Activity::Evicted;
        let before: Vec<bool> = held.iter().map(gone).collect();
        places.evict_from(&mut places.locked(), NOW).then(|| {
            let mut newly = held.iter().zip(before).enumerate();
            newly.find(|(_, (place, before))| gone(place) && !before).unwrap().0
        })
    }

    #[test]
    fn what_waits_goes_in_its_order_and_what_is_answered_stays() {
        let places = Places::new(100, false);
        let held = [
            place(&places, 1, Activity::Work, 90_000),
            place(&places, 2, Activity::Body, 50_000),
            place(&places, 3, Activity::Head, 3_000),
            place(&places, 4, Activity::Head, 4_000),
            place(&places, 5, Activity::Idle, 2_000),
            // Some have just begun to wait.
            place(&places, 6, Activity::Idle, 999),
            place(&places, 7, Activity::Head, 10),
        ];
        held[0].seat.is_unread(false);
        let order: Vec<Option<usize>> = (0..7).map(|_| next(&places, &held)).collect();
        assert_eq!(
            order,
            [4, 3, 2, 1, 5, 6]
                .map(Some)
                .into_iter()
                .chain([None])
                .collect::<Vec<_>>()
        );
        assert_eq!(places.locked().seats.len(), 1);
        assert_eq!(places.locked().by_address.len(), 1);
        // No answer is being made, so none can be unread.
        held[0].seat.is_unread(true);
        assert_eq!(next(&places, &held), Some(0));
        assert!(!held[0].seat.answers(), "it is over");
    }

    #[test]
    fn an_address_above_its_share_gives_way_first() {
        for (from_one_address, expected) in [(false, 1), (true, 0)] {
            let places = Places::new(4, from_one_address);
            let held = [
                place(&places, 1, Activity::Idle, 60_000),
                place(&places, 2, Activity::Body, 20),
                place(&places, 2, Activity::Work, 9_000),
                place(&places, 2, Activity::Body, 10),
            ];
            assert_eq!(next(&places, &held), Some(expected));
            let taken = [3, 4].map(|last| places.try_take(address(last)).unwrap());
            assert_eq!(places.locked().seats.len(), 4, "the second one took another's place");
            drop((held, taken));
            assert!(places.locked().by_address.is_empty());
        }
    }

    #[test]
    fn whose_address_holds_most_goes_before_others_of_its_kind() {
        let places = Places::new(100, false);
        let held = [
            place(&places, 1, Activity::Body, 60_000),
            place(&places, 2, Activity::Body, 2_000),
            place(&places, 2, Activity::Body, 3_000),
        ];
        assert_eq!(next(&places, &held), Some(2));
        assert_eq!(next(&places, &held), Some(0), "they hold as much now");
    }
}
