//! The limits of a server: what one client and all clients together may request.

use std::num::NonZeroU32;
use std::time::Duration;

/// The limits of a server. A request that exceeds a limit is refused.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The maximum number of open connections. At most a quarter of the process's limit of open files is used. If all
    /// connections are in use, a new one replaces one that waits for its client.
    pub connections: usize,
    /// The maximum number of requests in progress. One address may have half of them. A request does not count while
    /// the server waits for its body.
    pub requests: usize,
    /// The maximum number of running searches. The first running search of each credential does not count: first
    /// searches have places of their own, four times as many as this number. Further searches wait for at most
    /// `patience`. One credential may run at most half of this number, its first search included.
    pub queries: usize,
    /// The maximum number of running views. The first running view of each credential does not count: first views have
    /// places of their own, four times as many as this number. Further views wait for at most `patience`. One
    /// credential may run at most half of this number, its first view included.
    pub views: usize,
    /// The maximum number of running operations on all of a patient's records. The first running operation of each
    /// credential does not count: first operations have places of their own, four times as many as this number. Further
    /// operations wait for at most `patience`. One credential may run at most half of this number, its first operation
    /// included.
    pub records: usize,
    /// The maximum number of documents (PDFs, archives, health cards) that are built at the same time, each from all of
    /// a patient's records. The first document of each credential does not count: first documents have places of their
    /// own, four times as many as this number. Further documents wait for at most `patience`. One credential may have
    /// two documents at a time. If reading the attachments of a document takes long, the document gives its place back
    /// and waits for one of as many places for slow documents, for at most `slow_patience`. One credential may have one
    /// of these places.
    pub documents: usize,
    /// The maximum total bytes of PDFs and archives that are being built or sent.
    pub spools: u64,
    /// The rows of a Parquet response wait until the types of its columns are known. This is the maximum of their bytes
    /// for one view. Most of these bytes are in a temporary file.
    pub view_spool: u64,
    /// The same maximum as `view_spool`, for all views together: the total bytes of rows that wait until the types of a
    /// Parquet response's columns are known.
    pub view_spools: u64,
    /// How long a search, a view, an operation on all records or a document waits for its turn. After that it is
    /// refused.
    pub patience: Duration,
    /// How long a document whose attachments take long waits for a place for slow documents. After that it is refused.
    pub slow_patience: Duration,
    /// The maximum bytes of a request's path and query.
    pub url: usize,
    /// The maximum bytes of a request's headers.
    pub headers: usize,
    /// The maximum bytes of a request's body.
    pub body: usize,
    /// The maximum total bytes of all bodies that are being received.
    pub bodies: usize,
    /// How long a client may take to send its request's headers, and how long an idle connection stays open.
    pub header_time: Duration,
    /// How long a client may take to send its request's body.
    pub body_time: Duration,
    /// How long a client may leave a response unread before its connection is closed.
    pub write_time: Duration,
    /// How long a revocation waits until the records are erased from the lake. If this time ends first, they are
    /// erased later.
    pub erasure_time: Duration,
    /// How long a page waits for the answer of a source before the waiting page is shown instead.
    pub interim: Duration,
    /// The maximum rates of requests.
    pub rates: Rates,
    /// How long running requests may take to finish after the server was told to stop.
    pub grace: Duration,
}

/// The maximum rates of one client's requests. `None` means no limit.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// The rate for each consent and for each application key. The operator's own tokens are not limited.
    pub credential: Option<Rate>,
    /// The rate of operations on all of a patient's records, for each consent and each application key. Such an
    /// operation is also charged to `credential`.
    pub records: Option<Rate>,
    /// The rate of health cards for each consent, because each card leaves a permanent row in the store. A card is also
    /// charged to `records`.
    pub cards: Option<Rate>,
    /// The rate of requests without a valid credential, for each address.
    pub address: Option<Rate>,
    /// The rate of requests without a credential that add rows to the store, for each address: requests for access,
    /// registrations, uses of health links.
    pub writes: Option<Rate>,
    /// The rate of new flows, and of steps of a flow that add rows to the store, for each address. Such a step is, for
    /// example, the choice of an organization.
    pub flows: Option<Rate>,
    /// Whether clients connect through a proxy, which adds their addresses to `X-Forwarded-For`.
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
    /// The maximum number of requests at once after a pause.
    pub burst: NonZeroU32,
}

impl Rate {
    /// Returns a rate of `requests` per second, with bursts of as many requests as five seconds allow. `None` for zero.
    pub fn per_second(requests: u32) -> Option<Rate> {
        let per_second = NonZeroU32::new(requests)?;
        Some(Rate {
            every: Duration::from_secs(1) / requests,
            burst: per_second.saturating_mul(NonZeroU32::MIN.saturating_add(4)),
        })
    }

    /// Returns a rate of `requests` per minute, which may all come at once after a pause. `None` for zero.
    pub fn per_minute(requests: u32) -> Option<Rate> {
        Some(Rate {
            every: Duration::from_secs(60) / requests.max(1),
            burst: NonZeroU32::new(requests)?,
        })
    }

    /// Returns the seconds after which this many requests are available again, rounded up.
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
            slow_patience: Duration::from_secs(60),
            // A search by POST may have long parameters, such as a list of a thousand patients. The links to its
            // further pages repeat the parameters in their URLs.
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
