//! Fetches documents that are only at their sources, while the client waits for a PDF.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::stream::{self, StreamExt};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::consent::Authorization;
use crate::http::error::Error;
use crate::http::service::Service;
use crate::patient::pdf::{Attached, Documents, FetchError, Held, binary_id};
use crate::sync::Shelf;

/// The maximum number of documents that are fetched from one source concurrently.
const AT_ONCE: usize = 4;
/// The maximum time for all documents of a request.
const PATIENCE: Duration = Duration::from_secs(60);
/// The maximum bytes of one document. `MAX_BYTES_OF_REQUEST` is the maximum for all documents of a request.
const MAX_BYTES: u64 = 64 << 20;
const MAX_BYTES_OF_REQUEST: u64 = 256 << 20;

/// The fetched documents, or why they could not be fetched, by URL.
pub(super) type Away = FxHashMap<String, Result<Attached, FetchError>>;

/// The bytes and the time that remain for all documents of a request.
pub(super) struct Budget {
    room: AtomicU64,
    deadline: Instant,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            room: AtomicU64::new(MAX_BYTES_OF_REQUEST),
            deadline: Instant::now() + PATIENCE,
        }
    }
}

impl Budget {
    /// Fetches the documents in `named` that the lake does not have. Leaves out a document if its URL is neither at the
    /// authorization's source nor signed.
    pub(super) async fn fetch(
        &self,
        service: &Arc<Service>,
        named: Vec<String>,
        authorization: Option<Authorization>,
    ) -> Result<Away, Error> {
        let is_away = |url: &String| binary_id(url, &service.fhir_base).is_none();
        let named: Vec<String> = named.into_iter().filter(is_away).collect();
        if named.is_empty() {
            return Ok(Away::default());
        }
        let opening =
            service.blocking(move |service| Shelf::open(&service.store, &service.sources, authorization.as_ref()));
        let shelf = opening.await?.map_err(Error::internal)?;
        let asked: Vec<_> = named
            .into_iter()
            .filter(|url| shelf.has(url))
            .map(|url| self.one(&shelf, url).boxed())
            .collect();
        Ok(stream::iter(asked).buffer_unordered(AT_ONCE).collect().await)
    }

    async fn one(&self, shelf: &Shelf, url: String) -> (String, Result<Attached, FetchError>) {
        let room = &self.room;
        let max_bytes = room.load(Ordering::Relaxed).min(MAX_BYTES);
        let came = match tokio::time::timeout_at(self.deadline, shelf.get(&url, max_bytes)).await {
            Ok(Ok(document)) => {
                let bytes = document.bytes.len() as u64;
                // Documents that arrive concurrently may exceed the limit a little.
                room.fetch_sub(bytes.min(room.load(Ordering::Relaxed)), Ordering::Relaxed);
                Ok(Attached {
                    content_type: document.content_type,
                    bytes: document.bytes,
                })
            }
            Ok(Err(why)) => Err(FetchError::NotGiven(why.to_string())),
            Err(_) => Err(FetchError::NotGiven("all of its documents took too long".to_owned())),
        };
        (url, came)
    }
}

/// The documents of one source: those in the lake, and those that were fetched for this request.
#[derive(Clone, Copy)]
pub(super) struct Here<'h> {
    pub(super) held: Held<'h>,
    pub(super) away: &'h Away,
}

impl Documents for Here<'_> {
    fn get(&self, url: &str, room: u64) -> Result<Attached, FetchError> {
        match self.away.get(url) {
            Some(Ok(attached)) if attached.bytes.len() as u64 > room => {
                Err(FetchError::NoRoom(attached.bytes.len() as u64))
            }
            Some(came) => came.clone(),
            None => self.held.get(url, room),
        }
    }
}
