//! Reads by id the resources to which records refer and that no search returned. These are organizations,
//! practitioners, medications, and records of any granted type, whether or not the source can search the type. It works
//! in rounds: each round reads the resources to which the records of the round before refer.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use futures::FutureExt;
use futures::stream::{StreamExt, TryStreamExt};

use super::catch::Catch;
use super::fetch::{AT_ONCE, Fetched};
use super::gap::{Gap, Why};
use super::plan::encoded;
use super::source::Trouble;
use super::work::{Work, lock};
use crate::fhir::facts;

/// The maximum number of referenced resources that are read. `ROUNDS` is the maximum number of rounds.
const REFERRED: usize = 50_000;
const ROUNDS: usize = 6;
/// If this number of reads of a type failed and none succeeded, no further resources of the type are read.
/// `VAIN_UNLISTED` is the number for a type that the source's statement does not list.
const VAIN: u32 = 20;
const VAIN_UNLISTED: u32 = 3;

/// The numbers of successful and failed reads of a type.
#[derive(Default)]
struct Tally {
    had: u32,
    vain: u32,
    /// The newest failure that may pass.
    failed: Option<Trouble>,
}

impl<'w> Work<'w> {
    /// Reads the targets of references, unless they were fetched already. Then reads the targets of their references,
    /// and so on.
    pub(super) async fn follow(&'w self, fetched: &mut Fetched) -> Result<(), Trouble> {
        // If the search for a type failed, the whole type is a gap already. So none of its records are read by id.
        let failed = fetched.gaps.iter().filter_map(|gap| match &gap.why {
            Why::Failed(trouble) if gap.part.is_none() => Some((gap.resource_type, trouble.clone())),
            _ => None,
        });
        let broken: HashMap<&'static str, Trouble> = failed.collect();
        let tallies: Mutex<HashMap<&'static str, Tally>> = Mutex::default();
        let mut lost = Lost::default();
        let mut left = REFERRED;
        for round in 0..=ROUNDS {
            let names = self.unmet();
            if names.is_empty() {
                break;
            }
            // A target that was requested once is not requested again, whatever the result.
            lock(&self.met).extend(names.iter().map(|(resource_type, id)| format!("{resource_type}/{id}")));
            let mut asked = Vec::new();
            for (resource_type, id) in names {
                let readable = facts()
                    .lookup(resource_type)
                    .is_some_and(|one| self.readable.contains(&one));
                if let Some(trouble) = broken.get(resource_type) {
                    // Without this, a record that the search does not find would never be read.
                    if readable {
                        lost.note(resource_type, &id, Why::Failed(trouble.clone()));
                    }
                } else if !readable {
                    lost.note(resource_type, &id, Why::NotListed);
                } else if left == 0 || round == ROUNDS {
                    lost.note(resource_type, &id, Why::TooMany);
                } else {
                    left -= 1;
                    asked.push((resource_type, id));
                }
            }
            let catch = tokio::sync::Mutex::new(self.begin(&format!("referred-{round}"))?);
            let reads: Vec<_> = asked
                .iter()
                .map(|(resource_type, id)| self.refer(resource_type, id, &catch, &tallies).boxed())
                .collect();
            let done: Vec<Option<(&'static str, &str, Why)>> = futures::stream::iter(reads)
                .buffer_unordered(AT_ONCE)
                .try_collect()
                .await?;
            fetched.records += self.keep(catch.into_inner())?;
            for (resource_type, id, why) in done.into_iter().flatten() {
                lost.note(resource_type, id, why);
            }
        }
        fetched.gaps.extend(lost.gaps());
        Ok(())
    }

    /// Takes all targets of references out of `wanted`. Returns those that were neither fetched nor requested yet.
    fn unmet(&self) -> Vec<(&'static str, String)> {
        let (mut wanted, met) = (lock(&self.wanted), lock(&self.met));
        let names = std::mem::take(&mut *wanted).into_iter();
        let names = names.filter(|name| !met.contains(name)).filter_map(|name| {
            let (resource_type, id) = name.split_once('/')?;
            let type_id = facts().lookup(resource_type)?;
            Some((facts().get(type_id).name, id.to_owned()))
        });
        names.collect()
    }

    /// Reads one target of a reference and adds it to `catch`. If that fails, returns the target and the reason.
    async fn refer<'i>(
        &self,
        resource_type: &'static str,
        id: &'i str,
        catch: &tokio::sync::Mutex<Catch<'_>>,
        tallies: &Mutex<HashMap<&'static str, Tally>>,
    ) -> Result<Option<(&'static str, &'i str, Why)>, Trouble> {
        let is_listed = facts()
            .lookup(resource_type)
            .is_none_or(|one| !self.unlisted.contains(&one));
        let bound = if is_listed { VAIN } else { VAIN_UNLISTED };
        let given_up = {
            let mut tallies = lock(tallies);
            let tally = tallies.entry(resource_type).or_default();
            (tally.had == 0 && tally.vain >= bound).then(|| tally.failed.clone())
        };
        // A type that failed may be there later.
        if let Some(failed) = given_up {
            let why = failed.map_or(Why::NotFound(404), Why::Failed);
            return Ok(Some((resource_type, id, why)));
        }
        let url = format!("{}/{resource_type}/{}", self.source.base(), encoded(id));
        let read = self.read(&url, &format!("{resource_type}/{id}")).await?;
        {
            let mut tallies = lock(tallies);
            let tally = tallies.entry(resource_type).or_default();
            match &read {
                Ok(_) => tally.had += 1,
                Err(why) => {
                    tally.vain += 1;
                    if let Why::Failed(trouble) = why {
                        tally.failed = Some(trouble.clone());
                    }
                }
            }
        }
        match read {
            Ok(record) => {
                self.take(&record, &mut *catch.lock().await)?;
                Ok(None)
            }
            Err(why) => Ok(Some((resource_type, id, why))),
        }
    }
}

/// The records that could not be read, by type and reason.
#[derive(Default)]
struct Lost(BTreeMap<&'static str, Vec<LostRecords>>);

/// The records of one type that could not be read for one reason.
struct LostRecords {
    why: Why,
    count: u64,
    /// `Type/id` of those that a retry reads.
    reads: Vec<String>,
}

impl Lost {
    fn note(&mut self, resource_type: &'static str, id: &str, why: Why) {
        let of_type = self.0.entry(resource_type).or_default();
        let is_failed = matches!(why, Why::Failed(_));
        // A retry reads all that failed, for whichever cause. One of the causes is told.
        let is_same = |known: &Why| known == &why || is_failed && matches!(known, Why::Failed(_));
        let at = match of_type.iter().position(|known| is_same(&known.why)) {
            Some(at) => at,
            None => {
                of_type.push(LostRecords {
                    why,
                    count: 0,
                    reads: Vec::new(),
                });
                of_type.len() - 1
            }
        };
        let lost = &mut of_type[at];
        lost.count += 1;
        if is_failed {
            lost.reads.push(format!("{resource_type}/{id}"));
        }
    }

    fn gaps(self) -> impl Iterator<Item = Gap> {
        let each = self
            .0
            .into_iter()
            .flat_map(|(resource_type, of_type)| of_type.into_iter().map(move |lost| (resource_type, lost)));
        each.map(|(resource_type, lost)| Gap {
            records: Some(lost.count),
            reads: lost.reads,
            ..Gap::of(resource_type, lost.why)
        })
    }
}
