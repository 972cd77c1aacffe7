//! Codes as rules see them, and how generated resources state them.

use super::text::{Name, Names, Object, said};
use crate::columns::json::Value;
use crate::normalize::codes::Codes;
use crate::normalize::form::{canonical_code, canonical_system};

/// The canonical system of ICD-10-CM codes.
pub(in crate::normalize::claims) const ICD_10_CM: &str = "http://hl7.org/fhir/sid/icd-10-cm";
/// The canonical system of ICD-9-CM codes.
pub(in crate::normalize::claims) const ICD_9_CM: &str = "http://hl7.org/fhir/sid/icd-9-cm";
/// The canonical system of NDC codes.
pub(in crate::normalize::claims) const NDC: &str = "http://hl7.org/fhir/sid/ndc";
/// The canonical system of RxNorm codes.
pub(in crate::normalize::claims) const RXNORM: &str = "http://www.nlm.nih.gov/research/umls/rxnorm";
/// The canonical system of CPT codes.
pub(in crate::normalize::claims) const CPT: &str = "http://www.ama-assn.org/go/cpt";
/// The canonical system of CDT codes.
pub(in crate::normalize::claims) const CDT: &str = "http://www.ada.org/cdt";
/// The canonical system of NPI numbers, which identify providers.
pub(in crate::normalize::claims) const NPI: &str = "http://hl7.org/fhir/sid/us-npi";

/// A coding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::normalize::claims) struct Code {
    /// The canonical system.
    pub(in crate::normalize::claims) system: Option<Name>,
    /// The code in its canonical form, such as an ICD code with its dot, or an NDC with 11 digits.
    pub(in crate::normalize::claims) code: Name,
    /// The source's display.
    pub(in crate::normalize::claims) display: Option<Name>,
}

/// The display is not part of the hash, because a later normalization run may add it.
impl std::hash::Hash for Code {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.system.hash(state);
        self.code.hash(state);
    }
}

impl Code {
    /// Reads a Coding. Returns `None` if it has no code.
    pub(in crate::normalize::claims) fn read(coding: Value<'_>, names: &mut Names, codes: &dyn Codes) -> Option<Code> {
        let code = coding.get_str("code")?;
        let system = coding.get_str("system");
        let system = system.as_deref().map(|system| match canonical_system(system) {
            // CMS uses WHO's name for ICD-10-CM, and its own name for each HCPCS level.
            "http://hl7.org/fhir/sid/icd-10" => ICD_10_CM,
            "http://hl7.org/fhir/sid/icd-9" => ICD_9_CM,
            "https://bluebutton.cms.gov/resources/codesystem/hcpcs" => HCPCS,
            other => other,
        });
        let code = canonical_code(system.unwrap_or_default(), code.trim(), codes);
        let code = match system {
            Some(ICD_10_CM | ICD_9_CM) => dotted(&code, system == Some(ICD_9_CM)),
            Some(NDC) => ndc(&code).unwrap_or_else(|| code.into_owned()),
            _ => code.into_owned(),
        };
        if code.is_empty() {
            return None;
        }
        Some(Code {
            system: system.map(|system| names.keep(system)),
            code: names.keep(&code),
            display: coding.get_str("display").map(|display| names.keep(&display)),
        })
    }

    /// Whether the code is from this system.
    pub(in crate::normalize::claims) fn is_of(&self, system: &str) -> bool {
        self.system.as_deref() == Some(system)
    }

    /// Returns the code as a Coding. If the source gives no display, the Coding gets the terminology's display.
    pub(in crate::normalize::claims) fn json(&self, codes: &dyn Codes) -> String {
        let mut coding = Object::new();
        if let Some(system) = &self.system {
            coding.text("system", system);
        }
        coding.text("code", &self.code);
        if let Some(display) = self.name(codes) {
            coding.text("display", &display);
        }
        coding.json()
    }

    /// Returns the source's display or, if there is none, the terminology's display.
    pub(in crate::normalize::claims) fn name(&self, codes: &dyn Codes) -> Option<String> {
        match (&self.display, &self.system) {
            (Some(display), _) => Some(display.to_string()),
            (None, Some(system)) => codes.display(system, &self.code).map(|display| display.into_owned()),
            (None, None) => None,
        }
    }
}

/// The canonical system of HCPCS codes.
pub(in crate::normalize::claims) const HCPCS: &str = "http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets";

/// A CodeableConcept.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::normalize::claims) struct Concept {
    /// Its codings that have a code.
    pub(in crate::normalize::claims) codes: Vec<Code>,
    /// The concept's text.
    pub(in crate::normalize::claims) text: Option<Name>,
    /// The concept's text if the source itself wrote it. A text that equals the display of a coding does not count,
    /// because an earlier run may have added it.
    pub(in crate::normalize::claims) own_text: Option<Name>,
}

/// Neither the text nor an RxNorm code beside an NDC is part of the hash, because a later run may add them.
impl std::hash::Hash for Concept {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let has_ndc = self.codes.iter().any(|code| code.is_of(NDC));
        let said = self.codes.iter().filter(|code| !(has_ndc && code.is_of(RXNORM)));
        said.clone().count().hash(state);
        said.for_each(|code| code.hash(state));
    }
}

