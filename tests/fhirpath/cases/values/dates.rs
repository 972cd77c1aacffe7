use super::super::Family;

/// The rows: a dateTime to the millisecond, none, no value, two, a text, a day, a year, a time, a UTC time, and one
/// with a negative offset of hours and a half.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "parts of dates",
    rows: &[
        r#""extension":[{"valueDateTime":"2014-01-05T10:30:07.002+08:45"}]"#,
        "",
        r#""extension":[{"_valueDateTime":{"id":"x"}}]"#,
        r#""extension":[{"valueDate":"2014"},{"valueDate":"2015"}]"#,
        r#""extension":[{"valueString":"2014-01-05"}]"#,
        r#""extension":[{"valueDate":"2014-01-05"}]"#,
        r#""extension":[{"valueDateTime":"2012"}]"#,
        r#""extension":[{"valueTime":"23:59:58.25"}]"#,
        r#""extension":[{"valueInstant":"2020-02-29T00:00:00Z"}]"#,
        r#""extension":[{"valueDateTime":"2020-02-29T01:02:03.123456-07:30"}]"#,
    ],
    cases: &[
        (
            "extension.value.yearOf()",
            &["2014", "", "", "!single", "", "2014", "2012", "", "2020", "2020"],
        ),
        (
            "extension.value.monthOf()",
            &["1", "", "", "!single", "", "1", "", "", "2", "2"],
        ),
        (
            "extension.value.dayOf()",
            &["5", "", "", "!single", "", "5", "", "", "29", "29"],
        ),
        (
            "extension.value.hourOf()",
            &["10", "", "", "!single", "", "", "", "23", "0", "1"],
        ),
        (
            "extension.value.minuteOf()",
            &["30", "", "", "!single", "", "", "", "59", "0", "2"],
        ),
        (
            "extension.value.secondOf()",
            &["7", "", "", "!single", "", "", "", "58", "0", "3"],
        ),
        (
            "extension.value.millisecondOf()",
            &["2", "", "", "!single", "", "", "", "250", "", "123"],
        ),
        (
            "extension.value.timezoneOffsetOf()",
            &["8.75", "", "", "!single", "", "", "", "", "0.0", "-7.5"],
        ),
        (
            "extension.value.dateOf()",
            &[
                r#""2014-01-05""#,
                "",
                "",
                "!single",
                "",
                r#""2014-01-05""#,
                r#""2012""#,
                "",
                r#""2020-02-29""#,
                r#""2020-02-29""#,
            ],
        ),
        (
            "extension.value.timeOf()",
            &[
                r#""10:30:07.002""#,
                "",
                "",
                "!single",
                "",
                "",
                "",
                "",
                r#""00:00:00""#,
                r#""01:02:03.123456""#,
            ],
        ),
        ("@2014-01-05T10:30:00.000.yearOf()", &["2014"]),
        ("@2012.monthOf()", &[""]),
        ("@2012-01-01T12:30:00.000-07:00.timezoneOffsetOf()", &["-7.0"]),
        ("@2012-01-01T12:30:00.000-07:00.timeOf() = @T12:30:00.000", &["true"]),
        ("@T12:30.hourOf() + @T12:30.minuteOf()", &["42"]),
    ],
};
