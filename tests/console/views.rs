//! Views in the console: preview, messages, links, files and plots.

use crate::harness::server::Server;

use super::world::{Visitor, between, links, records};

const VIEW: &str = r#"{"resourceType": "ViewDefinition", "name": "pressure", "status": "active", "resource": "Observation",
  "select": [{"column": [{"name": "id", "path": "id"}, {"name": "day", "path": "effective.ofType(dateTime)"},
    {"name": "text", "path": "code.text"}, {"name": "value", "path": "value.ofType(Quantity).value"}]}]}"#;
const EDITOR: &str = "/console/views/live/local";

/// The cells of the first rows.
fn rows(page: &str) -> Vec<Vec<String>> {
    let table = between(page, "aria-labelledby=\"result\"", "</table>");
    let body = between(table, "<tbody>", "</tbody>");
    let rows = body.split("<tr>").skip(1);
    let cells = |row: &str| {
        let cells = row.split("<td>").skip(1);
        cells.map(|cell| cell.split('<').next().unwrap().to_owned()).collect()
    };
    rows.map(cells).collect()
}

#[test]
fn a_view_gives_rows_columns_costs_and_a_link_that_makes_it_again() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let page = visitor.send(EDITOR, &[("view", VIEW)]).text;
    let found = rows(&page);
    assert_eq!(found.len(), 7, "{page}");
    assert!(
        found.contains(&["o3", "2024-01-04", "Systolic", "113"].map(str::to_owned).to_vec()),
        "{found:?}"
    );
    assert!(page.contains("7 rows in all, in "), "{page}");
    assert!(
        page.contains("of 1 files") && page.contains("<code>code.text</code>"),
        "{page}"
    );
    let columns = between(&page, "<h2>Columns</h2>", "</table>");
    assert!(
        columns.contains("<th scope=\"row\">value</th><td>decimal</td>"),
        "{columns}"
    );
    let links = links(&page, EDITOR);
    let again = links
        .iter()
        .find(|link| link.contains("?d=") && !link.contains("/rows"))
        .unwrap();
    assert_eq!(rows(&visitor.page(again)), found);
    let csv = links.iter().find(|link| link.ends_with("&format=csv")).unwrap();
    let answer = visitor.get(csv);
    assert_eq!(
        answer.header("content-disposition"),
        "attachment; filename=\"pressure.csv\""
    );
    assert_eq!(answer.text.lines().next(), Some("id,day,text,value"));
    assert_eq!(answer.text.lines().count(), 8);
    let parquet = links.iter().find(|link| link.ends_with("&format=parquet")).unwrap();
    assert!(visitor.page(parquet).starts_with("PAR1"));
}

#[test]
fn rows_are_plotted() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    for (kind, x, y, told) in [
        ("bar", "text", "", "rows by text"),
        ("line", "day", "value", "value by day"),
        ("histogram", "value", "", "rows by value"),
    ] {
        let fields = [("view", VIEW), ("kind", kind), ("x", x), ("y", y)];
        let page = visitor.send(EDITOR, &fields).text;
        let svg = between(&page, "<svg", "</svg>");
        assert!(svg.contains(&format!("aria-label=\"{told}\"")), "{svg}");
        let link = links(&page, EDITOR)
            .into_iter()
            .find(|link| link.contains(&format!("kind={kind}")))
            .unwrap();
        assert!(visitor.page(&link).contains("<svg"));
    }
    let fields = [("view", VIEW), ("kind", "histogram"), ("x", "text")];
    let page = visitor.send(EDITOR, &fields).text;
    assert!(
        page.contains("No plot: no row has values") && !page.contains("<svg"),
        "{page}"
    );
}

/// The search for labels of such an axis never ended. It blocked a thread of the server.
#[test]
fn values_that_no_axis_can_show_are_refused() {
    let mut all = records();
    all[3]["valueQuantity"]["value"] = serde_json::from_str("-1e308").unwrap();
    all[4]["valueQuantity"]["value"] = serde_json::from_str("1e308").unwrap();
    let server = Server::imported(&all);
    let visitor = Visitor::enter(&server);
    for (kind, x, y) in [
        ("bar", "text", "value"),
        ("line", "day", "value"),
        ("line", "value", ""),
        ("histogram", "value", ""),
    ] {
        let fields = [("view", VIEW), ("kind", kind), ("x", x), ("y", y)];
        let page = visitor.send(EDITOR, &fields).text;
        if kind == "bar" {
            // The sum of both is small.
            assert!(page.contains("<svg") || page.contains("No plot: "), "{page}");
        } else {
            assert!(page.contains("No plot: its numbers are larger than 1e300"), "{page}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_view_is_said_with_its_place() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let faulty = VIEW.replace("code.text", "code.txet");
    let page = visitor.send(EDITOR, &[("view", &faulty)]).text;
    let messages = between(&page, "id=\"findings\"", "</ul>");
    assert!(
        messages.contains("<code>ViewDefinition.select[0].column[2].path</code>"),
        "{messages}"
    );
    assert!(
        messages.contains("txet") && !page.contains("id=\"result\""),
        "{messages}"
    );
    assert!(page.contains("code.txet"), "the editor keeps what was written");
    let several = VIEW.replace("code.text", "subject.reference | performer.reference");
    let page = visitor.send(EDITOR, &[("view", &several)]).text;
    assert!(
        page.contains("role=\"alert\"") && page.contains("has 2 values") && page.contains("(in Observation/o"),
        "{page}"
    );
    for broken in ["", "{", "[]"] {
        assert!(
            visitor
                .send(EDITOR, &[("view", broken)])
                .text
                .contains("id=\"findings\""),
            "{broken:?}"
        );
    }
    assert_eq!(visitor.get(&format!("{EDITOR}?d=nonsense")).status, 400);
    assert_eq!(visitor.get(&format!("{EDITOR}/rows?format=csv")).status, 400);
}
