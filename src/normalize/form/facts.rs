//! The facts of the records of a consent that this room keeps.

use std::sync::Arc;

use super::displays::{self, Shown};
use crate::normalize::record::{Record, Source, SourceId};
use crate::normalize::settings::Settings;

/// The displays of codes in the consent's records, by system and code.
#[derive(Debug, Default)]
pub struct Facts {
    displays: displays::Known,
    pub(super) sources: Arc<[Source]>,
}

impl Facts {
    /// Adds a record.
    pub(in crate::normalize) fn see(&mut self, record: &Record<'_>, settings: &Settings<'_>) {
        self.displays.see(record, settings.codes);
    }

    /// The facts after all records were seen.
    pub(in crate::normalize) fn decide(self, sources: Arc<[Source]>) -> Facts {
        Facts { sources, ..self }
    }

    /// The display that records of the consent have for a code, by [`displays::key`], for a record of a source.
    pub(in crate::normalize) fn display(&self, key: u128, source: SourceId) -> Option<Shown<'_>> {
        self.displays.get(key, source)
    }
}
