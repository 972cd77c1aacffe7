//! The facts of a consent's records that the rules of this module need.

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
    /// Adds the displays of a record.
    pub(in crate::normalize) fn see(&mut self, record: &Record<'_>, settings: &Settings<'_>) {
        self.displays.see(record, settings.codes);
    }

    /// Adds the sources of the consent, after all records were seen.
    pub(in crate::normalize) fn decide(self, sources: Arc<[Source]>) -> Facts {
        Facts { sources, ..self }
    }

    /// Returns the display that records of the consent have for a code, for use in a record of `source`. `key` is from
    /// [`displays::key`].
    pub(in crate::normalize) fn display(&self, key: u128, source: SourceId) -> Option<Shown<'_>> {
        self.displays.get(key, source)
    }
}
