use super::Family;

/// The rows: a decimal, none, no value, two numbers, a text, an integer, a Quantity, the greatest integer.
pub(super) const ARITHMETIC: Family = Family {
    name: "arithmetic",
    rows: &[
        r#""extension":[{"valueDecimal":2.50}]"#,
        "",
        r#""extension":[{"_valueDecimal":{"id":"x"}}]"#,
        r#""extension":[{"valueInteger":1},{"valueInteger":2}]"#,
        r#""extension":[{"valueString":"1"}]"#,
        r#""extension":[{"valueInteger":-7}]"#,
        r#""extension":[{"valueQuantity":{"value":3,"unit":"m","system":"http://unitsofmeasure.org","code":"m"}}]"#,
        r#""extension":[{"valueInteger":2147483647}]"#,
    ],
    cases: &[
        ("extension.value + 1", &["3.50", "", "", "!single", "!", "-6", "", ""]),
        ("1 + extension.value", &["3.50", "", "", "!single", "!", "-6", "", ""]),
        ("extension.value + {}", &["", "", "", "!single", "", "", "", ""]),
        (
            "extension.value - 0.05",
            &["2.45", "", "", "!single", "!", "-7.05", "", "2147483646.95"],
        ),
        (
            "extension.value * 2",
            &["5.00", "", "", "!single", "!", "-14", r#"{"value":6,"unit":"m"}"#, ""],
        ),
        (
            "extension.value.ofType(integer) * 2",
            &["", "", "", "!single", "", "-14", "", ""],
        ),
        (
            "extension.value / 2 = 1.25",
            &["true", "", "", "!single", "!", "false", "", "false"],
        ),
        (
            "extension.value.ofType(integer) / 2",
            &["", "", "", "!single", "", "-3.5", "", "1073741823.5"],
        ),
        (
            "extension.value.ofType(integer) / 0",
            &["", "", "", "!single", "", "", "", ""],
        ),
        (
            "extension.value.ofType(decimal) / 0.0",
            &["", "", "", "", "", "", "", ""],
        ),
        (
            "extension.value.ofType(integer) div 2",
            &["", "", "", "!single", "", "-3", "", "1073741823"],
        ),
        (
            "extension.value.ofType(decimal) div 0.7",
            &["3", "", "", "", "", "", "", ""],
        ),
        (
            "extension.value.ofType(integer) div 0",
            &["", "", "", "!single", "", "", "", ""],
        ),
        (
            "extension.value.ofType(integer) mod 2",
            &["", "", "", "!single", "", "-1", "", "1"],
        ),
        (
            "extension.value.ofType(decimal) mod 0.7",
            &["0.40", "", "", "", "", "", "", ""],
        ),
        (
            "extension.value.ofType(decimal) mod 0",
            &["", "", "", "", "", "", "", ""],
        ),
        (
            "extension.value.ofType(Quantity) + 3 'cm' = 303 'cm'",
            &["", "", "", "", "", "", "true", ""],
        ),
        (
            "extension.value.ofType(Quantity) - 3 'cm' = 297 'cm'",
            &["", "", "", "", "", "", "true", ""],
        ),
        (
            "extension.value.ofType(Quantity) + 3 'kg'",
            &["", "", "", "", "", "", "", ""],
        ),
        (
            "extension.value.ofType(Quantity) * 12 'm' = 36 'm2'",
            &["", "", "", "", "", "", "true", ""],
        ),
        (
            "extension.value.ofType(Quantity) / 2 's' = 1.5 'm/s'",
            &["", "", "", "", "", "", "true", ""],
        ),
        (
            "extension.value.ofType(Quantity) * 2 = 6 'm'",
            &["", "", "", "", "", "", "true", ""],
        ),
        (
            "-(extension.value)",
            &[
                "-2.50",
                "",
                "",
                "!single",
                "!",
                "7",
                r#"{"value":-3,"unit":"m"}"#,
                "-2147483647",
            ],
        ),
        (
            "+extension.value.ofType(integer)",
            &["", "", "", "!single", "", "-7", "", "2147483647"],
        ),
        (
            "-2147483647 - 1 = extension.value",
            &["false", "", "", "false", "false", "false", "", "false"],
        ),
        (
            "extension.select(value.ofType(integer) + 1)",
            &["", "", "", "2 3", "", "-6", "", ""],
        ),
        (
            "extension.value < 2.51",
            &["true", "", "", "!single", "!", "true", "", "false"],
        ),
        (
            "extension.value.ofType(integer) <= -7",
            &["", "", "", "!single", "", "true", "", "false"],
        ),
        (
            "extension.value.ofType(integer) >= -7.0",
            &["", "", "", "!single", "", "true", "", "true"],
        ),
        (
            "extension.value.ofType(Quantity) > 299 'cm'",
            &["", "", "", "", "", "", "true", ""],
        ),
        (
            "extension.value.ofType(Quantity) > 1 'kg'",
            &["", "", "", "", "", "", "", ""],
        ),
        ("extension.value.ofType(string) > 0", &["", "", "", "", "!", "", "", ""]),
    ],
};

/// The rows: true, none, no value, false, several, a text.
pub(super) const LOGIC: Family = Family {
    name: "logic",
    rows: &[
        r#""active":true"#,
        "",
        r#""_active":{"id":"x"}"#,
        r#""active":false"#,
        r#""extension":[{"valueBoolean":true},{"valueBoolean":false}]"#,
    ],
    cases: &[
        ("active and true", &["true", "", "", "false", ""]),
        ("active and false", &["false"]),
        ("active and {}", &["", "", "", "false", ""]),
        ("active or true", &["true"]),
        ("active or false", &["true", "", "", "false", ""]),
        ("active or {}", &["true", "", "", "", ""]),
        ("active xor true", &["false", "", "", "true", ""]),
        ("active xor false", &["true", "", "", "false", ""]),
        ("active xor {}", &[""]),
        ("active implies true", &["true"]),
        ("active implies false", &["false", "", "", "true", ""]),
        ("active implies {}", &["", "", "", "true", ""]),
        ("{} implies active", &["true", "", "", "", ""]),
        ("extension.value and true", &["", "", "", "", "!single"]),
        ("extension.value or true", &["true", "true", "true", "true", "!single"]),
        ("true xor extension.value", &["", "", "", "", "!single"]),
        // A single item of another type counts as true.
        ("id and true", &["true"]),
        ("extension.select(value and true)", &["", "", "", "", "true false"]),
        ("extension.where(value or {}).count()", &["0", "0", "0", "0", "1"]),
    ],
};

/// The rows: one text, none, no value, two, a number.
pub(super) const TEXTS: Family = Family {
    name: "sums of texts",
    rows: &[
        r#""extension":[{"valueString":"né"}]"#,
        "",
        r#""extension":[{"_valueString":{"id":"x"}}]"#,
        r#""extension":[{"valueString":"a"},{"valueString":"b"}]"#,
        r#""extension":[{"valueBoolean":true}]"#,
    ],
    cases: &[
        ("extension.value + '!'", &[r#""né!""#, "", "", "!single", "!"]),
        ("'!' + extension.value", &[r#""!né""#, "", "", "!single", "!"]),
        (
            "extension.value.ofType(string) & '!'",
            &[r#""né!""#, r#""!""#, r#""!""#, "!single", r#""!""#],
        ),
        (
            "{} & extension.value.ofType(string)",
            &[r#""né""#, r#""""#, r#""""#, "!single", r#""""#],
        ),
        ("extension.value.ofType(string) < 'o'", &["true", "", "", "!single", ""]),
        (
            "extension.value.ofType(string) >= 'ne'",
            &["true", "", "", "!single", ""],
        ),
        (
            "extension.select(value.ofType(string) & '.')",
            &[r#""né.""#, "", r#"".""#, r#""a." "b.""#, r#"".""#],
        ),
    ],
};
