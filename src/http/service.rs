//! The state that all requests of a server share.

use std::sync::{Arc, Mutex, PoisonError};

use super::connect::Pages;
use super::console::SlowRequests;
use super::error::Error;
use super::limits::Limits;
use super::server::admission::Admission;
use super::server::turns::{Turn, Turns};
use super::server::workers::Workers;
use super::shape::Counts;
use super::spool::{Spool, Spools};
use super::throttle::Throttle;
use crate::consent::{Store, Tokens};
use crate::fhir::search_parameter::SearchParameters;
use crate::lake::Lake;
use crate::patient::pdf::Reader;
use crate::search::Engine;
use crate::sync::client::Client;
use crate::sync::intent;
use crate::terminology::Terminology;
use crate::views::SpoolRoom;

/// The maximum number of documents that one credential may have at once.
const DOCUMENTS_OF_ONE: usize = 2;
/// The maximum bytes of one document, including attachments.
const LARGEST_DOCUMENT: u64 = 512 << 20;

/// The parts from which a service is built.
pub struct Options {
    /// The lake with all records.
    pub lake: Lake,
    /// The store with applications, keys and consents.
    pub store: Arc<Store>,
    /// The known search parameters.
    pub parameters: Arc<SearchParameters>,
    /// The known code systems and value sets.
    pub terminology: Arc<Terminology>,
    /// The service's public URL.
    pub base_url: String,
    /// The service's limits.
    pub limits: Limits,
    /// Whether application tokens may request explanations of searches.
    pub explain: bool,
    /// Whether the console is available.
    pub console: bool,
    /// Whether the addresses of attachments are signed, so that they can be read without a token.
    pub signed_attachments: bool,
    /// The HTTP client that calls sources, identity providers and record locators.
    pub sources: Client,
    /// The design and the texts of the patient's pages.
    pub pages: Pages,
    /// The program that reads attachments in processes of their own.
    pub reader: Reader,
}

/// A running service.
pub struct Service {
    pub(super) lake: Lake,
    pub(super) store: Arc<Store>,
    pub(super) tokens: Tokens,
    pub(super) engine: Engine,
    pub(super) terminology: Arc<Terminology>,
    pub(super) counts: Counts,
    /// The public URL, without a slash at its end.
    pub(super) base_url: String,
    /// The address of the server's FHIR API, which ends with `/fhir/`.
    pub(super) fhir_base: String,
    pub(super) limits: Limits,
    pub(super) explain: bool,
    pub(super) console: bool,
    pub(super) signed_attachments: bool,
    /// The slow requests, which the console shows.
    pub(super) slow: SlowRequests,
    pub(super) sources: Client,
    pub(super) pages: Pages,
    pub(super) reader: Reader,
    pub(super) admission: Arc<Admission>,
    pub(super) throttle: Throttle,
    pub(super) workers: Workers,
    /// The number of requested erasures whose rows the lake hides for this service.
    hidden: Mutex<usize>,
    queries: Turns,
    views: Turns,
    records: Turns,
    documents: Turns,
    spools: Arc<Spools>,
    /// Limits the bytes of view rows that wait in spools until the column types of a Parquet response are known.
    pub(super) view_room: Arc<SpoolRoom>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl Service {
    /// Builds a service and starts its threads.
    pub fn new(options: Options) -> std::io::Result<Arc<Service>> {
        let Options {
            lake,
            store,
            parameters,
            terminology,
            base_url,
            limits,
            explain,
            console,
            signed_attachments,
            sources,
            pages,
            reader,
        } = options;
        let service = Service {
            workers: Workers::start()?,
            tokens: Tokens::new(store.clone(), lake.clone(), &base_url),
            store,
            engine: Engine::new(lake.clone(), parameters).with_terminology(terminology.clone()),
            terminology,
            counts: Counts::default(),
            fhir_base: format!("{}/fhir/", base_url.trim_end_matches('/')),
            base_url: base_url.trim_end_matches('/').to_owned(),
            admission: Admission::new(&limits),
            throttle: Throttle::new(&limits.rates),
            hidden: Mutex::default(),
            queries: Turns::with_share(limits.queries, limits.queries.div_ceil(2)),
            views: Turns::new(limits.views),
            records: Turns::new(limits.records),
            documents: Turns::with_share(limits.documents, DOCUMENTS_OF_ONE),
            spools: Spools::new(limits.spools, LARGEST_DOCUMENT),
            view_room: SpoolRoom::new(limits.view_spools, limits.view_spool),
            limits,
            explain,
            console,
            signed_attachments,
            slow: SlowRequests::default(),
            sources,
            pages,
            reader,
            lake,
        };
        service.hide_what_is_erased().map_err(std::io::Error::other)?;
        Ok(Arc::new(service))
    }

    /// Returns a function that tells whether at least as many requests are being answered as there are processors.
    /// While this is so, callers delay work that is not urgent.
    pub fn busy(&self) -> impl Fn() -> bool + Send + 'static + use<> {
        let admission = self.admission.clone();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        move || admission.answering() >= processors
    }

