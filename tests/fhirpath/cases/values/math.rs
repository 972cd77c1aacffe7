use super::super::Family;

/// The rows: a decimal, none, no value, two numbers, a text, an integer, a negative one, and a Quantity.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
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
        // A negative number has no real root.
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
        // Doubles have 15 digits; further digits are noise.
        ("10.89.sqrt()", &["3.3"]),
        ("2.sqrt()", &["1.4142135623731"]),
        ("0.3.ln()", &["-1.20397280432594"]),
        ("8.log(2) | 1000.log(10)", &["3"]),
        ("1.exp()", &["2.71828182845905"]),
        ("0.1.power(0.5)", &["0.316227766016838"]),
        // Products of integers are exact; beyond 32 bits they are decimals.
        ("3.power(20)", &["3486784401"]),
        ("3.power(20).type().name", &[r#""Decimal""#]),
        ("2.power(3).type().name", &[r#""Integer""#]),
        ("2.power(100)", &["1267650600228229401496703205376"]),
        ("1.power(2000000000)", &["1"]),
        ("(-2).power(31)", &["-2147483648"]),
        ("2.power(-2)", &["0.25"]),
        ("3.power(200)", &[""]),
        ("1.01.power(14)", &["1.1494742132376223120464911401"]),
        ("1.05.power(30)", &["4.32194237515067"]),
        ("7L", &["7"]),
        ("7L.type().name", &[r#""Long""#]),
        ("7L is Long and 7 is Integer and (7 is Long).not()", &["true"]),
        ("9223372036854775807L - 1", &["9223372036854775806"]),
        ("9223372036854775807L + 1", &[""]),
        ("(2147483647 + 1).empty() and 2147483647 + 1L = 2147483648L", &["true"]),
        ("5L div 2", &["2"]),
        ("(5L div 2).type().name", &[r#""Long""#]),
        ("(5L mod 3) | (2L * 3) | -(4L)", &["2 6 -4"]),
        ("5L / 2", &["2.5"]),
        ("5L + 0.5", &["5.5"]),
        ("7L = 7 and 7L = 7.0 and 7L ~ 7 and 7L > 6 and 7L <= 7.5", &["true"]),
        ("(1 | 1L | 1.0 | 2L).count()", &["2"]),
        ("(-7L).abs() | 7L.sqrt().round(2)", &["7 2.65"]),
        ("2L.power(40)", &["1099511627776"]),
        ("3L * 2 'mg' = 6 'mg'", &["true"]),
        (
            "7L.toString() & 7L.toInteger().toString() & 7L.toDecimal().toString()",
            &[r#""777""#],
        ),
        ("1L.toBoolean() and 3000000000L.toInteger().empty()", &["true"]),
        ("(1L | 2L).sum()", &["!sum"]),
        (
            "extension.value.ofType(integer).toLong() + 3000000000L",
            &["", "", "", "!single", "", "3000000016", ""],
        ),
        (
            "(-5.5 'mg').abs() = 5.5 'mg' and extension.exists()",
            &["true", "false", "true", "true", "true", "true", "true"],
        ),
    ],
};
