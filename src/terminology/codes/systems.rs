//! The code systems in publishers' files: their canonical URLs and the form of their codes.

use std::borrow::Cow;

use super::ndc;

/// ICD-10-CM.
pub const ICD_10_CM: &str = "http://hl7.org/fhir/sid/icd-10-cm";
/// ICD-10-PCS.
pub const ICD_10_PCS: &str = "http://www.cms.gov/Medicare/Coding/ICD10";
/// HCPCS Level II.
pub const HCPCS: &str = "https://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets";
/// CDC's vaccines administered.
pub const CVX: &str = "http://hl7.org/fhir/sid/cvx";
/// CDC's manufacturers of vaccines.
pub const MVX: &str = "http://hl7.org/fhir/sid/mvx";
/// National Drug Codes.
pub const NDC: &str = "http://hl7.org/fhir/sid/ndc";
/// RxNorm.
pub const RXNORM: &str = "http://www.nlm.nih.gov/research/umls/rxnorm";
/// LOINC.
pub const LOINC: &str = "http://loinc.org";
/// SNOMED CT.
pub const SNOMED_CT: &str = "http://snomed.info/sct";
/// NUCC's provider taxonomy.
pub const NUCC: &str = "http://nucc.org/provider-taxonomy";
/// CMS's places of service.
pub const PLACE_OF_SERVICE: &str =
    "https://www.cms.gov/Medicare/Coding/place-of-service-codes/Place_of_Service_Code_Set";

/// Other URLs that are in use for a system, each with the canonical URL of the system.
const ALIASES: [(&str, &str); 5] = [
    ("http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets", HCPCS),
    ("urn:oid:2.16.840.1.113883.6.285", HCPCS),
    ("https://www.cms.gov/Medicare/Coding/ICD10", ICD_10_PCS),
    (
        "http://www.cms.gov/Medicare/Coding/place-of-service-codes/Place_of_Service_Code_Set",
        PLACE_OF_SERVICE,
    ),
    ("http://terminology.hl7.org/CodeSystem/MVX", MVX),
];

/// The short names of systems, for the command line.
const NAMES: [(&str, &str); 13] = [
    ("icd-10-cm", ICD_10_CM),
    ("icd-10-pcs", ICD_10_PCS),
    ("hcpcs", HCPCS),
    ("cvx", CVX),
    ("mvx", MVX),
    ("ndc", NDC),
    ("rxnorm", RXNORM),
    ("loinc", LOINC),
    ("snomed", SNOMED_CT),
    ("snomed-ct", SNOMED_CT),
    ("nucc", NUCC),
    ("place-of-service", PLACE_OF_SERVICE),
    ("pos", PLACE_OF_SERVICE),
];

/// Returns the URL under which a system is stored, if `url` is another URL of the same system.
pub(in crate::terminology) fn alias(url: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(other, _)| *other == url).map(|(_, url)| *url)
}

/// Returns the URL of a system, which is given by its URL or by its short name.
pub fn by_name(name: &str) -> &str {
    let known = NAMES.iter().find(|(short, _)| short.eq_ignore_ascii_case(name));
    known.map_or(name, |(_, url)| url)
}

/// Returns the short names of code systems.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

/// Returns a code in the form that its system has in FHIR: ICD-10-CM with its dot, NDC with 11 digits. A code of
/// another system, or one that does not fit, is unchanged.
pub fn form<'a>(url: &str, code: &'a str) -> Cow<'a, str> {
    match url {
        ICD_10_CM => dotted(code),
        NDC => ndc::eleven_digits(code).map_or(Cow::Borrowed(code), Cow::Owned),
        _ => Cow::Borrowed(code),
    }
}

/// Returns an ICD-10-CM code with its dot.
pub(in crate::terminology) fn dotted(code: &str) -> Cow<'_, str> {
    if code.len() > 3 && code.is_ascii() && !code.contains('.') {
        Cow::Owned(format!("{}.{}", &code[..3], &code[3..]))
    } else {
        Cow::Borrowed(code)
    }
}

/// The property of RxNorm's concepts that holds their ingredients.
pub(in crate::terminology) const INGREDIENT: &str = "ingredient";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_take_the_form_of_their_system() {
        assert_eq!(form(ICD_10_CM, "E119"), "E11.9");
        assert_eq!(form(ICD_10_CM, "E11.9"), "E11.9");
        assert_eq!(form(ICD_10_CM, "I10"), "I10");
        assert_eq!(form(NDC, "0002-1433-80"), "00002143380");
        assert_eq!(form(LOINC, "8302-2"), "8302-2");
        assert_eq!(by_name("ICD-10-CM"), ICD_10_CM);
        assert_eq!(by_name("http://example.org"), "http://example.org");
    }
}
