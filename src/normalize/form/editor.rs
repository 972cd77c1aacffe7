//! Edits codings: writes canonical systems and codes, displays, texts and mappings.

use std::borrow::Cow;

use super::coding::{Form, form, trim};
use super::displays::{Coding, Shown, key};
use super::facts::Facts;
use super::systems::{NDC, RXNORM, well_known};
use crate::columns::json::{Edits, Value};
use crate::fhir::TypeId;
use crate::normalize::codes::Codes;
use crate::normalize::contributed::add_extension;
use crate::normalize::marks::{Base, Origin, SOURCE_CODING, quoted};
use crate::normalize::record::SourceId;
use crate::normalize::report::{Report, Rule};
use crate::normalize::walk::Visit;

/// Edits one record.
pub(super) struct Editor<'e, 'm> {
    facts: &'e Facts,
    codes: &'e dyn Codes,
    source: SourceId,
    base: &'e Base<'e>,
    /// Whether displays of other sources get an extension that marks them. See [`marks`](crate::normalize::marks).
    marks: bool,
    edits: &'m mut Edits,
    report: &'m mut Report,
    /// Objects that lack required elements, each with its type, and one bit for each required element that it has.
    pub(super) lacking: Vec<(Value<'e>, TypeId, u64)>,
    /// The number of codes from which white space was removed.
    pub(super) trimmed: usize,
}

/// The canonical form of a coding's system and code. `is_system` and `is_code` tell which of the two differs from what
/// the source sent. At least one of them differs.
struct Written<'e> {
    system: Cow<'e, str>,
    code: String,
    is_system: bool,
    is_code: bool,
}

impl<'e, 'm> Editor<'e, 'm> {
    pub(super) fn new(
        facts: &'e Facts,
        codes: &'e dyn Codes,
        source: SourceId,
        base: &'e Base<'e>,
        edits: &'m mut Edits,
        report: &'m mut Report,
    ) -> Editor<'e, 'm> {
        Editor {
            facts,
            codes,
            source,
            base,
            marks: true,
            edits,
            report,
            lacking: Vec::new(),
            trimmed: 0,
        }
    }

    /// Returns the editor in a form that adds no marks to displays. It is for a value that the caller marks as a whole.
    pub(super) fn without_marks(self) -> Editor<'e, 'm> {
        Editor { marks: false, ..self }
    }

