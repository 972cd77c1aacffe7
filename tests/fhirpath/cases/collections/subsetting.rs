use super::super::Family;

/// The rows: three in two lists, none, one, a gap, many.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "subsetting",
    rows: &[
        r#""name":[{"given":["A","B"]},{"given":["C"]}],"multipleBirthInteger":1"#,
        "",
        r#""name":[{"given":["D"]}],"multipleBirthInteger":0"#,
        r#""name":[{"given":[null,"E"],"_given":[{"id":"x"},null]}],"multipleBirthInteger":-1"#,
        r#""name":[{"given":["F","G","H","I"]}],"multipleBirthBoolean":true"#,
    ],
    cases: &[
        ("name.given.first()", &[r#""A""#, "", r#""D""#, "null", r#""F""#]),
        ("name.given.last()", &[r#""C""#, "", r#""D""#, r#""E""#, r#""I""#]),
        ("name.given.tail()", &[r#""B" "C""#, "", "", r#""E""#, r#""G" "H" "I""#]),
        ("name.given.tail().first()", &[r#""B""#, "", "", r#""E""#, r#""G""#]),
        ("name.given.skip(2)", &[r#""C""#, "", "", "", r#""H" "I""#]),
        // With a number of zero or less, `skip` skips nothing and `take` takes nothing.
        ("name.given.skip(0).count()", &["3", "0", "1", "2", "4"]),
        ("name.given.skip(-1).count()", &["3", "0", "1", "2", "4"]),
        ("name.given.skip(100)", &[""]),
        (
            "name.given.skip(%resource.multipleBirth.ofType(integer))",
            &[r#""B" "C""#, "", r#""D""#, r#"null "E""#, ""],
        ),
        (
            "name.given.take(2)",
            &[r#""A" "B""#, "", r#""D""#, r#"null "E""#, r#""F" "G""#],
        ),
        ("name.given.take(0)", &[""]),
        ("name.given.take(-1)", &[""]),
        ("name.given.take(100).count()", &["3", "0", "1", "2", "4"]),
        ("name.given.take({})", &[""]),
        ("name.given.take(multipleBirth)", &[r#""A""#, "", "", "", "!Integer"]),
        ("name.given.single()", &["!single", "", r#""D""#, "!single", "!single"]),
        (
            "name.given.first().single()",
            &[r#""A""#, "", r#""D""#, "null", r#""F""#],
        ),
        ("name.given[0]", &[r#""A""#, "", r#""D""#, "null", r#""F""#]),
        ("name.given[1]", &[r#""B""#, "", "", r#""E""#, r#""G""#]),
        ("name[1].given[0]", &[r#""C""#, "", "", "", ""]),
        ("name.given[-1]", &[""]),
        ("name.given[{}]", &[""]),
        (
            "name.given[multipleBirth.ofType(integer)]",
            &[r#""B""#, "", r#""D""#, "", ""],
        ),
        ("name.given[name.count()]", &[r#""C""#, "", "", r#""E""#, r#""G""#]),
        (
            "name.given[name.given.count() - 1]",
            &[r#""C""#, "", r#""D""#, r#""E""#, r#""I""#],
        ),
        (
            "name.select(given.last())",
            &[r#""B" "C""#, "", r#""D""#, r#""E""#, r#""I""#],
        ),
        (
            "name.select(given.skip(1).first())",
            &[r#""B""#, "", "", r#""E""#, r#""G""#],
        ),
        ("{}.first()", &[""]),
        ("{}.single()", &[""]),
    ],
};
