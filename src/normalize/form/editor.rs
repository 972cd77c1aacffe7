//! The edits of codings: canonical systems and codes, displays, texts and mappings.

use std::borrow::Cow;

use super::coding::{Form, form, trim};
use super::displays::{Coding, key};
use super::systems::{NDC, RXNORM, well_known};
use super::{Facts, changed};
use crate::fhir::TypeId;
use crate::lake::json::{Edits, Value};
use crate::normalize::codes::Codes;
use crate::normalize::contributed::add_extension;
use crate::normalize::marks::{SOURCE_CODING, quoted};
use crate::normalize::report::{Report, Rule};
use crate::normalize::walk::Visit;

/// Edits one record.
pub(super) struct Editor<'e, 'm> {
    facts: &'e Facts,
    codes: &'e dyn Codes,
    base: &'e str,
    edits: &'m mut Edits,
    report: &'m mut Report,
    /// Objects that lack required elements, with their type and what they have.
    pub(super) lacking: Vec<(Value<'e>, TypeId, u64)>,
    /// Codes that lost white space.
    pub(super) trimmed: usize,
}

/// A system and a code that are written differently from the source's.
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
        base: &'e str,
        edits: &'m mut Edits,
        report: &'m mut Report,
    ) -> Editor<'e, 'm> {
        Editor {
            facts,
            codes,
            base,
            edits,
            report,
            lacking: Vec::new(),
            trimmed: 0,
        }
    }

    /// Edits a list of codings; gives the first display that an item has or gains.
    fn list(&mut self, list: Value<'e>) -> Option<Cow<'e, str>> {
        let mut text = None;
        for item in list.items().filter(Value::is_object) {
            let display = self.item(list, item);
            text = text.or(display);
        }
        text
    }

    fn item(&mut self, list: Value<'e>, item: Value<'e>) -> Option<Cow<'e, str>> {
        let coding = Coding::read(item);
        let Some(written) = self.written(&coding) else {
            return self.display(item, coding);
        };
        if stands(list, item, &written, self.codes) {
            return coding.display;
        }
        let display = coding.display.or_else(|| self.lookup(&written.system, &written.code));
        let mut json = format!(r#"{{"system":{}"#, quoted(&written.system));
        if let Some(version) = coding.version {
            json += &format!(r#","version":{}"#, version.raw());
        }
        json += &format!(r#","code":{}"#, quoted(&written.code));
        if let Some(display) = &display {
            json += &format!(r#","display":{}"#, quoted(display));
        }
        json.push('}');
        self.edits.insert_before(item, &json);
        self.count(&written);
        display
    }

    /// How a coding is to be written, where that differs in more than white space; that is taken away here.
    fn written(&mut self, coding: &Coding<'e>) -> Option<Written<'e>> {
        let (value, code) = coding.code.as_ref()?;
        let trimmed = trim(code);
        if trimmed.len() < code.len() {
            self.edits.replace_str(*value, trimmed);
            self.trimmed += 1;
            changed(self.report, Rule::Codes);
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
            changed(self.report, Rule::Systems);
        }
        if written.is_code {
            changed(self.report, Rule::Codes);
        }
    }

    /// The display of a coding that is written as it should be, added where it has none.
    fn display(&mut self, item: Value<'e>, coding: Coding<'e>) -> Option<Cow<'e, str>> {
        if coding.has_display {
            return coding.display;
        }
        let ((_, system), (_, code)) = (coding.system?, coding.code?);
        let Some(display) = self.lookup(&system, trim(&code)) else {
            self.report.of(Rule::Displays).left += 1;
            return None;
        };
        self.edits.append_str(item, "display", &display);
        changed(self.report, Rule::Displays);
        Some(display)
    }

    fn lookup(&self, system: &str, code: &str) -> Option<Cow<'e, str>> {
        let (facts, codes) = (self.facts, self.codes);
        codes
            .display(system, code)
            .or_else(|| facts.display(key(system, code)).map(Cow::Borrowed))
    }

    /// Adds RxNorm to a list with an NDC, where it has none; gives its display.
    fn map(&mut self, list: Value<'e>) -> Option<Cow<'e, str>> {
        let ndc = unmapped_ndc(list, self.codes)?;
        let Some(concept) = self.codes.rxnorm(&ndc) else {
            self.report.of(Rule::Mappings).left += 1;
            return None;
        };
        let mut json = format!(r#"{{"system":"{RXNORM}","code":{}"#, quoted(&concept.code));
        let display = concept.display.or_else(|| self.lookup(RXNORM, &concept.code));
        if let Some(display) = &display {
            json += &format!(r#","display":{}"#, quoted(display));
        }
        json.push('}');
        self.edits.push(list, &json);
        changed(self.report, Rule::Mappings);
        display
    }

    /// The extension that keeps what the source wrote.
    fn keep(&mut self, value: Value<'e>, coding: &Coding<'e>) {
        let own: Vec<String> = [("system", &coding.system), ("code", &coding.code)]
            .iter()
            .filter_map(|(name, own)| {
                own.as_ref()
                    .map(|(_, text)| format!(r#""{name}":{}"#, quoted(trim(text))))
            })
            .collect();
        let url = quoted(&format!("{}{SOURCE_CODING}", self.base));
        let json = format!(r#"{{"url":{url},"valueCoding":{{{}}}}}"#, own.join(","));
        add_extension(value, coding.extension, &json, self.edits);
    }
}

/// The first NDC of a list without RxNorm.
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

/// Whether a list has a coding already as it is to be written, or an earlier item leads to the same.
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
        if let Some(text) = text.or(mapped).filter(|_| !has_text) {
            self.edits.append_str(value, "text", &text);
            changed(self.report, Rule::Displays);
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
            self.edits.append_str(value, "display", &display);
            changed(self.report, Rule::Displays);
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
        changed(self.report, Rule::Systems);
    }

    fn lacks(&mut self, value: Value<'e>, ty: TypeId, has: u64) {
        self.lacking.push((value, ty, has));
    }
}
