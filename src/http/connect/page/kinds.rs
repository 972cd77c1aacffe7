//! Describes the shared records in patients' words. The resource types that a source has, or that it grants, are
//! grouped by kind.

use super::super::language::Texts;
use super::view::{Category, What};

/// Resource types that the page does not mention, because they only accompany other records.
const ALONG: [&str; 8] = [
    "InsurancePlan",
    "Location",
    "Medication",
    "Organization",
    "Practitioner",
    "PractitionerRole",
    "Provenance",
    "RelatedPerson",
];

/// The name of a kind of records on the page, and the resource types of this kind.
type Kind = (&'static str, &'static [&'static str]);

/// Returns the headings of the page, each with its kinds of records.
fn kinds(t: &Texts) -> [(&'static str, Vec<Kind>); 4] {
    [
        (t.share_person, vec![(t.share_person_more, &["Patient"])]),
        (
            t.share_insurance,
            vec![
                (t.kind_coverage, &["Coverage"]),
                (t.kind_claims, &["Claim", "ClaimResponse", "ExplanationOfBenefit"]),
            ],
        ),
        (
            t.share_health,
            vec![
                (t.kind_conditions, &["Condition"]),
                (t.kind_allergies, &["AllergyIntolerance"]),
                (
                    t.kind_medications,
                    &[
                        "MedicationAdministration",
                        "MedicationDispense",
                        "MedicationRequest",
                        "MedicationStatement",
                    ],
                ),
                (t.kind_immunizations, &["Immunization"]),
            ],
        ),
        (
            t.share_care,
            vec![
                (t.kind_visits, &["Appointment", "Encounter"]),
                (t.kind_procedures, &["Procedure", "ServiceRequest"]),
                (t.kind_results, &["DiagnosticReport", "Observation", "Specimen"]),
                (t.kind_documents, &["Composition", "DocumentReference"]),
                (t.kind_plans, &["CarePlan", "Goal"]),
                (t.kind_teams, &["CareTeam"]),
                (t.kind_devices, &["Device"]),
            ],
        ),
    ]
}

/// Returns the kinds of records that a source with these resource types shares. Types that are neither in a kind nor in
/// `ALONG` are under a heading of their own. If `types` is empty, the source's types are unknown, and all kinds are
/// returned.
pub(in crate::http::connect) fn what<'a>(t: &'static Texts, types: impl IntoIterator<Item = &'a str>) -> What {
    let types: Vec<&str> = types.into_iter().collect();
    let kinds = kinds(t);
    let known: Vec<&str> = kinds
        .iter()
        .flat_map(|(_, kinds)| kinds.iter().flat_map(|(_, types)| types.iter().copied()))
        .chain(ALONG)
        .collect();
    let is_had = |wanted: &[&str]| types.is_empty() || wanted.iter().any(|one| types.contains(one));
    let mut categories: Vec<Category> = Vec::new();
    for (name, kinds) in kinds {
        let had: Vec<&str> = kinds
            .into_iter()
            .filter(|(_, wanted)| is_had(wanted))
            .map(|(kind, _)| kind)
            .collect();
        if !had.is_empty() {
            categories.push(Category {
                name,
                kinds: t.list(&had),
            });
        }
    }
    if types.iter().any(|one| !known.contains(one)) {
        categories.push(Category {
            name: t.share_more,
            kinds: t.share_more_more.to_owned(),
        });
    }
    What {
        categories,
        unsure: types.is_empty(),
    }
}

/// Returns the resource types in `types` that a grant with this scope covers. If the scope names no types, it covers
/// all.
pub(in crate::http::connect) fn granted<'a>(types: &'a [String], scope: &str) -> Vec<&'a str> {
    let named: Vec<&str> = scope
        .split_whitespace()
        .filter_map(|one| {
            one.split_once('/')?
                .1
                .split_once('.')
                .map(|(resource_type, _)| resource_type)
        })
        .collect();
    let covers = |resource_type: &str| named.is_empty() || named.contains(&"*") || named.contains(&resource_type);
    types
        .iter()
        .map(String::as_str)
        .filter(|resource_type| covers(resource_type))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::language::Languages;
    use super::*;

    fn told(types: &[&str]) -> Vec<(&'static str, String)> {
        let what = what(Languages::default().all()[0], types.iter().copied());
        what.categories.into_iter().map(|one| (one.name, one.kinds)).collect()
    }

    #[test]
    fn only_what_a_source_has_is_told() {
        let text = |text: &str| text.to_owned();
        assert_eq!(
            told(&["Coverage", "Condition", "Immunization", "Organization"]),
            [
                ("Insurance", text("coverage")),
                ("Health", text("conditions and vaccines"))
            ]
        );
        assert_eq!(told(&["NutritionOrder"]), [("More", text("other records about you"))]);
        // A source without a list of types may have any type. So all four headings are shown.
        assert_eq!(told(&[]).len(), 4);
    }

    #[test]
    fn a_grant_covers_the_types_that_its_scopes_name() {
        let types = ["Coverage", "Patient"].map(str::to_owned);
        assert_eq!(granted(&types, "launch/patient patient/Patient.read"), ["Patient"]);
        assert_eq!(granted(&types, "patient/*.rs"), ["Coverage", "Patient"]);
        assert_eq!(
            granted(&types, "launch/patient offline_access"),
            ["Coverage", "Patient"]
        );
    }
}
