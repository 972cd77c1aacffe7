use super::Family;

/// The rows: relative references, none, one to another server, one by identifier, several, and one to a contained
/// resource.
pub(super) const FAMILY: Family = Family {
    name: "references",
    rows: &[
        r#""managingOrganization":{"reference":"Organization/o1"},"generalPractitioner":[{"reference":"Practitioner/d1/_history/2"}]"#,
        "",
        r#""managingOrganization":{"reference":"http://x/fhir/Organization/o2"}"#,
        r#""managingOrganization":{"identifier":{"value":"1"},"type":"Organization"},"generalPractitioner":[{"display":"nobody"}]"#,
        r#""generalPractitioner":[{"reference":"Practitioner/d2"},{"reference":"Organization/o3"},{"_reference":{"id":"x"}}]"#,
    ],
    cases: &[
        (
            "getResourceKey()",
            &[r#""r0""#, r#""r1""#, r#""r2""#, r#""r3""#, r#""r4""#],
        ),
        ("managingOrganization.getReferenceKey()", &[r#""o1""#, "", "", "", ""]),
        (
            "generalPractitioner.getReferenceKey()",
            &[r#""d1""#, "", "", "", r#""d2" "o3""#],
        ),
        (
            "generalPractitioner.getReferenceKey(Practitioner)",
            &[r#""d1""#, "", "", "", r#""d2""#],
        ),
        (
            "generalPractitioner.getReferenceKey(FHIR.Organization)",
            &["", "", "", "", r#""o3""#],
        ),
        ("generalPractitioner.getReferenceKey(Patient)", &[""]),
        (
            "managingOrganization.resolve() is Organization",
            &["true", "", "true", "true", ""],
        ),
        (
            "generalPractitioner.where(resolve() is Practitioner).reference",
            &[r#""Practitioner/d1/_history/2""#, "", "", "", r#""Practitioner/d2""#],
        ),
        (
            "generalPractitioner.resolve().ofType(Organization).exists()",
            &["false", "false", "false", "false", "true"],
        ),
        ("birthDate.resolve()", &[""]),
    ],
};
