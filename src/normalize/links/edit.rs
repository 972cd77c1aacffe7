//! Edits references.
//!
//! Displays from another source's record, and references that were changed to lead there, get an extension that
//! [marks](crate::normalize::marks) them.

use super::facts::Facts;
use super::identifiers::{Identifier, fragment};
use super::index::{EntryIndex, is_same_base, key};
use super::knowledge::give;
use crate::columns::json::{Edits, Value};
use crate::fhir::reference::Reference;
use crate::fhir::{TypeId, facts as r4};
use crate::normalize::contributed::{add_extension, add_items};
use crate::normalize::marks::{Base, DANGLING, DATA_ABSENT_REASON, Origin, quoted};
use crate::normalize::record::{Record, SourceId};
use crate::normalize::report::{Report, Rule};
use crate::normalize::walk::{self, Visit, resource_type};

/// A reference is marked as dangling when its target was missing in this number of syncs in a row.
const PATIENCE: u32 = 3;

/// Edits the references of a record, and adds the values that it gains from other records.
pub(in crate::normalize) fn edit(
    record: &Record<'_>,
    base: &Base<'_>,
    facts: &Facts,
    edits: &mut Edits,
    report: &mut Report,
) {
    references(record, base, facts, edits, report);
    if facts.patients.is_empty() && facts.gains.is_empty() {
        return;
    }
    let Some(place) = facts.index.find(record.resource_type, record.id) else {
        return;
    };
    if let Some(others) = facts.patients.get(&place) {
        patient_links(record, base, facts, others, edits, report);
    }
    if let Some(gains) = facts.gains.get(&place) {
        give(record.json, base, gains, &facts.index, edits, report);
    }
}

/// Edits the references of a record.
fn references(record: &Record<'_>, base: &Base<'_>, facts: &Facts, edits: &mut Edits, report: &mut Report) {
    let mut editor = Editor {
        record,
        base,
        facts,
        edits,
        report,
    };
    walk::resource(record.json, record.resource_type, &mut editor);
}

/// Links a Patient to the Patients of other sources. Leaves out links that the source itself has.
fn patient_links(
    record: &Record<'_>,
    base: &Base<'_>,
    facts: &Facts,
    others: &[EntryIndex],
    edits: &mut Edits,
    report: &mut Report,
) {
    let own = record.json.get("link");
    let own = || own.into_iter().flat_map(|list| list.items());
    let mark = base.mark(Rule::References);
    let links = others.iter().filter_map(|other| {
        let reference = facts.index.reference(*other);
        let leads_there = |item: Value<'_>| Some(item.get("other")?.get_str("reference")? == reference);
        if own().any(|item| leads_there(item).unwrap_or_default()) {
            return None;
        }
        let reference = quoted(&reference);
        Some(format!(
            r#"{{"extension":[{mark}],"other":{{"reference":{reference}}},"type":"seealso"}}"#
        ))
    });
    let links: Vec<String> = links.collect();
    if add_items(record.json, "link", &links, edits) {
        report.of(Rule::References).changed += 1;
    }
}

struct Editor<'e, 'm> {
    record: &'e Record<'e>,
    base: &'e Base<'e>,
    facts: &'e Facts,
    edits: &'m mut Edits,
    report: &'m mut Report,
}

/// The parts of a Reference.
struct Read<'e> {
    text: Option<Value<'e>>,
    identifier: Option<Value<'e>>,
    resource_type: Option<TypeId>,
    has_display: bool,
    /// Whether the Reference has a property `_reference`.
    has_beside: bool,
    extension: Option<Value<'e>>,
}

