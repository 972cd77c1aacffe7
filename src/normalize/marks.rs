//! Marks: extensions that tell what normalization has written into a record. Their URLs begin with the service's own
//! address.
//!
//! Values from other records or sources have the mark [`NORMALIZED`]: in an item of a list, in an object, or beside a
//! primitive. [`bare`] removes all these values before a record is read. So each run adds them again from the existing
//! records, and nothing of a removed source stays. Extensions of another service with the same names belong to the
//! record's source, and stay.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::OnceLock;

use memchr::memmem;

use super::compact::compact;
use super::record::{Record, Source};
use super::report::Rule;
use crate::columns::json::{Edits, Value, push_quoted};
use crate::fhir::reference::Reference;

/// The extension on a value from another record. It names the rule that added the value.
const NORMALIZED: &str = "/StructureDefinition/normalized";
/// The extension on a changed Coding or Quantity outside a list. It has the source's own system and code.
pub(super) const SOURCE_CODING: &str = "/StructureDefinition/source-coding";
/// The extension with the source's own text of a changed reference. It is on a Reference that led to a contained
/// resource, or in `_reference` if the new target belongs to another source.
pub(super) const SOURCE_REFERENCE: &str = "/StructureDefinition/source-reference";
/// The extension on a value from another source. It names the resource or the source from which the value comes.
const KNOWN_FROM: &str = "/StructureDefinition/known-from";
/// The extension on a Reference whose target was missing in several syncs. R4's data-absent-reason is beside it.
pub(super) const DANGLING: &str = "/StructureDefinition/dangling";

/// R4's data-absent-reason extension.
pub(super) const DATA_ABSENT_REASON: &str = "http://hl7.org/fhir/StructureDefinition/data-absent-reason";

/// The placeholder for an element that R4 requires and the source left out.
pub const PLACEHOLDER: &str = "Undefined by source";

/// One of our tags on a record names the authorization with which the record was fetched. This is the end of that tag's
/// system.
const AUTHORIZATION_TAG: &str = "/PatientAccessTokenId";

/// The beginning of the URLs of our extensions in one record. It is the service's address at the time when the record
/// was fetched. The systems of our tags in the record begin with the same address. So the service recognizes its marks
/// in the record even after its own address has changed.
pub(super) struct Base<'b> {
    record: Value<'b>,
    source: Option<&'b Source>,
    /// The prefix that one of our tags in the record shows, as soon as it was looked up. `None` in the cell means that
    /// no tag shows it.
    own: OnceCell<Option<String>>,
}

