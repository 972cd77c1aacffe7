//! Shows how the engine executed a search, as a tree.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::super::session::form::Fields;
use super::super::session::operator::Operator;
use super::super::shown::json::escape;
use super::super::shown::page::{Frame, html, page_or_error};
use super::super::shown::tenant::Tenant;
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
    let turn = service.turn().await?;
    let scope = place.scope();
    let searching = {
        let service = service.clone();
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
            service.engine.search_explained(&request, Form::Json).await
        }
    };
    let (_, explanation) = service.workers.run(searching).await??;
    let mut tree = String::new();
    branch(&explanation.to_json(), "", &mut tree);
    Ok(tree)
}

/// Renders the members or items of a value as an HTML list. Leaves out empty members and items. `name` is the name of
/// the value.
fn branch(value: &Value, name: &str, html: &mut String) {
    html.push_str("<ul>");
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                entry(name, value, html);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let title = ["step", "condition", "type"].iter().find_map(|key| item[*key].as_str());
                let title = title.map_or_else(|| format!("{} {}", one_of(name), at + 1), str::to_owned);
                entry(&title, item, html);
            }
        }
        _ => {}
    }
    html.push_str("</ul>");
}

fn entry(name: &str, value: &Value, html: &mut String) {
    if is_empty(value) {
        return;
    }
    html.push_str("<li><b>");
    escape(name, html);
    html.push_str("</b>");
    match value {
        Value::Array(items) if items.iter().all(|item| item.is_string()) => texts(items, html),
        Value::Object(_) | Value::Array(_) => branch(value, name, html),
        // Only times are floating-point numbers. They are in microseconds.
        Value::Number(number) if number.is_f64() => {
            let micros = number.as_f64().unwrap_or_default();
            html.push_str(&format!(" {:.3} ms", micros / 1e3));
        }
        Value::String(text) => {
            html.push(' ');
            escape(text, html);
        }
        other => html.push_str(&format!(" {other}")),
    }
    html.push_str("</li>");
}

/// Renders strings on one line, or in a block of their own if one has line breaks.
fn texts(items: &[Value], html: &mut String) {
    let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
    if texts.iter().any(|text| text.contains('\n')) {
        html.push_str("<pre tabindex=\"0\" class=\"wrap\">");
        escape(&texts.join("\n"), html);
        html.push_str("</pre>");
    } else {
        html.push(' ');
        escape(&texts.join(", "), html);
    }
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

    #[test]
    fn a_tree_has_names_values_and_no_markup_of_its_own() {
        let mut html = String::new();
        let value =
            json!({"time": 1500.0, "plans": [], "steps": [{"step": "match", "rows": 3, "leaves": ["a", "<b>"]}]});
        branch(&value, "", &mut html);
        let expected = concat!(
            "<ul><li><b>steps</b><ul><li><b>match</b><ul><li><b>leaves</b> a, &lt;b&gt;</li>",
            "<li><b>rows</b> 3</li><li><b>step</b> match</li></ul></li></ul></li><li><b>time</b> 1.500 ms</li></ul>",
        );
        assert_eq!(html, expected);
    }
}
