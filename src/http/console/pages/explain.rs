//! Shows how the engine executed a search, as a tree.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Number, Value};

use super::super::session::form::Fields;
use super::super::session::operator::Operator;
use super::super::shown::json::escape;
use super::super::shown::page::{Frame, html, page_or_error};
use super::super::shown::tenant::Tenant;
use super::super::shown::words;
use super::table::looks;
use crate::http::error::Error;
use crate::http::fhir::resource_type::resource_type;
use crate::http::service::Service;
use crate::search::raw;
use crate::search::{Form, Handling, Request};

#[derive(Template)]
#[template(path = "console/explain.html")]
struct Page<'a> {
    frame: &'a Frame,
    name: &'a str,
    query: &'a str,
    encoded: String,
    refusal: Option<String>,
    tree: Option<String>,
}

pub(in crate::http::console) async fn show(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path((mode, application)): Path<(String, String)>,
    RawQuery(sent): RawQuery,
) -> Response {
    let place = Tenant::parse(&mode, &application);
    let frame = operator.frame(&service, "explain", place.as_ref().ok());
    let work = async {
        let place = place?;
        let fields = Fields::of_query(sent.as_deref());
        let name = fields.filled("type").unwrap_or_default();
        let query = fields.get("q").unwrap_or_default().trim();
        let explained = match name {
            "" => None,
            name => {
                if let Ok(type_id) = resource_type(name) {
                    looks(&service, &operator, "explain", &place, (type_id, query)).await?;
                }
                match explained(&service, &place, name, query).await {
                    Err(error) if !error.status().is_client_error() => return Err(error),
                    explained => Some(explained.map_err(|error| error.to_string())),
                }
            }
        };
        let (tree, refusal) = match explained {
            None => (None, None),
            Some(Ok(tree)) => (Some(tree), None),
            Some(Err(refusal)) => (None, Some(refusal)),
        };
        let page = Page {
            frame: &frame,
            name,
            query,
            encoded: super::table::encoded(query),
            refusal,
            tree,
        };
        Ok(html(StatusCode::OK, &page))
    };
    page_or_error(&frame, work).await
}

async fn explained(service: &Arc<Service>, place: &Tenant, name: &str, query: &str) -> Result<String, Error> {
    let type_id = resource_type(name)?;
    let parameters = raw::parse_checked(query)?;
    let turn = service.search_turn("console").await?;
    let scope = place.scope();
    let served = service.clone();
    let searching = |stop| {
        let (service, engine) = (served.clone(), served.engine.until(stop));
        async move {
            let _turn = turn;
            let request = Request {
                scope: &scope,
                type_id,
                compartment: None,
                parameters: &parameters,
                handling: Handling::Strict,
                now: service.store.clock().now() * 1_000_000,
                base: &service.fhir_base,
            };
            engine.search_explained(&request, Form::Json).await
        }
    };
    let (_, explanation) = service.workers.run_until(searching).await??;
    let mut tree = String::new();
    branch(&explanation.to_json(), "", 0, &mut tree);
    Ok(tree)
}

/// Members whose names come from the data, such as the names of leaves. They are shown as they are.
const NAMED_BY_DATA: [&str; 4] = ["bytesByLeaf", "memory", "pages", "why"];
/// The members that name an item of a list.
const TITLES: [&str; 3] = ["step", "condition", "type"];
/// Parts of the tree are open down to this level.
const OPEN: usize = 2;

/// Renders the members or items of a value as an HTML list: first those with a value, then those with members of their
/// own. Leaves out empty members and items. `name` is the name of the value, `level` the number of lists around it.
fn branch(value: &Value, name: &str, level: usize, html: &mut String) {
    html.push_str("<ul>");
    match value {
        Value::Object(members) => {
            let by_data = NAMED_BY_DATA.contains(&name);
            // The title of an item says this already.
            let title = TITLES
                .into_iter()
                .find(|title| level > 0 && !by_data && members.contains_key(*title));
            let shown = members.iter().filter(|(name, _)| title != Some(name.as_str()));
            let (nested, plain): (Vec<_>, Vec<_>) = shown.partition(|(_, value)| has_parts(value));
            for (member, value) in plain.into_iter().chain(nested) {
                let label = if by_data { member.clone() } else { words_of(member) };
                let meant = if by_data { name } else { member.as_str() };
                entry(&label, meant, value, level, html);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let title = TITLES.iter().find_map(|title| item[*title].as_str());
                let title = title.map_or_else(|| format!("{} {}", one_of(name), at + 1), str::to_owned);
                entry(&title, name, item, level, html);
            }
        }
        _ => {}
    }
    html.push_str("</ul>");
}

