//! Fetches all records of a plan into a spool. What could not be fetched becomes a [`Gap`]. If a search fails after
//! some pages, the records of these pages are kept. Records of types that the patient did not grant are not stored,
//! even if the source sends them.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use chrono::{DateTime, SecondsFormat};
use futures::FutureExt;
use futures::stream::{StreamExt, TryStreamExt};

use super::gap::{Gap, Why};
use super::person::{OF_LINKED, Person};
use super::plan::{Listing, Plan, Search, Way, encoded};
use super::search::{Along, Asked, NoPage, Record, Refusals, Reply, Whole, record};
use super::source::{Source, Trouble};
use super::spool::Spool;
use super::work::{Found, Held, Whose, Work, lock};
use crate::fhir::facts;
use crate::ingest::SourceBase;
use crate::sync::settings::SyncLimits;

/// The number of types, or of referenced resources, that are fetched at the same time. The source's gate limits their
/// requests.
pub(super) const AT_ONCE: usize = 8;
/// A search for changes goes back this number of seconds before the beginning of the last sync, because clocks differ
/// and some sources show records late.
const MARGIN: i64 = 86_400;

/// What was fetched, and what is missing.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// The source's FHIR base, with the forms that its answers have shown.
    pub(super) base: Option<SourceBase>,
    pub(super) gaps: Vec<Gap>,
    pub(super) records: u64,
    /// The number of bytes of the records.
    pub(super) bytes: u64,
    /// The number of records of types that were not granted.
    pub(super) unasked: u64,
    /// Whether the source has answered any request.
    pub(super) answered: bool,
    /// The person's ids at the source.
    pub(super) person: Option<Person>,
    /// Whether the person's Patient is among the records.
    pub(super) has_patient: bool,
}

/// Fetches the records of a plan. An error means that no further request can succeed, or that the job was stopped.
pub(super) async fn fetch(
    source: &Source,
    plan: &Plan,
    spool: &Spool,
    whose: Whose<'_>,
    limits: SyncLimits,
) -> Result<Fetched, Trouble> {
    let work = Work {
        source,
        spool,
        whose,
        limits,
        held: Held::default(),
        base: RwLock::new(source.all_bases()),
        unasked: AtomicU64::new(0),
        granted: plan.granted.iter().copied().collect(),
        readable: plan.readable.iter().copied().collect(),
        unlisted: plan.unlisted.iter().copied().collect(),
        met: Mutex::default(),
        wanted: Mutex::new(plan.reads.iter().cloned().collect()),
        person: OnceLock::new(),
        refusals: Refusals::default(),
        vain_sizes: tokio::sync::Mutex::default(),
    };
    // The other searches need the person's ids.
    let is_granted = plan.searches.iter().any(|search| search.is("Patient"));
    let patients = match is_granted {
        true => work.patients().await?,
        false => Found::default(),
    };
    let searches = plan.searches.iter().filter_map(|search| match search.way {
        Way::Search(parameter) => Some(work.search(search, parameter).boxed()),
        Way::Read => None,
    });
    let searches: Vec<_> = searches.collect();
    let done: Vec<(Found, Option<NotAlong>)> = futures::stream::iter(searches)
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    let mut fetched = Fetched {
        records: patients.records,
        gaps: patients.gaps,
        ..Fetched::default()
    };
    let mut without = Vec::new();
    for (found, not_along) in done {
        fetched.records += found.records;
        fetched.gaps.extend(found.gaps);
        without.extend(not_along);
    }
    let is_searched = plan.searches.iter().any(|search| search.is("Provenance"));
    let is_lost = !is_searched && !plan.is_part;
    if is_lost || fetched.gaps.iter().any(|gap| gap.resource_type == "Provenance") {
        fetched.gaps.extend(provenance_gap(without));
    }
    let is_denied = |gap: &Gap| gap.resource_type == "Patient" && gap.why == Why::Refused(401);
    if (!is_granted || fetched.gaps.iter().any(is_denied))
        && fetched.gaps.iter().any(|gap| gap.why == Why::Refused(401))
        && let Some(trouble) = source.end_of_access().await
    {
        return Err(trouble);
    }
    // If no records were kept, there are no references to follow.
    if fetched.records > 0 || !plan.reads.is_empty() {
        work.follow(&mut fetched).await?;
    }
    fetched.answered = source.has_answered();
    fetched.has_patient = lock(&work.met).iter().any(|name| work.person().is_patient(name));
    fetched.person = Some(work.person().clone());
    fetched.unasked = work.unasked.into_inner();
    fetched.bytes = work.held.bytes();
    let base = work.base.into_inner().unwrap_or_else(PoisonError::into_inner);
    source.note_bases(&base);
    fetched.base = Some(base);
    fetched.gaps.sort_by_key(|gap| gap.resource_type);
    Ok(fetched)
}

/// A type that was fetched without Provenance, because the source refused to include it.
struct NotAlong {
    resource_type: &'static str,
    status: u16,
}

/// Returns the gap for missing Provenance: one gap for all types that were fetched without it.
fn provenance_gap(mut without: Vec<NotAlong>) -> Option<Gap> {
    without.sort_by_key(|one| one.resource_type);
    let status = without.first()?.status;
    let types: Vec<&str> = without.iter().map(|one| one.resource_type).collect();
    Some(Gap::of("Provenance", Why::NotAlong(status, types.join(", "))))
}

impl<'w> Work<'w> {
    /// Returns the person's ids at the source, as far as they are known.
    fn person(&self) -> &Person {
        self.person.get().unwrap_or(self.whose.before)
    }

