//! Maps the spellings of a code system's URL to its canonical URL.
//!
//! Only the systems in this table and those of HL7's v2 and v3 (`schemas/hl7-systems.tsv`) are changed. Spellings may
//! differ in the scheme, `www.`, upper case, a trailing slash and a version after `|`.

use std::cell::RefCell;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::memo::Memo;

/// ICD-10-CM.
pub const ICD_10_CM: &str = "http://hl7.org/fhir/sid/icd-10-cm";
/// ICD-10-PCS.
pub const ICD_10_PCS: &str = "http://www.cms.gov/Medicare/Coding/ICD10";
/// ICD-9-CM, diagnoses and procedures.
pub const ICD_9_CM: &str = "http://hl7.org/fhir/sid/icd-9-cm";
/// CPT.
pub const CPT: &str = "http://www.ama-assn.org/go/cpt";
/// HCPCS level II.
pub const HCPCS: &str = "http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets";
/// CDT.
pub const CDT: &str = "http://www.ada.org/cdt";
/// NDC.
pub const NDC: &str = "http://hl7.org/fhir/sid/ndc";
/// RxNorm.
pub const RXNORM: &str = "http://www.nlm.nih.gov/research/umls/rxnorm";
/// LOINC.
pub const LOINC: &str = "http://loinc.org";
/// SNOMED CT.
pub const SNOMED_CT: &str = "http://snomed.info/sct";
/// CVX.
pub const CVX: &str = "http://hl7.org/fhir/sid/cvx";
/// NUCC's provider taxonomy.
pub const NUCC: &str = "http://nucc.org/provider-taxonomy";
/// NUBC's revenue codes.
pub const REVENUE: &str = "https://www.nubc.org/CodeSystem/RevenueCodes";
/// NUBC's types of bill.
pub const TYPE_OF_BILL: &str = "https://www.nubc.org/CodeSystem/TypeOfBill";
/// NUBC's discharge status.
pub const DISCHARGE: &str = "https://www.nubc.org/CodeSystem/PatDischargeStatus";
/// NUBC's point of origin.
pub const POINT_OF_ORIGIN: &str = "https://www.nubc.org/CodeSystem/PointOfOrigin";
/// NUBC's priority (type) of admission or visit.
pub const ADMISSION_PRIORITY: &str = "https://www.nubc.org/CodeSystem/PriorityTypeOfAdmitOrVisit";
/// NUBC's present on admission indicator.
pub const PRESENT_ON_ADMISSION: &str = "https://www.nubc.org/CodeSystem/PresentOnAdmissionIndicator";
/// CMS's places of service.
pub const PLACE_OF_SERVICE: &str =
    "https://www.cms.gov/Medicare/Coding/place-of-service-codes/Place_of_Service_Code_Set";
/// MS-DRG.
pub const MS_DRG: &str = "https://www.cms.gov/Medicare/Medicare-Fee-for-Service-Payment/AcuteInpatientPPS/MS-DRG-Classifications-and-Software";
/// UCUM.
pub const UCUM: &str = "http://unitsofmeasure.org";
/// ISO 3166-1, countries.
pub const ISO_3166: &str = "urn:iso:std:iso:3166";
/// ISO 3166-2, subdivisions.
pub const ISO_3166_2: &str = "urn:iso:std:iso:3166:-2";

