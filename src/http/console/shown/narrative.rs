//! Cleans a narrative for a page. Keeps only elements of tables, lists and text, without attributes other than
//! `scope`. So no narrative can add scripts, styles or links to a page. A narrative is XHTML, so its text is escaped
//! already.

/// The elements that are kept. `div` is not one of them, so that a narrative cannot close the element that contains
/// it.
const KEPT: [&str; 24] = [
    "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "p", "br", "hr", "ul", "ol", "li", "dl", "dt",
    "dd", "b", "i", "em", "strong", "small", "sub", "sup",
];
/// The elements without an end tag.
const VOID: [&str; 2] = ["br", "hr"];

/// Cleans a narrative's `div`. Returns its content.
pub(in crate::http::console) fn narrative(div: &str) -> String {
    let mut html = String::with_capacity(div.len());
    let mut rest = div;
    while let Some((text, after)) = rest.split_once('<') {
        html.push_str(text);
        let Some((tag, after)) = after.split_once('>') else {
            return html;
        };
        element(tag, &mut html);
        rest = after;
    }
    html.push_str(rest);
    html
}

/// Appends a tag without its attributes (except `scope` of `th`), if its element is kept.
fn element(tag: &str, html: &mut String) {
    let (is_end, tag) = match tag.strip_prefix('/') {
        Some(tag) => (true, tag),
        None => (false, tag),
    };
    let name = tag
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    let Some(name) = KEPT.iter().find(|kept| **kept == name) else {
        return;
    };
    let is_void = VOID.contains(name);
    if is_end {
        if !is_void {
            html.push_str(&format!("</{name}>"));
        }
        return;
    }
    let scope = ["col", "row"]
        .into_iter()
        .find(|scope| *name == "th" && tag.contains(&format!("scope=\"{scope}\"")));
    match scope {
        Some(scope) => html.push_str(&format!("<{name} scope=\"{scope}\">")),
        None => html.push_str(&format!("<{name}>")),
    }
    if tag.ends_with('/') && !is_void {
        html.push_str(&format!("</{name}>"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stay_and_everything_else_goes() {
        let table = "<div xmlns=\"http://www.w3.org/1999/xhtml\"><table class=\"x\"><tr>\
            <th scope=\"col\" style=\"a\">A &lt;b&gt; &amp; C</th><td/></tr></table>one<br/>two</div>";
        assert_eq!(
            narrative(table),
            "<table><tr><th scope=\"col\">A &lt;b&gt; &amp; C</th><td></td></tr></table>one<br>two"
        );
        for hostile in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "<a href=\"javascript:alert(1)\">x</a>",
            "<p onclick=\"alert(1)\" title=\">\"><script src=x>",
            "<style>p{}</style></div></main>",
            "<TABLE><svg/onload=alert(1)>",
            "<p<script>",
            "<table",
            "<!-- <script> -->",
        ] {
            let html = narrative(hostile);
            let tags: Vec<&str> = html.split('<').skip(1).collect();
            assert!(
                tags.iter().all(|tag| tag.starts_with("p>") || tag.starts_with("/p>")),
                "{hostile}: {html}"
            );
        }
    }
}
