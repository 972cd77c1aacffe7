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

/// A plot of several measurements was one line that jumped between them.
#[test]
fn a_plot_has_a_line_for_each_name_with_a_legend() {
    let mut all = records();
    all[3]["code"]["text"] = "Diastolic".into();
    all[4]["code"]["text"] = "Diastolic".into();
    let server = Server::imported(&all);
    let visitor = Visitor::enter(&server);
    for kind in ["line", "points"] {
        let fields = [
            ("view", VIEW),
            ("kind", kind),
            ("x", "day"),
            ("y", "value"),
            ("by", "text"),
        ];
        let page = visitor.send(EDITOR, &fields).text;
        let legend = between(&page, "<ol class=\"legend\"", "</ol>");
        assert!(
            legend.contains("</svg> 1 Diastolic</li>") && legend.contains("</svg> 2 Systolic</li>"),
            "{legend}"
        );
        let svg = between(&page, "<svg class=\"plot\"", "</svg>");
        for colour in legend.split("fill=\"").skip(1).map(|rest| &rest[..7]) {
            assert!(svg.contains(colour), "{colour}: {svg}");
        }
        let link = links(&page, EDITOR)
            .into_iter()
            .find(|link| link.contains("&by=text"))
            .unwrap();
        assert!(visitor.page(&link).contains("<ol class=\"legend\""));
    }
    // Of more than ten lines, those with the fewest rows are named.
    let fields = [
        ("view", VIEW),
        ("kind", "line"),
        ("x", "day"),
        ("y", "value"),
        ("by", "id"),
    ];
    let page = visitor.send(EDITOR, &fields).text;
    assert!(!page.contains("are left out"), "{page}");
    for at in 7..13 {
        let mut more = all[3].clone();
        more["id"] = format!("o{at:02}").into();
        all.push(more);
    }
    let server = Server::imported(&all);
    let page = Visitor::enter(&server).send(EDITOR, &fields).text;
    assert!(page.contains("3 with fewer rows are left out: "), "{page}");
}

/// The page warned of each column without a type, before the result.
#[test]
fn a_missing_type_is_no_message_and_an_example_opens_in_the_editor() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let page = visitor.send(EDITOR, &[("view", VIEW)]).text;
    assert!(
        !page.contains("has no type") && !page.contains("id=\"findings\""),
        "{page}"
    );
    let page = visitor.page(EDITOR);
    let select = between(&page, "<select id=\"example\"", "</select>");
    assert_eq!(select.matches("<option ").count(), 14, "{select}");
    for name in select
        .split("<option value=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
    {
        let page = visitor.page(&format!("{EDITOR}?example={name}"));
        let text = between(&page, "<textarea id=\"view\"", "</textarea>");
        let expected = std::fs::read_to_string(format!("examples/{name}.view.json")).unwrap();
        let named = expected.lines().find(|line| line.contains("\"name\":")).unwrap();
        assert!(text.contains(&named.replace('"', "&#34;")), "{name}: {text}");
        assert!(page.contains(&format!("<option value=\"{name}\" selected>")), "{name}");
        // The columns are suggested for the plot.
        assert!(page.contains("<datalist id=\"names\"><option "), "{name}: {page}");
        assert!(!page.contains("id=\"result\""), "{name} runs only when it is sent");
    }
    assert_eq!(visitor.get(&format!("{EDITOR}?example=..%2FCargo")).status, 404);
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
