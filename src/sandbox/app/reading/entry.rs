//! Describes a prescription, a visit or a plan for people: a title, facts, and, if the resource was generated, the
//! claim from which it was made.

use serde_json::Value;

use super::medicines;
use super::text::{concept, list, name_of, reference, said_day, said_period};

/// The maximum number of reasons that are shown for a visit. Its diagnoses and its procedures have the same maximum.
const DETAILS: usize = 6;

/// A prescription, a visit or a plan, described for people.
#[derive(Debug, Default)]
pub(in crate::sandbox::app) struct Entry {
    pub(in crate::sandbox::app) title: String,
    /// The rule of normalization that generated the resource, such as `InsurancePlan`. `None` if the resource came from
    /// a source.
    pub(in crate::sandbox::app) made: Option<String>,
    /// The facts about the resource. Each has a name, such as `Status`, and one or more values.
    pub(in crate::sandbox::app) facts: Vec<(&'static str, Vec<String>)>,
    /// Type and id of the resource, such as `Encounter/1`.
    pub(in crate::sandbox::app) name: String,
    /// The reference to the claim that the resource was generated from, such as `ExplanationOfBenefit/1`, if it is
    /// known.
    pub(in crate::sandbox::app) claim: Option<String>,
}

/// Describes a MedicationRequest.
pub(in crate::sandbox::app) fn prescription(order: &Value) -> Entry {
    let mut entry = entry(order, medicines::title_of(order));
    entry.says("Status", order["status"].as_str().map(str::to_owned));
    entry.says("Written", day(&order["authoredOn"]));
    entry.says("By", reference(&order["requester"]));
    entry.says("Pharmacy", reference(&order["dispenseRequest"]["performer"]));
    let claims = list(&order["supportingInformation"]).filter_map(|one| one["reference"].as_str());
    entry.claim = claims
        .map(str::to_owned)
        .find(|name| name.starts_with("ExplanationOfBenefit/"));
    entry
}

/// Describes an Encounter. The Conditions and Procedures that refer to the Encounter are shown by their names.
pub(in crate::sandbox::app) fn visit(visit: &Value, conditions: &[Value], procedures: &[Value]) -> Entry {
    let kind = list(&visit["type"]).find_map(concept);
    let class = visit["class"]["display"].as_str().or(visit["class"]["code"].as_str());
    let mut entry = entry(visit, kind.or(class.map(str::to_owned)));
    entry.says("When", said_period(&visit["period"]));
    let provider = list(&visit["participant"]).find_map(|one| reference(&one["individual"]));
    entry.says("With", reference(&visit["serviceProvider"]).or(provider));
    let name = &entry.name;
    let at_visit = |all: &[Value]| {
        let own = all
            .iter()
            .filter(|one| one["encounter"]["reference"].as_str() == Some(name.as_str()));
        // Each line of a claim gives a resource of its own, so a name may come several times. The visit may also be
        // named after one of its procedures.
        first_of_each(
            own.filter_map(|one| concept(&one["code"]))
                .filter(|one| *one != entry.title),
        )
    };
    let (diagnoses, done) = (at_visit(conditions), at_visit(procedures));
    let reasons = list(&visit["reasonCode"]).filter_map(concept);
    let reasons = first_of_each(reasons.filter(|one| !diagnoses.contains(one)));
    entry.facts.extend(
        [("Reason", reasons), ("Diagnosis", diagnoses), ("Procedure", done)]
            .into_iter()
            .filter(|(_, texts)| !texts.is_empty()),
    );
    entry
}

/// Describes an InsurancePlan.
pub(in crate::sandbox::app) fn plan(plan: &Value) -> Entry {
    let mut entry = entry(plan, plan["name"].as_str().map(str::to_owned));
    entry.says("Kind", list(&plan["type"]).find_map(concept));
    entry.says("By", reference(&plan["ownedBy"]));
    entry.says(
        "Number",
        list(&plan["identifier"])
            .find_map(|one| one["value"].as_str())
            .map(str::to_owned),
    );
    entry.says("From", day(&plan["period"]["start"]));
    entry.says("Until", day(&plan["period"]["end"]));
    entry
}

/// Describes a Coverage that names no InsurancePlan.
pub(in crate::sandbox::app) fn coverage(coverage: &Value) -> Entry {
    let is_plan = |class: &&Value| list(&class["type"]["coding"]).any(|coding| coding["code"] == "plan");
    let name = list(&coverage["class"])
        .find(is_plan)
        .and_then(|class| class["name"].as_str());
    let mut entry = entry(coverage, name.map(str::to_owned).or(concept(&coverage["type"])));
    entry.says("Kind", concept(&coverage["type"]).filter(|kind| *kind != entry.title));
    entry.says("By", list(&coverage["payor"]).find_map(reference));
    entry.says("Member", coverage["subscriberId"].as_str().map(str::to_owned));
    entry.says("From", day(&coverage["period"]["start"]));
    entry.says("Until", day(&coverage["period"]["end"]));
    entry
}

impl Entry {
    /// Returns the word for the records that a generated resource was made from: `coverage` or `claims`.
    pub(in crate::sandbox::app) fn made_from(&self) -> &'static str {
        match self.made.as_deref() {
            Some("InsurancePlan") => "coverage",
            _ => "claims",
        }
    }