/// A canonical URL, and a spelling of it in the form of [`key`]. A comment beside or above it states the source of the
/// spelling.
#[rustfmt::skip]
const ALIASES: &[(&str, &str)] = &[
    (ICD_10_CM, "hl7.org/fhir/sid/icd-10-cm"), // R4, "Known code systems"; HL7 terminology, NamingSystem Icd10CM
    (ICD_10_CM, "urn:oid:2.16.840.1.113883.6.90"), // NamingSystem Icd10CM
    (ICD_10_CM, "terminology.hl7.org/codesystem/icd10cm"), // NamingSystem Icd10CM, not preferred
    (ICD_10_CM, "hl7.org/fhir/sid/icd-10-us"), // STU3, "Known code systems", before it was renamed
    (ICD_10_CM, "hl7.org/fhir/sid/icd10cm"), // misspelt
    (ICD_10_CM, "hl7.org/fhir/sid/icd-10cm"), // misspelt
    (ICD_10_CM, "terminology.hl7.org/codesystem/icd-10-cm"), // misspelt
    (ICD_10_PCS, "cms.gov/medicare/coding/icd10"), // HL7 terminology, NamingSystem Icd10PCS; CARIN BB 2.0
    (ICD_10_PCS, "urn:oid:2.16.840.1.113883.6.4"), // NamingSystem Icd10PCS
    (ICD_10_PCS, "terminology.hl7.org/codesystem/icd10pcs"), // NamingSystem Icd10PCS, not preferred
    (ICD_10_PCS, "hl7.org/fhir/sid/icd-10-pcs"), // misspelt, after the pattern of icd-10-cm
    // R4, "Known code systems"; HL7 terminology, NamingSystem ICD9CMDiagnosiscodes
    (ICD_9_CM, "hl7.org/fhir/sid/icd-9-cm"),
    (ICD_9_CM, "urn:oid:2.16.840.1.113883.6.103"), // NamingSystem ICD9CMDiagnosiscodes
    (ICD_9_CM, "urn:oid:2.16.840.1.113883.6.104"), // NamingSystem ICD9CMProcedurecodes
    (ICD_9_CM, "urn:oid:2.16.840.1.113883.6.2"), // HL7 terminology, NamingSystem Icd9cm
    (ICD_9_CM, "terminology.hl7.org/codesystem/icd9cm"), // NamingSystem Icd9cm
    (ICD_9_CM, "hl7.org/fhir/sid/icd-9-cm/diagnosis"), // DSTU2, "Known code systems"
    (ICD_9_CM, "hl7.org/fhir/sid/icd-9-cm/procedure"), // DSTU2, "Known code systems"
    (ICD_9_CM, "cms.gov/medicare/coding/icd9"), // CARIN BB 2.0, value set of ICD-9-CM procedures
    (CPT, "ama-assn.org/go/cpt"), // R4, "Known code systems"; HL7 terminology, NamingSystem CPT
    (CPT, "urn:oid:2.16.840.1.113883.6.12"), // NamingSystem CPT
    (CPT, "ama-assn.org/cpt"), // misspelt
    (CPT, "terminology.hl7.org/codesystem/cpt"), // misspelt
    (CPT, "hl7.org/fhir/sid/cpt"), // misspelt
    // HL7 terminology, NamingSystem HCPCSLevelII; https: CARIN BB 2.0
    (HCPCS, "cms.gov/medicare/coding/hcpcsreleasecodesets"),
    (HCPCS, "urn:oid:2.16.840.1.113883.6.285"), // NamingSystem HCPCSLevelII
    (HCPCS, "urn:oid:2.16.840.1.113883.6.14"), // HCPCS before levels were told apart, HL7 OID registry
    (HCPCS, "hl7.org/fhir/sid/hcpcs"), // misspelt
    (HCPCS, "terminology.hl7.org/codesystem/hcpcs-all-codes"), // US Core 3.1
    (HCPCS, "terminology.hl7.org/codesystem/hcpcs"), // misspelt
    (HCPCS, "bluebutton.cms.gov/resources/codesystem/hcpcs"), // CMS Blue Button 2.0
    (CDT, "ada.org/cdt"), // HL7 terminology, NamingSystem CDT; CARIN BB 2.0
    (CDT, "urn:oid:2.16.840.1.113883.6.13"), // NamingSystem CDT
    (CDT, "terminology.hl7.org/codesystem/cd2"), // NamingSystem CDT, not preferred
    (NDC, "hl7.org/fhir/sid/ndc"), // R4, "Known code systems"; HL7 terminology, NamingSystem v3-ndc
    (NDC, "urn:oid:2.16.840.1.113883.6.69"), // NamingSystem v3-ndc
    (NDC, "fda.gov/drugs/informationondrugs/ucm142438.htm"), // page of FDA's directory, in use as a system
    (RXNORM, "nlm.nih.gov/research/umls/rxnorm"), // R4, "Known code systems"; HL7 terminology, NamingSystem v3-rxNorm
    (RXNORM, "urn:oid:2.16.840.1.113883.6.88"), // NamingSystem v3-rxNorm
    (RXNORM, "nlm.nih.gov/research/umls/rxnorm.html"), // misspelt
    (LOINC, "loinc.org"), // R4, "Known code systems"; HL7 terminology, NamingSystem v3-loinc
    (LOINC, "urn:oid:2.16.840.1.113883.6.1"), // NamingSystem v3-loinc
    (LOINC, "loinc.org/rdf"), // NamingSystem v3-loinc, not preferred
    (SNOMED_CT, "snomed.info/sct"), // R4, "Known code systems"; HL7 terminology, NamingSystem v3-snomed-CT
    (SNOMED_CT, "urn:oid:2.16.840.1.113883.6.96"), // NamingSystem v3-snomed-CT
    (SNOMED_CT, "snomed.info"), // misspelt
    (SNOMED_CT, "snomed.org"), // the publisher's site, in US Core test data
    (SNOMED_CT, "snomed.org/sct"), // misspelt
    (SNOMED_CT, "ihtsdo.org/snomed-ct"), // the publisher's former site
    (CVX, "hl7.org/fhir/sid/cvx"), // R4, "Known code systems"; HL7 terminology, NamingSystem CVX
    (CVX, "urn:oid:2.16.840.1.113883.12.292"), // NamingSystem CVX
    (CVX, "urn:oid:2.16.840.1.113883.6.59"), // C-CDA, before the table of v2 became the OID
    (CVX, "terminology.hl7.org/codesystem/cvx"), // NamingSystem CVX, not preferred
    (CVX, "cdc.gov/vaccines/programs/iis/cvx"), // DSTU2
    // R4, "Known code systems"; HL7 terminology, NamingSystem HealthcareProviderTaxonomyHIPAA
    (NUCC, "nucc.org/provider-taxonomy"),
    (NUCC, "urn:oid:2.16.840.1.113883.6.101"), // NamingSystem HealthcareProviderTaxonomyHIPAA
    (NUCC, "terminology.hl7.org/codesystem/v3-healthcareprovidertaxonomyhipaa"), // the same, not preferred
    (REVENUE, "nubc.org/codesystem/revenuecodes"), // HL7 terminology, NamingSystem AHA_NUBC_RevenueCodes; CARIN BB 2.0
    (TYPE_OF_BILL, "nubc.org/codesystem/typeofbill"), // NamingSystem AHA_NUBC_TypeOfBill
    (DISCHARGE, "nubc.org/codesystem/patdischargestatus"), // NamingSystem AHA_NUBC_PatientDischargeStatus
    (DISCHARGE, "urn:oid:2.16.840.1.113883.6.301.5"), // the same
    (DISCHARGE, "nubc.org/patient-discharge"), // Synthea; US Core's Encounter before 5.0
    (POINT_OF_ORIGIN, "nubc.org/codesystem/pointoforigin"), // NamingSystem AHA_NUBC_PointOfOrigin_Nonnewborn
    // NamingSystem AHA_NUBC_PriorityTypeOfAdmitOrVisit
    (ADMISSION_PRIORITY, "nubc.org/codesystem/prioritytypeofadmitorvisit"),
    (PRESENT_ON_ADMISSION, "nubc.org/codesystem/presentonadmissionindicator"), // CARIN BB 2.0
    // NamingSystem CMSPlaceofServiceCodes
    (PLACE_OF_SERVICE, "cms.gov/medicare/coding/place-of-service-codes/place_of_service_code_set"),
    (PLACE_OF_SERVICE, "urn:oid:2.16.840.1.113883.15.5"), // the same
    (PLACE_OF_SERVICE, "cms.gov/medicare/coding/place-of-service-codes"), // misspelt
    // NamingSystem MSDRG
    (MS_DRG, "cms.gov/medicare/medicare-fee-for-service-payment/acuteinpatientpps/ms-drg-classifications-and-software"),
    (UCUM, "unitsofmeasure.org"), // R4, "Known code systems"; HL7 terminology, NamingSystem v3-ucum
    (UCUM, "urn:oid:2.16.840.1.113883.6.8"), // NamingSystem v3-ucum
    (UCUM, "unitsofmeasure.org/ucum.html"), // the specification's page, in use as a system
    (ISO_3166, "urn:iso:std:iso:3166"), // R4, "Known code systems"; HL7 terminology, NamingSystem ISO3166Part1
    (ISO_3166, "urn:oid:1.0.3166.1"), // NamingSystem ISO3166Part1
    (ISO_3166, "terminology.hl7.org/codesystem/v3-iso3166-1"), // NamingSystem Iso31661, not preferred
    (ISO_3166, "urn:iso:std:iso:3166:-1"), // misspelt, after the pattern of part 2
    (ISO_3166_2, "urn:iso:std:iso:3166:-2"), // R4, "Known code systems"; NamingSystem ISO3166Part2
    (ISO_3166_2, "urn:oid:1.0.3166.2"), // NamingSystem ISO3166Part2
];