    /// Returns the client that calls sources, identity providers and record locators.
    pub fn sources(&self) -> &Client {
        &self.sources
    }

    /// Returns the path of the public URL. Empty if the service is at the root of its host.
    pub(super) fn base_path(&self) -> &str {
        let behind = self.base_url.split_once("://").map_or("", |(_, behind)| behind);
        behind.find('/').map_or("", |at| &behind[at..])
    }

    /// Waits for a turn to run a search for a credential. Hold it until the search ends.
    pub(super) async fn search_turn(&self, credential: &str) -> Result<Turn, Error> {
        self.turn_of(&self.queries, credential).await
    }

    /// Waits for a turn to run a view for a credential. Hold it until the rows are sent.
    pub(super) async fn view_turn(&self, credential: &str) -> Result<Turn, Error> {
        self.turn_of(&self.views, credential).await
    }

    /// Waits for a turn to run an operation on all of a patient's records. Hold it until the records are sent.
    pub(super) async fn record_turn(&self, credential: &str) -> Result<Turn, Error> {
        self.turn_of(&self.records, credential).await
    }

    /// Waits for a turn to build a document (PDF, archive or health card) from all of a patient's records.
    pub(super) async fn document_turn(&self, credential: &str) -> Result<Turn, Error> {
        self.turn_of(&self.documents, credential).await
    }

    /// Exchanges the turn of a document for a turn for slow documents, and waits for it.
    pub(super) async fn slow_document_turn(&self, turn: Turn) -> Result<Turn, Error> {
        match tokio::time::timeout(self.limits.slow_patience, turn.slow()).await {
            Ok(Some(turn)) => Ok(turn),
            _ => Err(Error::Busy),
        }
    }

    /// Creates a spool for a PDF or an archive.
    pub(super) fn spool(&self) -> Spool {
        self.spools.begin(&self.lake.folder().data())
    }

    async fn turn_of(&self, turns: &Turns, credential: &str) -> Result<Turn, Error> {
        match tokio::time::timeout(self.limits.patience, turns.take(credential)).await {
            Ok(Some(turn)) => Ok(turn),
            _ => Err(Error::Busy),
        }
    }

    /// Runs work that waits for the store or for files, on a thread that may block.
    pub(super) async fn blocking<T, F>(self: &Arc<Self>, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Service) -> T + Send + 'static,
    {
        let service = self.clone();
        let working = tokio::task::spawn_blocking(move || work(&service));
        working.await.map_err(Error::internal)
    }

    /// Hides the rows of all requested erasures from reads, whether the lake has recorded the erasures or not.
    pub(super) fn hide_what_is_erased(&self) -> Result<(), crate::consent::Error> {
        // Hold the lock while the erasures are read and their rows are hidden. Otherwise, of two concurrent calls, the
        // one with the older list could hide last and replace the newer list.
        let mut hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = self.store.erasures().open(0, usize::MAX >> 1)?;
        if !asked.is_empty() || *hidden > 0 {
            *hidden = asked.len();
            self.lake.hide(&asked.iter().map(intent).collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Whether the public URL is `https`.
    pub(super) fn is_encrypted(&self) -> bool {
        self.base_url.starts_with("https:")
    }

    /// Loads the commits of other processes to the lake and the store. Called about once a second.
    pub(super) fn refresh(&self) {
        self.throttle.tidy();
        if let Err(error) = self.lake.refresh() {
            tracing::error!(%error, "the lake's catalog could not be read again");
        }
        if let Err(error) = self.store.refresh() {
            tracing::error!(%error, "the service store could not be read again");
        }
        if let Err(error) = self.hide_what_is_erased() {
            tracing::error!(%error, "what is to be erased could not be read; it is hidden once the lake has recorded it");
        }
    }
}
