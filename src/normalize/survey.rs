//! The first pass over the records of a consent.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::marks::{self, Base};
use super::plan::Plan;
use super::record::{Record, Source, SourceId};
use super::settings::Settings;
use super::{claims, form, links};
use crate::columns::json::Tape;

/// The facts of the records that were seen so far.
#[derive(Debug, Default)]
pub struct Survey {
    claims: claims::Facts,
    form: form::Facts,
    links: links::Facts,
}

impl Survey {
    /// Adds the facts of a record. The caller must leave out resources that earlier runs generated, because they are
    /// generated again.
    pub fn see(&mut self, record: &Record<'_>, settings: &Settings<'_>) {
        let base = Base::of(record, settings.sources);
        let Some(bare) = marks::bare(record.json, &base) else {
            return self.take_in(record, settings);
        };
        let mut tape = Tape::new();
        if let Ok(json) = tape.parse(bare.as_bytes()) {
            self.take_in(&Record { json, ..*record }, settings);
        }
    }

    fn take_in(&mut self, record: &Record<'_>, settings: &Settings<'_>) {
        self.claims.see(record, settings);
        self.form.see(record, settings);
        self.links.see(record, settings);
    }

    /// Sets the source that is being synced. `dangling` is the [`Report::dangling`](super::Report::dangling) of its
    /// previous sync: the counts of its missing targets. Missing targets of other sources are not counted.
    pub fn recall(&mut self, source: SourceId, dangling: BTreeMap<u64, u32>) {
        self.links.recall(source, dangling);
    }

    /// Makes the plan. It does not depend on the order in which records were seen.
    pub fn decide(self, settings: &Settings<'_>) -> Plan {
        let (generated, additions) = self.claims.decide(settings);
        let sources: Arc<[Source]> = settings.sources.into();
        let form = self.form.decide(sources.clone());
        let links = self.links.decide(settings, sources.clone(), &form);
        Plan {
            generated,
            additions,
            form,
            links,
            sources,
        }
    }
}
