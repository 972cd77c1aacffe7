use super::super::Family;

/// The rows: a day, none, no value, a month, a year, a leap day.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "sums of dates",
    rows: &[
        r#""birthDate":"1973-12-25""#,
        "",
        r#""_birthDate":{"id":"x"}"#,
        r#""birthDate":"2014-11""#,
        r#""birthDate":"2014""#,
        r#""birthDate":"2016-02-29""#,
    ],
    cases: &[
        (
            "birthDate + 7 days",
            &[
                r#""1974-01-01""#,
                "",
                "",
                r#""2014-11""#,
                r#""2014""#,
                r#""2016-03-07""#,
            ],
        ),
        (
            "birthDate + 2 weeks",
            &[
                r#""1974-01-08""#,
                "",
                "",
                r#""2014-11""#,
                r#""2014""#,
                r#""2016-03-14""#,
            ],
        ),
        (
            "birthDate + 1 month",
            &[
                r#""1974-01-25""#,
                "",
                "",
                r#""2014-12""#,
                r#""2014""#,
                r#""2016-03-29""#,
            ],
        ),
        (
            "birthDate + 24 months",
            &[
                r#""1975-12-25""#,
                "",
                "",
                r#""2016-11""#,
                r#""2016""#,
                r#""2018-02-28""#,
            ],
        ),
        (
            "birthDate + 23 months",
            &[
                r#""1975-11-25""#,
                "",
                "",
                r#""2016-10""#,
                r#""2015""#,
                r#""2018-01-29""#,
            ],
        ),
        (
            "birthDate + 365 days",
            &[
                r#""1974-12-25""#,
                "",
                "",
                r#""2015-11""#,
                r#""2015""#,
                r#""2017-02-28""#,
            ],
        ),
        (
            "birthDate + 1 year",
            &[
                r#""1974-12-25""#,
                "",
                "",
                r#""2015-11""#,
                r#""2015""#,
                r#""2017-02-28""#,
            ],
        ),
        // Units above seconds ignore decimals.
        (
            "birthDate + 1.9 years",
            &[
                r#""1974-12-25""#,
                "",
                "",
                r#""2015-11""#,
                r#""2015""#,
                r#""2017-02-28""#,
            ],
        ),
        (
            "birthDate - 1 month",
            &[
                r#""1973-11-25""#,
                "",
                "",
                r#""2014-10""#,
                r#""2014""#,
                r#""2016-01-29""#,
            ],
        ),
        (
            "birthDate - 4 years",
            &[
                r#""1969-12-25""#,
                "",
                "",
                r#""2010-11""#,
                r#""2010""#,
                r#""2012-02-29""#,
            ],
        ),
        ("birthDate + {}", &[""]),
        ("birthDate + 1", &["!"]),
        ("birthDate + 1 'kg'", &["!", "", "", "!", "!", "!"]),
        ("birthDate + 1 'a'", &["!", "", "", "!", "!", "!"]),
        (
            "birthDate + (extension.exists().toString().length() - 4) 'days'",
            &["!"],
        ),
        (
            "@2020-01-31T10:30:00.000+02:00 + 1 month = @2020-02-29T10:30:00.000+02:00 and birthDate.empty()",
            &["false", "true", "false", "false", "false", "false"],
        ),
        ("@2020-01-01T23:30:00Z + 45 minutes", &[r#""2020-01-02T00:15:00Z""#]),
        ("@2020-01-01T23:30:00Z - 24 hours", &[r#""2019-12-31T23:30:00Z""#]),
        ("@2020-01-01T23:30:00Z + 1 's'", &[r#""2020-01-01T23:30:01Z""#]),
        ("@T23:30:00 + 45 minutes", &[r#""00:15:00""#]),
        ("@T23:30:00.000 + 10 milliseconds", &[r#""23:30:00.010""#]),
        ("today() >= @2020-01-01 and today() is Date", &["true"]),
        ("now() is DateTime and now() = now()", &["true"]),
        ("birthDate < today()", &["true", "", "", "true", "true", "true"]),
        (
            "birthDate.select(now()) < now() + 1 day",
            &["true", "", "true", "true", "true", "true"],
        ),
        (
            "birthDate.select(timeOfDay()) is Time",
            &["true", "", "true", "true", "true", "true"],
        ),
        ("name.select(timeOfDay())", &[""]),
    ],
};

/// The rows: a dateTime with a zone, none, no value, a day, a dateTime in another zone, a text, two.
pub(in crate::fhirpath::cases) const COMPARISON: Family = Family {
    name: "comparison of dates",
    rows: &[
        r#""extension":[{"valueDateTime":"2012-04-15T15:00:00Z"}]"#,
        "",
        r#""extension":[{"_valueDateTime":{"id":"x"}}]"#,
        r#""extension":[{"valueDateTime":"2012-04-15"}]"#,
        r#""extension":[{"valueDateTime":"2012-04-15T10:00:00.0-05:00"}]"#,
        r#""extension":[{"valueString":"2012-04-15"}]"#,
        r#""extension":[{"valueDateTime":"2012"},{"valueDateTime":"2013"}]"#,
    ],
    cases: &[
        (
            "extension.value = @2012-04-15T15:00:00Z",
            &["true", "", "", "", "true", "false", "false"],
        ),
        (
            "extension.value = @2012-04-15T17:00:00+02:00",
            &["true", "", "", "", "true", "false", "false"],
        ),
        (
            "extension.value != @2012-04-15T15:00:00Z",
            &["false", "", "", "", "false", "true", "true"],
        ),
        (
            "extension.value = @2012-04-16",
            &["false", "", "", "false", "false", "false", "false"],
        ),
        (
            "extension.value ~ @2012-04-15T15:00:00.000Z",
            &["true", "false", "false", "false", "true", "false", "false"],
        ),
        (
            "extension.value !~ @2012-04-15",
            &["true", "true", "true", "false", "true", "true", "true"],
        ),
        (
            "extension.value < @2012-04-16",
            &["true", "", "", "true", "true", "!", "!single"],
        ),
        (
            "extension.value > @2012-04-15",
            &["", "", "", "false", "", "!", "!single"],
        ),
        (
            "extension.value <= @2012-04-15T15:00:00Z",
            &["true", "", "", "", "true", "!", "!single"],
        ),
        (
            "extension.value >= @2012-04-15T15:00:01Z",
            &["false", "", "", "", "false", "!", "!single"],
        ),
        (
            "extension.value >= @2011",
            &["true", "", "", "true", "true", "!", "!single"],
        ),
        ("extension.value < @2012", &["", "", "", "", "", "!", "!single"]),
        (
            "extension.select(value < @2013)",
            &["true", "", "", "true", "true", "!", "true false"],
        ),
        (
            "extension.where(value < @2013).count()",
            &["1", "0", "0", "1", "1", "!", "1"],
        ),
        ("@T10:30 < @T10:31:00 and @T10:30:00.0 = @T10:30:00", &["true"]),
        (
            "(@T10:30 < @T10:30:01).empty() and (@2018-03 < @2018-03-01).empty()",
            &["true"],
        ),
        ("@2018-03-01T10:30:00.1 > @2018-03-01T10:30:00", &["true"]),
    ],
};