    /// Edits a list of codings. Returns the first display that an item has or gets. Displays of the record's own source
    /// and of a terminology come before those of another source.
    fn list(&mut self, list: Value<'e>) -> Option<Shown<'e>> {
        let mut text = None;
        for item in list.items().filter(Value::is_object) {
            let display = self.item(list, item);
            text = Shown::either(text, display);
        }
        text
    }

    fn item(&mut self, list: Value<'e>, item: Value<'e>) -> Option<Shown<'e>> {
        let coding = Coding::read(item);
        let Some(written) = self.written(&coding) else {
            return self.display(item, coding);
        };
        let own = coding.display.map(Shown::own);
        if stands(list, item, &written, self.codes) {
            return own;
        }
        let display = own.or_else(|| self.lookup(&written.system, &written.code));
        let mut json = format!(r#"{{"system":{}"#, quoted(&written.system));
        if let Some(version) = coding.version {
            json += &format!(r#","version":{}"#, version.raw());
        }
        json += &format!(r#","code":{}"#, quoted(&written.code));
        json += &self.display_json(display.as_ref());
        json.push('}');
        self.edits.insert_before(item, &json);
        self.count(&written);
        display
    }

    /// Removes white space around the code of a coding. Returns the canonical form of the coding, if its system or code
    /// differs from the coding's own. Returns `None` if nothing else must change.
    fn written(&mut self, coding: &Coding<'e>) -> Option<Written<'e>> {
        let (value, code) = coding.code.as_ref()?;
        let trimmed = trim(code);
        if trimmed.len() < code.len() {
            self.edits.replace_str(*value, trimmed);
            self.trimmed += 1;
            self.report.of(Rule::Codes).changed += 1;
        }
        let (_, system) = coding.system.as_ref()?;
        let canonical = well_known(system).filter(|canonical| *canonical != system);
        let code = match form(system, trimmed, self.codes) {
            Form::Written(code) => Some(code),
            Form::Right => None,
            Form::Unfit => {
                self.report.of(Rule::Codes).left += 1;
                None
            }
        };
        if canonical.is_none() && code.is_none() {
            return None;
        }
        Some(Written {
            is_system: canonical.is_some(),
            is_code: code.is_some(),
            system: canonical.map_or_else(|| system.clone(), Cow::Borrowed),
            code: code.unwrap_or_else(|| trimmed.to_owned()),
        })
    }

    fn count(&mut self, written: &Written<'_>) {
        if written.is_system {
            self.report.of(Rule::Systems).changed += 1;
        }
        if written.is_code {
            self.report.of(Rule::Codes).changed += 1;
        }
    }

    /// Returns the display of a coding whose system and code stay as they are. Adds the display if it is missing.
    fn display(&mut self, item: Value<'e>, coding: Coding<'e>) -> Option<Shown<'e>> {
        if coding.has_display {
            return coding.display.map(Shown::own);
        }
        let ((_, system), (_, code)) = (coding.system?, coding.code?);
        let Some(display) = self.lookup(&system, trim(&code)) else {
            self.report.of(Rule::Displays).left += 1;
            return None;
        };
        self.append(item, "display", &display);
        Some(display)
    }

    fn lookup(&self, system: &str, code: &str) -> Option<Shown<'e>> {
        let (facts, codes) = (self.facts, self.codes);
        let known = codes.display(system, code).map(Shown::own);
        known.or_else(|| facts.display(key(system, code), self.source))
    }

    /// Adds the property `name`, a display or a text, to an object. If the text is from another source, adds `_name`
    /// with the extension that marks it.
    fn append(&mut self, object: Value<'e>, name: &str, display: &Shown<'e>) {
        self.edits.append_str(object, name, &display.text);
        if let Some(beside) = self.beside(display) {
            self.edits.append(object, &format!("_{name}"), &beside);
        }
        self.report.of(Rule::Displays).changed += 1;
    }

    /// Returns the properties for the display of a new coding, with a leading comma.
    fn display_json(&self, display: Option<&Shown<'e>>) -> String {
        let Some(display) = display else {
            return String::new();
        };
        let mut json = format!(r#","display":{}"#, quoted(&display.text));
        if let Some(beside) = self.beside(display) {
            json += &format!(r#","_display":{beside}"#);
        }
        json
    }

    fn beside(&self, display: &Shown<'e>) -> Option<String> {
        let from = display.from.filter(|_| self.marks)?;
        let source = self.facts.sources.get(from.0 as usize)?;
        Some(self.base.beside(Rule::Displays, &Origin::Source(source)))
    }

    /// Adds an RxNorm coding to a list that has an NDC and no RxNorm code. Returns the display of the new coding.
    fn map(&mut self, list: Value<'e>) -> Option<Shown<'e>> {
        let ndc = unmapped_ndc(list, self.codes)?;
        let Some(concept) = self.codes.rxnorm(&ndc) else {
            self.report.of(Rule::Mappings).left += 1;
            return None;
        };
        let mut json = format!(r#"{{"system":"{RXNORM}","code":{}"#, quoted(&concept.code));
        let known = concept.display.map(Shown::own);
        let display = known.or_else(|| self.lookup(RXNORM, &concept.code));
        json += &self.display_json(display.as_ref());
        json.push('}');
        self.edits.push(list, &json);
        self.report.of(Rule::Mappings).changed += 1;
        display
    }

    /// Adds the extension with the source's own system and code.
    fn keep(&mut self, value: Value<'e>, coding: &Coding<'e>) {
        let own: Vec<String> = [("system", &coding.system), ("code", &coding.code)]
            .iter()
            .filter_map(|(name, own)| {
                own.as_ref()
                    .map(|(_, text)| format!(r#""{name}":{}"#, quoted(trim(text))))
            })
            .collect();
        let url = self.base.url(SOURCE_CODING);
        let json = format!(r#"{{"url":{url},"valueCoding":{{{}}}}}"#, own.join(","));
        add_extension(value, coding.extension, &json, self.edits);
    }
}

/// Returns the first NDC of a list, in canonical form. Returns `None` if the list has an RxNorm code.
pub(in crate::normalize) fn unmapped_ndc(list: Value<'_>, codes: &dyn Codes) -> Option<String> {
    let mut ndc = None;
    for item in list.items() {
        let coding = Coding::read(item);
        let (Some(system), Some((_, code))) = (coding.system(), &coding.code) else {
            continue;
        };
        match well_known(system) {
            Some(RXNORM) => return None,
            Some(NDC) if ndc.is_none() => ndc = Some(super::canonical_code(system, code, codes).into_owned()),
            _ => {}
        }
    }
    ndc
}

/// Whether another item of a list already has the system and code in `written`, or is an earlier item that gets them.
/// Then this item needs no new coding.
fn stands(list: Value<'_>, item: Value<'_>, written: &Written<'_>, codes: &dyn Codes) -> bool {
    list.items().filter(|other| other.index() != item.index()).any(|other| {
        let coding = Coding::read(other);
        let (Some(system), Some((_, code))) = (coding.system(), &coding.code) else {
            return false;
        };
        if system == written.system && trim(code) == written.code {
            return true;
        }
        other.index() < item.index()
            && super::canonical_system(system) == written.system
            && super::canonical_code(system, code, codes) == written.code
    })
}

impl<'e> Visit<'e> for Editor<'e, '_> {
    fn concept(&mut self, value: Value<'e>) {
        let (mut list, mut has_text) = (None, false);
        for (key, value) in value.entries() {
            match key.raw() {
                "coding" => list = Some(value).filter(Value::is_array),
                "text" | "_text" => has_text = true,
                _ => {}
            }
        }
        let Some(list) = list else { return };
        let text = self.list(list);
        let mapped = self.map(list);
        if let Some(text) = Shown::either(text, mapped).filter(|_| !has_text) {
            self.append(value, "text", &text);
        }
    }

    fn codings(&mut self, list: Value<'e>) {
        self.list(list);
    }

    fn coding(&mut self, value: Value<'e>) {
        let coding = Coding::read(value);
        let Some(written) = self.written(&coding) else {
            self.display(value, coding);
            return;
        };
        if let (Some((system, _)), Some((code, _))) = (&coding.system, &coding.code) {
            self.edits.replace_str(*system, &written.system);
            self.edits.replace_str(*code, &written.code);
        }
        self.keep(value, &coding);
        self.count(&written);
        if !coding.has_display
            && let Some(display) = self.lookup(&written.system, &written.code)
        {
            self.append(value, "display", &display);
        }
    }

    fn quantity(&mut self, value: Value<'e>) {
        let Some(system) = value.get("system") else { return };
        let Some(text) = system.as_str() else { return };
        let Some(canonical) = well_known(&text).filter(|canonical| *canonical != text) else {
            return;
        };
        self.edits.replace_str(system, canonical);
        self.keep(value, &Coding::read(value));
        self.report.of(Rule::Systems).changed += 1;
    }

    fn lacks(&mut self, value: Value<'e>, type_id: TypeId, has: u64) {
        self.lacking.push((value, type_id, has));
    }
}