/// Renders a member or an item. `label` is its name for people, `name` its name in JSON.
fn entry(label: &str, name: &str, value: &Value, level: usize, html: &mut String) {
    if is_empty(value) {
        return;
    }
    html.push_str("<li>");
    if has_parts(value) {
        html.push_str(if level < OPEN {
            "<details open><summary><b>"
        } else {
            "<details><summary><b>"
        });
        escape(label, html);
        html.push_str("</b>");
        gist(value, html);
        html.push_str("</summary>");
        match value {
            Value::Array(items) if items.iter().all(Value::is_string) => lines(items, html),
            value => branch(value, name, level + 1, html),
        }
        html.push_str("</details></li>");
        return;
    }
    html.push_str("<b>");
    escape(label, html);
    html.push_str("</b> ");
    match value {
        Value::Array(items) => escape(&strings(items).join(", "), html),
        Value::Number(number) => html.push_str(&quantity(name, number)),
        Value::String(text) => escape(text, html),
        other => html.push_str(&other.to_string()),
    }
    html.push_str("</li>");
}

/// Whether a value is shown as a part that can be closed: it has members or items, or texts of several lines.
fn has_parts(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => {
            let is_long = |item: &Value| item.as_str().is_none_or(|text| text.contains('\n'));
            items.iter().any(is_long)
        }
        _ => false,
    }
}

/// Renders the rows, the bytes and the time of a part, if it has them.
fn gist(value: &Value, html: &mut String) {
    let facts = ["rows", "bytes", "time"].into_iter().filter_map(|name| {
        let fact = quantity(name, value[name].as_number()?);
        Some(if name == "rows" { format!("{fact} rows") } else { fact })
    });
    let facts: Vec<String> = facts.collect();
    if !facts.is_empty() {
        html.push_str(&format!(" <span class=\"note\">{}</span>", facts.join(", ")));
    }
}

/// Formats a number with its unit. Only times are floating-point numbers. They are in microseconds.
fn quantity(name: &str, number: &Number) -> String {
    match number.as_u64() {
        Some(bytes) if matches!(name, "bytes" | "bytesByLeaf") => words::bytes(bytes),
        Some(count) => words::number(count),
        None => format!("{:.3} ms", number.as_f64().unwrap_or_default() / 1e3),
    }
}

/// Renders texts of several lines.
fn lines(items: &[Value], html: &mut String) {
    html.push_str("<pre tabindex=\"0\" class=\"wrap\">");
    escape(&strings(items).join("\n"), html);
    html.push_str("</pre>");
}

fn strings(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(Value::as_str).collect()
}

/// Returns the name of a member in words: `bytesByLeaf` becomes `bytes by leaf`.
fn words_of(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// Returns the singular of a list's name.
fn one_of(name: &str) -> &str {
    match name {
        "people" => "person",
        "searches" => "search",
        name => name.strip_suffix('s').unwrap_or(name),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tree(value: &Value) -> String {
        let mut html = String::new();
        branch(value, "", 0, &mut html);
        html
    }

    #[test]
    fn a_tree_has_names_values_and_no_markup_of_its_own() {
        let value =
            json!({"time": 1500.0, "plans": [], "steps": [{"step": "match", "rows": 3, "leaves": ["a", "<b>"]}]});
        let expected = concat!(
            "<ul><li><b>time</b> 1.500 ms</li><li><details open><summary><b>steps</b></summary><ul>",
            "<li><details open><summary><b>match</b> <span class=\"note\">3 rows</span></summary><ul>",
            "<li><b>leaves</b> a, &lt;b&gt;</li><li><b>rows</b> 3</li></ul></details></li></ul></details></li></ul>",
        );
        assert_eq!(tree(&value), expected);
    }

    #[test]
    fn members_are_in_words_with_units_and_leaves_as_they_are() {
        let html = tree(&json!({"rowGroups": {"met": 1_234}, "bytes": 2_048, "plans": ["a\nb"],
            "bytesByLeaf": {"effectiveDateTime": 1_048_576}}));
        for part in [
            "<b>row groups</b>",
            "<b>met</b> 1,234",
            "<b>bytes</b> 2.00 KiB",
            "<b>bytes by leaf</b>",
            "<b>effectiveDateTime</b> 1.00 MiB",
            "<b>plans</b></summary><pre tabindex=\"0\" class=\"wrap\">a\nb</pre>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn deep_parts_are_closed() {
        let html = tree(&json!({"a": {"b": {"c": {"d": 1}}}}));
        assert_eq!(
            (
                html.matches("<details open>").count(),
                html.matches("<details>").count()
            ),
            (2, 1)
        );
    }
}
