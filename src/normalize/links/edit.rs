//! The edits of references.

use super::Facts;
use super::identifiers::{Identifier, fragment};
use super::index::{Place, is_same_base, key};
use crate::fhir::reference::Reference;
use crate::fhir::{TypeId, facts as r4};
use crate::lake::json::{Edits, Value};
use crate::normalize::contributed::{add_extension, settle};
use crate::normalize::marks::{self, DANGLING, DATA_ABSENT_REASON, SOURCE_REFERENCE, has_url, quoted};
use crate::normalize::record::Record;
use crate::normalize::report::{Report, Rule};
use crate::normalize::walk::{self, Visit, resource_type};

/// In so many syncs a reference leads nowhere until it is said to.
const PATIENCE: u32 = 3;

/// Edits the references of a record.
pub(super) fn references(record: &Record<'_>, facts: &Facts, edits: &mut Edits, report: &mut Report) {
    let mut editor = Editor {
        record,
        facts,
        edits,
        report,
    };
    walk::resource(record.json, record.resource_type, &mut editor);
}

/// Makes the links of a Patient to those of other sources; those that the source has itself are not made twice.
pub(super) fn patient_links(record: &Record<'_>, links: &[String], edits: &mut Edits, report: &mut Report) {
    let root = record.json;
    if r4().get(record.resource_type).name != "Patient" || (links.is_empty() && !marks::may_stand_in(root)) {
        return;
    }
    let is_ours = |item: Value<'_>| marks::marked_by(item).is_some_and(|rule| rule == Rule::References.name());
    let own: Vec<String> = root
        .get("link")
        .into_iter()
        .flat_map(|list| list.items())
        .filter(|item| !is_ours(*item))
        .filter_map(|item| {
            Some(format!(
                r#""other":{{"reference":{}}}"#,
                item.get("other")?.get("reference")?.raw()
            ))
        })
        .collect();
    let wanted: Vec<&str> = links
        .iter()
        .filter(|link| !own.iter().any(|own| link.contains(own.as_str())))
        .map(String::as_str)
        .collect();
    if settle(root, "link", is_ours, &wanted, edits) {
        report.of(Rule::References).changed += 1;
    }
}

struct Editor<'e, 'm> {
    record: &'e Record<'e>,
    facts: &'e Facts,
    edits: &'m mut Edits,
    report: &'m mut Report,
}

/// What a Reference says.
struct Read<'e> {
    text: Option<Value<'e>>,
    identifier: Option<Value<'e>>,
    resource_type: Option<TypeId>,
    has_display: bool,
    extension: Option<Value<'e>>,
}

