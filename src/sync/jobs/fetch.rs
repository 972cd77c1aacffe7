//! Fetches all that a plan asks for into a spool. Nothing is left out without a word: what could not be had is a [`Gap`]. A search that
//! breaks off in the middle is left out whole. Records of types that were not granted are not taken: what a patient did not grant stays where it
//! is, though a source give it.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, SecondsFormat};
use futures::FutureExt;
use futures::stream::{StreamExt, TryStreamExt};
use sha2::{Digest, Sha256};
use url::Url;

use super::gap::{Gap, Why};
use super::narrow::{Narrower, names_count, names_filter, narrower, text_of};
use super::page::{NoPage, Page, Record, page, record, references};
use super::plan::{Plan, Search, Way, encoded};
use super::source::{Source, Trouble, internal};
use super::spool::{Draft, Spool};
use crate::consent::LastSync;
use crate::fhir::{TypeId, facts};
use crate::sync::client::Statement;
use crate::sync::settings::Most;

/// Types and referred resources that are fetched at once; the source's gate decides how many of their requests are sent.
pub(super) const AT_ONCE: usize = 8;
/// Pages of one search.
const PAGES: usize = 10_000;
/// References that are kept, to read what they lead to.
const WANTED: usize = 200_000;
/// Narrower searches of one kind that may be refused before any is answered.
const VAIN: usize = 3;
/// Seconds before the last sync from which on records are asked for anew: clocks differ, and some sources show records late.
const MARGIN: i64 = 86_400;
/// Bytes of a refusal that are looked through.
const SAID: usize = 16 << 10;

/// What was fetched.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    pub(super) gaps: Vec<Gap>,
    pub(super) records: u64,
    /// Bytes of them.
    pub(super) bytes: u64,
    /// Records of types that were not granted.
    pub(super) unasked: u64,
    /// Whether the person's Patient is among the records.
    pub(super) has_patient: bool,
}

/// Whose records are fetched, and what is known of where.
#[derive(Clone, Copy)]
pub(super) struct Whose<'w> {
    /// The id of the Patient at the source.
    pub(super) patient: &'w str,
    /// Granted scopes.
    pub(super) scope: Option<&'w str>,
    pub(super) statement: Option<&'w Statement>,
    /// What earlier syncs brought, for one that asks for news only.
    pub(super) since: Option<&'w LastSync>,
}

/// What the fetching of all types shares.
pub(super) struct Work<'w> {
    pub(super) source: &'w Source,
    pub(super) spool: &'w Spool,
    pub(super) whose: Whose<'w>,
    most: Most,
    bytes: AtomicU64,
    records: AtomicU64,
    unasked: AtomicU64,
    granted: HashSet<TypeId>,
    pub(super) readable: HashSet<TypeId>,
    /// `Type/id` of what was fetched.
    pub(super) met: Mutex<HashSet<String>>,
    /// `Type/id` of what references lead to.
    pub(super) wanted: Mutex<BTreeSet<String>>,
}

/// What came of one search.
enum Reply {
    /// So many records.
    Had(u64),
    Refused {
        status: u16,
        said: String,
    },
    Failed(Trouble),
}

/// A refusal of a search.
struct Refusal {
    status: u16,
    said: String,
}

/// Fetches. An error means that nothing more will be had, or that the job was stopped.
pub(super) async fn fetch(
    source: &Source,
    plan: &Plan,
    spool: &Spool,
    whose: Whose<'_>,
    most: Most,
) -> Result<Fetched, Trouble> {
    let work = Work {
        source,
        spool,
        whose,
        most,
        bytes: AtomicU64::new(0),
        records: AtomicU64::new(0),
        unasked: AtomicU64::new(0),
        granted: plan.granted.iter().copied().collect(),
        readable: plan.readable.iter().copied().collect(),
        met: Mutex::default(),
        wanted: Mutex::default(),
    };
    let searches: Vec<_> = plan.searches.iter().map(|search| work.search(search).boxed()).collect();
    let done: Vec<(u64, Vec<Gap>)> = futures::stream::iter(searches)
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    let mut fetched = Fetched::default();
    for (records, gaps) in done {
        fetched.records += records;
        fetched.gaps.extend(gaps);
    }
    // References of nobody's records are nobody's business.
    if fetched.records > 0 {
        work.follow(&mut fetched).await?;
    }
    fetched.has_patient = lock(&work.met).contains(&format!("Patient/{}", whose.patient));
    fetched.unasked = work.unasked.into_inner();
    fetched.bytes = work.bytes.into_inner();
    fetched.gaps.sort_by_key(|gap| gap.ty);
    Ok(fetched)
}

