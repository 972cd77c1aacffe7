use super::super::Family;

/// The rows: one true, none, no value, false, and items to fold.
pub(in crate::fhirpath::cases) const FAMILY: Family = Family {
    name: "choosing and folding",
    rows: &[
        r#""active":true,"name":[{"given":["B","A"]}]"#,
        "",
        r#""_active":{"id":"x"},"extension":[{"valueInteger":5},{"valueInteger":7},{"valueInteger":6}]"#,
        r#""active":false,"name":[{"given":["D",null,"C"],"_given":[null,{"id":"x"},null]},{"given":["D"]}]"#,
    ],
    cases: &[
        (
            "iif(active, 'yes', 'no')",
            &[r#""yes""#, r#""no""#, r#""no""#, r#""no""#],
        ),
        ("iif(active, name.given)", &[r#""B" "A""#, "", "", ""]),
        ("iif({}, 1, 2)", &["2"]),
        // Only the chosen branch is evaluated, so errors in the other do not matter.
        (
            "iif(active, name.given.first(), name.given.single())",
            &[r#""B""#, "", "", "!single"],
        ),
        (
            "iif(active.not(), name.given.first(), name.given.single())",
            &["!single", "", "", r#""D""#],
        ),
        (
            "name.select(iif(given.count() > 1, given.first(), $this.given))",
            &[r#""B""#, "", "", r#""D" "D""#],
        ),
        (
            "iif(name.given.count() > 2, 'many', iif(name.exists(), 'some', 'none'))",
            &[r#""some""#, r#""none""#, r#""none""#, r#""many""#],
        ),
        ("extension.value.aggregate($this + $total, 0)", &["0", "0", "18", "0"]),
        ("extension.value.aggregate($this + $total)", &[""]),
        (
            "extension.value.aggregate(iif($total.empty(), $this, iif($this < $total, $this, $total)))",
            &["", "", "5", ""],
        ),
        (
            "extension.value.aggregate($total * 10 + $index, 9)",
            &["9", "9", "9012", "9"],
        ),
        (
            "name.given.aggregate($total & $this, '')",
            &[r#""BA""#, r#""""#, r#""""#, r#""DCD""#],
        ),
        (
            "name.given.aggregate($total | $this)",
            &[r#""B" "A""#, "", "", r#""D" null "C""#],
        ),
        (
            "name.select(given.aggregate($total & $this, '-'))",
            &[r#""-BA""#, "", "", r#""-DC" "-D""#],
        ),
        ("name.given.sort()", &[r#""A" "B""#, "", "", r#"null "C" "D" "D""#]),
        (
            "name.given.sort(-$this)",
            &[r#""B" "A""#, "", "", r#"null "D" "D" "C""#],
        ),
        ("extension.value.sort()", &["", "", "5 6 7", ""]),
        ("extension.value.sort($this mod 2, -$this)", &["", "", "6 7 5", ""]),
        ("name.sort(-given.count()).given.first()", &[r#""B""#, "", "", r#""D""#]),
        ("name.given.trace('given').count()", &["2", "0", "0", "4"]),
        (
            "name.trace('names', given).given.first()",
            &[r#""B""#, "", "", r#""D""#],
        ),
        ("extension.value.repeat($this).count()", &["0", "0", "3", "0"]),
    ],
};
