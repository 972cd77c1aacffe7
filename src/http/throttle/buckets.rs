//! Token buckets, by credential and by address.

use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::Extensions;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use super::allowance::{Allowance, Meter};
use super::peer::{ClientAddress, subscriber};
use crate::http::error::Error;
use crate::http::limits::{Rate, Rates};

/// If there are more buckets of one kind than this, all charges of this kind go to one shared bucket. The number is
/// checked about once a second.
const MAX_BUCKETS: usize = 200_000;

/// The buckets of a server. `None` for a kind of charge without a limit.
pub(in crate::http) struct Throttle {
    credentials: Option<Buckets<Box<str>>>,
    /// The buckets for operations on all of a patient's records.
    records: Option<Buckets<Box<str>>>,
    /// The buckets for health cards.
    cards: Option<Buckets<Box<str>>>,
    addresses: Option<Buckets<IpAddr>>,
    /// The buckets for requests without a credential that add rows to the store.
    writes: Option<Buckets<IpAddr>>,
    /// The buckets for new flows, and for steps of a flow that add rows to the store.
    flows: Option<Buckets<IpAddr>>,
}

struct Buckets<K: Hash + Eq + Clone> {
    limiter: RateLimiter<K, DashMapStateStore<K>, DefaultClock, StateInformationMiddleware>,
    rate: Rate,
    /// Whether there are so many buckets that all charges go to the bucket `overflow`.
    crowded: AtomicBool,
    overflow: K,
}

impl Throttle {
    pub(in crate::http) fn new(rates: &Rates) -> Throttle {
        Throttle {
            credentials: rates.credential.map(|rate| Buckets::new(rate, Box::from(""))),
            records: rates.records.map(|rate| Buckets::new(rate, Box::from(""))),
            cards: rates.cards.map(|rate| Buckets::new(rate, Box::from(""))),
            addresses: rates.address.map(|rate| Buckets::new(rate, IpAddr::from([0, 0, 0, 0]))),
            writes: rates.writes.map(|rate| Buckets::new(rate, IpAddr::from([0, 0, 0, 0]))),
            flows: rates.flows.map(|rate| Buckets::new(rate, IpAddr::from([0, 0, 0, 0]))),
        }
    }

    /// Charges a request to its valid credential: a consent, or an application key.
    pub(in crate::http) fn charge_credential(&self, credential: &str, extensions: &Extensions) -> Result<(), Error> {
        let buckets = self.credentials.as_ref();
        let charged = buckets.map(|buckets| buckets.charge(&Box::from(credential)));
        noted(charged.transpose(), extensions)
    }

    /// Charges an operation on all of a patient's records to its credential.
    pub(in crate::http) fn charge_record(&self, credential: &str) -> Result<(), Error> {
        charged_to(self.records.as_ref(), credential)
    }

    /// Charges a new health card to the consent. The caller also calls `charge_record`, because a card reads all of
    /// the patient's records.
    pub(in crate::http) fn charge_card(&self, consent: &str) -> Result<(), Error> {
        charged_to(self.cards.as_ref(), consent)
    }

    /// Records that a request is not charged to anybody. For the operator's own tokens.
    pub(in crate::http) fn exempt(&self, extensions: &Extensions) {
        if let Some(meter) = extensions.get::<Meter>() {
            meter.note(None);
        }
    }

    /// Charges a request to its address. Does nothing if the address is not known.
    pub(in crate::http) fn charge_address(
        &self,
        address: Option<IpAddr>,
        extensions: &Extensions,
    ) -> Result<(), Error> {
        let buckets = self.addresses.as_ref().zip(address);
        let charged = buckets.map(|(buckets, address)| buckets.charge(&subscriber(address)));
        noted(charged.transpose(), extensions)
    }

    /// Charges the request's address for rows that it adds to the store.
    pub(in crate::http) fn charge_write(&self, extensions: &Extensions) -> Result<(), Error> {
        charged_for(self.writes.as_ref(), extensions).map_err(Error::Throttled)
    }

    /// Charges the request's address for a new flow, or for a step of a flow that adds rows to the store.
    pub(in crate::http) fn charge_flow(&self, extensions: &Extensions) -> Result<(), Allowance> {
        charged_for(self.flows.as_ref(), extensions)
    }

    /// Drops full buckets, because they equal new ones. Checks whether there are too many buckets.
    pub(in crate::http) fn tidy(&self) {
        for buckets in [&self.credentials, &self.records, &self.cards].into_iter().flatten() {
            buckets.tidy();
        }
        for buckets in [&self.addresses, &self.writes, &self.flows].into_iter().flatten() {
            buckets.tidy();
        }
    }
}

fn charged_to(buckets: Option<&Buckets<Box<str>>>, credential: &str) -> Result<(), Error> {
    let charged = buckets.map(|buckets| buckets.charge(&Box::from(credential)));
    charged.transpose().map(|_| ()).map_err(Error::Throttled)
}

fn charged_for(buckets: Option<&Buckets<IpAddr>>, extensions: &Extensions) -> Result<(), Allowance> {
    let address = extensions.get::<ClientAddress>().map(|ClientAddress(address)| *address);
    match buckets.zip(address) {
        Some((buckets, address)) => buckets.charge(&subscriber(address)).map(|_| ()),
        None => Ok(()),
    }
}