impl<'e> Read<'e> {
    fn new(value: Value<'e>) -> Read<'e> {
        let mut read = Read {
            text: None,
            identifier: None,
            resource_type: None,
            has_display: false,
            extension: None,
        };
        for (key, value) in value.entries() {
            match key.raw() {
                "reference" => read.text = Some(value).filter(Value::is_string),
                "identifier" => read.identifier = Some(value).filter(Value::is_object),
                "type" => read.resource_type = value.as_str().and_then(|ty| r4().lookup(&ty)),
                "display" | "_display" => read.has_display = true,
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
            Reference::Relative(target) => match facts.index.find(target.ty, target.id) {
                Some(place) => self.found(value, &read, place),
                None => self.dangles(value, &read, &reference),
            },
            Reference::Absolute { base, target } if is_same_base(base, facts.fhir_base(source)) => {
                match facts.index.at(source, target.ty, target.id) {
                    Some(place) => self.leads_to(text, value, &read, place),
                    None => self.dangles(value, &read, &reference),
                }
            }
            Reference::Conditional { ty, query } => {
                let identifier = Identifier::of_query(query);
                let place = identifier
                    .as_ref()
                    .and_then(|identifier| facts.index.identified(source, &[ty], identifier));
                let Some((identifier, place)) = identifier.zip(place) else {
                    self.report.of(Rule::References).left += 1;
                    return;
                };
                self.leads_to(text, value, &read, place);
                if read.identifier.is_none() {
                    let (system, value_text) = (quoted(&identifier.system), quoted(&identifier.value));
                    let json = format!(r#"{{"system":{system},"value":{value_text}}}"#);
                    self.edits.append(value, "identifier", &json);
                }
            }
            Reference::Fragment(_) => self.contained(text, value, &read, &reference),
            _ => {}
        }
    }
}

impl<'e> Editor<'e, '_> {
    /// A reference that leads to a resource as it stands.
    fn found(&mut self, value: Value<'e>, read: &Read<'e>, place: Place) {
        let named = !read.has_display;
        if let Some(name) = self.facts.index.name(place).filter(|_| named) {
            self.edits.append_str(value, "display", name);
            self.changed();
        }
        self.dangles_no_longer(read);
    }

    /// Writes a reference so that it leads to a resource.
    fn leads_to(&mut self, text: Value<'e>, value: Value<'e>, read: &Read<'e>, place: Place) {
        self.edits.replace_str(text, &self.facts.index.reference(place));
        self.changed();
        self.found(value, read, place);
    }

    fn changed(&mut self) {
        self.report.of(Rule::References).changed += 1;
    }

    /// A reference that has an identifier only.
    fn logical(&mut self, value: Value<'e>, read: &Read<'e>, targets: &'static [TypeId]) {
        let Some(identifier) = read.identifier.and_then(Identifier::read) else {
            return;
        };
        let own = read.resource_type.as_slice();
        let types = if own.is_empty() { targets } else { own };
        let Some(place) = self.facts.index.identified(self.record.source, types, &identifier) else {
            self.report.of(Rule::References).left += 1;
            return;
        };
        self.edits
            .append(value, "reference", &quoted(&self.facts.index.reference(place)));
        self.changed();
        self.found(value, read, place);
    }

    /// A reference to a contained resource: with an NPI, it may lead to the one that is there.
    fn contained(&mut self, text: Value<'e>, value: Value<'e>, read: &Read<'e>, reference: &str) {
        let Some(id) = fragment(reference) else { return };
        let list = self.record.json.get("contained");
        let mut resources = list.iter().flat_map(Value::items);
        let Some(resource) = resources.find(|each| each.get_str("id").is_some_and(|each| each == id)) else {
            self.report.of(Rule::References).left += 1;
            return;
        };
        let ty = resource_type(resource).filter(|ty| super::knowledge::is_known(*ty));
        let npi = ty.zip(Identifier::npi(resource));
        let place = npi.and_then(|(ty, value)| {
            let identifier = Identifier {
                system: super::identifiers::NPI.to_owned(),
                value,
            };
            self.facts.index.identified(self.record.source, &[ty], &identifier)
        });
        let Some(place) = place else { return };
        let url = quoted(&format!("{}{SOURCE_REFERENCE}", self.facts.base(self.record.source)));
        let json = format!(
            r#"{{"url":{url},"valueReference":{{"reference":{}}}}}"#,
            quoted(reference)
        );
        add_extension(value, read.extension, &json, self.edits);
        self.leads_to(text, value, read, place);
    }

    /// A reference whose resource the source does not have.
    fn dangles(&mut self, value: Value<'e>, read: &Read<'e>, reference: &str) {
        self.report.of(Rule::References).dangling += 1;
        let ty = r4().get(self.record.resource_type).name;
        let key = key(&["dangling", ty, self.record.id, reference], None) as u64;
        let syncs = self
            .facts
            .dangling
            .get(&key)
            .copied()
            .unwrap_or_default()
            .saturating_add(1);
        self.report.dangling.insert(key, syncs);
        let extensions = || read.extension.into_iter().flat_map(|list| list.items());
        let says_so = extensions().any(|each| has_url(each, DANGLING) || has_url(each, DATA_ABSENT_REASON));
        if syncs < PATIENCE || says_so {
            return;
        }
        let url = quoted(&format!("{}{DANGLING}", self.facts.base(self.record.source)));
        let json =
            format!(r#"{{"url":"{DATA_ABSENT_REASON}","valueCode":"unknown"}},{{"url":{url},"valueBoolean":true}}"#);
        add_extension(value, read.extension, &json, self.edits);
        self.changed();
    }

    /// Takes out what was said of a reference that led nowhere.
    fn dangles_no_longer(&mut self, read: &Read<'e>) {
        let Some(list) = read.extension else { return };
        if !list.items().any(|each| has_url(each, DANGLING)) {
            return;
        }
        let is_said = |each: &Value<'e>| has_url(*each, DANGLING) || has_url(*each, DATA_ABSENT_REASON);
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
