//! Codes, profiles, narratives and modifiers without a terminology; variables and choices.

use super::Family;

pub(super) const FAMILY: Family = Family {
    name: "terminology and profiles",
    rows: &[
        r#""gender": "male", "maritalStatus": {"coding": [{"system": "http://s", "code": "M"}, {"code": "N"}]},
           "text": {"status": "generated", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\"><p>x</p></div>"}"#,
        "",
        r#""_gender": {"extension": [{"url": "http://x"}]}, "maritalStatus": {"text": "married"},
           "text": {"status": "generated", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\"> <br/> </div>"}"#,
        r#""communication": [{"language": {"coding": [{"system": "http://s", "code": "M"}]}},
           {"language": {"coding": [{"system": "http://t", "code": "M"}]}}],
           "maritalStatus": {"coding": [{"system": "http://s", "code": "M"}]},
           "text": {"status": "generated", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\"><script>x</script></div>"}"#,
        r#""modifierExtension": [{"url": "http://m", "valueBoolean": true}], "name": [{"family": "A"}, {"family": "B"}],
           "text": {"status": "generated", "div": "<p>no div</p>"}"#,
    ],
    cases: &[
        (
            "gender.memberOf('http://hl7.org/fhir/ValueSet/administrative-gender')",
            &[""],
        ),
        ("maritalStatus.memberOf('http://unknown')", &[""]),
        ("maritalStatus.memberOf(%resource.maritalStatus.text)", &[""]),
        (
            "name.memberOf('http://unknown')",
            &["!memberOf() is not defined for HumanName"],
        ),
        ("maritalStatus.memberOf()", &["!memberOf() takes 1 argument"]),
        (
            "maritalStatus.subsumes(maritalStatus)",
            &["true", "", "false", "true", ""],
        ),
        (
            "maritalStatus.subsumedBy(communication[0].language)",
            &["", "", "", "true", ""],
        ),
        (
            "communication[0].language.coding.subsumes(communication[1].language.coding)",
            &["", "", "", "!the codes are of different systems", ""],
        ),
        (
            "communication[0].language.coding.subsumes(maritalStatus.coding)",
            &["", "", "", "true", ""],
        ),
        (
            "gender.subsumes(maritalStatus)",
            &["!subsumes() is not defined for code"],
        ),
        ("text.div.htmlChecks()", &["true", "", "false", "false", "false"]),
        ("text.`div`.htmlChecks()", &["true", "", "false", "false", "false"]),
        ("gender.htmlChecks()", &[""]),
        (
            "conformsTo('http://hl7.org/fhir/StructureDefinition/Patient')",
            &["true"],
        ),
        (
            "conformsTo('http://hl7.org/fhir/StructureDefinition/DomainResource|4.0.1')",
            &["true"],
        ),
        (
            "conformsTo('http://hl7.org/fhir/StructureDefinition/' & iif(gender.exists(), 'Patient', 'Person'))",
            &["true", "false", "true", "false", "false"],
        ),
        (
            "name.conformsTo('http://hl7.org/fhir/StructureDefinition/HumanName')",
            &["", "", "", "", ""],
        ),
        (
            "name.first().conformsTo('http://hl7.org/fhir/StructureDefinition/Element')",
            &["", "", "", "", "true"],
        ),
        (
            "conformsTo('http://trash')",
            &["!conformsTo('http://trash'), which names no type of R4, is not supported"],
        ),
        (
            "conformsTo('http://trash' & gender)",
            &["!'http://trashmale' is no type of R4", "!", "!", "!", "!"],
        ),
        (
            "checkModifiers('http://x').gender",
            &[r#""male""#, "", "null", "", "!a modifier extension"],
        ),
        (
            "checkModifiers('http://x', 'http://m').name.family",
            &["", "", "", "", r#""A" "B""#],
        ),
        (
            "name.checkModifiers('http://x').family",
            &["", "", "", "", r#""A" "B""#],
        ),
    ],
};

pub(super) const VARIABLES: Family = Family {
    name: "variables and choices",
    rows: &[
        r#""name": [{"family": "A", "given": ["B", "C"]}, {"family": "D", "given": ["E"]}]"#,
        "",
        r#""name": [{"given": ["B", "B"]}], "gender": "male""#,
    ],
    cases: &[
        (
            "name.defineVariable('n').given.select(%n.family.first() & $this)",
            &[r#""AB" "AC" "AE""#, "", r#""B" "B""#],
        ),
        (
            "name.select(defineVariable('n').given.select($this & %n.family))",
            &[r#""BA" "CA" "ED""#, "", r#""B" "B""#],
        ),
        (
            "defineVariable('all', name.given.count()).name.where(given.count() < %all).given",
            &[r#""B" "C" "E""#, "", ""],
        ),
        (
            "coalesce(name.family, gender, 'none')",
            &[r#""A" "D""#, r#""none""#, r#""male""#],
        ),
        (
            "coalesce(gender, name.family.single())",
            &["!single needs a single item", "", r#""male""#],
        ),
        ("coalesce({}, {})", &[""]),
        (
            "(name.count() & ' \\'mg\\'').toQuantity().select(value.toString() & unit)",
            &[r#""2mg""#, r#""0mg""#, r#""1mg""#],
        ),
        ("name.repeatAll(given)", &[r#""B" "C" "E""#, "", r#""B" "B""#]),
        ("name.repeat(given)", &[r#""B" "C" "E""#, "", r#""B""#]),
    ],
};
