//! A cell of a table, as HTML: a text, a link, a button or a time.

use super::json::escape;
use super::words;

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http::console) struct Cell {
    /// The content. All texts in it are escaped.
    pub(in crate::http::console) html: String,
}

impl Cell {
    /// Creates a cell with a text.
    pub(in crate::http::console) fn text(text: &str) -> Cell {
        let mut html = String::with_capacity(text.len());
        escape(text, &mut html);
        Cell { html }
    }

    /// Creates a cell with a number.
    pub(in crate::http::console) fn number(number: impl Into<u64>) -> Cell {
        Cell::text(&words::number(number.into()))
    }

    /// Creates a cell with a text that links to an address.
    pub(in crate::http::console) fn link(text: &str, address: &str) -> Cell {
        let mut html = "<a href=\"".to_owned();
        escape(address, &mut html);
        html.push_str("\">");
        escape(text, &mut html);
        html.push_str("</a>");
        Cell { html }
    }

    /// Creates a cell with a button that posts to an address. `csrf` is the token of the session's forms.
    pub(in crate::http::console) fn button(text: &str, address: &str, csrf: &str) -> Cell {
        let mut html = "<form method=\"post\" action=\"".to_owned();
        escape(address, &mut html);
        html.push_str("\"><input type=\"hidden\" name=\"csrf\" value=\"");
        escape(csrf, &mut html);
        html.push_str("\"><button type=\"submit\" class=\"plain\">");
        escape(text, &mut html);
        html.push_str("</button></form>");
        Cell { html }
    }

    /// Creates a cell with a time, which is given in seconds since the Unix epoch.
    pub(in crate::http::console) fn time(seconds: i64) -> Cell {
        let moment = words::time(seconds);
        Cell {
            html: format!(
                "<time datetime=\"{exact}\" title=\"{exact}\">{}</time>",
                moment.shown,
                exact = moment.exact
            ),
        }
    }

    /// Creates a cell with a time. The cell is empty if there is none.
    pub(in crate::http::console) fn maybe(seconds: Option<i64>) -> Cell {
        seconds.map_or_else(|| Cell::text(""), Cell::time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_times_are_exact() {
        assert_eq!(Cell::text("<b>").html, "&lt;b&gt;");
        assert_eq!(Cell::link("a&b", "/x?\"").html, "<a href=\"/x?&quot;\">a&amp;b</a>");
        let button = Cell::button("Go", "/x\"", "t&");
        assert!(button.html.contains("action=\"/x&quot;\"") && button.html.contains("value=\"t&amp;\""));
        assert_eq!(
            Cell::time(0).html,
            "<time datetime=\"1970-01-01T00:00:00Z\" title=\"1970-01-01T00:00:00Z\">1 Jan 1970, 00:00 UTC</time>"
        );
        assert_eq!(Cell::maybe(None).html, "");
        assert_eq!(Cell::number(1_234u32).html, "1,234");
    }
}
