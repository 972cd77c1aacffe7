use super::super::Family;

/// The rows: repeated items, none, two elements without a value, numbers and texts, complex items.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "combining",
    rows: &[
        r#""name":[{"given":["A","B","A"],"family":"B"}]"#,
        "",
        r#""name":[{"given":["A",null,null],"_given":[null,{"id":"x"},{"id":"y"}]}]"#,
        r#""extension":[{"valueInteger":1},{"valueDecimal":1.0},{"valueString":"1"},{"valueInteger":1}]"#,
        r#""telecom":[{"system":"phone","value":"1"},{"value":"1","system":"phone"},{"system":"email","value":"1"}]"#,
    ],
    cases: &[
        ("name.given.distinct()", &[r#""A" "B""#, "", r#""A" null null"#, "", ""]),
        ("extension.value.distinct()", &["", "", "", r#"1 "1""#, ""]),
        ("telecom.distinct().system", &["", "", "", "", r#""phone" "email""#]),
        ("name.given.isDistinct()", &["false", "true", "true", "true", "true"]),
        (
            "extension.value.isDistinct()",
            &["true", "true", "true", "false", "true"],
        ),
        ("telecom.isDistinct()", &["true", "true", "true", "true", "false"]),
        (
            "name.given | name.family",
            &[r#""A" "B""#, "", r#""A" null null"#, "", ""],
        ),
        (
            "name.given | 'Z'",
            &[r#""A" "B" "Z""#, r#""Z""#, r#""A" null null "Z""#, r#""Z""#, r#""Z""#],
        ),
        ("{} | name.given", &[r#""A" "B""#, "", r#""A" null null"#, "", ""]),
        ("extension.value | 1", &["1", "1", "1", r#"1 "1""#, "1"]),
        (
            "name.given.union(name.family | 'Z')",
            &[r#""A" "B" "Z""#, r#""Z""#, r#""A" null null "Z""#, r#""Z""#, r#""Z""#],
        ),
        ("(telecom | telecom).count()", &["0", "0", "0", "0", "2"]),
        (
            "name.given.combine(name.family)",
            &[r#""A" "B" "A" "B""#, "", r#""A" null null"#, "", ""],
        ),
        ("name.given.combine({}).count()", &["3", "0", "3", "0", "0"]),
        (
            "extension.value.combine(1 | 2)",
            &["1 2", "1 2", "1 2", r#"1 1.0 "1" 1 1 2"#, "1 2"],
        ),
        ("telecom.combine(telecom).count()", &["0", "0", "0", "0", "6"]),
        ("name.given.intersect('A' | 'Z')", &[r#""A""#, "", r#""A""#, "", ""]),
        ("name.given.intersect(name.family)", &[r#""B""#, "", "", "", ""]),
        ("extension.value.intersect(1)", &["", "", "", "1", ""]),
        ("name.given.intersect({})", &[""]),
        (
            "telecom.intersect(telecom.where(system = 'phone')).count()",
            &["0", "0", "0", "0", "1"],
        ),
        // The order and repeated items are kept.
        (
            "name.given.exclude('B')",
            &[r#""A" "A""#, "", r#""A" null null"#, "", ""],
        ),
        ("name.given.exclude('A' | 'B')", &["", "", "null null", "", ""]),
        ("extension.value.exclude(1)", &["", "", "", r#""1""#, ""]),
        ("name.given.exclude({}).count()", &["3", "0", "3", "0", "0"]),
        ("telecom.exclude(telecom[0]).system", &["", "", "", "", r#""email""#]),
        ("name.family.subsetOf(name.given)", &["true"]),
        (
            "name.given.subsetOf(name.family)",
            &["false", "true", "false", "true", "true"],
        ),
        ("name.given.subsetOf({})", &["false", "true", "false", "true", "true"]),
        ("extension.value.subsetOf(1 | '1')", &["true"]),
        ("telecom[0].subsetOf(telecom.tail())", &["true"]),
        ("name.given.supersetOf(name.family)", &["true"]),
        (
            "name.family.supersetOf(name.given)",
            &["false", "true", "false", "true", "true"],
        ),
        ("{}.supersetOf(name.given)", &["false", "true", "false", "true", "true"]),
        ("name.select(given.combine(family).count())", &["4", "", "3", "", ""]),
        ("name.select(given | family).count()", &["2", "0", "3", "0", "0"]),
    ],
};
