//! Fetches all that a plan asks for into a spool. A type that the source does not serve, or not to us, is left out and told; a type
//! that breaks off in the middle is left out whole. Records of types that nobody asked for are not taken: what a patient did not grant
//! stays where it is, though a source give it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::stream::{StreamExt, TryStreamExt};
use sha2::{Digest, Sha256};
use url::Url;

use super::page::{NoPage, Page, Record, page, record, references};
use super::plan::{Plan, Search, Way, encoded};
use super::source::{Source, Trouble, internal};
use super::spool::{Draft, Spool};
use crate::fhir::reference::Target;
use crate::fhir::{TypeId, facts};
use crate::sync::settings::Most;

/// Types and referred resources that are fetched at once; the source's gate decides how many of their requests are sent.
const AT_ONCE: usize = 8;
/// Pages of one search.
const PAGES: usize = 10_000;
/// Resources that are read for references to them, and how far they may lead on.
const REFERRED: usize = 50_000;
const ROUNDS: usize = 6;
/// References that are kept for that.
const WANTED: usize = 4 * REFERRED;

/// What came of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// So many records.
    Fetched(u64),
    /// The source does not serve it, or not to us.
    NotServed(u16),
    /// It could not be fetched whole.
    Failed(Trouble),
}

/// What was fetched, by type.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    pub(super) types: BTreeMap<&'static str, Outcome>,
    pub(super) records: u64,
    /// Records of types that nobody asked for.
    pub(super) unasked: u64,
}

/// What the fetching of all types shares.
struct Work<'w> {
    source: &'w Source,
    spool: &'w Spool,
    most: Most,
    bytes: AtomicU64,
    records: AtomicU64,
    unasked: AtomicU64,
    /// Types that are asked for, one way or another.
    asked: HashSet<TypeId>,
    referred: HashSet<TypeId>,
    /// `Type/id` of what was fetched.
    met: Mutex<HashSet<String>>,
    /// `Type/id` of what references lead to.
    wanted: Mutex<BTreeSet<String>>,
}

/// Fetches. An error means that nothing more will be had, or that the job was stopped.
pub(super) async fn fetch(source: &Source, plan: &Plan, spool: &Spool, most: Most) -> Result<Fetched, Trouble> {
    let work = Work {
        source,
        spool,
        most,
        bytes: AtomicU64::new(0),
        records: AtomicU64::new(0),
        unasked: AtomicU64::new(0),
        asked: plan
            .searches
            .iter()
            .map(|search| search.ty)
            .chain(plan.referred.iter().copied())
            .collect(),
        referred: plan.referred.iter().copied().collect(),
        met: Mutex::default(),
        wanted: Mutex::default(),
    };
    let searches: Vec<_> = plan.searches.iter().map(|search| work.search(search).boxed()).collect();
    let done: Vec<(TypeId, Outcome)> = futures::stream::iter(searches)
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    let mut fetched = Fetched::default();
    for (ty, outcome) in done {
        if let Outcome::Fetched(count) = outcome {
            fetched.records += count;
        }
        fetched.types.insert(facts().get(ty).name, outcome);
    }
    // References of nobody's records are nobody's business.
    if fetched.records > 0 {
        work.follow(&mut fetched).await?;
    }
    fetched.unasked = work.unasked.into_inner();
    Ok(fetched)
}

