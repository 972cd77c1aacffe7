//! A view over resources that lie in no lake: JSON text is shredded in portions and the rows of each are computed at once.
//!
//! A document is a resource, a Bundle, whose entries count, or lines of either. Only resources of the view's type are
//! looked at.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::error::RunError;
use super::exec;
use super::ordered::{Job, Jobs};
use super::view::View;
use super::write::Rows;
use crate::fhir::facts;
use crate::lake::json::{JsonError, Tape, Value};
use crate::lake::shred::{ShredError, Shredder, SystemValues};

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
        documents: impl Iterator<Item = Result<D, RunError>> + Send + 'static,
        limit: Option<usize>,
    ) -> Rows {
        let of_documents = view.clone();
        let jobs: Jobs<RecordBatch> = Box::new(documents.map(move |document| -> Job<RecordBatch> {
            let view = of_documents.clone();
            Box::new(move || match document {
                Err(error) => Box::new(std::iter::once(Err(error))),
                Ok(document) => Box::new(rows(&view, &document)),
            })
        }));
        Rows::new(view, jobs, limit)
    }
}

fn rows<D: Document>(view: &Arc<View>, document: &D) -> impl Iterator<Item = Result<RecordBatch, RunError>> + use<D> {
    let (batches, failed) = match shred(view, document) {
        Ok(batches) => (batches, None),
        Err(error) => (Vec::new(), Some(Err(error))),
    };
    let view = view.clone();
    let of_batch = move |batch: RecordBatch| -> Box<dyn Iterator<Item = Result<RecordBatch, RunError>>> {
        match exec::rows(&view, &batch, true) {
            Ok(rows) => Box::new(rows),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    };
    batches.into_iter().flat_map(of_batch).chain(failed)
}

/// The resources of the view's type in a document, as batches of its table.
fn shred<D: Document>(view: &View, document: &D) -> Result<Vec<RecordBatch>, RunError> {
    let mut batches = Batches {
        shredder: Shredder::new(view.resource()),
        done: Vec::new(),
    };
    let wanted = facts().get(view.resource()).name;
    let mut tape = Tape::new();
    let text = document.text();
    let mut one = |offset: usize, part: &[u8]| -> Result<(), RunError> {
        let root = match tape.parse(part) {
            Ok(root) => root,
            Err(error) => {
                let (at, error) = (
                    offset + error.offset,
                    JsonError {
                        offset: error.offset,
                        ..error
                    },
                );
                document.refuse(at, Refused::NotJson(error));
                return Ok(());
            }
        };
        for resource in resources(root, wanted) {
            if let Err(error) = batches.push(resource) {
                document.refuse(offset + resource.span().start, Refused::Shape(error.to_string()));
            }
            batches.cut()?;
        }
        Ok(())
    };
    if document.is_lines() {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
            let line = &text[start..end];
            let blank = line.len() - line.trim_ascii_start().len();
            if blank < line.len() {
                one(start + blank, line.trim_ascii())?;
            }
            start = end + 1;
        }
    } else {
        one(0, text)?;
    }
    batches.finish()
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

struct Batches {
    shredder: Shredder,
    done: Vec<RecordBatch>,
}

impl Batches {
    fn push(&mut self, resource: Value<'_>) -> Result<(), ShredError> {
        let id = resource.get_str("id").unwrap_or_default();
        let system = SystemValues {
            owner: 0,
            id: &id,
            patient: None,
            application: "",
            authorization: None,
            endpoint: None,
            version: 1,
            last_updated: 0,
            digest: [0; 16],
            shared_refs: &[],
            // Views read columns; nothing asks for the text.
            resource: "",
        };
        self.shredder.push(&system, resource)
    }

    /// Begins another batch when this one has become large.
    fn cut(&mut self) -> Result<(), RunError> {
        if self.shredder.len() >= BATCH || self.shredder.bytes() >= BATCH_BYTES {
            self.done.push(self.shredder.finish()?);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<RecordBatch>, RunError> {
        if !self.shredder.is_empty() {
            self.done.push(self.shredder.finish()?);
        }
        Ok(self.done)
    }
}
