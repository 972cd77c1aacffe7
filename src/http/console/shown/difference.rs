//! Computes the difference between two versions of a resource, by the lines of their indented JSON.

use similar::{ChangeTag, TextDiff};

use crate::columns::json::pretty;

/// The number of unchanged lines that are shown before and after a change.
const AROUND: usize = 3;

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http::console) struct Line {
    /// `+` for an added line, `-` for a removed one, a space for an unchanged one, `…` for omitted lines.
    pub(in crate::http::console) sign: char,
    pub(in crate::http::console) text: String,
}

impl Line {
    /// Returns the CSS class of the line.
    pub(in crate::http::console) fn class(&self) -> &'static str {
        match self.sign {
            '+' => "added",
            '-' => "removed",
            _ => "kept",
        }
    }
}

/// Returns the lines that changed, with some unchanged lines around them.
pub(in crate::http::console) fn lines(before: &[u8], after: &[u8]) -> Vec<Line> {
    let before = String::from_utf8_lossy(&pretty(before)).into_owned();
    let after = String::from_utf8_lossy(&pretty(after)).into_owned();
    let difference = TextDiff::from_lines(before.as_str(), after.as_str());
    let mut lines = Vec::new();
    for (at, group) in difference.grouped_ops(AROUND).iter().enumerate() {
        if at > 0 {
            lines.push(Line {
                sign: '…',
                text: String::new(),
            });
        }
        for change in group.iter().flat_map(|operation| difference.iter_changes(operation)) {
            let sign = match change.tag() {
                ChangeTag::Insert => '+',
                ChangeTag::Delete => '-',
                ChangeTag::Equal => ' ',
            };
            let text = change.value().trim_end_matches('\n').to_owned();
            lines.push(Line { sign, text });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_is_taken_away_and_added() {
        let found = lines(br#"{"id":"a","active":true}"#, br#"{"id":"a","active":false}"#);
        let signs: String = found.iter().map(|line| line.sign).collect();
        assert_eq!(signs, "  -+ ");
        assert_eq!(found[2].text, "  \"active\": true");
        assert_eq!(lines(b"{}", b"{}"), []);
    }
}
