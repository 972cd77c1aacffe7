//! The clinical date of a resource by type: the search parameter that `start` and `end` apply to.

/// A type's clinical date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClinicalDate {
    /// The resource type.
    pub resource: &'static str,
    /// The code of the search parameter.
    pub code: &'static str,
    /// The end of the URL at which R4 defines the parameter: `http://hl7.org/fhir/SearchParameter/...`.
    pub source: &'static str,
}

const fn date(resource: &'static str, code: &'static str, source: &'static str) -> ClinicalDate {
    ClinicalDate { resource, code, source }
}

/// Clinical dates, sorted by type. For 17 types the parameter is the one that R4 defines as `clinical-date`: the time
/// of the event or, for requests, of their authoring. For other types it is a parameter over a similar element. Types
/// that are missing here have no clinical date. AuditEvent and Provenance are missing, because their dates tell when a
/// record was made, not when care was given.
pub const CLINICAL_DATES: &[ClinicalDate] = &[
    date("Account", "period", "Account-period"),
    date("AdverseEvent", "date", "AdverseEvent-date"),
    date("AllergyIntolerance", "date", "clinical-date"),
    date("Appointment", "date", "Appointment-date"),
    date("Basic", "created", "Basic-created"),
    date("CarePlan", "date", "clinical-date"),
    date("CareTeam", "date", "clinical-date"),
    date("ChargeItem", "occurrence", "ChargeItem-occurrence"),
    // R4 has no search parameter over `billablePeriod` of Claim or ExplanationOfBenefit, so these types have `created`.
    date("Claim", "created", "Claim-created"),
    date("ClaimResponse", "created", "ClaimResponse-created"),
    date("ClinicalImpression", "date", "clinical-date"),
    date("Communication", "sent", "Communication-sent"),
    date("CommunicationRequest", "authored", "CommunicationRequest-authored"),
    date("Composition", "date", "clinical-date"),
    date("Condition", "onset-date", "Condition-onset-date"),
    date("Consent", "date", "clinical-date"),
    date(
        "CoverageEligibilityRequest",
        "created",
        "CoverageEligibilityRequest-created",
    ),
    date(
        "CoverageEligibilityResponse",
        "created",
        "CoverageEligibilityResponse-created",
    ),
    date("DetectedIssue", "identified", "DetectedIssue-identified"),
    date("DeviceRequest", "authored-on", "DeviceRequest-authored-on"),
    date("DiagnosticReport", "date", "clinical-date"),
    date("DocumentManifest", "created", "DocumentManifest-created"),
    date("DocumentReference", "date", "DocumentReference-date"),
    date("Encounter", "date", "clinical-date"),
    date("EpisodeOfCare", "date", "clinical-date"),
    date("ExplanationOfBenefit", "created", "ExplanationOfBenefit-created"),
    date("FamilyMemberHistory", "date", "clinical-date"),
    date("Flag", "date", "clinical-date"),
    date("Goal", "start-date", "Goal-start-date"),
    date("ImagingStudy", "started", "ImagingStudy-started"),
    date("Immunization", "date", "clinical-date"),
    date("ImmunizationEvaluation", "date", "ImmunizationEvaluation-date"),
    date("ImmunizationRecommendation", "date", "ImmunizationRecommendation-date"),
    date("Invoice", "date", "Invoice-date"),
    date("List", "date", "clinical-date"),
    date("MeasureReport", "period", "MeasureReport-period"),
    date("Media", "created", "Media-created"),
    date(
        "MedicationAdministration",
        "effective-time",
        "MedicationAdministration-effective-time",
    ),
    date(
        "MedicationDispense",
        "whenhandedover",
        "MedicationDispense-whenhandedover",
    ),
    date("MedicationRequest", "authoredon", "MedicationRequest-authoredon"),
    date("MedicationStatement", "effective", "MedicationStatement-effective"),
    date("NutritionOrder", "datetime", "NutritionOrder-datetime"),
    date("Observation", "date", "clinical-date"),
    date("Procedure", "date", "clinical-date"),
    date("QuestionnaireResponse", "authored", "QuestionnaireResponse-authored"),
    date("RequestGroup", "authored", "RequestGroup-authored"),
    date("ResearchSubject", "date", "ResearchSubject-date"),
    date("RiskAssessment", "date", "clinical-date"),
    date("Schedule", "date", "Schedule-date"),
    date("ServiceRequest", "authored", "ServiceRequest-authored"),
    date("Specimen", "collected", "Specimen-collected"),
    date("SupplyRequest", "date", "clinical-date"),
    date("VisionPrescription", "datewritten", "VisionPrescription-datewritten"),
];

/// Returns the code of the search parameter over a type's clinical date. `None` if the type has no clinical date.
pub(super) fn code(resource: &str) -> Option<&'static str> {
    let found = CLINICAL_DATES.iter().find(|date| date.resource == resource);
    found.map(|date| date.code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fhir::facts;
    use crate::fhir::search_parameter::{SearchParameters, SearchType};
    use crate::patient::members;

    #[test]
    fn each_is_a_date_parameter_that_r4_defines_for_a_type_of_the_compartment() {
        let parameters = SearchParameters::builtin();
        for ClinicalDate { resource, code, source } in CLINICAL_DATES {
            let type_id = facts().lookup(resource).unwrap();
            assert!(members::types().contains(&type_id), "{resource}");
            let parameter = parameters
                .get(type_id, code)
                .unwrap_or_else(|| panic!("{resource}?{code}"));
            assert_eq!(parameter.search_type, SearchType::Date, "{resource}?{code}");
            assert_eq!(parameter.url, format!("http://hl7.org/fhir/SearchParameter/{source}"));
        }
        assert!(CLINICAL_DATES.is_sorted_by(|one, other| one.resource < other.resource));
        let of_all = CLINICAL_DATES.iter().filter(|date| date.source == "clinical-date");
        assert_eq!(of_all.count(), 17);
    }

    /// A type with a date parameter but without a clinical date must be in this list of deliberate exceptions.
    #[test]
    fn types_without_a_clinical_date_are_known() {
        let parameters = SearchParameters::builtin();
        let mut without = Vec::new();
        for type_id in members::types() {
            let name = facts().get(*type_id).name;
            let dated = parameters
                .of(*type_id)
                .any(|one| one.search_type == SearchType::Date && !one.code.starts_with('_'));
            if dated && code(name).is_none() {
                without.push(name);
            }
        }
        assert_eq!(
            without,
            ["Patient", "AuditEvent", "Person", "Provenance", "RelatedPerson"]
        );
    }
}
