use super::super::Family;

/// The rows: one text, none, an element without a value, two texts, a boolean, and letters beyond ASCII.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "strings",
    rows: &[
        r#""extension":[{"valueString":"abcabc"}]"#,
        "",
        r#""extension":[{"_valueString":{"id":"x"}}]"#,
        r#""extension":[{"valueString":"a"},{"valueString":"b"}]"#,
        r#""extension":[{"valueBoolean":true}]"#,
        r#""extension":[{"valueString":" né 😀\tß "}]"#,
    ],
    cases: &[
        (
            "extension.value.startsWith('ab')",
            &["true", "", "", "!single", "!String", "false"],
        ),
        (
            "extension.value.startsWith('')",
            &["true", "", "", "!single", "!String", "true"],
        ),
        (
            "extension.value.startsWith('abcabcd')",
            &["false", "", "", "!single", "!String", "false"],
        ),
        (
            "'abcabc'.startsWith(extension.value)",
            &["true", "", "", "!single", "!String", "false"],
        ),
        (
            "extension.value.startsWith($this.extension.value)",
            &["true", "", "", "!single", "!", "true"],
        ),
        (
            "extension.value.endsWith('bc')",
            &["true", "", "", "!single", "!String", "false"],
        ),
        (
            "extension.value.endsWith('')",
            &["true", "", "", "!single", "!String", "true"],
        ),
        (
            "extension.value.contains('ca')",
            &["true", "", "", "!single", "!String", "false"],
        ),
        (
            "extension.value.contains('é 😀')",
            &["false", "", "", "!single", "!String", "true"],
        ),
        (
            "extension.value.contains('')",
            &["true", "", "", "!single", "!String", "true"],
        ),
        (
            "extension.value.indexOf('c')",
            &["2", "", "", "!single", "!String", "-1"],
        ),
        (
            "extension.value.indexOf('ß')",
            &["-1", "", "", "!single", "!String", "6"],
        ),
        ("extension.value.indexOf('')", &["0", "", "", "!single", "!String", "0"]),
        (
            "'abcabc'.indexOf(extension.value)",
            &["0", "", "", "!single", "!String", "-1"],
        ),
        (
            "extension.value.lastIndexOf('c')",
            &["5", "", "", "!single", "!String", "-1"],
        ),
        (
            "extension.value.lastIndexOf('x')",
            &["-1", "", "", "!single", "!String", "-1"],
        ),
        (
            "extension.value.substring(3)",
            &[r#""abc""#, "", "", "!single", "!String", r#"" 😀\tß ""#],
        ),
        (
            "extension.value.substring(1, 2)",
            &[r#""bc""#, "", "", "!single", "!String", r#""né""#],
        ),
        (
            "extension.value.substring(4, 10)",
            &[r#""bc""#, "", "", "!single", "!String", r#""😀\tß ""#],
        ),
        (
            "extension.value.substring(6)",
            &["", "", "", "!single", "!String", r#""ß ""#],
        ),
        ("extension.value.substring(-1)", &["", "", "", "!single", "!String", ""]),
        ("extension.value.substring({})", &["", "", "", "!single", "!", ""]),
        // An empty length counts as missing.
        (
            "extension.value.substring(3, {})",
            &[r#""abc""#, "", "", "!single", "!String", r#"" 😀\tß ""#],
        ),
        (
            "extension.value.substring(0, 0)",
            &[r#""""#, "", "", "!single", "!String", r#""""#],
        ),
        (
            "extension.value.upper()",
            &[r#""ABCABC""#, "", "", "!single", "!String", r#"" NÉ 😀\tSS ""#],
        ),
        (
            "extension.value.upper().lower()",
            &[r#""abcabc""#, "", "", "!single", "!String", r#"" né 😀\tss ""#],
        ),
        (
            "extension.value.lower()",
            &[r#""abcabc""#, "", "", "!single", "!String", r#"" né 😀\tß ""#],
        ),
        (
            "extension.value.trim()",
            &[r#""abcabc""#, "", "", "!single", "!String", r#""né 😀\tß""#],
        ),
        (
            "extension.value.replace('bc', 'x')",
            &[r#""axax""#, "", "", "!single", "!String", r#"" né 😀\tß ""#],
        ),
        (
            "extension.value.replace('b', '')",
            &[r#""acac""#, "", "", "!single", "!String", r#"" né 😀\tß ""#],
        ),
        (
            "extension.value.replace('', '-')",
            &[
                r#""-a-b-c-a-b-c-""#,
                "",
                "",
                "!single",
                "!String",
                r#""- -n-é- -😀-\t-ß- -""#,
            ],
        ),
        ("extension.value.replace({}, 'x')", &["", "", "", "!single", "!", ""]),
        ("extension.value.replace('a', {})", &["", "", "", "!single", "!", ""]),
        ("extension.value.length()", &["6", "", "", "!single", "!String", "8"]),
        (
            "''.length() + extension.value.length()",
            &["6", "", "", "!single", "!String", "8"],
        ),
        (
            "extension.value.toChars().tail()",
            &[
                r#""b" "c" "a" "b" "c""#,
                "",
                "",
                "!single",
                "!String",
                r#""n" "é" " " "😀" "\t" "ß" " ""#,
            ],
        ),
        (
            "extension.value.split('b')",
            &[r#""a" "ca" "c""#, "", "", "!single", "!String", r#"" né 😀\tß ""#],
        ),
        (
            "extension.value.split('c')",
            &[r#""ab" "ab" """#, "", "", "!single", "!String", r#"" né 😀\tß ""#],
        ),
        (
            "extension.value.split('😀')",
            &[r#""abcabc""#, "", "", "!single", "!String", r#"" né " "\tß ""#],
        ),
        (
            "extension.value.encode('hex')",
            &[
                r#""616263616263""#,
                "",
                "",
                "!single",
                "!String",
                r#""206ec3a920f09f988009c39f20""#,
            ],
        ),
        (
            "extension.value.encode('base64')",
            &[
                r#""YWJjYWJj""#,
                "",
                "",
                "!single",
                "!String",
                r#""IG7DqSDwn5iACcOfIA==""#,
            ],
        ),
        (
            "extension.value.encode('urlbase64').length()",
            &["8", "", "", "!single", "!String", "20"],
        ),
        (
            "extension.value.encode('base64').decode('base64') = extension.value",
            &["true", "", "", "!", "!", "true"],
        ),
        (
            "extension.value.encode('hex').decode('hex') = extension.value",
            &["true", "", "", "!", "!", "true"],
        ),
        ("extension.value.decode('hex')", &["!", "", "", "!single", "!", "!hex"]),
        ("extension.value.encode({})", &["", "", "", "!single", "!", ""]),
        (
            "('<' & extension.value.ofType(string) & '\"&').escape('html')",
            &[
                r#""&lt;abcabc&quot;&amp;""#,
                r#""&lt;&quot;&amp;""#,
                r#""&lt;&quot;&amp;""#,
                "!single",
                r#""&lt;&quot;&amp;""#,
                r#""&lt; né 😀\tß &quot;&amp;""#,
            ],
        ),
        (
            "extension.value.escape('html')",
            &[r#""abcabc""#, "", "", "!single", "!String", r#"" né 😀\tß ""#],
        ),
        (
            "extension.value.escape('json').unescape('json') = extension.value",
            &["true", "", "", "!", "!", "true"],
        ),
        (
            "extension.value.unescape('html')",
            &[r#""abcabc""#, "", "", "!single", "!String", r#"" né 😀\tß ""#],
        ),
        ("'&amp;lt;'.unescape('html')", &[r#""&lt;""#]),
    ],
};

/// The rows: lists with an item without a value, as FHIR's `null` in a list; none; one list of many; one of a single
/// item.
pub(in crate::fhirpath::cases) const LISTS: Family = Family {
    name: "lists of strings",
    rows: &[
        r#""name":[{"given":["A",null,"B"],"_given":[null,{"id":"x"},null]}]"#,
        "",
        r#""name":[{"given":["C"]},{"family":"F"},{"given":["D","E"]}]"#,
        r#""name":[{"given":["G"]}]"#,
        r#""name":[{"_given":[{"id":"y"}]}]"#,
    ],
    cases: &[
        (
            "name.given.join(', ')",
            &[r#""A, B""#, "", r#""C, D, E""#, r#""G""#, ""],
        ),
        ("name.given.join()", &[r#""AB""#, "", r#""CDE""#, r#""G""#, ""]),
        (
            "name.given.join(name.family)",
            &[r#""AB""#, "", r#""CFDFE""#, r#""G""#, ""],
        ),
        (
            "name.select(given.join('+'))",
            &[r#""A+B""#, "", r#""C" "D+E""#, r#""G""#, ""],
        ),
        (
            "name.given.select(upper() & '.')",
            &[r#""A." "." "B.""#, "", r#""C." "D." "E.""#, r#""G.""#, r#"".""#],
        ),
        ("name.given.upper()", &["!single", "", "!single", r#""G""#, ""]),
        ("name.given.where(length() = 1).count()", &["2", "0", "3", "1", "0"]),
        ("name.given.first().length()", &["1", "", "1", "1", ""]),
        ("name.given[1].length()", &["", "", "1", "", ""]),
    ],
};
