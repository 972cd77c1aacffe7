//! How what came out is compared with what a page shows. Ids, times, durations, sizes, tokens, the port and the width
//! of gaps may differ. `...` stands for anything: as a line for any lines, within one for any text.

use std::sync::LazyLock;

use regex::Regex;

/// Patterns of values that may differ, with their replacements. Each is applied to both sides.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let masks = [
        (
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            "ID",
        ),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "TIME"),
        (r"\b\d{4}-\d\d-\d\d\b", "DAY"),
        (r"127\.0\.0\.1:\d+", "HOST"),
        (r"\b\d+(\.\d+)?(ns|µs|ms|s)\b", "DURATION"),
        (r"\b\d+(\.\d+)? ([KMG]iB|B)\b", "SIZE"),
        (r"[A-Za-z0-9_-]{20,}(\.[A-Za-z0-9_-]+)*", "TOKEN"),
        (r"\b[0-9a-f]{8}\b", "ID"),
        (r"\s+", " "),
    ];
    let compiled = masks.into_iter().map(|(mask, name)| (Regex::new(mask).unwrap(), name));
    compiled.collect()
});

/// Words and numbers, where only the form of a line is compared.
static WORDS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[\p{Alphabetic}\p{N}]+").unwrap());

/// How closely lines have to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// But for what may always differ.
    Words,
    /// Compares only the number of words and the text between them, because the first rows depend on the lake.
    Shape,
}

impl Form {
    fn of(self, line: &str) -> String {
        let masked = |text: String, (mask, name): &(Regex, &str)| mask.replace_all(&text, *name).into_owned();
        let line = MASKS.iter().fold(line.to_owned(), masked);
        let line = line.trim();
        match self {
            Form::Words => line.to_owned(),
            Form::Shape => WORDS.replace_all(line, "x").replace("x-x-x", "x"),
        }
    }
}

/// Whether the output equals the shown text.
pub(super) fn agree(shown: &[String], came: &[String], form: Form) -> bool {
    let trimmed = |lines: &[String]| {
        let end = lines.iter().rposition(|line| !line.trim().is_empty());
        let kept = &lines[..end.map_or(0, |end| end + 1)];
        kept.iter().map(|line| form.of(line)).collect::<Vec<_>>()
    };
    lines_agree(&trimmed(shown), &trimmed(came))
}

fn lines_agree(shown: &[String], came: &[String]) -> bool {
    match shown {
        [] => came.is_empty(),
        [first, rest @ ..] if first == "..." => (0..=came.len()).any(|from| lines_agree(rest, &came[from..])),
        [first, rest @ ..] => came
            .split_first()
            .is_some_and(|(line, after)| line_agrees(first, line) && lines_agree(rest, after)),
    }
}

fn line_agrees(shown: &str, came: &str) -> bool {
    if !shown.contains("...") {
        return shown == came;
    }
    let parts: Vec<String> = shown.split("...").map(regex::escape).collect();
    let pattern = Regex::new(&format!("^{}$", parts.join(".*"))).unwrap();
    pattern.is_match(came)
}

#[test]
fn what_may_differ_differs_and_nothing_else() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (shown, came, form, expected) in [
        ("a  1\n...\nz", "a 1\nb\nc\nz", Form::Words, true),
        ("a\n...", "a", Form::Words, true),
        ("a", "a\nb", Form::Words, false),
        ("a 1", "a 2", Form::Words, false),
        ("a 1", "b 2", Form::Shape, true),
        ("a 1", "b 2 c", Form::Shape, false),
        (
            "took 1.5ms at http://127.0.0.1:8080/x",
            "took 20s at http://127.0.0.1:999/x",
            Form::Words,
            true,
        ),
        ("{\"a\":1,...,\"z\":2}", "{\"a\":1,\"b\":{},\"z\":2}", Form::Words, true),
        (
            "581437f2-956a-4c84-89ec-ba264551683a,2020-05-21T13:40:03-05:00",
            "6a128965-7740-49c9-9812-5229f2e77ec0,2020-01-01T00:00:00Z",
            Form::Words,
            true,
        ),
        ("x,2022-12-03", "x,2020-01-01T00:00:00Z", Form::Shape, true),
    ] {
        assert_eq!(agree(&lines(shown), &lines(came), form), expected, "{shown:?} {came:?}");
    }
}
