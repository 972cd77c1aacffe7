//! Limits the requests of one client, and of all clients together.

use std::num::NonZeroU32;
use std::time::Duration;

/// The limits of a server. A request that exceeds one gets an OperationOutcome and costs no further work.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The maximum number of open connections, at most a quarter of the process's limit of open files. A new connection
    /// beyond it replaces one that waits for its client.
    pub connections: usize,
    /// The maximum number of requests in progress; one address may have half of them. A request whose body is still
    /// being received does not count.
    pub requests: usize,
    /// The maximum number of running searches. Further ones wait for `patience`.
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
    /// The maximum bytes of such documents that are on their way to their clients.
    pub spools: u64,
    /// The maximum bytes of rows of one view that wait until the types of a Parquet answer are known, mostly in a
    /// temporary file.
    pub view_spool: u64,
    /// The maximum bytes of such rows of all views.
    pub view_spools: u64,
    /// How long a search, a view or such an operation waits for its turn.
    pub patience: Duration,
    /// The maximum bytes of a request's path and query.
    pub url: usize,
    /// The maximum bytes of a request's headers.
    pub headers: usize,
    /// The maximum bytes of a request's body.
    pub body: usize,
    /// The maximum bytes of all incomplete bodies together.
    pub bodies: usize,
    /// How long a client may take to send its request's headers, and how long an idle connection stays open.
    pub header_time: Duration,
    /// How long a client may take to send its request's body.
    pub body_time: Duration,
    /// How long the client may leave an answer unread before the connection is closed.
    pub write_time: Duration,
    /// How long a revocation waits until the records have left the lake. They are removed even if this time ends first.
    pub erasure_time: Duration,
    /// How long a page is delayed while a source answers. After that the waiting page is shown.
    pub interim: Duration,
    /// The rates of requests.
    pub rates: Rates,
    /// How long requests may take to finish after the server was told to stop.
    pub grace: Duration,
}

/// How often one client may send requests. Without a rate there is no limit.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// The rate for each consent, and for each key of an application. The operator's own tokens are not counted.
    pub credential: Option<Rate>,
    /// The rate of operations on all of a patient's records, for each consent and each key of an application. They
    /// count as requests, too.
    pub records: Option<Rate>,
    /// The rate of health cards for each consent, because each card leaves a permanent row in the store. They also
    /// count as operations on all records.
    pub cards: Option<Rate>,
    /// The rate for each address, of requests without a valid credential.
    pub address: Option<Rate>,
    /// The rate for each address, of requests without a credential that add rows to the store: requests for access,
    /// registrations.
    pub writes: Option<Rate>,
    /// The rate for each address, of begun flows and of steps towards sources, which add rows to the store.
    pub flows: Option<Rate>,
    /// Whether there is a proxy before the service, which adds its clients' addresses to `X-Forwarded-For`.
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
    /// The time after which one more request is allowed. Not zero.
    pub every: Duration,
    /// The maximum number of requests at once, after a pause.
    pub burst: NonZeroU32,
}

impl Rate {
    /// A rate of `requests` per second, with bursts of five seconds' worth. `None` for zero.
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

    /// The seconds after which `requests` requests are available again.
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
