//! A view over resources that lie in no lake: JSON text is shredded in portions and the rows of each are computed at once.
//!
//! A document is a resource, a Bundle, whose entries count, or lines of either. Only resources of the view's type are
//! looked at.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::error::RunError;
use super::ordered::{Job, Jobs};
use super::view::View;
use super::write::Rows;
use crate::fhir::facts;
use crate::lake::json::{JsonError, Tape, Value};
use crate::lake::shred::{ShredError, Shredder, SystemValues};

/// Bytes of documents that are worth a thread's while; smaller ones go together.
const GROUP_BYTES: usize = 1 << 20;
/// Documents that go together at most.
const GROUP: usize = 4096;
/// Resources of a batch at most.
const BATCH: usize = 4096;
/// Bytes of JSON of a batch, about.
const BATCH_BYTES: usize = 16 << 20;

/// What keeps a resource from being taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(JsonError),
    /// It does not go into columns.
    #[error("{0}")]
    Shape(String),
}

/// A text with resources in it, and whom to tell what is refused.
pub trait Document: Send {
    /// The text: one JSON document, or several in lines.
    fn text(&self) -> &[u8];
    /// Whether every line is a document of its own.
    fn is_lines(&self) -> bool;
    /// Something was left out; `offset` is where it begins in the text.
    fn refuse(&self, offset: usize, reason: Refused);
}

impl Rows {
    /// The rows of a view over documents, in their order.
    pub fn of_documents<D: Document + 'static>(
        view: Arc<View>,
        documents: impl Iterator<Item = D> + Send + 'static,
        limit: Option<usize>,
    ) -> Rows {
        let of_documents = view.clone();
        let jobs: Jobs<RecordBatch> = Box::new(groups(documents).map(move |documents| -> Job<RecordBatch> {
            let view = of_documents.clone();
            Box::new(move || Box::new(rows(&view, documents)))
        }));
        Rows::new(view, jobs, limit)
    }
}

/// Documents in groups that are worth a thread's while, in their order.
fn groups<D: Document>(mut documents: impl Iterator<Item = D>) -> impl Iterator<Item = Vec<D>> {
    std::iter::from_fn(move || {
        let (mut group, mut bytes) = (Vec::new(), 0);
        while bytes < GROUP_BYTES && group.len() < GROUP {
            let Some(document) = documents.next() else { break };
            bytes += document.text().len();
            group.push(document);
        }
        (!group.is_empty()).then_some(group)
    })
}

/// The rows of a group of documents.
fn rows<D: Document>(
    view: &Arc<View>,
    documents: Vec<D>,
) -> impl Iterator<Item = Result<RecordBatch, RunError>> + use<D> {
    let mut batches = Batches::new(view);
    let shredded = documents.into_iter().try_for_each(|document| batches.shred(&document));
    let failed = shredded.and_then(|()| batches.cut()).err().map(Err);
    let view = view.clone();
    batches
        .done
        .into_iter()
        .flat_map(move |batch| view.rows(batch, true))
        .chain(failed)
}

/// The document itself, or the entries of a Bundle, as far as they are of the type.
fn resources<'t>(root: Value<'t>, wanted: &str) -> Vec<Value<'t>> {
    let is = |value: &Value<'_>, ty: &str| value.get_str("resourceType").as_deref() == Some(ty);
    if is(&root, wanted) {
        return vec![root];
    }
    if !is(&root, "Bundle") {
        return Vec::new();
    }
    let entries = root.get("entry").into_iter().flat_map(|entries| entries.items());
    entries
        .filter_map(|entry| entry.get("resource"))
        .filter(|resource| is(resource, wanted))
        .collect()
}

/// Resources of the view's type as batches of its table.
struct Batches {
    wanted: &'static str,
    shredder: Shredder,
    tape: Tape,
    done: Vec<RecordBatch>,
}

impl Batches {
    fn new(view: &View) -> Batches {
        let wanted = facts().get(view.resource()).name;
        Batches {
            wanted,
            shredder: Shredder::new(view.resource()),
            tape: Tape::new(),
            done: Vec::new(),
        }
    }

    fn shred<D: Document>(&mut self, document: &D) -> Result<(), RunError> {
        let text = document.text();
        if !document.is_lines() {
            return self.one(document, 0, text);
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
            let line = &text[start..end];
            let blank = line.len() - line.trim_ascii_start().len();
            if blank < line.len() {
                self.one(document, start + blank, line.trim_ascii())?;
            }
            start = end + 1;
        }
        Ok(())
    }

    /// A JSON document, which begins at `offset` of the text.
    fn one<D: Document>(&mut self, document: &D, offset: usize, part: &[u8]) -> Result<(), RunError> {
        let root = match self.tape.parse(part) {
            Ok(root) => root,
            Err(error) => {
                document.refuse(offset + error.offset, Refused::NotJson(error));
                return Ok(());
            }
        };
        for resource in resources(root, self.wanted) {
            if let Err(error) = push(&mut self.shredder, resource) {
                document.refuse(offset + resource.span().start, Refused::Shape(error.to_string()));
            }
            if self.shredder.len() >= BATCH || self.shredder.bytes() >= BATCH_BYTES {
                self.done.push(self.shredder.finish()?);
            }
        }
        Ok(())
    }

    /// Ends the batch.
    fn cut(&mut self) -> Result<(), RunError> {
        if !self.shredder.is_empty() {
            self.done.push(self.shredder.finish()?);
        }
        Ok(())
    }
}

fn push(shredder: &mut Shredder, resource: Value<'_>) -> Result<(), ShredError> {
    let id = resource.get_str("id").unwrap_or_default();
    // Views read columns; nothing asks for the text.
    let system = SystemValues::outside(&id, "");
    shredder.push(&system, resource)
}