impl Work<'_> {
    /// Fetches a type.
    async fn search(&self, search: &Search) -> Result<(TypeId, Outcome), Trouble> {
        let name = facts().get(search.ty).name;
        let mut draft = self.spool.draft(name).map_err(internal)?;
        let mut result = match &search.way {
            Way::Read(url) => self.read(url, &mut draft).await,
            Way::Search { whole, .. } => self.pages(whole, &mut draft).await,
        };
        if let (Way::Search { parts, .. }, Ok(Some(400 | 422))) = (&search.way, &result) {
            for part in parts {
                result = self.pages(part, &mut draft).await;
                if !matches!(result, Ok(None | Some(400 | 422))) {
                    break;
                }
            }
            // Some parts may mean nothing to the source.
            if !parts.is_empty() && matches!(result, Ok(Some(400 | 422))) && draft.has_records() {
                result = Ok(None);
            }
        }
        let outcome = match result {
            Ok(None) => Outcome::Fetched(self.spool.keep(draft).map_err(internal)?),
            Ok(Some(status)) => Outcome::NotServed(status),
            Err(trouble) if trouble.ends_all() => return Err(trouble),
            Err(trouble) => Outcome::Failed(trouble),
        };
        Ok((search.ty, outcome))
    }

    /// Reads one resource; gives the status where it is not served.
    async fn read(&self, url: &str, draft: &mut Draft) -> Result<Option<u16>, Trouble> {
        let mut again = true;
        loop {
            let answer = self.source.get(url).await?;
            if answer.status != 200 {
                return Ok(Some(answer.status));
            }
            let text = std::str::from_utf8(&answer.body).unwrap_or_default();
            match record(text) {
                Ok(Some(record)) => {
                    self.take(&record, draft)?;
                    return Ok(None);
                }
                _ if std::mem::take(&mut again) => {}
                _ => {
                    self.source.hear(&answer.body).await;
                    return Err(malformed());
                }
            }
        }
    }

    /// Goes through the pages of a search; gives the status where it is not served.
    async fn pages(&self, first: &str, draft: &mut Draft) -> Result<Option<u16>, Trouble> {
        let mut url = first.to_owned();
        let mut seen = HashSet::new();
        while seen.insert(<[u8; 32]>::from(Sha256::digest(&url))) {
            if seen.len() > PAGES {
                return Err(Trouble::Broken("the source's pages do not end".to_owned()));
            }
            let (found, at) = match self.page(&url).await? {
                Ok(found) => found,
                // In the middle of a walk a refusal is a failure: some records are missing.
                Err(status) if seen.len() > 1 => {
                    return Err(Trouble::Broken(format!(
                        "a further page was answered with status {status}"
                    )));
                }
                Err(status) => return Ok(Some(status)),
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
    async fn page(&self, url: &str) -> Result<Result<(Page, Url), u16>, Trouble> {
        let mut again = true;
        loop {
            let answer = self.source.get(url).await?;
            if answer.status != 200 {
                return Ok(Err(answer.status));
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
        let elsewhere = || Trouble::Broken("the source's next page is outside of its FHIR base".to_owned());
        let url = at.join(next).map_err(|_| elsewhere())?;
        match self.source.realm().holds(&url) {
            true => Ok(url.into()),
            false => Err(elsewhere()),
        }
    }

    /// Notes a record and what it refers to.
    fn take(&self, record: &Record, draft: &mut Draft) -> Result<(), Trouble> {
        let ty = record.name.split('/').next().and_then(|name| facts().lookup(name));
        if !ty.is_some_and(|ty| self.asked.contains(&ty)) {
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
        // What has no id of R4's form is not referred to, and will be refused.
        if Target::parse(&record.name).is_some() {
            lock(&self.met).insert(record.name.clone());
        }
        if !self.referred.is_empty() {
            let mut wanted = lock(&self.wanted);
            references(&record.line, self.source.base(), |target| {
                if self.referred.contains(&target.ty) && wanted.len() < WANTED {
                    wanted.insert(format!("{}/{}", target.type_name(), target.id));
                }
            });
        }
        Ok(())
    }

    /// Reads what was referred to and not met, and what that refers to.
    async fn follow(&self, fetched: &mut Fetched) -> Result<(), Trouble> {
        let mut left = REFERRED;
        for round in 0..ROUNDS {
            let mut names: Vec<String> = {
                let (mut wanted, met) = (lock(&self.wanted), lock(&self.met));
                std::mem::take(&mut *wanted)
                    .into_iter()
                    .filter(|name| !met.contains(name))
                    .collect()
            };
            if names.len() > left {
                tracing::warn!("a source's records refer to more resources than are read");
                names.truncate(left);
            }
            left -= names.len();
            if names.is_empty() {
                break;
            }
            // Asked for is met, whatever comes of it.
            lock(&self.met).extend(names.iter().cloned());
            let draft = tokio::sync::Mutex::new(self.spool.draft(&format!("referred-{round}")).map_err(internal)?);
            let reads: Vec<_> = names.iter().map(|name| self.refer(name, &draft).boxed()).collect();
            let done: Vec<(&str, Outcome)> = futures::stream::iter(reads)
                .buffer_unordered(AT_ONCE)
                .try_collect()
                .await?;
            fetched.records += self.spool.keep(draft.into_inner()).map_err(internal)?;
            for (name, outcome) in done {
                note(&mut fetched.types, name, outcome);
            }
        }
        Ok(())
    }

    /// Reads one resource that was referred to.
    async fn refer<'n>(&self, name: &'n str, draft: &tokio::sync::Mutex<Draft>) -> Result<(&'n str, Outcome), Trouble> {
        let (ty, id) = name.split_once('/').unwrap_or((name, ""));
        let url = format!("{}/{ty}/{}", self.source.base(), encoded(id));
        let outcome = match self.source.get(&url).await {
            Ok(answer) if answer.status == 200 => {
                let text = std::str::from_utf8(&answer.body).unwrap_or_default();
                match record(text) {
                    Ok(Some(record)) if record.name == name => {
                        self.take(&record, &mut *draft.lock().await)?;
                        Outcome::Fetched(1)
                    }
                    _ => Outcome::Failed(malformed()),
                }
            }
            // A single one that is not there says nothing of its type.
            Ok(answer) if matches!(answer.status, 404 | 410) => Outcome::Fetched(0),
            Ok(answer) => Outcome::NotServed(answer.status),
            Err(trouble) if trouble.ends_all() => return Err(trouble),
            Err(trouble) => Outcome::Failed(trouble),
        };
        Ok((ty, outcome))
    }
}

/// Adds what came of one resource to what came of its type: failures go before all else.
fn note(types: &mut BTreeMap<&'static str, Outcome>, name: &str, outcome: Outcome) {
    let Some(name) = facts().lookup(name).map(|ty| facts().get(ty).name) else {
        return;
    };
    let known = types.entry(name).or_insert(Outcome::Fetched(0));
    match (&mut *known, outcome) {
        (Outcome::Fetched(count), Outcome::Fetched(more)) => *count += more,
        (Outcome::Failed(_), _) | (Outcome::NotServed(_), Outcome::Fetched(0)) => {}
        (_, outcome @ Outcome::Failed(_)) => *known = outcome,
        (Outcome::NotServed(_), Outcome::Fetched(count)) => *known = Outcome::Fetched(count),
        (Outcome::Fetched(0), outcome) => *known = outcome,
        (_, Outcome::NotServed(_)) => {}
    }
}

fn malformed() -> Trouble {
    Trouble::Broken("the source gave something else than records".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