impl<'b> Base<'b> {
    /// Creates the prefix for a record.
    pub(super) fn of(record: &Record<'b>, sources: &'b [Source]) -> Base<'b> {
        Base::new(record.json, sources.get(record.source.0 as usize))
    }

    /// Creates the prefix for a value of a source.
    pub(super) fn new(record: Value<'b>, source: Option<&'b Source>) -> Base<'b> {
        Base {
            record,
            source,
            own: OnceCell::new(),
        }
    }

    pub(super) fn get(&self) -> &str {
        let own = self.own.get_or_init(|| self.of_tags());
        own.as_deref().unwrap_or_else(|| self.current())
    }

    /// Returns the prefix that new records use.
    pub(super) fn current(&self) -> &'b str {
        self.source.map_or("", |source| source.tag_system_base.as_str())
    }

    /// Reads the prefix from our tags. Only our tags have the authorization as their code. If several tags fit, uses
    /// the last one, because our tags come after the source's own.
    fn of_tags(&self) -> Option<String> {
        let authorization = self.source.map(|source| source.authorization.as_str())?;
        let tags = self.record.get("meta")?.get("tag")?;
        let systems = tags.items().filter_map(|tag| {
            let system = tag.get_str("system")?;
            let is_ours = system.ends_with(AUTHORIZATION_TAG)
                && !authorization.is_empty()
                && tag.get_str("code").is_some_and(|code| code == authorization);
            is_ours.then_some(system)
        });
        let mut system = systems.last()?.into_owned();
        system.truncate(system.len() - AUTHORIZATION_TAG.len());
        Some(system)
    }

    /// Whether an extension is ours and has this name.
    pub(super) fn has(&self, extension: Value<'_>, name: &str) -> bool {
        let url = extension.get_str("url");
        let base = url.as_deref().and_then(|url| url.strip_suffix(name));
        base.is_some_and(|base| base == self.current() || base == self.get())
    }

    /// Returns the URL of our extension with this name, as a JSON string.
    pub(super) fn url(&self, name: &str) -> String {
        quoted(&format!("{}{name}", self.get()))
    }

    /// Returns the extension that marks a value as contributed by a rule.
    pub(super) fn mark(&self, rule: Rule) -> String {
        format!(r#"{{"url":{},"valueCode":"{}"}}"#, self.url(NORMALIZED), rule.name())
    }

    /// Replaces the current prefix in the marks of `json` by the prefix of this record.
    pub(super) fn rebased<'j>(&self, json: &'j str) -> Cow<'j, str> {
        if self.get() == self.current() {
            return Cow::Borrowed(json);
        }
        let current = quoted(&format!("{}{NORMALIZED}", self.current()));
        Cow::Owned(json.replace(&current, &self.url(NORMALIZED)))
    }

    /// Returns the extensions that name the rule and the origin of a contributed value. They are the items of a JSON
    /// list without its brackets.
    pub(super) fn marks(&self, rule: Rule, origin: &Origin<'_>) -> String {
        let from = match origin {
            Origin::Resource(reference) => format!(r#"{{"reference":{}}}"#, quoted(reference)),
            Origin::Source(source) => format!(
                r#"{{"identifier":{{"system":{},"value":{}}}}}"#,
                quoted(&format!("{}{AUTHORIZATION_TAG}", source.tag_system_base)),
                quoted(&source.authorization)
            ),
        };
        let url = self.url(KNOWN_FROM);
        format!(r#"{},{{"url":{url},"valueReference":{from}}}"#, self.mark(rule))
    }

    /// Returns the value of the property beside a contributed primitive, such as `_display`: an object with the marks.
    pub(super) fn beside(&self, rule: Rule, origin: &Origin<'_>) -> String {
        format!(r#"{{"extension":[{}]}}"#, self.marks(rule, origin))
    }

    /// Returns the extension with the source's own text of a reference.
    pub(super) fn source_reference(&self, text: &str) -> String {
        let (url, text) = (self.url(SOURCE_REFERENCE), quoted(text));
        format!(r#"{{"url":{url},"valueReference":{{"reference":{text}}}}}"#)
    }

    /// Whether an object or a list item was contributed. In an extension with a value, the mark is inside the value,
    /// because an extension cannot have both a value and extensions.
    fn is_marked(&self, value: Value<'_>) -> bool {
        let says_so = |extensions: Value<'_>| extensions.items().any(|each| self.has(each, NORMALIZED));
        if value.get("extension").is_some_and(says_so) {
            return true;
        }
        value.get("url").is_some()
            && value.entries().any(|(key, value)| {
                let is_value = key.raw().starts_with("value") && value.is_object();
                is_value && value.get("extension").is_some_and(says_so)
            })
    }

    /// Returns the source's own text of a reference, from the property beside the contributed text. Ignores a text that
    /// no rule would have changed, because a source may have written such an extension itself.
    fn own_text<'t>(&self, beside: Value<'t>) -> Option<Cow<'t, str>> {
        let mut extensions = beside.get("extension")?.items();
        let kept = extensions.find(|each| self.has(*each, SOURCE_REFERENCE))?;
        let text = kept.get("valueReference")?.get_str("reference")?;
        let is_led = matches!(
            Reference::parse(&text),
            Reference::Fragment(_) | Reference::Conditional { .. }
        );
        is_led.then_some(text)
    }
}

/// Whether an extension has the same name as one of our extensions, whichever service wrote it.
pub(super) fn is_named_as_ours(extension: Value<'_>) -> bool {
    const OURS: [&str; 5] = [NORMALIZED, SOURCE_CODING, SOURCE_REFERENCE, KNOWN_FROM, DANGLING];
    let url = extension.get_str("url");
    url.is_some_and(|url| OURS.iter().any(|name| url.ends_with(name)))
}

/// Whether the text of a record contains the name of [`NORMALIZED`]. If not, the record has no contributed values.
fn may_stand_in(record: Value<'_>) -> bool {
    static FINDER: OnceLock<memmem::Finder<'static>> = OnceLock::new();
    let finder = FINDER.get_or_init(|| memmem::Finder::new(NORMALIZED));
    finder.find(record.raw().as_bytes()).is_some()
}

/// Where a contributed value comes from.
pub(super) enum Origin<'o> {
    /// A resource, as `Type/id`.
    Resource(&'o str),
    /// Any record of a source.
    Source(&'o Source),
}

/// Returns the text of a record without contributed values. Returns `None` if the record has no contributed values.
pub(super) fn bare(record: Value<'_>, base: &Base<'_>) -> Option<String> {
    if !may_stand_in(record) {
        return None;
    }
    let mut edits = Edits::new();
    take_out(record, base, &mut edits);
    (!edits.is_empty()).then(|| compact(record, &edits))
}

fn take_out(object: Value<'_>, base: &Base<'_>, edits: &mut Edits) {
    for (key, value) in object.entries() {
        if value.is_array() {
            if is_emptied(value, base, edits) {
                edits.omit(value);
            }
            continue;
        }
        if !base.is_marked(value) {
            take_out(value, base, edits);
            continue;
        }
        edits.omit(value);
        let primitive = key.name().strip_prefix('_').and_then(|name| object.get(name));
        if let Some(primitive) = primitive {
            match base.own_text(value) {
                Some(text) => edits.replace_str(primitive, &text),
                None => edits.omit(primitive),
            }
        }
    }
}

/// Removes contributed items from a list. Returns whether all items of the list were contributed. Returns `false` for
/// an empty list.
fn is_emptied(list: Value<'_>, base: &Base<'_>, edits: &mut Edits) -> bool {
    let (mut left, mut gone) = (0, 0);
    for item in list.items() {
        if base.is_marked(item) {
            edits.omit(item);
            gone += 1;
        } else {
            take_out(item, base, edits);
            left += 1;
        }
    }
    gone > 0 && left == 0
}

/// Returns a text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    push_quoted(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}
