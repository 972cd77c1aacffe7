//! Surveys one unit: a consent of a sync, or one patient of an import. The survey sees the unit's records, and the
//! owner's rows of the lake that these records do not replace. Then it makes the plan.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::asked::is_asked;
use super::kept::{Filed, Kept, KeptRow, Shelf};
use super::normalization::Normalization;
use super::shared::Reach;
use super::stowed::Stowed;
use crate::columns::json::{Tape, Value};
use crate::fhir::TypeId;
use crate::ingest::error::IngestError;
use crate::ingest::references::condition::Keys;
use crate::ingest::rows::block::lines;
use crate::ingest::sync::synced::{Naming, Synced, tags};
use crate::lake::owners::owner::{OwnerKey, owner_named_by};
use crate::normalize::{Plan, Record, Rule, Settings, Source, SourceId, Survey};

/// The values that all units share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) rules: Normalization,
    pub(super) key: OwnerKey,
    pub(super) keys: Keys,
    pub(super) shelf: Shelf,
    /// The source and the person of a sync. `None` for an import.
    pub(super) synced: Option<Synced>,
    /// Finds records without a person.
    pub(super) reach: Reach,
}

/// A unit after its survey.
#[derive(Debug, Default)]
pub(super) struct Unit {
    pub(super) owner: i64,
    pub(super) sources: Vec<Source>,
    /// For each source, the Patient under which its rows are filed.
    pub(super) patients: Vec<Option<String>>,
    pub(super) plan: Plan,
    /// The unit's rows in the lake that the input does not replace, without generated rows.
    pub(super) kept: Kept,
    /// Rows that earlier runs generated. If this run does not generate a row again, the row is deleted, because no
    /// record supports it any more.
    pub(super) made_before: BTreeSet<(TypeId, String)>,
    /// The number of the lake's rows that could not be read.
    pub(super) unreadable: u64,
}

/// A unit that is being surveyed.
pub(super) struct Surveyed<'c> {
    common: &'c Common,
    owner: i64,
    /// The sources, sorted by authorization.
    sources: Vec<Source>,
    patients: Vec<Option<String>>,
    /// The source of the input's records.
    source: SourceId,
    survey: Survey,
    kept: Kept,
    /// Hashes of type and id of the input's records. They show which rows of the owner in the lake are replaced. Empty
    /// if the owner has no rows in the lake.
    met: FxHashSet<u64>,
    /// References to records without a person that rules look up, as `Type/id`.
    refers_to: FxHashSet<String>,
}

impl Common {
    /// Begins a unit, and reads its rows in the lake. `patient` is the Patient under which the input's records are
    /// filed. It is `None` if the input has no records of this owner.
    pub(super) fn open(&self, owner: i64, patient: Option<&str>) -> Result<Surveyed<'_>, IngestError> {
        let kept = self.shelf.rows(owner, self.keys)?;
        let mut known: BTreeMap<(String, String), Option<String>> = BTreeMap::new();
        for filed in kept.filed() {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let source = known
                .entry((text(&filed.authorization), text(&filed.endpoint)))
                .or_default();
            if source.is_none() {
                source.clone_from(&filed.patient);
            }
        }
        match (&self.synced, patient) {
            (Some(synced), _) => {
                let naming = Naming::new(self.key, &self.shelf.application, self.shelf.mode, synced.clone());
                let source = (synced.authorization.clone(), synced.endpoint.clone());
                known.insert(source, Some(naming.patient().to_owned()));
            }
            (None, Some(patient)) => {
                known.insert(Default::default(), Some(patient.to_owned()));
            }
            (None, None) => {}
        }
        let (known, patients): (Vec<(String, String)>, Vec<Option<String>>) = known.into_iter().unzip();
        let sources: Vec<Source> = known
            .into_iter()
            .map(|(authorization, endpoint)| self.source(authorization, endpoint))
            .collect();
        let authorization = self.synced.as_ref().map_or("", |synced| &synced.authorization);
        Ok(Surveyed {
            common: self,
            owner,
            source: place(&sources, authorization),
            sources,
            patients,
            survey: Survey::default(),
            kept,
            met: FxHashSet::default(),
            refers_to: FxHashSet::default(),
        })
    }

    /// Returns a unit with the plan for records without a person. They belong to no person's unit, so the plan uses no
    /// facts from other records.
    pub(super) fn nobody(&self) -> Unit {
        let sources = vec![self.source(String::new(), String::new())];
        let plan = Survey::default().decide(&self.settings(&sources, &|_, _, _| String::new()));
        Unit {
            sources,
            plan,
            ..Unit::default()
        }
    }

    fn source(&self, authorization: String, endpoint: String) -> Source {
        let Shelf { application, mode, .. } = &self.shelf;
        let base = &self.rules.tag_system_base;
        let tags = if authorization.is_empty() {
            Vec::new()
        } else {
            tags(base, &authorization, &endpoint, application, *mode)
        };
        let fhir_base = match &self.synced {
            // Only the synced source needs its base. References to another source's base were resolved when that source
            // was synced.
            Some(synced) if synced.authorization == authorization => synced.base.as_str().to_owned(),
            _ => String::new(),
        };
        Source {
            authorization,
            endpoint,
            fhir_base,
            tag_system_base: base.clone(),
            tags,
        }
    }

    fn settings<'s>(&'s self, sources: &'s [Source], ids: &'s Ids) -> Settings<'s> {
        Settings {
            sources,
            codes: &*self.rules.knowledge.codes,
            plans: &*self.rules.knowledge.plans,
            today: self.rules.today,
            ids,
        }
    }
}

