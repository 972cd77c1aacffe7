//! The form of a record: systems, codes, displays, required elements.
//!
//! Decides how codes are written and what stands for what is missing. A changed coding keeps the source's own beside it: in a list as
//! the next item, elsewhere in an extension. It does not decide which resource a reference means (`links`).

mod additions;
mod check;
mod coding;
pub(super) mod displays;
mod editor;
mod memo;
mod required;
pub mod systems;

pub use check::{Fault, Problem, check};
pub use coding::canonical_code;
pub use systems::canonical_system;

use editor::Editor;

use super::codes::Codes;
use super::plan::Addition;
use super::record::{Record, SourceId};
use super::report::{Report, Rule};
use super::survey::Settings;
use super::walk;
use crate::fhir::TypeId;
use crate::lake::json::{Edits, Value, write_compact};

/// What records of the consent say of codes: displays by system and code.
#[derive(Debug, Default)]
pub struct Facts {
    displays: displays::Known,
    /// What the URLs of our extensions begin with, by source.
    bases: Vec<String>,
}

impl Facts {
    /// Takes in a record.
    pub fn see(&mut self, record: &Record<'_>, settings: &Settings<'_>) {
        self.displays.see(record, settings.codes);
    }

    /// The facts when all records are seen.
    pub fn decide(mut self, settings: &Settings<'_>) -> Facts {
        self.bases = settings
            .sources
            .iter()
            .map(|source| source.tag_system_base.clone())
            .collect();
        self
    }

    /// The display that a record of the consent gives to a code, by [`displays::key`].
    pub(super) fn display(&self, key: u128) -> Option<&str> {
        self.displays.get(key)
    }

    fn base(&self, source: SourceId) -> &str {
        self.bases.get(source.0 as usize).map_or("", String::as_str)
    }
}

pub(super) use displays::key as display_key;
pub(super) use editor::unmapped_ndc;

/// Edits a record, and makes the additions of other rules.
pub fn edit(
    record: &Record<'_>,
    facts: &Facts,
    additions: &[Addition],
    codes: &dyn Codes,
    edits: &mut Edits,
    report: &mut Report,
) {
    let base = facts.base(record.source);
    let mut editor = Editor::new(facts, codes, base, edits, report);
    walk::resource(record.json, record.resource_type, &mut editor);
    let (lacking, trimmed) = (editor.lacking, editor.trimmed);
    required::fill(record.json, record.resource_type, &lacking, trimmed, edits, report);
    additions::make(record.json, base, additions, edits, report);
}

/// A value of some type in the form that [`edit`] gives it, as compact JSON.
pub(super) fn rewrite(value: Value<'_>, ty: TypeId, facts: &Facts, codes: &dyn Codes, base: &str) -> String {
    let (mut edits, mut report) = (Edits::new(), Report::default());
    walk::value(value, ty, &mut Editor::new(facts, codes, base, &mut edits, &mut report));
    compact(value, &edits)
}

/// A value as compact JSON, with edits.
pub(super) fn compact(value: Value<'_>, edits: &Edits) -> String {
    let mut out = Vec::with_capacity(value.span().len());
    write_compact(value, &mut out, edits);
    String::from_utf8(out).unwrap_or_default()
}

/// Counts one change.
fn changed(report: &mut Report, rule: Rule) {
    report.of(rule).changed += 1;
}
