//! Reads referenced records that no search returned, by id and in rounds: organizations, practitioners, drugs, and
//! records of any granted type, whether or not the source supports searching it.

use std::collections::{BTreeMap, HashMap, HashSet};
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

/// The maximum number of referenced resources to read, and the maximum number of rounds.
const REFERRED: usize = 50_000;
const ROUNDS: usize = 6;
/// The maximum number of failing reads of a type, and of a type that the source does not list. If none has succeeded by
/// then, the type is given up.
const VAIN: u32 = 20;
const VAIN_UNLISTED: u32 = 3;

/// The numbers of successful and failed reads of a type.
#[derive(Default)]
struct Tally {
    had: u32,
    vain: u32,
}

impl<'w> Work<'w> {
    /// Reads missing targets of references, and their targets.
    pub(super) async fn follow(&'w self, fetched: &mut Fetched) -> Result<(), Trouble> {
        // A type whose search failed is left out.
        let failed = fetched.gaps.iter().filter(|gap| matches!(gap.why, Why::Failed(_)));
        let broken: HashSet<&'static str> = failed.map(|gap| gap.ty).collect();
        let tallies: Mutex<HashMap<&'static str, Tally>> = Mutex::default();
        let mut lost = Lost::default();
        let mut left = REFERRED;
        for round in 0..=ROUNDS {
            let names = self.unmet();
            if names.is_empty() {
                break;
            }
            // A requested target counts as met, whatever the result.
            lock(&self.met).extend(names.iter().map(|(ty, id)| format!("{ty}/{id}")));
            let mut asked = Vec::new();
            for (ty, id) in names {
                let readable = facts().lookup(ty).is_some_and(|one| self.readable.contains(&one));
                if broken.contains(ty) {
                    continue;
                } else if !readable {
                    lost.note(ty, Why::NotListed);
                } else if left == 0 || round == ROUNDS {
                    lost.note(ty, Why::TooMany);
                } else {
                    left -= 1;
                    asked.push((ty, id));
                }
            }
            let catch = tokio::sync::Mutex::new(self.begin(&format!("referred-{round}"))?);
            let reads: Vec<_> = asked
                .iter()
                .map(|(ty, id)| self.refer(ty, id, &catch, &tallies).boxed())
                .collect();
            let done: Vec<Option<(&'static str, Why)>> = futures::stream::iter(reads)
                .buffer_unordered(AT_ONCE)
                .try_collect()
                .await?;
            fetched.records += self.keep(catch.into_inner())?;
            for (ty, why) in done.into_iter().flatten() {
                lost.note(ty, why);
            }
        }
        fetched.gaps.extend(lost.gaps());
        Ok(())
    }

    /// The targets of references that nothing has returned yet.
    fn unmet(&self) -> Vec<(&'static str, String)> {
        let (mut wanted, met) = (lock(&self.wanted), lock(&self.met));
        let names = std::mem::take(&mut *wanted).into_iter();
        let names = names.filter(|name| !met.contains(name)).filter_map(|name| {
            let (ty, id) = name.split_once('/')?;
            let ty = facts().lookup(ty)?;
            Some((facts().get(ty).name, id.to_owned()))
        });
        names.collect()
    }

    /// Reads one target of a reference. Returns the reason if that fails.
    async fn refer(
        &self,
        ty: &'static str,
        id: &str,
        catch: &tokio::sync::Mutex<Catch<'_>>,
        tallies: &Mutex<HashMap<&'static str, Tally>>,
    ) -> Result<Option<(&'static str, Why)>, Trouble> {
        let is_listed = facts().lookup(ty).is_none_or(|one| !self.unlisted.contains(&one));
        let bound = if is_listed { VAIN } else { VAIN_UNLISTED };
        let vain = {
            let mut tallies = lock(tallies);
            let tally = tallies.entry(ty).or_default();
            tally.had == 0 && tally.vain >= bound
        };
        if vain {
            return Ok(Some((ty, Why::NotFound(404))));
        }
        let url = format!("{}/{ty}/{}", self.source.base(), encoded(id));
        let read = match self.read(&url, &format!("{ty}/{id}")).await {
            // For an unlisted type, a 401 is a refusal. For other types it means that access has ended.
            Err(Trouble::Shut(_)) if !is_listed => Err(Why::Refused(401)),
            read => read?,
        };
        {
            let mut tallies = lock(tallies);
            let tally = tallies.entry(ty).or_default();
            match &read {
                Ok(_) => tally.had += 1,
                Err(_) => tally.vain += 1,
            }
        }
        match read {
            Ok(record) => {
                self.take(&record, &mut *catch.lock().await)?;
                Ok(None)
            }
            Err(why) => Ok(Some((ty, why))),
        }
    }
}

/// The missing records by type: the worst reason, and their number.
#[derive(Default)]
struct Lost(BTreeMap<&'static str, (Why, u64)>);

impl Lost {
    fn note(&mut self, ty: &'static str, why: Why) {
        let rank = |why: &Why| match why {
            Why::Failed(_) => 3,
            Why::Refused(_) => 2,
            Why::TooMany => 1,
            _ => 0,
        };
        let (known, count) = self.0.entry(ty).or_insert_with(|| (why.clone(), 0));
        *count += 1;
        if rank(&why) > rank(known) {
            *known = why;
        }
    }

    fn gaps(self) -> impl Iterator<Item = Gap> {
        self.0.into_iter().map(|(ty, (why, records))| Gap {
            records: Some(records),
            ..Gap::of(ty, why)
        })
    }
}
