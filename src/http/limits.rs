//! How much one client, and all together, may ask at once.

use std::num::NonZeroU32;
use std::time::Duration;

/// The bounds that a server holds to. What exceeds one is answered with an OperationOutcome and costs nothing more.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections, or a quarter of the files that the system lets the process have open, if that is less. A
    /// further one takes the place of one that waits for its client.
    pub connections: usize,
    /// The maximum number of requests in progress; one address may have half of them. A request whose body is still
    /// being received does not count.
    pub requests: usize,
    /// Searches at work at once; further ones wait for `patience`.
    pub queries: usize,
    /// The maximum number of running views, in addition to the first one of each credential. Further ones wait for
    /// `patience`. One credential may run half as many.
    pub views: usize,
    /// The maximum number of running operations on all of a patient's records, in addition to the first one of each
    /// credential. Further ones wait for `patience`. One credential may run half as many.
    pub records: usize,
    /// The maximum number of documents of all of a patient's records (pages, health cards) in progress, in addition to
    /// the first one of each credential. Further ones wait for `patience`. One credential may run two.
    pub documents: usize,
    /// Bytes of such documents that were made and are on their way to their clients.
    pub spools: u64,
    /// Bytes of rows of one view that wait until the types of a Parquet answer are known, mostly in a temporary file.
    pub view_spool: u64,
    /// Bytes of such rows of all views.
    pub view_spools: u64,
    /// How long a search, a view or such an operation waits for its turn.
    pub patience: Duration,
    /// Bytes of a request's path and query.
    pub url: usize,
    /// Bytes of a request's headers.
    pub headers: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Bytes of all bodies that have not come as a whole.
    pub bodies: usize,
    /// How long a client may take to send its request's headers, and how long an idle connection stays open.
    pub header_time: Duration,
    /// How long a client may take to send its request's body.
    pub body_time: Duration,
    /// How long the client may leave an answer unread before the connection is closed.
    pub write_time: Duration,
    /// How long a revocation waits for the records to be out of the lake; they go all the same when it is over.
    pub erasure_time: Duration,
    /// How long a page is held back while a source is asked, before one comes that says so.
    pub interim: Duration,
    /// How often requests may come.
    pub rates: Rates,
    /// How long requests in flight may take to finish once the server was told to stop.
    pub grace: Duration,
}

/// How often one client may ask. Without a rate it may as often as it likes.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// For each consent, and each key of an application; the operator's own tokens are not counted.
    pub credential: Option<Rate>,
    /// For each consent, and each key of an application, of operations on all of a patient's records. They count as
    /// requests, too.
    pub records: Option<Rate>,
    /// The rate of health cards for each consent, because each card leaves a permanent row in the store. They also
    /// count as operations on all records.
    pub cards: Option<Rate>,
    /// For each address, of requests without a credential or with one that is refused.
    pub address: Option<Rate>,
    /// For each address, of requests that leave something in the store without a credential: applications for access,
    /// registrations.
    pub writes: Option<Rate>,
    /// For each address, of flows that are begun and of steps towards sources, which leave rows in the store.
    pub flows: Option<Rate>,
    /// Whether a proxy stands before the service, which adds its clients' addresses to `X-Forwarded-For`.
    pub behind_proxy: bool,
}

impl Rates {
    pub(super) fn limit_anything(&self) -> bool {
        [
            self.credential,
            self.records,
            self.cards,
            self.address,
            self.writes,
            self.flows,
        ]
        .iter()
        .any(Option::is_some)
    }
}

/// A rate of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// One request in this time, all the time; not zero.
    pub every: Duration,
    /// Requests at once, after a rest.
    pub burst: NonZeroU32,
}

impl Rate {
    /// This many requests per second, and five seconds' worth at once. `None` for zero.
    pub fn per_second(requests: u32) -> Option<Rate> {
        let per_second = NonZeroU32::new(requests)?;
        Some(Rate {
            every: Duration::from_secs(1) / requests,
            burst: per_second.saturating_mul(NonZeroU32::MIN.saturating_add(4)),
        })
    }

    /// This many requests per minute, all of them at once after a pause. `None` for zero.
    pub fn per_minute(requests: u32) -> Option<Rate> {
        Some(Rate {
            every: Duration::from_secs(60) / requests.max(1),
            burst: NonZeroU32::new(requests)?,
        })
    }

    /// How long it takes to earn so many requests, in seconds.
    pub(super) fn seconds(&self, requests: u32) -> u64 {
        let time = self.every.saturating_mul(requests);
        time.as_secs() + u64::from(time.subsec_nanos() > 0)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Limits {
            connections: 1_024,
            requests: 512,
            queries: (processors * 4).max(8),
            views: (processors * 2).max(4),
            records: (processors * 2).max(4),
            documents: processors.max(2),
            spools: 8 << 30,
            view_spool: 4 << 30,
            view_spools: 16 << 30,
            patience: Duration::from_secs(10),
            // Links to further pages repeat a POST's parameters, such as a list of a thousand patients.
            url: 60 * 1_024,
            headers: 96 * 1_024,
            body: 2 * 1_024 * 1_024,
            bodies: 256 * 1_024 * 1_024,
            header_time: Duration::from_secs(30),
            body_time: Duration::from_secs(30),
            write_time: Duration::from_secs(60),
            erasure_time: Duration::from_secs(10),
            interim: Duration::from_secs(1),
            rates: Rates::default(),
            grace: Duration::from_secs(30),
        }
    }
}
