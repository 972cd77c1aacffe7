//! What a person's records say in short: prescriptions, visits with what was found and done there, and plans. What the
//! service made from claims is shown as such, by its tag.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::Value;

use super::client::{Answer, Unreachable};
use super::pages::{OverviewPage, Stage, failed};
use super::records::{connection, stage, wait};
use super::routes::App;
use crate::sandbox::payer::answer::{page, see_other};

/// Entries of a kind that are shown: those made from claims, and those as sources gave them.
const SHOWN: usize = 4;
/// Where a Coverage says which InsurancePlan it is of.
const PLAN_OF_COVERAGE: &str = "http://hl7.org/fhir/5.0/StructureDefinition/extension-Coverage.insurancePlan";
/// What is said of a visit at most, of each sort.
const DETAILS: usize = 6;

/// A prescription, a visit or a plan.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) title: String,
    /// The rule that made it from claims.
    pub(super) made: Option<String>,
    /// A name and what is said there, one or more.
    pub(super) facts: Vec<(&'static str, Vec<String>)>,
    /// The resource itself, as `Encounter/1`.
    pub(super) name: String,
    /// The claim that it was made from.
    pub(super) claim: Option<String>,
}

/// What there is of one kind.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) id: &'static str,
    pub(super) heading: &'static str,
    pub(super) nothing: &'static str,
    pub(super) entries: Vec<Entry>,
}

/// The page of what the records say.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Some((_, session, connection)) = connection(&app, &headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    let token = &connection.access_token;
    match read(&app, token).await {
        Ok(Ok(kinds)) => {
            let overview = OverviewPage {
                user: &session.user,
                stage: Stage::There,
                wait: None,
                kinds,
            };
            page(StatusCode::OK, &overview)
        }
        // Not yet, or no longer.
        Ok(Err(answer)) => {
            let overview = OverviewPage {
                user: &session.user,
                stage: stage(&answer),
                wait: wait(&answer),
                kinds: Vec::new(),
            };
            page(StatusCode::OK, &overview)
        }
        Err(error) => failed(&error.to_string()),
    }
}

/// Asks for what is shown; gives the first answer that has no records.
async fn read(app: &App, token: &str) -> Result<Result<Vec<Kind>, Answer>, Unreachable> {
    let queries = [
        "MedicationRequest?patient=$PATIENT_ID&_sort=-authoredon&_count=200",
        "Encounter?patient=$PATIENT_ID&_sort=-date&_count=200",
        "Condition?patient=$PATIENT_ID&_count=1000",
        "Procedure?patient=$PATIENT_ID&_count=1000",
        "InsurancePlan?_count=50",
        "Coverage?patient=$PATIENT_ID&_count=50",
    ];
    let mut found = Vec::new();
    for query in queries {
        let answer = app.client.fhir(token, query).await?;
        if answer.status != 200 {
            return Ok(Err(answer));
        }
        found.push(resources(answer.body));
    }
    let [orders, visits, conditions, procedures, plans, coverages] = found.as_slice() else {
        return Ok(Ok(Vec::new()));
    };
    let kind = |id, heading, nothing, entries| Kind {
        id,
        heading,
        nothing,
        entries: shown(entries),
    };
    // A coverage whose plan is known is shown as that.
    let is_of_plan = |one: &&Value| list(&one["extension"]).any(|extension| extension["url"] == PLAN_OF_COVERAGE);
    let others = coverages.iter().filter(|one| !is_of_plan(one));
    let insured = plans.iter().map(plan).chain(others.map(coverage)).collect();
    let visits = visits.iter().map(|one| visit(one, conditions, procedures)).collect();
    Ok(Ok(vec![
        kind(
            "prescriptions",
            "Prescriptions",
            "No prescription is known.",
            orders.iter().map(prescription).collect(),
        ),
        kind("visits", "Visits", "No visit is known.", visits),
        kind("plans", "Plans", "No plan is known.", insured),
    ]))
}

/// The first ones of either sort, those made from claims in front.
fn shown(entries: Vec<Entry>) -> Vec<Entry> {
    let (mut made, mut given): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(|one| one.made.is_some());
    made.truncate(SHOWN);
    given.truncate(SHOWN);
    made.append(&mut given);
    made
}