    /// Fetches the records of a type, for each id of the person. Also returns whether the source refused to include
    /// Provenance.
    async fn search(&'w self, search: &Search, parameter: &'static str) -> Result<(Found, Option<NotAlong>), Trouble> {
        let name = facts().get(search.type_id).name;
        let served = self.whose.statement.and_then(|statement| statement.types.get(name));
        let brings = served.is_some_and(|served| served.provenance) && self.is_granted("Provenance");
        let mut along = Along::new(brings);
        let mut found = Found::default();
        for (number, id) in self.person().ids().iter().enumerate() {
            let draft = match number {
                0 => name.to_owned(),
                number => format!("{name}-of-{number}"),
            };
            let address = format!("{}/{name}?{parameter}={}", self.source.base(), encoded(id));
            let asked = Asked {
                name,
                address: &address,
                draft: &draft,
            };
            let mut of_id = match search.listing {
                Listing::Source => self.listed(asked, &mut along).await?,
                Listing::Directory => self.unlisted(asked, true).await?,
                Listing::Nowhere => self.unlisted(asked, false).await?,
            };
            if number > 0 {
                for gap in &mut of_id.gaps {
                    gap.part.get_or_insert_with(|| OF_LINKED.to_owned());
                }
            }
            found.add(of_id);
        }
        let not_along = along.refused().map(|status| NotAlong {
            resource_type: name,
            status,
        });
        Ok((found, not_along))
    }

    /// Fetches a type that the source's statement lists. Without a statement, all types count as listed.
    async fn listed(&'w self, asked: Asked<'_>, along: &mut Along) -> Result<Found, Trouble> {
        let Asked { name, address, draft } = asked;
        if let Some(since) = self.since(name)
            && let Reply::Had(catch) = self
                .ask(name, &format!("{address}&_lastUpdated=ge{since}"), draft, along)
                .await?
            && !catch.is_cut()
        {
            return self.found(name, None, catch);
        }
        match self.ask(name, address, draft, along).await? {
            Reply::Had(catch) => self.found(name, None, catch),
            Reply::Failed(trouble) => Ok(Found::gap(Gap::of(name, Why::Failed(trouble)))),
            Reply::Refused(refusal) => self.narrower(Whole { asked, refusal }, along).await,
        }
    }

    /// Tries to fetch a type that the source's statement does not list, because statements are often incomplete. It
    /// makes only the plain search, without Provenance and without narrower searches. A failure is a gap only if the
    /// directory promises the type.
    async fn unlisted(&'w self, asked: Asked<'_>, is_promised: bool) -> Result<Found, Trouble> {
        let Asked { name, address, draft } = asked;
        let size = self.source.pages().first();
        let mut reply = self.ask_at(name, address, size, draft).await?;
        if let Reply::Refused(refusal) = &reply
            && matches!(refusal.status, 400 | 422)
            && size > 0
        {
            reply = self.ask_at(name, address, 0, draft).await?;
        }
        let status = match reply {
            Reply::Had(catch) => return self.found(name, None, catch),
            Reply::Refused(refusal) => Some(refusal.status),
            Reply::Failed(trouble) if is_promised => return Ok(Found::gap(Gap::of(name, Why::Failed(trouble)))),
            Reply::Failed(_) => None,
        };
        Ok(if is_promised {
            Found::gap(Gap::of(name, Why::Unlisted(status)))
        } else {
            Found::default()
        })
    }

    /// Returns the time from which on changes of a type are fetched. Returns `None` if the type must be fetched
    /// completely. This is so if there was no earlier sync, if the source cannot search by `_lastUpdated`, if the
    /// earlier syncs have no records of the type, or if some of its records are missing.
    fn since(&self, name: &str) -> Option<String> {
        // Of an id that no earlier sync knew, everything is new.
        let last = self
            .whose
            .since
            .filter(|_| self.person().is_within(self.whose.before))?;
        let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
        let served = self.whose.statement?.types.get(name)?;
        if !served.tells_news() {
            return None;
        }
        let at = DateTime::from_timestamp(last.started_at - MARGIN, 0)?;
        let whole = has(&last.had, name) && !has(&last.missing, name);
        whole.then(|| at.to_rfc3339_opts(SecondsFormat::Secs, true))
    }

    /// Reads the resource `name`, such as `Patient/1`. If the answer is not this resource, requests it once more.
    pub(super) async fn read(&self, url: &str, name: &str) -> Result<Result<Record, Why>, Trouble> {
        self.read_one(url, |found| found == name).await
    }

    /// Reads one resource, whose name is admitted by `admits`. If the answer is no such resource, requests it once
    /// more.
    pub(super) async fn read_one(
        &self,
        url: &str,
        admits: impl Fn(&str) -> bool,
    ) -> Result<Result<Record, Why>, Trouble> {
        let mut again = true;
        loop {
            let answer = match self.source.get(url).await {
                Ok(answer) => answer,
                Err(trouble) if trouble.ends_all() => return Err(trouble),
                Err(trouble) => return Ok(Err(Why::Failed(trouble))),
            };
            match answer.status {
                200 | 203 | 206 => {}
                status @ (204 | 404 | 410) => return Ok(Err(Why::NotFound(status))),
                status => return Ok(Err(Why::Refused(status))),
            }
            let text = std::str::from_utf8(&answer.body).unwrap_or_default();
            match record(text) {
                Ok(Some(record)) if admits(&record.name) => return Ok(Ok(record)),
                _ if std::mem::take(&mut again) => {}
                _ => {
                    self.source.hear(answer.status, &answer.body).await;
                    return Ok(Err(Why::Failed(Trouble::Broken(NoPage::Other.to_string()))));
                }
            }
        }
    }

    pub(super) fn is_granted(&self, name: &str) -> bool {
        facts()
            .lookup(name)
            .is_some_and(|type_id| self.granted.contains(&type_id))
    }
}