impl Surveyed<'_> {
    /// Shows a record of the input to the survey.
    pub(super) fn see(&mut self, stowed: &Stowed<'_>, json: Value<'_>) {
        let common = self.common;
        if common.synced.is_none() {
            for name in lines(stowed.shared_refs).filter(|name| is_asked(name)) {
                if !self.refers_to.contains(name) {
                    self.refers_to.insert(name.to_owned());
                }
            }
        }
        if !self.kept.rows.is_empty() {
            self.met.insert(common.keys.name(stowed.resource_type, stowed.id));
        }
        let record = Record {
            resource_type: stowed.resource_type,
            id: stowed.id,
            source: self.source,
            json,
        };
        let ids = ids(common.key, self.owner);
        self.survey.see(&record, &common.settings(&self.sources, &ids));
    }

    /// Shows the unit's rows in the lake and the referenced records without a person to the survey. Then makes the
    /// plan.
    pub(super) fn decide(self) -> Result<Unit, IngestError> {
        let Surveyed {
            common,
            owner,
            sources,
            patients,
            source: _,
            mut survey,
            mut kept,
            met,
            mut refers_to,
        } = self;
        let ids = ids(common.key, owner);
        let settings = common.settings(&sources, &ids);
        kept.rows.retain(|row| !met.contains(&row.name));
        let mut tape = Tape::new();
        let mut made_before: BTreeSet<(TypeId, String)> = BTreeSet::new();
        let mut generated: FxHashSet<u64> = FxHashSet::default();
        let mut unreadable = common.shelf.texts(&kept.rows, |row, read| {
            let Ok(json) = tape.parse(&read.resource) else { return };
            let filed = kept.filed_by(row);
            if is_generated(filed, &read.id, owner, json, &common.rules.tag_system_base) {
                generated.insert(row.name);
                made_before.insert((row.resource_type, read.id.clone()));
                return;
            }
            let record = Record {
                resource_type: row.resource_type,
                id: &read.id,
                source: place(&sources, filed.authorization.as_deref().unwrap_or_default()),
                json,
            };
            survey.see(&record, &settings);
        });
        kept.rows.retain(|row: &KeptRow| !generated.contains(&row.name));
        if common.synced.is_none() {
            refers_to.extend(std::mem::take(&mut kept.shared_refs));
        }
        let (reached, missing) = common.reach.reached(&common.shelf, refers_to.into_iter().collect())?;
        unreadable += missing;
        for known in &reached {
            let Ok(json) = tape.parse(known.text.as_bytes()) else {
                continue;
            };
            let record = Record {
                resource_type: known.resource_type,
                id: &known.id,
                source: SourceId(0),
                json,
            };
            survey.see(&record, &settings);
        }
        if let Some(synced) = &common.synced {
            survey.recall(place(&sources, &synced.authorization), common.rules.dangling.clone());
        }
        let plan = survey.decide(&settings);
        Ok(Unit {
            owner,
            sources,
            patients,
            plan,
            kept,
            made_before,
            unreadable,
        })
    }
}

/// Returns the index of the source with this authorization. Returns 0 if there is none.
pub(super) fn place(sources: &[Source], authorization: &str) -> SourceId {
    let at = sources.iter().position(|source| source.authorization == authorization);
    SourceId(at.unwrap_or_default() as u32)
}

type Ids = dyn Fn(&Source, &str, &str) -> String;

/// Returns the function for the ids of generated resources. An id depends on the owner, the authorization, the type and
/// the seed.
fn ids(key: OwnerKey, owner: i64) -> impl Fn(&Source, &str, &str) -> String {
    move |source, resource_type, seed| key.synced_id(owner, &source.authorization, resource_type, seed)
}

/// Whether a rule generated a row of the lake. Such a row has the tag `GeneratedBy` with the name of a rule as its
/// code. The rows that a sync itself makes, such as a Patient, have another code in this tag.
///
/// A record of a source or of an import may contain such a tag, too, but no rule generated it. The record of a source
/// has `meta.source`, which a generated row lacks. An imported record has its own id, which does not begin with the
/// owner. For synced rows the tag's system may begin with an earlier base address.
fn is_generated(filed: &Filed, id: &str, owner: i64, json: Value<'_>, tag_system_base: &str) -> bool {
    let meta = json.get("meta");
    let is_own = match filed.authorization {
        Some(_) => meta.is_some_and(|meta| meta.get("source").is_none()),
        None => owner_named_by(id) == Some(owner),
    };
    let is_ours = |tag: Value<'_>| {
        let (system, code) = (tag.get_str("system"), tag.get_str("code"));
        let is_rule = code.is_some_and(|code| Rule::GENERATING.iter().any(|rule| rule.name() == code));
        is_rule
            && system.is_some_and(|system| match filed.authorization {
                Some(_) => system.ends_with("/tags/GeneratedBy"),
                None => system.strip_prefix(tag_system_base) == Some("/GeneratedBy"),
            })
    };
    is_own
        && meta
            .and_then(|meta| meta.get("tag"))
            .is_some_and(|tags| tags.items().any(is_ours))
}
