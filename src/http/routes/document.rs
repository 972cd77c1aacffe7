//! `GET /openapi.json`: describes all routes as an OpenAPI 3.1 document. It needs no token, because it only repeats
//! the public documentation.

use std::sync::{Arc, OnceLock};

use axum::Extension;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Value, json};

use super::operation::Operation;
use super::route::Route;
use crate::http::service::Service;

const JSON: &str = "application/json";

/// The OpenAPI document. It is built at the first request. The router adds it to requests as an extension.
#[derive(Debug)]
pub(in crate::http) struct Document {
    /// Builds the document for a base URL.
    describe: fn(&str) -> Value,
    made: OnceLock<Made>,
}

#[derive(Debug)]
struct Made {
    value: Value,
    bytes: Bytes,
}

impl Document {
    pub(super) fn new(describe: fn(&str) -> Value) -> Document {
        Document {
            describe,
            made: OnceLock::new(),
        }
    }

    /// Returns the document as JSON. The first call builds it for its `base_url`. Later calls return the same document.
    pub(in crate::http) fn value(&self, base_url: &str) -> &Value {
        &self.of(base_url).value
    }

    fn of(&self, base_url: &str) -> &Made {
        self.made.get_or_init(|| {
            let value = (self.describe)(base_url);
            Made {
                bytes: value.to_string().into(),
                value,
            }
        })
    }
}

/// Returns the route of the document.
pub(super) fn routes() -> Vec<Route> {
    let operation = Operation::new("openapi", "These routes, as an OpenAPI document").open();
    let schema = json!({
        "type": "object",
        "required": ["openapi", "info", "paths", "components"],
        "additionalProperties": true,
        "description": "OpenAPI 3.1",
    });
    vec![Route::at("/openapi.json").get(document, operation.answers(&[JSON], &schema))]
}

async fn document(State(service): State<Arc<Service>>, Extension(document): Extension<Arc<Document>>) -> Response {
    let bytes = document.of(&service.base_url).bytes.clone();
    ([(CONTENT_TYPE, JSON)], bytes).into_response()
}
