//! The places of a server's connections. If all are taken and another client connects, at least one of the connections
//! is closed.
//!
//! A connection is not closed while the server answers its request. All other connections wait for their client. These
//! rules decide which of them is closed. A rule decides only between connections that the rules above it leave equal:
//!
//! 1. A connection of an address above its share is closed first. Of several such addresses, the one with the most
//!    connections loses one.
//! 2. A connection that has waited for at least a second is closed before one that has waited for less.
//! 3. A connection between two requests is closed first. Next are those that wait for a request's head, then for a
//!    request's body, then for the client to read the response.
//! 4. A connection of the address with the most connections is closed first.
//! 5. The connection that has waited longest is closed first.
//!
//! So neither idle nor slow connections keep new clients out, and a new client has a second to send its request.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rustc_hash::FxHashMap;
use tokio::sync::Notify;

/// The share of one address is the number of all places divided by this. If places are needed, connections of an
/// address above its share are closed first. If no places are needed, one address may have all of them.
const SHARE: usize = 4;
/// A connection that has waited for fewer milliseconds is closed only if no other connection can be closed, or if its
/// address is above its share.
const SPARED: u64 = 1_000;
/// The maximum number of connections that are closed at once is the number of all places divided by this, but at least
/// one.
const BATCH: usize = 64;
/// The number of low bits of a seat's `state` that hold the activity. The higher bits hold the time at which the
/// activity began, in milliseconds since the server started.
const ACTIVITY_BITS: u32 = 3;

/// The places of a server's connections.
#[derive(Debug)]
pub(in crate::http) struct Places {
    max: usize,
    /// If an address has more connections than this, its connections are closed first. `None` if all connections come
    /// from one proxy.
    share: Option<usize>,
    started: Instant,
    taken: Mutex<Taken>,
    /// Notifies waiters when a place is freed or a connection begins to wait for its client.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Taken {
    seats: FxHashMap<u64, Arc<Seat>>,
    by_address: FxHashMap<IpAddr, usize>,
    next: u64,
}

/// The place of one connection. Dropping it frees the place.
#[derive(Debug)]
pub(in crate::http) struct ConnectionSlot {
    places: Arc<Places>,
    id: u64,
    seat: Arc<Seat>,
}

/// The current activity of a connection. The connection reports it, and [`Places`] reads it.
#[derive(Debug)]
pub(in crate::http) struct Seat {
    address: IpAddr,
    started: Instant,
    /// An [`Activity`] and when it began. See [`ACTIVITY_BITS`].
    state: AtomicU64,
    /// When a write began to wait for the client, in milliseconds since the server started. Zero if no write waits.
    unread: AtomicU64,
    evicted: Notify,
    changed: Arc<Notify>,
}

/// The activity of a connection. Connections with an earlier variant are closed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Activity {
    /// The connection is between two requests.
    Idle = 0,
    /// The connection waits for a request's head.
    Head = 1,
    /// The connection waits for a request's body.
    Body = 2,
    /// The client does not read the response.
    Unread = 3,
    /// A request is being answered. The connection must not be closed.
    Work = 4,
    /// The connection was closed for another one.
    Evicted = 5,
}

/// The rank of a connection. The connection with the highest rank is closed first. The members are: the number of
/// connections of its address (0 if the address is not above its share), whether it has waited for [`SPARED`], its
/// activity, the number of connections of its address, and how long it has waited.
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
    /// Creates `max` places. With `from_one_address` all connections come from one proxy, and no address has a share.
    pub(in crate::http) fn new(max: usize, from_one_address: bool) -> Arc<Places> {
        Arc::new(Places {
            max,
            share: (!from_one_address).then_some(max / SHARE),
            started: Instant::now(),
            taken: Mutex::default(),
            changed: Arc::default(),
        })
    }

    /// Takes a place for a connection from this address. If all places are taken, closes another connection. If the
    /// server is answering a request on every connection, waits.
    pub(in crate::http) async fn take(self: &Arc<Places>, address: IpAddr) -> ConnectionSlot {
        loop {
            let changed = self.changed.notified();
            if let Some(place) = self.try_take(address) {
                return place;
            }
            changed.await;
        }
    }

    /// Closes connections that wait for their client, if there are any. The server calls this when the system has run
    /// out of file descriptors, because closing connections frees some.
    pub(in crate::http) fn evict(&self) {
        let mut taken = self.locked();
        self.evict_from(&mut taken, self.now());
    }

    /// Waits until all connections are closed.
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

    /// Closes connections that wait for their client, at least one. Returns `false` if no connection waits. Closes up
    /// to `max / BATCH` connections at once, because a call searches all places: this is too slow for every new
    /// connection of a flood.
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
                // One connection must be closed. Close further connections only if their address is above its share, or
                // if they have waited long enough.
                if evicted && above_share == 0 && !spared_no_more {
                    break;
                }
                // The connection may have become active since its rank was computed. Then its state differs, and it
                // is not closed.
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

    /// Returns the rank of a connection, and the state from which it was computed. `None` if the connection must not
    /// be closed.
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
    /// Returns the seat to which the connection reports its activity.
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
    /// Reports that bytes arrived. On an idle connection they begin the next request.
    pub(in crate::http) fn heard(&self) {
        let state = self.state.load(Ordering::Acquire);
        if Activity::of(state) == Activity::Idle {
            self.turn(Activity::Head);
        }
    }

    /// Reports that the server answers a request, because its head or its body has arrived. `false` if the connection
    /// was closed for another one.
    pub(in crate::http) fn answers(&self) -> bool {
        self.turn(Activity::Work)
    }

    /// Reports that the server waits for more of the request's body.
    pub(in crate::http) fn awaits_body(&self) {
        self.turn(Activity::Body);
        self.changed.notify_waiters();
    }

    /// Reports that the response was sent, so the connection is idle.
    pub(in crate::http) fn answered(&self) {
        self.turn(Activity::Idle);
        self.changed.notify_waiters();
    }

    /// Whether the server answers a request.
    pub(in crate::http) fn is_answering(&self) -> bool {
        Activity::of(self.state.load(Ordering::Acquire)) == Activity::Work
    }

    /// Reports whether a write waits for the client to read.
    pub(in crate::http) fn is_unread(&self, waits: bool) {
        let since = if waits { millis(self.started).max(1) } else { 0 };
        if waits != (self.unread.load(Ordering::Relaxed) > 0) {
            self.unread.store(since, Ordering::Release);
            self.changed.notify_waiters();
        }
    }

    /// Waits until the connection is closed for another one.
    pub(in crate::http) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Returns the state, the activity, and the time at which the activity began. `None` if the connection does not
    /// wait for its client.
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

    /// Changes the activity. `false` if the connection was closed for another one.
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

    /// Takes a place. Its connection has had this `activity` for `waited` milliseconds.
    fn place(places: &Arc<Places>, last: u8, activity: Activity, waited: u64) -> ConnectionSlot {
        let place = places.try_take(address(last)).unwrap();
        place.seat.state.store(activity.since(NOW - waited), Ordering::Release);
        place
    }

    /// Closes the connection that comes next in the order. Returns its index in `held`, or `None` if none can be
    /// closed.
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
            // The next two have waited for less than a second.
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
        // If the client does not read the response, the connection can be closed.
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