impl<'e> Read<'e> {
    fn new(value: Value<'e>) -> Read<'e> {
        let mut read = Read {
            text: None,
            identifier: None,
            resource_type: None,
            has_display: false,
            has_beside: false,
            extension: None,
        };
        for (key, value) in value.entries() {
            match key.raw() {
                "reference" => read.text = Some(value).filter(Value::is_string),
                "identifier" => read.identifier = Some(value).filter(Value::is_object),
                "type" => read.resource_type = value.as_str().and_then(|resource_type| r4().lookup(&resource_type)),
                "display" | "_display" => read.has_display = true,
                "_reference" => read.has_beside = true,
                "extension" => read.extension = Some(value),
                _ => {}
            }
        }
        read
    }
}

impl<'e> Visit<'e> for Editor<'e, '_> {
    fn reference(&mut self, value: Value<'e>, targets: &'static [TypeId]) {
        let read = Read::new(value);
        let Some(text) = read.text else {
            self.logical(value, &read, targets);
            return;
        };
        let Some(reference) = text.as_str() else { return };
        let (facts, source) = (self.facts, self.record.source);
        match Reference::parse(&reference) {
            Reference::Relative(target) => match facts.index.find(target.type_id, target.id) {
                Some(place) => self.found(value, &read, place),
                None => self.dangles(value, &read, &reference),
            },
            Reference::Absolute { base, target } if is_same_base(base, facts.fhir_base(source)) => {
                match facts.index.at(source, target.type_id, target.id) {
                    Some(place) => self.leads_to(text, value, &read, &reference, place),
                    None => self.dangles(value, &read, &reference),
                }
            }
            Reference::Conditional { type_id, query } => {
                let identifier = Identifier::of_query(query);
                let place = identifier
                    .as_ref()
                    .and_then(|identifier| facts.index.identified(source, &[type_id], identifier));
                let place = place.filter(|place| self.may_lead_to(&read, *place));
                let Some((identifier, place)) = identifier.zip(place) else {
                    self.report.of(Rule::References).left += 1;
                    return;
                };
                if read.identifier.is_none() {
                    self.identify(value, &identifier, place);
                }
                self.leads_to(text, value, &read, &reference, place);
            }
            Reference::Fragment(_) => self.contained(text, value, &read, &reference),
            _ => {}
        }
    }
}

impl<'e> Editor<'e, '_> {
    /// Whether a resource belongs to the record's own source.
    fn is_own(&self, place: EntryIndex) -> bool {
        self.facts.index.source(place) == self.record.source
    }

    /// Whether a reference may be changed to lead to a resource. If the resource belongs to another source, the change
    /// adds `_reference` with a marking extension, so the source must not have written a `_reference`.
    fn may_lead_to(&self, read: &Read<'e>, place: EntryIndex) -> bool {
        self.is_own(place) || !read.has_beside
    }

    /// Handles a reference that leads to a stored resource: adds a missing display. If the reference is marked as
    /// dangling, removes the mark.
    fn found(&mut self, value: Value<'e>, read: &Read<'e>, place: EntryIndex) {
        let named = !read.has_display;
        if let Some((name, from)) = self.facts.index.name(place).filter(|_| named) {
            self.edits.append_str(value, "display", name);
            if let Some(beside) = self.beside(place, from) {
                self.edits.append(value, "_display", &beside);
            }
            self.changed();
        }
        self.dangles_no_longer(read);
    }

    /// Returns the value of `_display`, with the extension that marks the display. If the resource belongs to another
    /// source, the extension names the resource. If not, it names the source `from` of the display. Returns `None` if
    /// the resource belongs to the record's own source and `from` is `None`.
    fn beside(&self, place: EntryIndex, from: Option<SourceId>) -> Option<String> {
        if !self.is_own(place) {
            let reference = self.facts.index.reference(place);
            return Some(self.base.beside(Rule::References, &Origin::Resource(&reference)));
        }
        let source = self.facts.sources.get(from?.0 as usize)?;
        Some(self.base.beside(Rule::References, &Origin::Source(source)))
    }