    fn says(&mut self, name: &'static str, text: Option<String>) {
        self.facts.extend(text.map(|text| (name, vec![text])));
    }
}

/// Returns the first `DETAILS` different texts.
fn first_of_each(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut first: Vec<String> = Vec::new();
    for text in texts {
        if first.len() < DETAILS && !first.contains(&text) {
            first.push(text);
        }
    }
    first
}

fn entry(resource: &Value, title: Option<String>) -> Entry {
    let mut tags = list(&resource["meta"]["tag"]);
    let made = tags.find(|tag| {
        tag["system"]
            .as_str()
            .is_some_and(|system| system.ends_with("/GeneratedBy"))
    });
    Entry {
        title: title.unwrap_or_else(|| "Without a name".to_owned()),
        made: made.and_then(|tag| tag["code"].as_str()).map(str::to_owned),
        name: name_of(resource),
        ..Entry::default()
    }
}

/// Formats the day of a date or time.
fn day(value: &Value) -> Option<String> {
    value.as_str().map(said_day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(rule: &str) -> Value {
        json!({"tag": [{"system": "https://x.example/tags/EndpointId", "code": "e"},
                       {"system": "https://x.example/tags/GeneratedBy", "code": rule}]})
    }

    #[test]
    fn a_visit_says_what_was_found_and_done_there_and_what_it_was_made_from() {
        let stay = json!({"resourceType": "Encounter", "id": "v", "meta": made("Encounter"), "class": {"code": "AMB"},
            "period": {"start": "2026-03-01T10:00:00Z", "end": "2026-03-01"}, "serviceProvider": {"display": "Clinic"}});
        let at = |id: &str, text: &str| json!({"encounter": {"reference": format!("Encounter/{id}")}, "code": {"text": text}});
        let entry = visit(
            &stay,
            &[at("v", "Asthma"), at("other", "Gout")],
            &[at("v", "Spirometry")],
        );
        assert_eq!(
            (entry.title.as_str(), entry.made.as_deref()),
            ("AMB", Some("Encounter"))
        );
        let expected = [
            ("When", vec!["1 March 2026".to_owned()]),
            ("With", vec!["Clinic".to_owned()]),
            ("Diagnosis", vec!["Asthma".to_owned()]),
            ("Procedure", vec!["Spirometry".to_owned()]),
        ];
        assert_eq!(entry.facts, expected);
    }

    #[test]
    fn a_visit_names_each_procedure_once_and_not_its_own_title_again() {
        let stay = json!({"resourceType": "Encounter", "id": "v", "type": [{"text": "Emergency visit, level 4"}],
            "reasonCode": [{"text": "Fall"}, {"text": "Fall"}]});
        let done = |text: &str| json!({"encounter": {"reference": "Encounter/v"}, "code": {"text": text}});
        let procedures = ["Emergency visit, level 4", "X-ray", "X-ray", "Emergency visit, level 4"].map(done);
        let entry = visit(&stay, &[], &procedures);
        assert_eq!(entry.title, "Emergency visit, level 4");
        let expected = [
            ("Reason", vec!["Fall".to_owned()]),
            ("Procedure", vec!["X-ray".to_owned()]),
        ];
        assert_eq!(entry.facts, expected);
    }
}