/// The code systems of HL7's v2 and v3: the name after `http://terminology.hl7.org/CodeSystem/`, and OIDs separated by
/// commas. `schemas/README.md` states the source of this file.
static HL7: &str = include_str!("../../../schemas/hl7-systems.tsv");

/// Returns the canonical URL of a well-known code system. Returns any other system unchanged.
pub fn canonical_system(system: &str) -> &str {
    well_known(system).unwrap_or(system)
}

/// Returns the canonical URL of a system, if it is well known.
pub(super) fn well_known(system: &str) -> Option<&'static str> {
    thread_local! {
        static SYSTEMS: RefCell<Memo<1, Option<&'static str>>> = RefCell::default();
    }
    let look_up = || {
        let table = Table::get();
        if let Some(known) = table.exact.get(system) {
            return Some(*known);
        }
        let mut buffer = [0; LONGEST];
        table.by_key.get(key(system, &mut buffer)?).copied()
    };
    SYSTEMS.with_borrow_mut(|systems| systems.get([system], look_up))
}

struct Table {
    /// The canonical URLs as keys and values.
    exact: FxHashMap<&'static str, &'static str>,
    by_key: FxHashMap<&'static str, &'static str>,
}

impl Table {
    fn get() -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(Table::read)
    }

    fn read() -> Table {
        let mut table = Table {
            exact: FxHashMap::default(),
            by_key: FxHashMap::default(),
        };
        for (canonical, alias) in ALIASES {
            table.exact.insert(canonical, canonical);
            table.by_key.insert(alias, canonical);
        }
        for line in HL7.lines().filter(|line| !line.starts_with('#')) {
            let Some((name, oids)) = line.split_once('\t') else {
                continue;
            };
            table.hl7(name, oids);
        }
        table
    }

    /// Adds the spellings of one of HL7's systems. Leaks their memory, because the table lives as long as the program.
    fn hl7(&mut self, name: &'static str, oids: &'static str) {
        let canonical: &'static str = format!("http://terminology.hl7.org/CodeSystem/{name}").leak();
        if self.exact.insert(canonical, canonical).is_some() {
            return;
        }
        let mut add = |alias: String| {
            self.by_key
                .entry(alias.to_ascii_lowercase().leak())
                .or_insert(canonical);
        };
        add(format!("terminology.hl7.org/CodeSystem/{name}"));
        // FHIR before R4 had URLs such as `http://hl7.org/fhir/v3/ActCode` and `http://hl7.org/fhir/v2/0203`.
        add(format!("hl7.org/fhir/{}", name.replacen('-', "/", 1)));
        for oid in oids.split(',').filter(|oid| *oid != "-") {
            add(format!("urn:oid:{oid}"));
        }
    }
}