fn noted(charged: Result<Option<Allowance>, Allowance>, extensions: &Extensions) -> Result<(), Error> {
    let allowance = charged.map_err(Error::Throttled)?;
    if let Some(meter) = extensions.get::<Meter>() {
        meter.note(allowance);
    }
    Ok(())
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    fn new(rate: Rate, overflow: K) -> Buckets<K> {
        // A period of zero is invalid. Use at least a nanosecond.
        let quota =
            Quota::with_period(rate.every.max(Duration::from_nanos(1))).unwrap_or(Quota::per_second(NonZeroU32::MAX));
        let limiter = RateLimiter::dashmap(quota.allow_burst(rate.burst));
        Buckets {
            limiter: limiter.with_middleware(),
            rate,
            crowded: AtomicBool::new(false),
            overflow,
        }
    }

    fn charge(&self, key: &K) -> Result<Allowance, Allowance> {
        let key = if self.crowded.load(Ordering::Relaxed) {
            &self.overflow
        } else {
            key
        };
        let limit = self.rate.burst.get();
        match self.limiter.check_key(key) {
            Ok(state) => {
                let remaining = state.remaining_burst_capacity().min(limit);
                Ok(self.allowance(remaining, 0))
            }
            Err(until) => {
                let wait = until.wait_time_from(self.limiter.clock().now());
                let whole = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                Err(self.allowance(0, whole.max(1)))
            }
        }
    }

    fn allowance(&self, remaining: u32, wait: u64) -> Allowance {
        let limit = self.rate.burst.get();
        Allowance {
            limit,
            remaining,
            reset: self.rate.seconds(limit - remaining),
            wait,
        }
    }

    fn tidy(&self) {
        self.limiter.retain_recent();
        self.crowded.store(self.limiter.len() > MAX_BUCKETS, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a rate so slow that no bucket gains a request during a test.
    fn hourly(burst: u32) -> Option<Rate> {
        Some(Rate {
            every: Duration::from_secs(3_600),
            burst: NonZeroU32::new(burst).unwrap(),
        })
    }

    fn throttle() -> Throttle {
        Throttle::new(&Rates {
            credential: hourly(3),
            address: hourly(2),
            ..Rates::default()
        })
    }

    #[test]
    fn a_bucket_admits_what_it_holds_and_says_what_is_left() {
        let throttle = throttle();
        let mut extensions = Extensions::new();
        let one = "one";
        for remaining in [2, 1, 0] {
            let meter = Meter::default();
            extensions.insert(meter.clone());
            throttle.charge_credential(one, &extensions).unwrap();
            let told = meter.read().unwrap();
            assert_eq!((told.limit, told.remaining, told.wait), (3, remaining, 0));
            assert_eq!(told.reset, 3_600 * u64::from(3 - remaining));
        }
        let Err(Error::Throttled(told)) = throttle.charge_credential(one, &extensions) else {
            panic!("the bucket is empty")
        };
        assert_eq!(told.remaining, 0);
        assert!((3_590..=3_600).contains(&told.wait), "{}", told.wait);
        throttle.charge_credential("other", &extensions).unwrap();
    }

    #[test]
    fn a_network_of_ipv6_is_one_subscriber() {
        let throttle = throttle();
        let extensions = Extensions::new();
        let charge = |address: &str| {
            throttle
                .charge_address(Some(address.parse().unwrap()), &extensions)
                .is_ok()
        };
        assert!(charge("2001:db8::1") && charge("2001:db8::2") && !charge("2001:db8::3"));
        assert!(charge("2001:db8:0:1::1"));
        assert!(charge("192.0.2.1") && charge("::ffff:192.0.2.1") && !charge("192.0.2.1"));
        assert!(charge("192.0.2.2"));
        assert!(throttle.charge_address(None, &extensions).is_ok());
    }

    #[test]
    fn full_buckets_are_given_up_and_used_ones_stay() {
        let buckets = Buckets::new(hourly(2).unwrap(), 0u32);
        buckets.charge(&1).unwrap();
        buckets.charge(&1).unwrap();
        buckets.tidy();
        assert_eq!(buckets.limiter.len(), 1);
        assert!(buckets.charge(&1).is_err());
        let fast = Rate {
            every: Duration::from_nanos(1),
            ..hourly(2).unwrap()
        };
        let fast = Buckets::new(fast, 0u32);
        fast.charge(&1).unwrap();
        while !fast.limiter.is_empty() {
            fast.tidy();
        }
    }

    #[test]
    fn too_many_buckets_are_shared() {
        let buckets = Buckets::new(hourly(2).unwrap(), 0u32);
        for key in 1..=u32::try_from(MAX_BUCKETS).unwrap() + 1 {
            buckets.charge(&key).unwrap();
        }
        buckets.tidy();
        let new = 10_000_000;
        assert!(buckets.charge(&new).is_ok() && buckets.charge(&(new + 1)).is_ok());
        assert!(buckets.charge(&(new + 2)).is_err());
        assert_eq!(buckets.limiter.len(), MAX_BUCKETS + 2);
    }
}