fn prescription(order: &Value) -> Entry {
    let mut entry = entry(
        order,
        concept(&order["medicationCodeableConcept"]).or(reference(&order["medicationReference"])),
    );
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

fn visit(visit: &Value, conditions: &[Value], procedures: &[Value]) -> Entry {
    let kind = list(&visit["type"]).find_map(concept);
    let class = visit["class"]["display"].as_str().or(visit["class"]["code"].as_str());
    let mut entry = entry(visit, kind.or(class.map(str::to_owned)));
    let period = &visit["period"];
    let days = match (day(&period["start"]), day(&period["end"])) {
        (Some(start), Some(end)) if start != end => Some(format!("{start} to {end}")),
        (start, end) => start.or(end),
    };
    entry.says("When", days);
    let provider = list(&visit["participant"]).find_map(|one| reference(&one["individual"]));
    entry.says("With", reference(&visit["serviceProvider"]).or(provider));
    let name = &entry.name;
    let at_visit = |all: &[Value]| {
        let own = all
            .iter()
            .filter(|one| one["encounter"]["reference"].as_str() == Some(name.as_str()));
        own.filter_map(|one| concept(&one["code"]))
            .take(DETAILS)
            .collect::<Vec<String>>()
    };
    let (diagnoses, done) = (at_visit(conditions), at_visit(procedures));
    entry.facts.extend(
        [("Diagnosis", diagnoses), ("Procedure", done)]
            .into_iter()
            .filter(|(_, texts)| !texts.is_empty()),
    );
    entry
}

fn plan(plan: &Value) -> Entry {
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

fn coverage(coverage: &Value) -> Entry {
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
    /// What it was made from, if it was made.
    pub(super) fn made_from(&self) -> &'static str {
        match self.made.as_deref() {
            Some("InsurancePlan") => "coverage",
            _ => "claims",
        }
    }

    fn says(&mut self, name: &'static str, text: Option<String>) {
        self.facts.extend(text.map(|text| (name, vec![text])));
    }
}

fn entry(resource: &Value, title: Option<String>) -> Entry {
    let (ty, id) = (&resource["resourceType"], &resource["id"]);
    let mut tags = list(&resource["meta"]["tag"]);
    let made = tags.find(|tag| {
        tag["system"]
            .as_str()
            .is_some_and(|system| system.ends_with("/GeneratedBy"))
    });
    Entry {
        title: title.unwrap_or_else(|| "Without a name".to_owned()),
        made: made.and_then(|tag| tag["code"].as_str()).map(str::to_owned),
        name: format!(
            "{}/{}",
            ty.as_str().unwrap_or_default(),
            id.as_str().unwrap_or_default()
        ),
        ..Entry::default()
    }
}

fn resources(mut bundle: Value) -> Vec<Value> {
    let entries = bundle["entry"].as_array_mut().into_iter().flatten();
    entries.map(|entry| entry["resource"].take()).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// What a CodeableConcept is called.
fn concept(concept: &Value) -> Option<String> {
    let codings = || list(&concept["coding"]);
    let display = || codings().find_map(|coding| coding["display"].as_str());
    let code = || codings().find_map(|coding| coding["code"].as_str());
    let text = concept["text"].as_str().or_else(display).or_else(code);
    text.map(str::to_owned)
}

/// Whom or what a reference names.
fn reference(reference: &Value) -> Option<String> {
    reference["display"].as_str().map(str::to_owned)
}

/// The day of a date or time.
fn day(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    Some(text.get(..10).unwrap_or(text).to_owned())
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
            ("When", vec!["2026-03-01".to_owned()]),
            ("With", vec!["Clinic".to_owned()]),
            ("Diagnosis", vec!["Asthma".to_owned()]),
            ("Procedure", vec!["Spirometry".to_owned()]),
        ];
        assert_eq!(entry.facts, expected);
    }

    #[test]
    fn what_was_made_from_claims_comes_first_and_leads_to_its_claim() {
        let order = |meta: Value| {
            json!({"resourceType": "MedicationRequest", "id": "m", "meta": meta, "status": "active",
                "medicationCodeableConcept": {"coding": [{"code": "1", "display": "Salbutamol"}]},
                "supportingInformation": [{"reference": "Coverage/c"}, {"reference": "ExplanationOfBenefit/e"}]})
        };
        let all = shown(vec![
            prescription(&order(json!({}))),
            prescription(&order(made("MedicationRequest"))),
        ]);
        assert_eq!(
            (all[0].made.as_deref(), all[1].made.as_deref()),
            (Some("MedicationRequest"), None)
        );
        assert_eq!(all[0].title, "Salbutamol");
        assert_eq!(all[0].claim.as_deref(), Some("ExplanationOfBenefit/e"));
    }
}
