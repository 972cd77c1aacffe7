use super::super::Family;

/// The rows: a text that is a number, none, no value, two values, true, a decimal, a date, a dateTime, a time, a
/// Quantity, and a plain text.
const ROWS: &[&str] = &[
    r#""extension":[{"valueString":"1"}]"#,
    "",
    r#""extension":[{"_valueString":{"id":"x"}}]"#,
    r#""extension":[{"valueInteger":1},{"valueInteger":2}]"#,
    r#""extension":[{"valueBoolean":true}]"#,
    r#""extension":[{"valueDecimal":0.0}]"#,
    r#""extension":[{"valueDate":"2020-05"}]"#,
    r#""extension":[{"valueDateTime":"2020-05-17T10:30:00+02:00"}]"#,
    r#""extension":[{"valueTime":"10:30:00"}]"#,
    r#""extension":[{"valueQuantity":{"value":4.0,"unit":"mg","system":"http://unitsofmeasure.org","code":"mg"}}]"#,
    r#""extension":[{"valueString":"word"}]"#,
];

pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "conversion",
    rows: ROWS,
    cases: &[
        (
            "extension.value.toBoolean()",
            &["true", "", "", "!single", "true", "false", "", "", "", "", ""],
        ),
        (
            "extension.value.toLong()",
            &["1", "", "", "!single", "1", "", "", "", "", "", ""],
        ),
        (
            "extension.value.convertsToLong()",
            &[
                "true", "", "", "!single", "true", "false", "false", "false", "false", "false", "false",
            ],
        ),
        ("'9223372036854775808'.toLong()", &[""]),
        (
            "extension.value.toInteger()",
            &["1", "", "", "!single", "1", "", "", "", "", "", ""],
        ),
        (
            "extension.value.toDecimal()",
            &["1", "", "", "!single", "1.0", "0.0", "", "", "", "", ""],
        ),
        (
            "extension.value.toString()",
            &[
                r#""1""#,
                "",
                "",
                "!single",
                r#""true""#,
                r#""0.0""#,
                r#""2020-05""#,
                r#""2020-05-17T10:30:00+02:00""#,
                r#""10:30:00""#,
                r#""4.0 'mg'""#,
                r#""word""#,
            ],
        ),
        (
            "extension.value.toDate()",
            &[
                "",
                "",
                "",
                "!single",
                "",
                "",
                r#""2020-05""#,
                r#""2020-05-17""#,
                "",
                "",
                "",
            ],
        ),
        (
            "extension.value.toDateTime()",
            &[
                "",
                "",
                "",
                "!single",
                "",
                "",
                r#""2020-05""#,
                r#""2020-05-17T10:30:00+02:00""#,
                "",
                "",
                "",
            ],
        ),
        (
            "extension.value.toTime()",
            &["", "", "", "!single", "", "", "", "", r#""10:30:00""#, "", ""],
        ),
        (
            "extension.value.toQuantity() = 1",
            &["true", "", "", "!single", "true", "false", "", "", "", "", ""],
        ),
        (
            "extension.value.toQuantity() = 4 'mg'",
            &["", "", "", "!single", "", "", "", "", "", "true", ""],
        ),
        ("'1.50'.toDecimal()", &["1.50"]),
        ("'1.50'.toInteger()", &[""]),
        ("'-7'.toInteger()", &["-7"]),
        ("'+7'.toInteger()", &["7"]),
        ("'99999999999'.toInteger()", &[""]),
        ("'2020-05-17'.toDate() = @2020-05-17", &["true"]),
        ("'2020-13-17'.toDate()", &[""]),
        ("'10:30'.toTime() = @T10:30", &["true"]),
        ("'25:30'.toTime()", &[""]),
        ("'4 days'.toQuantity() = 4 days", &["true"]),
        ("'4 \\'mg\\''.toQuantity() = 0.004 'g'", &["true"]),
        ("'F'.toBoolean()", &["false"]),
        ("2.toBoolean()", &[""]),
        ("1.0.toBoolean()", &["true"]),
        ("@2020.toDateTime()", &[r#""2020""#]),
    ],
};

pub(in crate::fhirpath::cases) const TESTS: Family = Family {
    name: "whether values can be converted",
    rows: ROWS,
    cases: &[
        (
            "extension.value.convertsToBoolean()",
            &[
                "true", "", "", "!single", "true", "true", "false", "false", "false", "false", "false",
            ],
        ),
        (
            "extension.value.convertsToInteger()",
            &[
                "true", "", "", "!single", "true", "false", "false", "false", "false", "false", "false",
            ],
        ),
        (
            "extension.value.convertsToDecimal()",
            &[
                "true", "", "", "!single", "true", "true", "false", "false", "false", "false", "false",
            ],
        ),
        (
            "extension.value.convertsToString()",
            &[
                "true", "", "", "!single", "true", "true", "true", "true", "true", "true", "true",
            ],
        ),
        (
            "extension.value.convertsToDate()",
            &[
                "false", "", "", "!single", "false", "false", "true", "true", "false", "false", "false",
            ],
        ),
        (
            "extension.value.convertsToDateTime()",
            &[
                "false", "", "", "!single", "false", "false", "true", "true", "false", "false", "false",
            ],
        ),
        (
            "extension.value.convertsToTime()",
            &[
                "false", "", "", "!single", "false", "false", "false", "false", "true", "false", "false",
            ],
        ),
        (
            "extension.value.convertsToQuantity()",
            &[
                "true", "", "", "!single", "true", "true", "false", "false", "false", "true", "false",
            ],
        ),
        (
            "'1.0'.convertsToDecimal() and '1.'.convertsToDecimal().not()",
            &["true"],
        ),
        ("'tRuE'.convertsToBoolean()", &["true"]),
        (
            "extension.select(value.convertsToInteger())",
            &[
                "true",
                "",
                "",
                "true true",
                "true",
                "false",
                "false",
                "false",
                "false",
                "false",
                "false",
            ],
        ),
    ],
};