impl Work<'_> {
    /// Fetches a type: how many records came, and which did not.
    async fn search(&self, search: &Search) -> Result<(u64, Vec<Gap>), Trouble> {
        let name = facts().get(search.ty).name;
        let Way::Search(query) = &search.way else {
            return self.patient().await;
        };
        let served = self.whose.statement.and_then(|statement| statement.types.get(name));
        let query = match served.is_some_and(|served| served.provenance) && self.is_granted("Provenance") {
            true => format!("{query}&_revinclude=Provenance:target"),
            false => query.clone(),
        };
        let address = format!("{}/{name}?{query}", self.source.base());
        if let Some(since) = self.since(name)
            && let Reply::Had(records) = self
                .ask(name, &format!("{address}&_lastUpdated=ge{since}"), name, false)
                .await?
        {
            return Ok((records, Vec::new()));
        }
        match self.ask(name, &address, name, false).await? {
            Reply::Had(records) => Ok((records, Vec::new())),
            Reply::Failed(trouble) => Ok((0, vec![Gap::of(name, Why::Failed(trouble))])),
            Reply::Refused { status, said } => self.narrower(name, &address, Refusal { status, said }).await,
        }
    }

    /// From when on records of a type are news: where the source tells their dates apart, and where all older ones are here. A type of which
    /// nothing came yet is asked for whole, which costs little.
    fn since(&self, name: &str) -> Option<String> {
        let last = self.whose.since?;
        let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
        let served = self.whose.statement?.types.get(name)?;
        if !served.tells_news() {
            return None;
        }
        let at = DateTime::from_timestamp(last.started_at - MARGIN, 0)?;
        let whole = has(&last.had, name) && !has(&last.missing, name);
        whole.then(|| at.to_rfc3339_opts(SecondsFormat::Secs, true))
    }

    /// Fetches the Patient: by its id, else by a search for its id.
    async fn patient(&self) -> Result<(u64, Vec<Gap>), Trouble> {
        let (base, id) = (self.source.base(), encoded(self.whose.patient));
        let name = format!("Patient/{}", self.whose.patient);
        let why = match self.read(&format!("{base}/Patient/{id}"), &name).await? {
            Ok(line) => {
                let mut draft = self.spool.draft("Patient").map_err(internal)?;
                self.take(&line, &mut draft)?;
                return Ok((self.spool.keep(draft).map_err(internal)?, Vec::new()));
            }
            Err(why) => why,
        };
        if let Why::Refused(_) | Why::NotFound(_) = why
            && let Reply::Had(records) = self
                .ask("Patient", &format!("{base}/Patient?_id={id}"), "Patient", false)
                .await?
            && lock(&self.met).contains(&name)
        {
            return Ok((records, Vec::new()));
        }
        Ok((0, vec![Gap::of("Patient", why)]))
    }

    /// Makes narrower searches in the place of one that was refused, of the first kind that the source answers.
    async fn narrower(&self, name: &'static str, address: &str, refusal: Refusal) -> Result<(u64, Vec<Gap>), Trouble> {
        let Refusal { status, said } = refusal;
        let whole = || Gap::of(name, Why::Refused(status));
        if !matches!(status, 400 | 403 | 422) {
            return Ok((0, vec![whole()]));
        }
        let mut asked = 0;
        for kind in narrower(name, self.whose.scope, &said, self.whose.statement) {
            let found = self.kind(name, address, &kind, &mut asked).await?;
            if let Some(found) = found {
                return Ok(found);
            }
        }
        // Nothing that it says is about the size of pages, and yet that may be what it minds; or what is to come along.
        if status != 403 {
            let plain = address.replace("&_revinclude=Provenance:target", "");
            if let Reply::Had(records) = self.ask(name, &plain, name, true).await? {
                return Ok((records, Vec::new()));
            }
        }
        Ok((0, vec![whole()]))
    }

    /// Makes the searches of one kind; nothing if the source answers none of them.
    async fn kind(
        &self,
        name: &'static str,
        address: &str,
        kind: &Narrower,
        asked: &mut usize,
    ) -> Result<Option<(u64, Vec<Gap>)>, Trouble> {
        let (mut records, mut answered, mut vain) = (0, Vec::new(), 0);
        let mut gaps = Vec::new();
        let mut unknown = Vec::new();
        for part in &kind.searches {
            *asked += 1;
            let of_part = |why| Gap {
                part: Some(part.clone()),
                ..Gap::of(name, why)
            };
            let draft = format!("{name}-{asked}");
            match self.ask(name, &format!("{address}&{part}"), &draft, false).await? {
                Reply::Had(count) => {
                    records += count;
                    answered.push(part.rsplit_once('=').map_or(part.as_str(), |(_, value)| value));
                }
                Reply::Failed(trouble) => gaps.push(of_part(Why::Failed(trouble))),
                Reply::Refused { status: 403, .. } => gaps.push(of_part(Why::Refused(403))),
                // A value that the source does not know.
                Reply::Refused { status, .. } => {
                    vain += 1;
                    unknown.push(of_part(Why::Refused(status)));
                }
            }
            if answered.is_empty() && gaps.is_empty() && vain >= VAIN {
                return Ok(None);
            }
        }
        let failed = gaps.iter().any(|gap| matches!(gap.why, Why::Failed(_)));
        if answered.is_empty() && !failed {
            return Ok(None);
        }
        if kind.reaches_all {
            gaps.extend(unknown);
        } else {
            let by = format!("{} ({})", kind.by, answered.join(", "));
            gaps.push(Gap::of(name, Why::Narrowed(by)));
        }
        Ok(Some((records, gaps)))
    }

    /// Makes a search, with smaller pages as long as the source refuses it for their size. Its records count only if all of them came. With
    /// `force` smaller pages are tried whatever the source says.
    async fn ask(&self, name: &str, address: &str, draft: &str, force: bool) -> Result<Reply, Trouble> {
        let mut size = self.source.pages().first();
        loop {
            let sized = match size {
                0 => address.to_owned(),
                size => format!("{address}&_count={size}"),
            };
            let mut file = self.spool.draft(draft).map_err(internal)?;
            let reply = match self.pages(&sized, &mut file).await {
                Ok(None) => {
                    self.source.took(size);
                    return Ok(Reply::Had(self.spool.keep(file).map_err(internal)?));
                }
                Ok(Some(Refusal { status, said })) => Reply::Refused { status, said },
                Err(trouble) if trouble.ends_all() => return Err(trouble),
                Err(trouble) => return Ok(Reply::Failed(trouble)),
            };
            let Reply::Refused { status, said } = &reply else {
                return Ok(reply);
            };
            let is_size = names_count(said) || !self.source.pages().is_proven(size) && !names_filter(name, said);
            let smaller = self.source.pages().smaller(size);
            match smaller.filter(|_| matches!(status, 400 | 422) && (force || is_size)) {
                Some(smaller) => size = smaller,
                None => return Ok(reply),
            }
        }
    }

    /// Reads one resource, which has to be of this name.
    pub(super) async fn read(&self, url: &str, name: &str) -> Result<Result<Record, Why>, Trouble> {
        let mut again = true;
        loop {
            let answer = match self.source.get(url).await {
                Ok(answer) => answer,
                Err(trouble) if trouble.ends_all() => return Err(trouble),
                Err(trouble) => return Ok(Err(Why::Failed(trouble))),
            };
            match answer.status {
                200 => {}
                status @ (404 | 410) => return Ok(Err(Why::NotFound(status))),
                status => return Ok(Err(Why::Refused(status))),
            }
            let text = std::str::from_utf8(&answer.body).unwrap_or_default();
            match record(text) {
                Ok(Some(record)) if record.name == name => return Ok(Ok(record)),
                _ if std::mem::take(&mut again) => {}
                _ => {
                    self.source.hear(&answer.body).await;
                    return Ok(Err(Why::Failed(malformed())));
                }
            }
        }
    }

    /// Goes through the pages of a search; gives the refusal where it is not served.
    async fn pages(&self, first: &str, draft: &mut Draft) -> Result<Option<Refusal>, Trouble> {
        let mut url = first.to_owned();
        let mut seen = HashSet::new();
        while seen.insert(<[u8; 32]>::from(Sha256::digest(&url))) {
            if seen.len() > PAGES {
                return Err(Trouble::Broken("the source's pages do not end".to_owned()));
            }
            let (found, at) = match self.page(&url).await? {
                Ok(found) => found,
                // In the middle of a walk a refusal is a failure: some records are missing.
                Err(Refusal { status, .. }) if seen.len() > 1 => {
                    return Err(Trouble::Broken(format!(
                        "a further page was answered with status {status}"
                    )));
                }
                Err(refusal) => return Ok(Some(refusal)),
            };
            for record in &found.records {
                self.take(record, draft)?;
            }
            match found.next {
                None => return Ok(None),
                Some(next) => url = self.next(&at, &next)?,
            }
        }
        Err(Trouble::Broken("the source's pages lead in a circle".to_owned()))
    }

    /// One page and where it came from. What cannot be read is asked for once more.
    async fn page(&self, url: &str) -> Result<Result<(Page, Url), Refusal>, Trouble> {
        let mut again = true;
        loop {
            let answer = self.source.get(url).await?;
            if answer.status != 200 {
                let said = &answer.body[..answer.body.len().min(SAID)];
                return Ok(Err(Refusal {
                    status: answer.status,
                    said: text_of(said),
                }));
            }
            match page(&answer.body) {
                Ok(page) => {
                    if let Some(said) = &page.said {
                        self.source.hear(said.as_bytes()).await;
                    }
                    return Ok(Ok((page, answer.url)));
                }
                Err(NoPage) if std::mem::take(&mut again) => {}
                Err(NoPage) => {
                    self.source.hear(&answer.body).await;
                    return Err(malformed());
                }
            }
        }
    }

    /// The address of the next page, if it is one to which our access may be shown.
    fn next(&self, at: &Url, next: &str) -> Result<String, Trouble> {
        let elsewhere = |host: &str| {
            Trouble::Broken(format!(
                "the source's next page is outside of its FHIR base, at {host} (endpoint add --pages-at)"
            ))
        };
        let url = at.join(next).map_err(|_| elsewhere("no address"))?;
        if let Some(own) = self.source.realm().own(&url) {
            return Ok(own.into());
        }
        let origin = url.origin().ascii_serialization();
        self.source.pages_elsewhere(&origin);
        Err(elsewhere(&origin))
    }

    /// Notes a record and what it refers to.
    pub(super) fn take(&self, record: &Record, draft: &mut Draft) -> Result<(), Trouble> {
        let name = record.name.split('/').next().unwrap_or_default();
        if !facts().lookup(name).is_some_and(|ty| self.granted.contains(&ty)) {
            self.unasked.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let length = record.line.len() as u64;
        let bytes = self.bytes.fetch_add(length, Ordering::Relaxed) + length;
        let records = self.records.fetch_add(1, Ordering::Relaxed) + 1;
        if bytes > self.most.bytes || records > self.most.records {
            return Err(Trouble::Over(
                "the source gives more than is taken of one patient".to_owned(),
            ));
        }
        draft.line(&record.line).map_err(internal)?;
        lock(&self.met).insert(record.name.clone());
        let mut wanted = lock(&self.wanted);
        references(&record.line, self.source.base(), |ty, id| {
            // Other people's Patients are not asked for, and Binaries are no records (`attach`).
            let is_record = !matches!(facts().get(ty).name, "Patient" | "Binary");
            if self.granted.contains(&ty) && is_record && wanted.len() < WANTED {
                wanted.insert(format!("{}/{id}", facts().get(ty).name));
            }
        });
        Ok(())
    }

    fn is_granted(&self, name: &str) -> bool {
        facts().lookup(name).is_some_and(|ty| self.granted.contains(&ty))
    }
}

pub(super) fn malformed() -> Trouble {
    Trouble::Broken("the source gave something else than records".to_owned())
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
