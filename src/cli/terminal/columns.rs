//! Lists for people: aligned columns, readable numbers and times, and no terminal control sequences.

use chrono::{DateTime, SecondsFormat};

use super::manner::{HEADING, on_output};
use crate::fhir::hidden::turns;

/// Formats rows under a heading. Each column is as wide as its widest cell.
pub(in crate::cli) fn lined_up<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    aligned(heading, rows, N)
}

/// Formats rows as [`lined_up`] does, for standard output. The heading is highlighted if the output supports it.
pub(in crate::cli) fn listed<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    highlighted(&aligned(heading, rows, N))
}

/// Formats rows as [`listed`] does, with the cells of all columns after the first at the right, because they are
/// numbers.
pub(in crate::cli) fn tallied<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    highlighted(&aligned(heading, rows, 1))
}

/// Formats rows under a heading. The cells of the first `left` columns stand at the left, the others at the right.
fn aligned<const N: usize>(heading: [&str; N], rows: &[[String; N]], left: usize) -> String {
    let heading = heading.map(str::to_owned);
    let all: Vec<[String; N]> = std::iter::once(&heading)
        .chain(rows)
        .map(|row| std::array::from_fn(|at| plain(&row[at])))
        .collect();
    let widths: [usize; N] = std::array::from_fn(|at| all.iter().map(|row| row[at].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in &all {
        let cells = row.iter().zip(widths).enumerate().map(|(at, (cell, width))| {
            if at < left {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Highlights the first line.
fn highlighted(text: &str) -> String {
    match text.split_once('\n') {
        Some((heading, rows)) => format!("{}\n{rows}", on_output(HEADING, heading)),
        None => text.to_owned(),
    }
}

/// Formats a number with commas between the thousands.
pub(in crate::cli) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with its noun in the singular or plural, such as `1 row` or `3,920 rows`.
pub(in crate::cli) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// Replaces characters that move the cursor or change the direction of the text by U+FFFD.
pub(in crate::cli) fn plain(text: &str) -> String {
    let harmful = |letter: char| letter.is_control() || turns(letter);
    text.chars()
        .map(|letter| if harmful(letter) { '\u{fffd}' } else { letter })
        .collect()
}

/// Formats seconds since the Unix epoch as an ISO 8601 time in UTC. Returns an empty string if they are out of range.
pub(in crate::cli) fn time(seconds: i64) -> String {
    DateTime::from_timestamp(seconds, 0)
        .map_or_else(String::new, |time| time.to_rfc3339_opts(SecondsFormat::Secs, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_tell_terminals_nothing() {
        let row = |one: &str, other: &str| [one.to_owned(), other.to_owned()];
        let rows = [row("längste", "x"), row("a\u{1b}[31m\nb", "\u{202e}y")];
        expect_test::expect![[r#"
            one       other
            längste   x
            a�[31m�b  �y
        "#]]
        .assert_eq(&lined_up(["one", "other"], &rows));
    }

    #[test]
    fn numbers_stand_at_the_right() {
        let rows = [["a".to_owned(), grouped(5)], ["bcd".to_owned(), grouped(3_920)]];
        let text = anstream::adapter::strip_str(&tallied(["type", "rows"], &rows)).to_string();
        assert_eq!(text, "type   rows\na         5\nbcd   3,920\n");
    }

    #[test]
    fn thousands_have_commas() {
        let told = [0, 1, 999, 1_000, 1_234_567].map(|number| counted(number, "row"));
        assert_eq!(told, ["0 rows", "1 row", "999 rows", "1,000 rows", "1,234,567 rows"]);
    }

    #[test]
    fn times_are_those_of_utc() {
        assert_eq!(time(1_800_000_000), "2027-01-15T08:00:00Z");
        assert_eq!(time(i64::MAX), "");
    }
}