/// The size of the buffer for a key, in bytes. No spelling in the table is longer.
const LONGEST: usize = 160;

/// Returns a system without the parts in which spellings may differ: scheme, `www.`, upper case, trailing slash and
/// version. Returns `None` if the result is longer than any spelling in the table.
fn key<'b>(system: &str, buffer: &'b mut [u8; LONGEST]) -> Option<&'b str> {
    let text = system.split('|').next()?.trim();
    let text = without(text, "http://")
        .or_else(|| without(text, "https://"))
        .unwrap_or(text);
    let text = without(text, "www.").unwrap_or(text).trim_end_matches('/');
    let is_oid = text.starts_with(['1', '2']) && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let (prefix, length) = if is_oid {
        ("urn:oid:", text.len() + 8)
    } else {
        ("", text.len())
    };
    let key = buffer.get_mut(..length)?;
    key[..prefix.len()].copy_from_slice(prefix.as_bytes());
    key[prefix.len()..].copy_from_slice(text.as_bytes());
    key.make_ascii_lowercase();
    std::str::from_utf8(key).ok()
}

fn without<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_lead_to_the_canonical_url() {
        for (system, canonical) in [
            ("urn:oid:2.16.840.1.113883.6.90", ICD_10_CM),
            ("2.16.840.1.113883.6.96", SNOMED_CT),
            ("https://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets/", HCPCS),
            ("http://hl7.org/fhir/sid/icd-10-us", ICD_10_CM),
            ("https://loinc.org", LOINC),
            ("HTTP://LOINC.ORG/", LOINC),
            ("http://snomed.info/sct|http://snomed.info/sct/731000124108", SNOMED_CT),
            ("http://www.nubc.org/patient-discharge", DISCHARGE),
            (
                "urn:oid:2.16.840.1.113883.5.4",
                "http://terminology.hl7.org/CodeSystem/v3-ActCode",
            ),
            (
                "http://hl7.org/fhir/v3/ActCode",
                "http://terminology.hl7.org/CodeSystem/v3-ActCode",
            ),
            (
                "http://hl7.org/fhir/v2/0203",
                "http://terminology.hl7.org/CodeSystem/v2-0203",
            ),
            (
                "urn:oid:2.16.840.1.113883.12.203",
                "http://terminology.hl7.org/CodeSystem/v2-0203",
            ),
            (
                "http://terminology.hl7.org/CodeSystem/v2-0360|2.0.0",
                "http://terminology.hl7.org/CodeSystem/v2-0360",
            ),
            ("urn:oid:2.16.840.1.113883.12.292", CVX),
        ] {
            assert_eq!(canonical_system(system), canonical, "{system}");
            assert_eq!(canonical_system(canonical), canonical);
        }
    }

    #[test]
    fn other_systems_are_not_touched() {
        let long = format!("http://loinc.org/{}", "é".repeat(100));
        for system in [
            "",
            "http://",
            "http://hl7.org/fhir/sid/icd-10",
            "urn:oid:2.16.840.1.113883.6.238",
            "https://payer.example/codes/LOINC",
            "http://hl7.org/fhir/condition-category",
            "2.",
            "é",
            long.as_str(),
        ] {
            assert_eq!(canonical_system(system), system);
        }
    }

    #[test]
    fn no_spelling_means_two_systems() {
        let mut seen = FxHashMap::default();
        for (canonical, alias) in ALIASES {
            let mut buffer = [0; LONGEST];
            assert_eq!(key(alias, &mut buffer), Some(*alias), "the table holds keys");
            assert_eq!(seen.insert(alias, canonical), None, "{alias}");
            assert_eq!(canonical_system(alias), *canonical, "{alias}");
        }
    }
}
