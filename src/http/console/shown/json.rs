//! Renders JSON as HTML: indented, with values as they are stored, and with links at references.

use crate::columns::json::pretty;
use crate::fhir::reference::is_id;
use crate::http::console::shown::tenant::Tenant;
use crate::http::fhir::resource_type::resource_type;

/// Renders a resource as escaped HTML, with links to pages of the console.
pub(in crate::http::console) fn linked(json: &[u8], root: &str, place: &Tenant, fhir_base: &str) -> String {
    let text = String::from_utf8_lossy(&pretty(json)).into_owned();
    let mut html = String::with_capacity(text.len() * 2);
    for line in text.lines() {
        match reference(line, fhir_base) {
            Some((before, target, after)) => {
                escape(before, &mut html);
                html.push_str(&format!("<a href=\"{root}/data/{}/{target}\">", place.path));
                escape(target, &mut html);
                html.push_str("</a>");
                escape(after, &mut html);
            }
            None => escape(line, &mut html),
        }
        html.push('\n');
    }
    html
}

/// Finds a reference to a resource of this service in a line. Returns the text before `Type/id`, the reference, and
/// the text after it.
fn reference<'l>(line: &'l str, fhir_base: &str) -> Option<(&'l str, &'l str, &'l str)> {
    let key = line.trim_start();
    let value = key.strip_prefix("\"reference\": \"")?;
    let value = value.strip_prefix(fhir_base).unwrap_or(value);
    let start = line.len() - value.len();
    let end = start + value.find('"')?;
    let target = local(&line[start..end])?;
    Some((&line[..start], target, &line[start + target.len()..]))
}

/// Returns `Type/id` of a relative reference, without a version. `None` for other references.
pub(in crate::http::console) fn local(reference: &str) -> Option<&str> {
    let whole = reference.split("/_history/").next().unwrap_or(reference);
    let (name, id) = whole.split_once('/')?;
    (resource_type(name).is_ok() && is_id(id)).then_some(whole)
}

/// Appends a text with HTML's special characters escaped.
pub(in crate::http::console) fn escape(text: &str, html: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            letter => html.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_on_and_nothing_becomes_markup() {
        let json = br#"{"a":"<script>","subject":{"reference":"Patient/p1"},
            "b":{"reference":"http://x/fhir/Practitioner/d/_history/2"},
            "c":{"reference":"Nonsense/1"},"d":{"reference":"Patient/<b>"},"n":1.10}"#;
        let html = linked(json, "/console", &Tenant::default(), "http://x/fhir/");
        assert!(html.contains("&lt;script&gt;") && !html.contains("<script>"));
        assert!(
            html.contains("<a href=\"/console/data/live/local/Patient/p1\">Patient/p1</a>&quot;"),
            "{html}"
        );
        assert!(
            html.contains("/Practitioner/d\">Practitioner/d</a>/_history/2&quot;"),
            "{html}"
        );
        assert_eq!(html.matches("<a ").count(), 2);
        assert!(html.contains("1.10"));
    }
}
