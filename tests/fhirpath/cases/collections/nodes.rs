use super::super::Family;

/// The rows: a value, none, an element without a value, several, a complex item, an extension within one.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "nodes and types",
    rows: &[
        r#""birthDate":"1970-06","extension":[{"url":"u","valueString":"s"}]"#,
        "",
        r#""_birthDate":{"extension":[{"url":"u","valueCode":"c"}]},"extension":[{"_valueString":{"id":"x"}}]"#,
        r#""extension":[{"url":"u","valueInteger":1},{"url":"v","valueDecimal":2.50}]"#,
        r#""extension":[{"url":"u","valueQuantity":{"value":3,"unit":"kg","system":"http://unitsofmeasure.org","code":"kg"}}]"#,
        r#""extension":[{"url":"u","valueHumanName":{"family":"F","given":["G","H"]}}]"#,
    ],
    cases: &[
        (
            "birthDate.hasValue()",
            &["true", "false", "false", "false", "false", "false"],
        ),
        (
            "extension.value.hasValue()",
            &["true", "false", "false", "false", "false", "false"],
        ),
        (
            "extension.select(value.hasValue())",
            &["true", "", "false", "true true", "false", "false"],
        ),
        ("birthDate.getValue()", &[r#""1970-06""#, "", "", "", "", ""]),
        (
            "extension.select(value.getValue())",
            &[r#""s""#, "", "", "1 2.50", "", ""],
        ),
        (
            "extension.value.type().name",
            &[
                r#""string""#,
                "",
                r#""string""#,
                r#""integer" "decimal""#,
                r#""Quantity""#,
                r#""HumanName""#,
            ],
        ),
        (
            "extension.value.type().namespace",
            &[
                r#""FHIR""#,
                "",
                r#""FHIR""#,
                r#""FHIR" "FHIR""#,
                r#""FHIR""#,
                r#""FHIR""#,
            ],
        ),
        ("(extension.count() > 0).type().name", &[r#""Boolean""#]),
        (
            "extension.value is string",
            &["true", "", "true", "!single", "false", "false"],
        ),
        (
            "extension.value.is(FHIR.string)",
            &["true", "", "true", "!single", "false", "false"],
        ),
        (
            "extension.value.first() is integer",
            &["false", "", "false", "true", "false", "false"],
        ),
        (
            "extension.value.first() is Element",
            &["true", "", "true", "true", "true", "true"],
        ),
        (
            "extension.value.first() is System.String",
            &["false", "", "false", "false", "false", "false"],
        ),
        (
            "extension.value.as(string)",
            &[r#""s""#, "", "null", "!as needs a single item", "", ""],
        ),
        ("extension.value.first() as integer", &["", "", "", "1", "", ""]),
        ("extension.value.ofType(decimal)", &["", "", "", "2.50", "", ""]),
        ("extension.value.ofType(Quantity).value", &["", "", "", "", "3", ""]),
        (
            "extension.value.ofType(HumanName).given",
            &["", "", "", "", "", r#""G" "H""#],
        ),
        ("extension('u').value.ofType(integer)", &["", "", "", "1", "", ""]),
        ("birthDate.extension('u').value", &["", "", r#""c""#, "", "", ""]),
        ("extension('w').exists()", &["false"]),
        ("extension({})", &[""]),
        ("extension.children().count()", &["2", "0", "1", "4", "2", "2"]),
        (
            "extension.value.children()",
            &[
                "",
                "",
                r#""x""#,
                "",
                r#"3 "kg" "http://unitsofmeasure.org" "kg""#,
                r#""F" "G" "H""#,
            ],
        ),
        ("extension.descendants().count()", &["2", "0", "2", "4", "6", "5"]),
        (
            "descendants().ofType(string)",
            &[r#""s""#, "", r#"null "x""#, "", r#""kg""#, r#""F" "G" "H""#],
        ),
        (
            "extension.value.ofType(decimal).precision()",
            &["", "", "", "2", "", ""],
        ),
        ("birthDate.precision()", &["6", "", "", "", "", ""]),
        (
            "extension.value.precision()",
            &["!number", "", "", "!single", "!number", "!number"],
        ),
        (
            "extension.value.ofType(Quantity).comparable(1 'g')",
            &["", "", "", "", "true", ""],
        ),
        (
            "extension.value.ofType(Quantity).comparable(1 'm')",
            &["", "", "", "", "false", ""],
        ),
        ("extension.value.ofType(Quantity).comparable({})", &[""]),
    ],
};
