use super::Family;

/// A decimal, none, no value, two numbers, a text, an integer, one below zero, and a Quantity.
pub(super) const FAMILY: Family = Family {
    name: "math",
    rows: &[
        r#""extension":[{"valueDecimal":2.50}]"#,
        "",
        r#""extension":[{"_valueDecimal":{"id":"x"}}]"#,
        r#""extension":[{"valueInteger":1},{"valueInteger":2}]"#,
        r#""extension":[{"valueString":"1"}]"#,
        r#""extension":[{"valueInteger":16}]"#,
        r#""extension":[{"valueDecimal":-1.6}]"#,
    ],
    cases: &[
        (
            "extension.value.abs()",
            &["2.50", "", "", "!single", "!number", "16", "1.6"],
        ),
        (
            "extension.value.ceiling()",
            &["3", "", "", "!single", "!number", "16", "-1"],
        ),
        (
            "extension.value.floor()",
            &["2", "", "", "!single", "!number", "16", "-2"],
        ),
        (
            "extension.value.truncate()",
            &["2", "", "", "!single", "!number", "16", "-1"],
        ),
        (
            "extension.value.round() = extension.value.round(0)",
            &["true", "", "", "!", "!", "true", "true"],
        ),
        (
            "extension.value.round() = 3",
            &["true", "", "", "!single", "!number", "false", "false"],
        ),
        (
            "extension.value.round(1) = 2.5",
            &["true", "", "", "!", "!", "false", "false"],
        ),
        (
            "3.14159.round(3) = 3.142 and extension.value.round(3).exists()",
            &["true", "false", "false", "!", "!", "true", "true"],
        ),
        (
            "extension.value.round(-1)",
            &["!precision", "", "", "!single", "!", "!precision", "!precision"],
        ),
        (
            "extension.value.exp().round(3)",
            &["12.182", "", "", "!single", "!number", "8886110.521", "0.202"],
        ),
        (
            "0.exp() = 1.0 and extension.value.exp() > 0",
            &["true", "", "", "!", "!", "true", "true"],
        ),
        (
            "extension.value.ln().round(3)",
            &["0.916", "", "", "!single", "!number", "2.773", ""],
        ),
        (
            "1.ln() = 0.0 and extension.value.ln().exists()",
            &["true", "false", "false", "!", "!", "true", "false"],
        ),
        (
            "extension.value.log(2).round(3) = 4",
            &["false", "", "", "!single", "!number", "true", ""],
        ),
        ("extension.value.log({})", &["", "", "", "!single", "", "", ""]),
        (
            "16.log(extension.value).round(2)",
            &["3.03", "", "", "!single", "!number", "1", ""],
        ),
        (
            "extension.value.sqrt().round(3)",
            &["1.581", "", "", "!single", "!number", "4", ""],
        ),
        (
            "extension.value.sqrt() * extension.value.sqrt() = extension.value",
            &["false", "", "", "!", "!", "true", ""],
        ),
        (
            "extension.value.power(2)",
            &["6.2500", "", "", "!single", "!number", "256", "2.56"],
        ),
        (
            "extension.value.power(0) = 1",
            &["true", "", "", "!", "!", "true", "true"],
        ),
        // No real number is a root of a negative one.
        (
            "extension.value.power(0.5).round(2)",
            &["1.58", "", "", "!single", "!number", "4", ""],
        ),
        (
            "extension.value.power(-1).round(4)",
            &["0.4", "", "", "!single", "!number", "0.0625", "-0.625"],
        ),
        (
            "2.power(extension.value).round(2)",
            &["5.66", "", "", "!single", "!number", "65536", "0.33"],
        ),
        ("extension.value.power({})", &["", "", "", "!single", "", "", ""]),
        (
            "extension.select(value.ofType(integer).abs())",
            &["", "", "", "1 2", "", "16", ""],
        ),
        (
            "(-5.5 'mg').abs() = 5.5 'mg' and extension.exists()",
            &["true", "false", "true", "true", "true", "true", "true"],
        ),
    ],
};
