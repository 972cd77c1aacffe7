use super::super::Family;

/// The rows: two names, none, a name whose lists have gaps, nested items.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "filtering and projection",
    rows: &[
        r#""name":[{"use":"official","given":["A","B"]},{"use":"usual","given":["C"]}],"active":true"#,
        "",
        r#""name":[{"given":["D",null,"E"],"_given":[null,{"id":"x"},null]}]"#,
        r#""extension":[{"url":"1","extension":[{"url":"2","valueInteger":3},{"url":"4","valueString":"s"}]},{"url":"5","valueInteger":6}]"#,
    ],
    cases: &[
        ("name.where(use = 'usual').given", &[r#""C""#, "", "", ""]),
        (
            "name.where(given.count() > 1).given.first()",
            &[r#""A""#, "", r#""D""#, ""],
        ),
        ("name.where({}).given", &[""]),
        ("name.where(true).given.count()", &["3", "0", "3", "0"]),
        ("name.given.where($index = 1)", &[r#""B""#, "", "null", ""]),
        (
            "name.select(given.where($index = 0))",
            &[r#""A" "C""#, "", r#""D""#, ""],
        ),
        ("name.given.where($this > 'A')", &[r#""B" "C""#, "", r#""D" "E""#, ""]),
        // A criterion must be one boolean. A single item of another type counts as true; several items are an error.
        ("name.where(use).given.count()", &["3", "0", "0", "0"]),
        ("name.where(given).use", &["!single", "", "!single", ""]),
        (
            "name.where(%resource.active).use",
            &[r#""official" "usual""#, "", "", ""],
        ),
        ("where(active).id", &[r#""r0""#, "", "", ""]),
        ("name.select(given)", &[r#""A" "B" "C""#, "", r#""D" null "E""#, ""]),
        (
            "name.select(use | given.first())",
            &[r#""official" "A" "usual" "C""#, "", r#""D""#, ""],
        ),
        ("name.select({})", &[""]),
        ("name.select($index)", &["0 1", "", "0", ""]),
        (
            "name.select(%context.id & use)",
            &[r#""r0official" "r0usual""#, "", r#""r2""#, ""],
        ),
        ("name.given.select(%resource.name.count())", &["2 2 2", "", "1 1 1", ""]),
        ("extension.select(url)", &["", "", "", r#""1" "5""#]),
        (
            "extension.select(extension.select(url & '!'))",
            &["", "", "", r#""2!" "4!""#],
        ),
        ("extension.repeat(extension).url", &["", "", "", r#""2" "4""#]),
        ("repeat(extension).url", &["", "", "", r#""1" "5" "2" "4""#]),
        ("repeat(extension).value", &["", "", "", r#"6 3 "s""#]),
        // `repeat` ignores items that it has already yielded.
        ("name.repeat('x')", &[r#""x""#, "", r#""x""#, ""]),
        (
            "name.given.repeat($this)",
            &[r#""A" "B" "C""#, "", r#""D" null "E""#, ""],
        ),
        ("repeat({})", &[""]),
        // A step of `repeat` must exist on at least one of the types, not on all.
        (
            "repeat(name | given | extension).where($this is string)",
            &[r#""A" "B" "C""#, "", r#""D" null "E""#, ""],
        ),
        ("repeat(extension | nothing)", &["!nothing"]),
    ],
};
