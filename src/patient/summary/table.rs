//! A section's narrative: one table, with each row linked to its resource.

use std::fmt::Write;

use super::json::quoted;

/// R4's extension that links a part of a narrative to data.
const TEXT_LINK: &str = "http://hl7.org/fhir/StructureDefinition/textLink";

/// A row of a narrative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown<'c> {
    /// The cells as plain text.
    pub(super) cells: &'c [String],
    /// The `fullUrl` of the row's resource.
    pub(super) full_url: &'c str,
}

/// Builds the Narrative of a section as JSON: a table, and for each row a link to its resource.
pub(super) fn narrative(alias: &str, columns: &[&str], rows: &[Shown<'_>]) -> String {
    let mut div = open();
    div.push_str("<table><thead><tr>");
    for column in columns {
        div.push_str("<th>");
        escape(column, &mut div);
        div.push_str("</th>");
    }
    div.push_str("</tr></thead><tbody>");
    let mut links = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        let id = format!("{alias}-{}", place + 1);
        let _ = write!(div, "<tr id=\"{id}\">");
        for cell in row.cells {
            div.push_str("<td>");
            escape(cell, &mut div);
            div.push_str("</td>");
        }
        div.push_str("</tr>");
        links.push(link(&id, row.full_url));
    }
    div.push_str("</tbody></table></div>");
    let links = format!("\"extension\":[{}],", links.join(","));
    json(&links, &div)
}

/// Builds the Narrative of a section that consists of one sentence, as JSON.
pub(super) fn sentence(text: &str) -> String {
    let mut div = open();
    div.push_str("<p>");
    escape(text, &mut div);
    div.push_str("</p></div>");
    json("", &div)
}

fn open() -> String {
    "<div xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\" xml:lang=\"en\">".to_owned()
}

fn json(links: &str, div: &str) -> String {
    format!(r#"{{{links}"status":"generated","div":{}}}"#, quoted(div))
}

fn link(id: &str, full_url: &str) -> String {
    let (url, id, address) = (quoted(TEXT_LINK), quoted(id), quoted(full_url));
    let parts = format!(r#"{{"url":"htmlid","valueString":{id}}},{{"url":"data","valueUri":{address}}}"#);
    format!(r#"{{"url":{url},"extension":[{parts}]}}"#)
}

/// Appends a text as XHTML. Escapes markup, writes a line break as `br` and a tab as a space, and leaves out carriage
/// returns. Replaces other control characters and noncharacters by U+FFFD.
fn escape(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push_str("<br/>"),
            '\t' => out.push(' '),
            '\r' => {}
            _ if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            _ => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;
    use crate::fhir::narrative::check;
    use proptest::prelude::*;

    fn div(json: &str) -> String {
        let mut tape = Tape::new();
        tape.parse(json.as_bytes())
            .unwrap()
            .get_str("div")
            .unwrap()
            .into_owned()
    }

    #[test]
    fn a_row_is_joined_to_its_resource() {
        let cells = ["Peanut".to_owned(), "2020".to_owned()];
        let row = Shown {
            cells: &cells,
            full_url: "https://x/fhir/AllergyIntolerance/1",
        };
        let json = narrative("allergies", &["Substance", "Since"], &[row]);
        let expected = "<div xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\" xml:lang=\"en\"><table><thead><tr>\
            <th>Substance</th><th>Since</th></tr></thead><tbody><tr id=\"allergies-1\"><td>Peanut</td><td>2020</td></tr>\
            </tbody></table></div>";
        assert_eq!(div(&json), expected);
        let link = concat!(
            r#"{"url":"http://hl7.org/fhir/StructureDefinition/textLink","extension":["#,
            r#"{"url":"htmlid","valueString":"allergies-1"},"#,
            r#"{"url":"data","valueUri":"https://x/fhir/AllergyIntolerance/1"}]}"#,
        );
        assert!(json.contains(link), "{json}");
    }

    #[test]
    fn markup_is_text() {
        let div = div(&sentence("<script>a&b</script> \"'\n\u{1}"));
        assert!(
            div.contains("<p>&lt;script&gt;a&amp;b&lt;/script&gt; &quot;&#39;<br/>\u{fffd}</p>"),
            "{div}"
        );
        assert_eq!(check(&div), Ok(()));
    }

    proptest! {
        #[test]
        fn any_text_makes_a_narrative(cells in prop::collection::vec("\\PC*|[\\x00-\\x7f]*", 1..4)) {
            let row = Shown { cells: &cells, full_url: "urn:uuid:1" };
            let json = narrative("results", &["Test"], &[row]);
            prop_assert_eq!(check(&div(&json)), Ok(()));
        }
    }
}
