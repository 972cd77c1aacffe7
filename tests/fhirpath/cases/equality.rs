use super::Family;

/// The rows: a code and lists, none, no value, numbers, quantities, complex items.
pub(super) const FAMILY: Family = Family {
    name: "equality and membership",
    rows: &[
        r#""gender":"male","name":[{"given":["A","B"]}]"#,
        "",
        r#""_gender":{"id":"x"},"name":[{"given":["A",null],"_given":[null,{"id":"y"}]}]"#,
        r#""extension":[{"valueInteger":1}],"name":[{"given":["B","A"]}]"#,
        r#""extension":[{"valueDecimal":1.0}],"gender":"MALE""#,
        r#""extension":[{"valueQuantity":{"value":1,"unit":"g","system":"http://unitsofmeasure.org","code":"g"}}]"#,
        r#""telecom":[{"system":"phone","value":"1"},{"value":"1","system":"phone"},{"system":"phone","value":"1","rank":1}]"#,
    ],
    cases: &[
        ("gender = 'male'", &["true", "", "", "", "false", "", ""]),
        ("gender != 'male'", &["false", "", "", "", "true", "", ""]),
        (
            "gender ~ 'Male'",
            &["true", "false", "false", "false", "true", "false", "false"],
        ),
        (
            "gender !~ 'Male'",
            &["false", "true", "true", "true", "false", "true", "true"],
        ),
        ("gender = {}", &[""]),
        ("{} = {}", &[""]),
        (
            "gender ~ {}",
            &["false", "true", "false", "true", "false", "true", "true"],
        ),
        ("name.given = ('A' | 'B')", &["true", "", "", "false", "", "", ""]),
        (
            "name.given ~ ('A' | 'B')",
            &["true", "false", "false", "true", "false", "false", "false"],
        ),
        ("name.given != ('A' | 'B')", &["false", "", "", "true", "", "", ""]),
        ("name.given = 'A'", &["false", "", "false", "false", "", "", ""]),
        ("name.given = name.given.skip(0)", &["true", "", "", "true", "", "", ""]),
        ("extension.value = 1", &["", "", "", "true", "true", "", ""]),
        ("extension.value = 1.00", &["", "", "", "true", "true", "", ""]),
        (
            "extension.value ~ 1.02",
            &["false", "false", "false", "true", "true", "false", "false"],
        ),
        ("extension.value = '1'", &["", "", "", "false", "false", "false", ""]),
        ("extension.value = 1000 'mg'", &["", "", "", "", "", "true", ""]),
        (
            "extension.value ~ 0.001 'kg'",
            &["false", "false", "false", "false", "false", "true", "false"],
        ),
        ("telecom[0] = telecom[1]", &["", "", "", "", "", "", "true"]),
        ("telecom[0] = telecom[2]", &["", "", "", "", "", "", "false"]),
        (
            "telecom[0] ~ telecom[1]",
            &["true", "true", "true", "true", "true", "true", "true"],
        ),
        (
            "telecom.where($this = %resource.telecom.first()).count()",
            &["0", "0", "0", "0", "0", "0", "2"],
        ),
        (
            "'A' in name.given",
            &["true", "false", "true", "true", "false", "false", "false"],
        ),
        (
            "gender in ('male' | 'female')",
            &["true", "", "false", "", "false", "", ""],
        ),
        ("name.given in 'A'", &["!single", "", "!single", "!single", "", "", ""]),
        ("{} in name.given", &[""]),
        (
            "name.given contains 'B'",
            &["true", "false", "false", "true", "false", "false", "false"],
        ),
        ("name.given contains {}", &[""]),
        (
            "name.given contains name.given",
            &["!single", "", "!single", "!single", "", "", ""],
        ),
        ("telecom contains telecom.last()", &["", "", "", "", "", "", "true"]),
        ("extension.value in (1 | 2)", &["", "", "", "true", "true", "false", ""]),
        (
            "name.given.select($this in %resource.name.given)",
            &["true true", "", "true false", "true true", "", "", ""],
        ),
    ],
};