    /// Changes a reference to lead to a resource. If the resource belongs to another source, an extension in
    /// `_reference` keeps the old text.
    fn leads_to(&mut self, text: Value<'e>, value: Value<'e>, read: &Read<'e>, own: &str, place: EntryIndex) {
        let reference = self.facts.index.reference(place);
        self.edits.replace_str(text, &reference);
        if !self.is_own(place) {
            let marks = self.base.marks(Rule::References, &Origin::Resource(&reference));
            let beside = format!(r#"{{"extension":[{marks},{}]}}"#, self.base.source_reference(own));
            self.edits.append(value, "_reference", &beside);
        }
        self.changed();
        self.found(value, read, place);
    }

    /// Adds the identifier of a conditional reference. If the target belongs to another source, the identifier has a
    /// marking extension, so that it is removed together with the other contributions.
    fn identify(&mut self, value: Value<'e>, identifier: &Identifier, place: EntryIndex) {
        let (system, text) = (quoted(&identifier.system), quoted(&identifier.value));
        let mark = if self.is_own(place) {
            String::new()
        } else {
            format!(r#","extension":[{}]"#, self.base.mark(Rule::References))
        };
        let json = format!(r#"{{"system":{system},"value":{text}{mark}}}"#);
        self.edits.append(value, "identifier", &json);
    }

    fn changed(&mut self) {
        self.report.of(Rule::References).changed += 1;
    }

    /// Handles a Reference that has an identifier and no `reference`.
    fn logical(&mut self, value: Value<'e>, read: &Read<'e>, targets: &'static [TypeId]) {
        let Some(identifier) = read.identifier.and_then(Identifier::read) else {
            return;
        };
        let own = read.resource_type.as_slice();
        let types = if own.is_empty() { targets } else { own };
        let place = self.facts.index.identified(self.record.source, types, &identifier);
        let Some(place) = place.filter(|place| self.may_lead_to(read, *place)) else {
            self.report.of(Rule::References).left += 1;
            return;
        };
        let reference = self.facts.index.reference(place);
        self.edits.append(value, "reference", &quoted(&reference));
        if !self.is_own(place) {
            let beside = self.base.beside(Rule::References, &Origin::Resource(&reference));
            self.edits.append(value, "_reference", &beside);
        }
        self.changed();
        self.found(value, read, place);
    }

    /// Handles a reference to a contained resource. If the contained resource has an NPI, and exactly one stored
    /// resource has the same NPI, changes the reference so that it leads to the stored resource.
    fn contained(&mut self, text: Value<'e>, value: Value<'e>, read: &Read<'e>, reference: &str) {
        let Some(id) = fragment(reference) else { return };
        let list = self.record.json.get("contained");
        let mut resources = list.iter().flat_map(Value::items);
        let Some(resource) = resources.find(|each| each.get_str("id").is_some_and(|each| each == id)) else {
            self.report.of(Rule::References).left += 1;
            return;
        };
        let type_id = resource_type(resource).filter(|type_id| super::knowledge::is_known(*type_id));
        let npi = type_id.zip(Identifier::npi(resource));
        let place = npi.and_then(|(type_id, value)| {
            let identifier = Identifier {
                system: super::identifiers::NPI.to_owned(),
                value,
            };
            self.facts.index.identified(self.record.source, &[type_id], &identifier)
        });
        let Some(place) = place.filter(|place| self.may_lead_to(read, *place)) else {
            return;
        };
        if self.is_own(place) {
            let json = self.base.source_reference(reference);
            add_extension(value, read.extension, &json, self.edits);
        }
        self.leads_to(text, value, read, reference, place);
    }

    /// Handles a reference whose target is not stored. If the record's source is being synced, counts the syncs in a
    /// row in which the target was missing. As soon as there are [`PATIENCE`] such syncs, marks the reference as
    /// dangling.
    fn dangles(&mut self, value: Value<'e>, read: &Read<'e>, reference: &str) {
        self.report.of(Rule::References).dangling += 1;
        if self.facts.synced != Some(self.record.source) {
            return;
        }
        let key = key(&["dangling", reference], None) as u64;
        let before = self.facts.dangling.get(&key).copied().unwrap_or_default();
        let syncs = before.saturating_add(1).min(PATIENCE);
        self.report.dangling.insert(key, syncs);
        let mut extensions = read.extension.into_iter().flat_map(|list| list.items());
        let says_so = extensions.any(|each| self.base.has(each, DANGLING) || is_absent(each));
        if syncs < PATIENCE || says_so {
            return;
        }
        let url = self.base.url(DANGLING);
        let json =
            format!(r#"{{"url":"{DATA_ABSENT_REASON}","valueCode":"unknown"}},{{"url":{url},"valueBoolean":true}}"#);
        add_extension(value, read.extension, &json, self.edits);
        self.changed();
    }

    /// Removes the extension that marks a reference as dangling, if there is one.
    fn dangles_no_longer(&mut self, read: &Read<'e>) {
        let Some(list) = read.extension else { return };
        if !list.items().any(|each| self.base.has(each, DANGLING)) {
            return;
        }
        let is_said = |each: &Value<'e>| self.base.has(*each, DANGLING) || is_absent(*each);
        if list.items().all(|each| is_said(&each)) {
            self.edits.omit(list);
        } else {
            for each in list.items().filter(is_said) {
                self.edits.omit(each);
            }
        }
        self.changed();
    }
}

/// Whether an extension is R4's data-absent-reason.
fn is_absent(extension: Value<'_>) -> bool {
    extension.get_str("url").is_some_and(|url| url == DATA_ABSENT_REASON)
}
