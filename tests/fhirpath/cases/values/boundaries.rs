use super::super::Family;

/// The rows: a decimal, none, no value, two, an integer, a year, a dateTime of an hour, a time of minutes, a text.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "boundaries",
    rows: &[
        r#""extension":[{"valueDecimal":1.587}]"#,
        "",
        r#""extension":[{"_valueDecimal":{"id":"x"}}]"#,
        r#""extension":[{"valueDecimal":1.5},{"valueDecimal":2.5}]"#,
        r#""extension":[{"valueDecimal":-1.587}]"#,
        r#""extension":[{"valueDate":"2016-02"}]"#,
        r#""extension":[{"valueDateTime":"2014-01-01T08:05:06+01:00"}]"#,
        r#""extension":[{"valueTime":"10:30:00"}]"#,
        r#""extension":[{"valueString":"1"}]"#,
    ],
    cases: &[
        (
            "extension.value.lowBoundary()",
            &[
                "1.58650000",
                "",
                "",
                "!single",
                "-1.58750000",
                r#""2016-02-01""#,
                r#""2014-01-01T08:05:06.000+01:00""#,
                r#""10:30:00.000""#,
                "!",
            ],
        ),
        (
            "extension.value.highBoundary()",
            &[
                "1.58750000",
                "",
                "",
                "!single",
                "-1.58650000",
                r#""2016-02-29""#,
                r#""2014-01-01T08:05:06.999+01:00""#,
                r#""10:30:00.999""#,
                "!",
            ],
        ),
        (
            "extension.value.lowBoundary(6)",
            &[
                "1.586500",
                "",
                "",
                "!single",
                "-1.587500",
                r#""2016-02""#,
                r#""2014-01""#,
                r#""10:30:00""#,
                "!",
            ],
        ),
        (
            "extension.value.highBoundary(6)",
            &[
                "1.587500",
                "",
                "",
                "!single",
                "-1.586500",
                r#""2016-02""#,
                r#""2014-01""#,
                r#""10:30:00""#,
                "!",
            ],
        ),
        // With fewer digits, the result is rounded outward.
        (
            "extension.value.ofType(decimal).lowBoundary(2)",
            &["1.58", "", "", "!single", "-1.59", "", "", "", ""],
        ),
        (
            "extension.value.ofType(decimal).highBoundary(2)",
            &["1.59", "", "", "!single", "-1.58", "", "", "", ""],
        ),
        (
            "extension.value.ofType(decimal).lowBoundary(0)",
            &["1", "", "", "!single", "-2", "", "", "", ""],
        ),
        (
            "extension.value.ofType(decimal).highBoundary(0)",
            &["2", "", "", "!single", "-1", "", "", "", ""],
        ),
        (
            "extension.value.ofType(decimal).highBoundary(100)",
            &["", "", "", "!single", "", "", "", "", ""],
        ),
        (
            "extension.value.ofType(decimal).lowBoundary(-1)",
            &["", "", "", "!single", "", "", "", "", ""],
        ),
        (
            "extension.select(value.ofType(decimal).lowBoundary(1))",
            &["1.5", "", "", "1.4 2.4", "-1.6", "", "", "", ""],
        ),
        (
            "extension.value.ofType(date).lowBoundary(4)",
            &["", "", "", "", "", r#""2016""#, "", "", ""],
        ),
        (
            "extension.value.ofType(time).highBoundary(2)",
            &["", "", "", "", "", "", "", r#""10""#, ""],
        ),
        (
            "@2014.lowBoundary(6) = @2014-01 and @2014.highBoundary(6) = @2014-12",
            &["true"],
        ),
        ("@T10:30.highBoundary(9)", &[r#""10:30:59.999""#]),
        (
            "@2014-01-01T08:00Z.highBoundary(17)",
            &[r#""2014-01-01T08:00:59.999Z""#],
        ),
    ],
};
