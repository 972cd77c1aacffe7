//! Reads the codes of CodeableConcepts, and groups concepts that share a code.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::columns::json::Value;
use crate::normalize::PLACEHOLDER;

/// The URL of LOINC.
pub(super) const LOINC: &str = "http://loinc.org";
/// The code system of reasons for absent data.
pub(super) const ABSENT: &str = "http://terminology.hl7.org/CodeSystem/data-absent-reason";
const NULL_FLAVOR: &str = "http://terminology.hl7.org/CodeSystem/v3-NullFlavor";

/// Returns the codings of a CodeableConcept, or of all CodeableConcepts in a list.
pub(super) fn codings<'t>(concept: Value<'t>) -> impl Iterator<Item = Value<'t>> {
    let listed = concept.items();
    let single = concept.is_object().then_some(concept);
    listed.chain(single).flat_map(|each| {
        let codings = each.get("coding");
        codings.into_iter().flat_map(|list| list.items())
    })
}

/// Returns the codes of a CodeableConcept, or of all CodeableConcepts in a list, from any code system.
pub(super) fn codes<'t>(concept: Option<Value<'t>>) -> impl Iterator<Item = Cow<'t, str>> {
    let codings = concept.into_iter().flat_map(codings);
    codings.filter_map(|coding| coding.get_str("code"))
}

/// Whether a CodeableConcept, or any in a list, has one of these codes. The code system is not compared.
pub(super) fn has_any(concept: Option<Value<'_>>, wanted: &[&str]) -> bool {
    codes(concept).any(|code| wanted.contains(&code.as_ref()))
}

/// Returns the first LOINC code of a CodeableConcept, or of a list of them, that is in `wanted`.
pub(super) fn loinc<'w>(concept: Option<Value<'_>>, wanted: &[&'w str]) -> Option<&'w str> {
    let mut codings = concept.into_iter().flat_map(codings);
    codings.find_map(|coding| {
        let code = coding.get_str("code")?;
        let is_loinc = coding.get_str("system").as_deref() == Some(LOINC);
        wanted.iter().copied().find(|wanted| is_loinc && *wanted == code)
    })
}

/// Whether a text is neither blank nor the placeholder of the normalization.
pub(super) fn says_something(text: &str) -> bool {
    !text.trim().is_empty() && text != PLACEHOLDER
}

/// Groups of concepts that share a code, directly or through other concepts. Concepts without codes are grouped by
/// their text.
#[derive(Debug, Default)]
pub(super) struct Groups {
    places: FxHashMap<String, usize>,
    parents: Vec<usize>,
}

impl Groups {
    /// Adds a concept and returns its index. A later concept can join two groups. So call [`Groups::root`] only after
    /// all concepts are added. A concept without codes and text forms a group of its own.
    pub(super) fn add(&mut self, concept: Option<Value<'_>>) -> usize {
        let place = self.parents.len();
        self.parents.push(place);
        for key in concept.map(keys).unwrap_or_default() {
            let other = *self.places.entry(key).or_insert(place);
            let (one, other) = (self.root(place), self.root(other));
            self.parents[one.max(other)] = one.min(other);
        }
        place
    }

    /// Returns the group of the concept at an index: the lowest index in the group.
    pub(super) fn root(&self, mut place: usize) -> usize {
        while self.parents[place] != place {
            place = self.parents[place];
        }
        place
    }
}

fn keys(concept: Value<'_>) -> Vec<String> {
    let coded: Vec<String> = codings(concept)
        .filter_map(|coding| {
            let system = coding.get_str("system").unwrap_or_default();
            let code = coding.get_str("code")?;
            let is_absent = system == ABSENT || system == NULL_FLAVOR;
            (!is_absent && !code.trim().is_empty()).then(|| format!("{system}|{}", code.trim()))
        })
        .collect();
    if !coded.is_empty() {
        return coded;
    }
    let text = concept.get_str("text").filter(|text| says_something(text));
    let key = |text: Cow<'_, str>| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    Vec::from_iter(text.map(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;

    fn groups(concepts: &[&str]) -> Vec<usize> {
        let mut groups = Groups::default();
        let places: Vec<usize> = concepts
            .iter()
            .map(|text| {
                let mut tape = Tape::new();
                groups.add(Some(tape.parse(text.as_bytes()).unwrap()))
            })
            .collect();
        places.into_iter().map(|place| groups.root(place)).collect()
    }

    #[test]
    fn concepts_with_a_common_code_are_one_group() {
        let a = r#"{"coding":[{"system":"s","code":"1"}]}"#;
        let b = r#"{"coding":[{"system":"t","code":"2"},{"system":"s","code":"3"}]}"#;
        let both = r#"{"coding":[{"system":"s","code":"1"},{"system":"t","code":"2"}]}"#;
        assert_eq!(groups(&[a, b, a]), [0, 1, 0]);
        assert_eq!(groups(&[a, b, both]), [0, 0, 0]);
        assert_eq!(groups(&[a, r#"{"coding":[{"system":"u","code":"1"}]}"#]), [0, 1]);
    }

    #[test]
    fn text_tells_only_where_there_is_no_code() {
        let text = r#"{"text":"Hay  Fever"}"#;
        assert_eq!(groups(&[text, r#"{"text":"hay fever"}"#]), [0, 0]);
        assert_eq!(
            groups(&[text, r#"{"coding":[{"code":"1"}],"text":"hay fever"}"#]),
            [0, 1]
        );
        let unknown = r#"{"text":"Undefined by source"}"#;
        assert_eq!(groups(&[unknown, unknown]), [0, 1]);
    }
}
