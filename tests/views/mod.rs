//! ViewDefinitions: the official suite, and topics outside of it: scopes, pages, plans, streaming, formats, digits.

mod commands;
mod contained;
mod erased;
mod json_names;
mod lake;
mod model;
mod mutations;
mod output;
mod over_http;
mod planned;
mod suite;

use std::sync::Arc;

use serde_json::Value;
use tabularium::lake::{Lake, Scope, ScopedTable};
use tabularium::views::{Document, Format, Refused, Resources, Rows, Run, View};

/// A resource as a document.
struct Resource(Vec<u8>);

impl Document for Resource {
    fn text(&self) -> &[u8] {
        &self.0
    }

    fn is_lines(&self) -> bool {
        false
    }

    fn refuse(&self, _: usize, reason: Refused) {
        panic!("a resource was refused: {reason}");
    }
}

fn view(definition: &Value) -> Arc<View> {
    Arc::new(View::parse(definition.to_string().as_bytes()).unwrap())
}

/// The rows of a view over these texts.
fn rows_of(view: &Arc<View>, texts: &[&str]) -> Rows {
    let documents: Vec<Resource> = texts.iter().map(|text| Resource(text.as_bytes().to_vec())).collect();
    Rows::of_documents(view.clone(), documents.into_iter(), None)
}

fn written(rows: Rows, format: Format) -> Result<String, String> {
    let mut text = Vec::new();
    rows.write(format, &mut text).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(text).unwrap())
}

fn table(lake: &Lake, scope: &Arc<Scope>, view: &View) -> ScopedTable {
    lake.table(&lake.snapshot(), view.resource(), scope)
}

fn run(lake: &Lake, scope: &Arc<Scope>, view: &Arc<View>, resources: &Resources, limit: Option<usize>) -> Run {
    let table = table(lake, scope, view);
    futures::executor::block_on(Run::new(&table, view.clone(), resources, limit)).unwrap()
}

/// The rows, and the names of the columns.
type Found = Result<(Vec<Value>, Vec<String>), String>;

fn in_memory(definition: &Value, resources: &[Value]) -> Found {
    let view = Arc::new(View::parse(definition.to_string().as_bytes()).map_err(|error| error.to_string())?);
    let texts: Vec<String> = resources.iter().map(Value::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    found(&view, rows_of(&view, &texts))
}

fn over_lake(lake: &Lake, scope: &Arc<Scope>, definition: &Value) -> Found {
    let view = Arc::new(View::parse(definition.to_string().as_bytes()).map_err(|error| error.to_string())?);
    let table = table(lake, scope, &view);
    let run = futures::executor::block_on(Run::new(&table, view.clone(), &Resources::default(), None));
    found(&view, run.map_err(|error| error.to_string())?.rows())
}

fn found(view: &View, rows: Rows) -> Found {
    let columns = view.columns().iter().map(|column| column.name.clone()).collect();
    Ok((serde_json::from_str(&written(rows, Format::Json)?).unwrap(), columns))
}
