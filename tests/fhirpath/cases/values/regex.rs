use super::super::Family;

/// The rows: one text, none, no value, two texts, a number, several lines.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "regular expressions",
    rows: &[
        r#""extension":[{"valueString":"2020-05-17"}]"#,
        "",
        r#""extension":[{"_valueString":{"id":"x"}}]"#,
        r#""extension":[{"valueString":"a"},{"valueString":"b"}]"#,
        r#""extension":[{"valueInteger":12}]"#,
        r#""extension":[{"valueString":"é\n2020"}]"#,
    ],
    cases: &[
        // A match of a part of the text is enough.
        (
            "extension.value.matches('[0-9]{4}')",
            &["true", "", "", "!single", "!String", "true"],
        ),
        (
            "extension.value.matches('^[0-9]{4}$')",
            &["false", "", "", "!single", "!String", "false"],
        ),
        // A dot matches any character, including a line break.
        (
            "extension.value.matches('é.2')",
            &["false", "", "", "!single", "!String", "true"],
        ),
        (
            "extension.value.matches('')",
            &["true", "", "", "!single", "!String", "true"],
        ),
        ("extension.value.matches({})", &["", "", "", "!single", "!", ""]),
        (
            "extension.value.matches(extension.value)",
            &["true", "", "", "!single", "!", "true"],
        ),
        (
            "extension.value.matches('(')",
            &["!regular expression", "", "", "!single", "!", "!regular expression"],
        ),
        (
            "extension.value.matches('^2020$', 'm')",
            &["false", "", "", "!single", "!String", "true"],
        ),
        (
            "extension.value.matches('^É', 'im')",
            &["false", "", "", "!single", "!String", "true"],
        ),
        (
            "extension.value.matches('2020', '') and extension.value.matches('2020', {})",
            &["true", "", "", "!single", "!", "true"],
        ),
        (
            "extension.value.matches('2020', 'x')",
            &["!flags", "", "", "!single", "!", "!flags"],
        ),
        (
            "extension.value.matchesFull('2020', 'm')",
            &["false", "", "", "!single", "!String", "false"],
        ),
        (
            "extension.value.replaceMatches('É', 'e', 'i')",
            &[r#""2020-05-17""#, "", "", "!single", "!String", r#""e\n2020""#],
        ),
        (
            "extension.value.matchesFull('[0-9-]+')",
            &["true", "", "", "!single", "!String", "false"],
        ),
        (
            "extension.value.matchesFull('[0-9]+')",
            &["false", "", "", "!single", "!String", "false"],
        ),
        (
            "extension.value.matchesFull('2|2020-05-17')",
            &["true", "", "", "!single", "!String", "false"],
        ),
        (
            "extension.value.replaceMatches('([0-9]{4})-([0-9]+)', '$2/$1')",
            &[r#""05/2020-17""#, "", "", "!single", "!String", r#""é\n2020""#],
        ),
        (
            "extension.value.replaceMatches('[0-9]', '')",
            &[r#""--""#, "", "", "!single", "!String", r#""é\n""#],
        ),
        (
            "extension.value.replaceMatches('', 'x')",
            &[r#""2020-05-17""#, "", "", "!single", "!String", r#""é\n2020""#],
        ),
        (
            "extension.value.replaceMatches('a', {})",
            &["", "", "", "!single", "!", ""],
        ),
        (
            "'[' & extension.value.replaceMatches('[^0-9]', '') & ']'",
            &[r#""[20200517]""#, r#""[]""#, r#""[]""#, "!single", "!", r#""[2020]""#],
        ),
    ],
};
