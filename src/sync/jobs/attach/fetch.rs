//! Fetches attachments into files of the spool. Asks for raw bytes, and decodes Binaries that come as JSON.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use futures::stream::{StreamExt, TryStreamExt};
use tokio::sync::Mutex;
use url::Url;

use super::super::gap::Why;
use super::super::source::{Source, Trouble, blocking, internal};
use super::super::spool::Spool;
use super::attachment::{Fetched, Wanted};
use super::binary::{self, Json};
use super::download::{DownloadTarget, NoFile};
use crate::lake::{AttachmentWriter, Keys, LakeError, Sums};
use crate::sync::settings::SyncLimits;

/// The number of attachments that are fetched at the same time. The source's gate limits their requests.
const AT_ONCE: usize = 4;
const FHIR_JSON: &str = "application/fhir+json";

/// One attachment, after it was requested.
pub(super) struct One {
    pub(super) url: Url,
    pub(super) wanted: Wanted,
    pub(super) came: Result<Fetched, Why>,
}

/// The state that all downloads of a job share.
struct Work<'w> {
    source: &'w Source,
    /// The keys with which fetched files are sealed, if the lake is sealed.
    keys: &'w Keys,
    limits: SyncLimits,
    /// The number of bytes of the job's records and attachments so far.
    taken: AtomicU64,
    /// Held while a JSON document is decoded in memory, so that only one is decoded at a time.
    decoding: Mutex<()>,
}

/// Fetches all attachments. An error means that no further request can succeed, or that the job was stopped.
pub(super) async fn fetch_all(
    source: &Source,
    (spool, keys): (&Spool, &Keys),
    wanted: Vec<(Url, Wanted)>,
    limits: SyncLimits,
    taken: u64,
) -> Result<Vec<One>, Trouble> {
    let work = Work {
        source,
        keys,
        limits,
        taken: AtomicU64::new(taken),
        decoding: Mutex::new(()),
    };
    let work = &work;
    let fetched = wanted.into_iter().enumerate().map(|(at, (url, wanted))| {
        let path = spool.path(&format!("attachment-{at}"));
        async move {
            let came = work.one(&url, &wanted, &path).await?;
            Ok::<_, Trouble>(One { url, wanted, came })
        }
        .boxed()
    });
    let fetched: Vec<_> = fetched.collect();
    futures::stream::iter(fetched).buffered(AT_ONCE).try_collect().await
}

impl Work<'_> {
    async fn one(&self, url: &Url, wanted: &Wanted, path: &Path) -> Result<Result<Fetched, Why>, Trouble> {
        // When the job has reached its limit of bytes, all further attachments stay at the source.
        if self.taken.load(Ordering::Relaxed) >= self.limits.bytes {
            return Ok(Err(Why::TooMany));
        }
        let said = wanted.content_type.as_deref();
        let is_fhir = |content_type: &str| content_type.contains("fhir+") || content_type.contains("+fhir");
        let raw = match said.filter(|content_type| {
            !is_fhir(content_type) && content_type.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        }) {
            Some(content_type) => format!("{content_type}, */*;q=0.8"),
            None => "*/*".to_owned(),
        };
        let fetched = match self.file(url, &raw, path, said).await? {
            // The source sent FHIR as XML, so JSON is requested instead.
            Ok(fetched) if fetched.content_type.contains("fhir+xml") && !said.is_some_and(is_fhir) => {
                self.file(url, FHIR_JSON, path, said).await?
            }
            other => other,
        };
        if let Ok(fetched) = &fetched {
            self.taken.fetch_add(fetched.sums.bytes, Ordering::Relaxed);
        }
        Ok(fetched)
    }

    async fn file(
        &self,
        url: &Url,
        accept: &str,
        path: &Path,
        said: Option<&str>,
    ) -> Result<Result<Fetched, Why>, Trouble> {
        let target = DownloadTarget {
            accept,
            path,
            keys: self.keys,
            max_bytes: self.limits.attachment,
        };
        let reply = match self.source.download(url.as_str(), target).await {
            Ok(reply) => reply,
            Err(trouble) if trouble.ends_all() => return Err(trouble),
            Err(trouble) => return Ok(Err(Why::Failed(trouble))),
        };
        let sums = match (reply.answer.status, reply.file) {
            (200, Some(Ok(sums))) => sums,
            (200, Some(Err(NoFile::TooLarge))) => return Ok(Err(Why::TooLarge(self.limits.attachment))),
            (200, Some(Err(NoFile::Lost(error)))) => return Err(internal(error)),
            (status @ (404 | 410), _) => return Ok(Err(Why::NotFound(status))),
            (status, _) => return Ok(Err(Why::Refused(status))),
        };
        let answered = reply.answer.content_type;
        let is_json = answered
            .as_deref()
            .is_some_and(|content_type| content_type.contains("json"));
        if is_json {
            self.decoded(path, sums, answered, said).await
        } else {
            Ok(Ok(Fetched {
                path: path.to_owned(),
                sums,
                content_type: binary::content_type(answered.as_deref(), said),
            }))
        }
    }

    /// Extracts the bytes of a Binary from JSON. Other JSON is the attachment itself.
    async fn decoded(
        &self,
        path: &Path,
        sums: Sums,
        answered: Option<String>,
        said: Option<&str>,
    ) -> Result<Result<Fetched, Why>, Trouble> {
        let _turn = self.decoding.lock().await;
        let (path, max_bytes, said) = (path.to_owned(), self.limits.attachment, said.map(str::to_owned));
        let keys = self.keys.clone();
        let decoded = blocking(move || decode(path, &keys, sums, (answered.as_deref(), said.as_deref()), max_bytes));
        let decoded = decoded.await?;
        match decoded {
            Ok(Some(Ok(fetched))) => Ok(Ok(fetched)),
            Ok(Some(Err(TooLarge))) => Ok(Err(Why::TooLarge(max_bytes))),
            Ok(None) => {
                let why = "the source gave something else than an attachment".to_owned();
                Ok(Err(Why::Failed(Trouble::Broken(why))))
            }
            Err(error) => Err(internal(error)),
        }
    }
}

struct TooLarge;

fn decode(
    path: PathBuf,
    keys: &Keys,
    sums: Sums,
    (answered, said): (Option<&str>, Option<&str>),
    max_bytes: u64,
) -> Result<Option<Result<Fetched, TooLarge>>, LakeError> {
    let text = sums.read(&path).map_err(|source| LakeError::Io {
        action: "read",
        path: path.clone(),
        source,
    })?;
    let (sums, content_type) = match binary::of_json(&text) {
        Json::Nothing => return Ok(None),
        Json::Other => (sums, binary::content_type(answered, said)),
        Json::Binary { bytes, content_type } => {
            let mut writer = AttachmentWriter::create(&path, keys)?;
            writer.write(&bytes)?;
            (writer.finish()?, binary::content_type(content_type.as_deref(), said))
        }
    };
    Ok(Some(if sums.bytes > max_bytes {
        Err(TooLarge)
    } else {
        Ok(Fetched {
            path,
            sums,
            content_type,
        })
    }))
}
