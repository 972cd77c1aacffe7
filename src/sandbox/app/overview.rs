//! The overview page: prescriptions, visits with their diagnoses and procedures, and plans. The page marks resources
//! that the service generated from claims. They are recognized by a tag.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::Value;

use super::pages::{Kind, OverviewPage};
use super::reading::entry::{Entry, coverage, plan, prescription, visit};
use super::reading::text::list;
use super::records::with_records;
use super::state::App;
use crate::sandbox::payer::answer::page;

/// For each kind of entry, the maximum number of generated entries. The same number of entries from sources may follow.
const SHOWN: usize = 3;
/// The extension in which a Coverage names its InsurancePlan.
const PLAN_OF_COVERAGE: &str = "http://hl7.org/fhir/5.0/StructureDefinition/extension-Coverage.insurancePlan";

/// Shows the overview.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let queries = [
        "MedicationRequest?patient=$PATIENT_ID&_sort=-authoredon&_count=200",
        "Encounter?patient=$PATIENT_ID&_sort=-date&_count=200",
        "Condition?patient=$PATIENT_ID&_count=1000",
        "Procedure?patient=$PATIENT_ID&_count=1000",
        "InsurancePlan?_count=50",
        "Coverage?patient=$PATIENT_ID&_count=50",
    ];
    let shown = |who: &str, found: [Vec<Value>; 6]| {
        let kinds = kinds(&found);
        page(StatusCode::OK, &OverviewPage { who, kinds })
    };
    with_records(&app, &headers, queries, shown).await
}

fn kinds([orders, visits, conditions, procedures, plans, coverages]: &[Vec<Value>; 6]) -> Vec<Kind> {
    let kind = |id, heading, nothing, entries| Kind {
        id,
        heading,
        nothing,
        entries: first_entries(entries),
    };
    // A Coverage that names its InsurancePlan is left out, because that InsurancePlan is shown.
    let is_of_plan = |one: &&Value| list(&one["extension"]).any(|extension| extension["url"] == PLAN_OF_COVERAGE);
    let others = coverages.iter().filter(|one| !is_of_plan(one));
    let insured = plans.iter().map(plan).chain(others.map(coverage)).collect();
    let visits = visits.iter().map(|one| visit(one, conditions, procedures)).collect();
    vec![
        kind(
            "prescriptions",
            "Prescriptions",
            "No prescription is known.",
            orders.iter().map(prescription).collect(),
        ),
        kind("visits", "Visits", "No visit is known.", visits),
        kind("plans", "Plans", "No plan is known.", insured),
    ]
}

/// Returns the first generated entries, and after these the first entries from sources. There are at most `SHOWN` of
/// each.
fn first_entries(entries: Vec<Entry>) -> Vec<Entry> {
    let (mut made, mut given): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(|one| one.made.is_some());
    made.truncate(SHOWN);
    given.truncate(SHOWN);
    made.append(&mut given);
    made
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
    fn what_was_made_from_claims_comes_first_and_leads_to_its_claim() {
        let order = |meta: Value| {
            json!({"resourceType": "MedicationRequest", "id": "m", "meta": meta, "status": "active",
                "medicationCodeableConcept": {"coding": [{"code": "1", "display": "Salbutamol"}]},
                "supportingInformation": [{"reference": "Coverage/c"}, {"reference": "ExplanationOfBenefit/e"}]})
        };
        let all = first_entries(vec![
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
