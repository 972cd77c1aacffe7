//! Coded concepts: a system, a code and a name. The files that write resources have small tables of these concepts.
//! Each table has only the codes that its file needs.

/// A coded concept.
#[derive(Clone, Copy, Debug)]
pub(in crate::sandbox) struct Code {
    /// The code system's URI.
    pub(in crate::sandbox) system: &'static str,
    /// The code in this system, such as `38341003`.
    pub(in crate::sandbox) code: &'static str,
    /// The name that people read, such as `Hypertension`.
    pub(in crate::sandbox) display: &'static str,
}

pub(in crate::sandbox) const UCUM: &str = "http://unitsofmeasure.org";

macro_rules! systems {
    ($($name:ident = $uri:literal;)*) => {
        $(
            #[doc = concat!("A code of `", $uri, "`.")]
            pub(in crate::sandbox) const fn $name(code: &'static str, display: &'static str) -> Code {
                Code { system: $uri, code, display }
            }
        )*
    };
}

systems! {
    loinc = "http://loinc.org";
    snomed = "http://snomed.info/sct";
    rxnorm = "http://www.nlm.nih.gov/research/umls/rxnorm";
    icd10 = "http://hl7.org/fhir/sid/icd-10-cm";
    cvx = "http://hl7.org/fhir/sid/cvx";
    hcpcs = "https://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets";
    place_of_service = "https://www.cms.gov/Medicare/Coding/place-of-service-codes/Place_of_Service_Code_Set";
    taxonomy = "http://nucc.org/provider-taxonomy";
    race = "urn:oid:2.16.840.1.113883.6.238";
    act = "http://terminology.hl7.org/CodeSystem/v3-ActCode";
    null_flavor = "http://terminology.hl7.org/CodeSystem/v3-NullFlavor";
    marital = "http://terminology.hl7.org/CodeSystem/v3-MaritalStatus";
    participation = "http://terminology.hl7.org/CodeSystem/v3-ParticipationType";
    priority = "http://terminology.hl7.org/CodeSystem/v3-ActPriority";
    identifier_type = "http://terminology.hl7.org/CodeSystem/v2-0203";
    interpretation = "http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation";
    observation_category = "http://terminology.hl7.org/CodeSystem/observation-category";
    data_absent = "http://terminology.hl7.org/CodeSystem/data-absent-reason";
    diagnostic_section = "http://terminology.hl7.org/CodeSystem/v2-0074";
    condition_clinical = "http://terminology.hl7.org/CodeSystem/condition-clinical";
    condition_verification = "http://terminology.hl7.org/CodeSystem/condition-ver-status";
    condition_category = "http://terminology.hl7.org/CodeSystem/condition-category";
    allergy_clinical = "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical";
    allergy_verification = "http://terminology.hl7.org/CodeSystem/allergyintolerance-verification";
    medication_category = "http://terminology.hl7.org/CodeSystem/medicationrequest-category";
    organization_type = "http://terminology.hl7.org/CodeSystem/organization-type";
    location_form = "http://terminology.hl7.org/CodeSystem/location-physical-type";
    discharge = "http://terminology.hl7.org/CodeSystem/discharge-disposition";
    relationship = "http://terminology.hl7.org/CodeSystem/subscriber-relationship";
    coverage_class = "http://terminology.hl7.org/CodeSystem/coverage-class";
    copay_type = "http://terminology.hl7.org/CodeSystem/coverage-copay-type";
    payee_type = "http://terminology.hl7.org/CodeSystem/payeetype";
    plan_type = "http://terminology.hl7.org/CodeSystem/insurance-plan-type";
    claim_type = "http://terminology.hl7.org/CodeSystem/claim-type";
    process_priority = "http://terminology.hl7.org/CodeSystem/processpriority";
    care_team_role = "http://terminology.hl7.org/CodeSystem/claimcareteamrole";
    diagnosis_type = "http://terminology.hl7.org/CodeSystem/ex-diagnosistype";
    procedure_type = "http://terminology.hl7.org/CodeSystem/ex-procedure-type";
    adjudication = "http://terminology.hl7.org/CodeSystem/adjudication";
    carin_adjudication = "http://hl7.org/fhir/us/carin-bb/CodeSystem/C4BBAdjudication";
    carin_information = "http://hl7.org/fhir/us/carin-bb/CodeSystem/C4BBSupportingInfoType";
    carin_network = "http://hl7.org/fhir/us/carin-bb/CodeSystem/C4BBPayerAdjudicationStatus";
    payment = "http://terminology.hl7.org/CodeSystem/ex-paymenttype";
    document_category = "http://hl7.org/fhir/us/core/CodeSystem/us-core-documentreference-category";
    care_category = "http://hl7.org/fhir/us/core/CodeSystem/careplan-category";
    goal_achievement = "http://terminology.hl7.org/CodeSystem/goal-achievement";
    provenance_agent = "http://terminology.hl7.org/CodeSystem/provenance-participant-type";
}
