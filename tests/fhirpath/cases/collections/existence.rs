use super::super::Family;

/// The rows: three names, one with only an id; none; one name; a list with an element without a value.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "existence",
    rows: &[
        r#""name":[{"use":"old","given":["A","B"]},{"use":"usual"},{"family":"F"}],"active":true"#,
        "",
        r#""name":[{"use":"usual","given":["C"]}],"active":false"#,
        r#""name":[{"given":[null,"D"],"_given":[{"id":"x"},null]}],"_active":{"id":"y"}"#,
    ],
    cases: &[
        ("name.exists()", &["true", "false", "true", "true"]),
        ("name.given.exists()", &["true", "false", "true", "true"]),
        ("name.exists(use = 'usual')", &["true", "false", "true", "false"]),
        ("name.exists(given.count() = 2)", &["true", "false", "false", "true"]),
        ("name.where(false).exists()", &["false"]),
        // An element with only an id or extensions exists.
        ("active.exists()", &["true", "false", "true", "true"]),
        ("name.empty()", &["false", "true", "false", "false"]),
        ("name.family.empty()", &["false", "true", "true", "true"]),
        ("{}.empty()", &["true"]),
        ("active.empty()", &["false", "true", "false", "false"]),
        ("name.count()", &["3", "0", "1", "1"]),
        ("name.given.count()", &["2", "0", "1", "2"]),
        ("name.select(given.count())", &["2 0 0", "", "1", "2"]),
        ("{}.count()", &["0"]),
        ("name.all(use.exists())", &["false", "true", "true", "false"]),
        ("name.all(given.exists() or family.exists() or use.exists())", &["true"]),
        ("name.all(use = 'usual')", &["false", "true", "true", "false"]),
        // An empty criterion is not true.
        ("name.given.all(length() = 1)", &["true", "true", "true", "false"]),
        ("name.given.all($this = 'C')", &["false", "true", "true", "false"]),
        ("active.not()", &["false", "", "true", ""]),
        ("name.exists().not()", &["false", "true", "false", "false"]),
        ("name.given.not()", &["!single", "", "false", "!single"]),
        ("{}.not()", &[""]),
    ],
};

/// The rows, as booleans in an extension: both, none, true ones, false ones, one without a value among others, another
/// type.
pub(in crate::fhirpath::cases) const BOOLEANS: Family = Family {
    name: "booleans",
    rows: &[
        r#""extension":[{"valueBoolean":true},{"valueBoolean":false}]"#,
        "",
        r#""extension":[{"valueBoolean":true},{"valueBoolean":true}]"#,
        r#""extension":[{"valueBoolean":false}]"#,
        r#""extension":[{"valueBoolean":true},{"_valueBoolean":{"id":"x"}}]"#,
        r#""extension":[{"valueBoolean":true},{"valueString":"true"}]"#,
    ],
    cases: &[
        (
            "extension.value.allTrue()",
            &["false", "true", "true", "false", "true", "!Boolean"],
        ),
        (
            "extension.value.anyTrue()",
            &["true", "false", "true", "false", "true", "!Boolean"],
        ),
        (
            "extension.value.allFalse()",
            &["false", "true", "false", "true", "false", "!Boolean"],
        ),
        (
            "extension.value.anyFalse()",
            &["true", "false", "false", "true", "false", "!Boolean"],
        ),
        (
            "extension.select(value.allTrue())",
            &["true false", "", "true true", "false", "true true", "!Boolean"],
        ),
        (
            "extension.value.where($this)",
            &["true", "", "true true", "", "true", "true \"true\""],
        ),
        (
            "extension.value.select($this.not())",
            &["false true", "", "false false", "true", "false", "false false"],
        ),
        (
            "extension.value.not()",
            &["!single", "", "!single", "true", "!single", "!single"],
        ),
    ],
};