impl Concept {
    /// Reads a CodeableConcept. The result has each code once. A normalized record may have a code twice: in its
    /// canonical form, and in the source's own spelling.
    pub(in crate::normalize::claims) fn read(value: Value<'_>, names: &mut Names, codes: &dyn Codes) -> Concept {
        let list = value.get("coding").into_iter().flat_map(|list| list.items());
        let mut read: Vec<Code> = Vec::new();
        for code in list.filter_map(|coding| Code::read(coding, names, codes)) {
            // In a normalized record, the coding in the source's own spelling follows the canonical coding. Only a
            // missing display is taken from the later coding.
            let is_same = |known: &&mut Code| known.system == code.system && known.code == code.code;
            match read.iter_mut().find(is_same) {
                Some(known) if known.display.is_none() => known.display = code.display,
                Some(_) => {}
                None => read.push(code),
            }
        }
        let text = said(value.get_str("text"), names);
        let mut codings = value.get("coding").into_iter().flat_map(|list| list.items());
        let is_display = codings.any(|coding| coding.get_str("display").as_deref() == text.as_deref());
        Concept {
            codes: read,
            own_text: text.clone().filter(|_| !is_display),
            text,
        }
    }

    /// Creates a concept of one coding and the source's own text.
    pub(in crate::normalize::claims) fn of(code: Code, text: Option<&Name>) -> Concept {
        Concept {
            codes: vec![code],
            text: text.cloned(),
            own_text: text.cloned(),
        }
    }

    /// Returns the concept as a CodeableConcept. If the concept has no text, the first display of a coding is the text.
    pub(in crate::normalize::claims) fn json(&self, codes: &dyn Codes) -> Option<String> {
        let text = self.name(codes);
        concept(
            self.codes.iter().map(|code| code.json(codes)).collect(),
            text.as_deref(),
        )
    }

    /// Returns the concept's text or, if there is none, the first display of a coding.
    pub(in crate::normalize::claims) fn name(&self, codes: &dyn Codes) -> Option<String> {
        match &self.text {
            Some(text) => Some(text.to_string()),
            None => self.codes.iter().find_map(|code| code.name(codes)),
        }
    }
}

/// Returns a CodeableConcept of codings and a text. Returns `None` if it has neither.
pub(in crate::normalize::claims) fn concept(codings: Vec<String>, text: Option<&str>) -> Option<String> {
    let mut concept = Object::new();
    concept.list("coding", &codings);
    if let Some(text) = text {
        concept.text("text", text);
    }
    concept.some()
}

/// Returns a Coding of a code that the rule itself gives.
pub(in crate::normalize::claims) fn coding(system: &str, code: &str, display: Option<&str>) -> String {
    let mut coding = Object::new();
    coding.text("system", system).text("code", code);
    if let Some(display) = display {
        coding.text("display", display);
    }
    coding.json()
}

/// Returns an ICD code with its dot, in upper case. Adds no dot if the code has one or is too short for one.
fn dotted(code: &str, ninth: bool) -> String {
    let code = code.to_ascii_uppercase();
    let at = if ninth && code.starts_with('E') { 4 } else { 3 };
    if code.contains('.') || code.len() <= at || !code.is_ascii() {
        return code;
    }
    format!("{}.{}", &code[..at], &code[at..])
}

/// Returns an NDC with 11 digits. The code must have three parts with hyphens, or 11 digits without hyphens. Returns
/// `None` for any other code.
fn ndc(code: &str) -> Option<String> {
    let parts: Vec<&str> = code.split('-').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !parts.iter().all(digits) {
        return None;
    }
    match parts[..] {
        [whole] if whole.len() == 11 => Some(whole.to_owned()),
        [labeler, product, package] if labeler.len() <= 5 && product.len() <= 4 && package.len() <= 2 => {
            Some(format!("{labeler:0>5}{product:0>4}{package:0>2}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_sources_own_unless_it_is_a_display() {
        let own = |json: &str| {
            let mut tape = crate::columns::json::Tape::new();
            let root = tape.parse(json.as_bytes()).unwrap();
            let concept = Concept::read(root, &mut Names::default(), &crate::normalize::NoCodes);
            (
                concept.text.map(|text| text.to_string()),
                concept.own_text.map(|text| text.to_string()),
            )
        };
        let said = Some("Dizzy spells".to_owned());
        assert_eq!(own(r#"{"text":"Dizzy spells"}"#), (said.clone(), said.clone()));
        let named = r#"{"coding":[{"code":"R42","display":"Dizziness"}],"text":"Dizzy spells"}"#;
        assert_eq!(own(named), (said.clone(), said.clone()));
        // An earlier run takes a missing text from any coding, even from one without a code.
        let filled = r#"{"coding":[{"code":"R42"},{"display":"Dizzy spells"}],"text":"Dizzy spells"}"#;
        assert_eq!(own(filled), (said, None));
        assert_eq!(own(r#"{"coding":[{"code":"R42"}]}"#), (None, None));
    }

    #[test]
    fn icd_codes_have_their_dot() {
        assert_eq!(dotted("S060X1A", false), "S06.0X1A");
        assert_eq!(dotted("s06.0x1a", false), "S06.0X1A");
        assert_eq!(dotted("I10", false), "I10");
        assert_eq!(dotted("25000", true), "250.00");
        assert_eq!(dotted("E8889", true), "E888.9");
        assert_eq!(dotted("E785", false), "E78.5");
    }

    #[test]
    fn ndc_are_of_eleven_digits() {
        assert_eq!(ndc("0777-3105-02").as_deref(), Some("00777310502"));
        assert_eq!(ndc("50090-0481-0").as_deref(), Some("50090048100"));
        assert_eq!(ndc("00777310502").as_deref(), Some("00777310502"));
        assert_eq!(ndc("0777310502"), None);
        assert_eq!(ndc("07x7-3105-02"), None);
        assert_eq!(ndc("--"), None);
    }
}
