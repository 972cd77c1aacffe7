//! Evaluates views over resources that are not in a lake. Documents are read in groups. The rows of each group are
//! computed together.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::StreamExt;

use super::super::error::RunError;
use super::super::output::write::{Batches, Rows, is_few};
use super::super::plan::several;
use super::super::plan::several::OfView;
use super::super::shared::SharedRows;
use super::super::view::View;
use super::reader::{Document, Pick, Reader};
use crate::fhir::TypeId;
use crate::plan::{Pace, Part, Parts, Prefetch};

/// A group gets no more documents when it has this many bytes, because it is then large enough for a thread.
const GROUP_BYTES: usize = 1 << 20;
/// The maximum number of documents in a group.
const GROUP: usize = 4096;

impl Rows {
    /// Returns the rows of a view over documents, in the order of the documents.
    pub fn of_documents<D: Document + 'static>(
        view: Arc<View>,
        documents: impl Iterator<Item = D> + Send + 'static,
        limit: Option<usize>,
    ) -> Rows {
        let view = view.for_run();
        let reader = Arc::new(Reader::new([view.as_ref()]));
        let of_documents = view.clone();
        let parts = groups(documents).map(move |documents| {
            let (view, reader) = (of_documents.clone(), reader.clone());
            part(documents, reader, move |batch| match batch {
                Ok((_, batch)) => Box::new(view.rows(batch, true)) as Results<RecordBatch>,
                Err(error) => Box::new(std::iter::once(Err(error))),
            })
        });
        Rows::new(view, ahead(Box::new(parts), limit), limit)
    }
}

impl SharedRows {
    /// Returns the rows of several views, of any resource types, over documents that are read once. If there is a
    /// `pick`, only the resources that it selects are used.
    pub fn of_documents<D: Document + 'static>(
        views: Vec<Arc<View>>,
        documents: impl Iterator<Item = D> + Send + 'static,
        pick: Option<Arc<dyn Pick>>,
        limit: Option<usize>,
    ) -> SharedRows {
        let views: Vec<Arc<View>> = views.iter().map(|view| view.for_run()).collect();
        let reader = Arc::new(Reader::picking(views.iter().map(Arc::as_ref), pick));
        let stopped = several::none_stopped(views.len());
        let (all, of_parts) = (Arc::<[Arc<View>]>::from(views.as_slice()), stopped.clone());
        let parts = groups(documents).map(move |documents| {
            let (views, stopped, reader) = (all.clone(), of_parts.clone(), reader.clone());
            part(documents, reader, move |batch| match batch {
                Ok((type_id, batch)) => {
                    let places = (0..views.len()).filter(|at| views[*at].resource() == type_id).collect();
                    let rows = several::fan(views.clone(), places, batch, true, several::wants(stopped.clone()));
                    Box::new(rows.map(Ok)) as Results<OfView<RecordBatch>>
                }
                Err(error) => Box::new(std::iter::once(Err(error))),
            })
        });
        SharedRows::new(views, ahead(Box::new(parts), limit), limit, stopped)
    }
}

/// The results for one batch of resources.
type Results<T> = Box<dyn Iterator<Item = Result<T, RunError>> + Send>;

/// Returns the results for some documents. The thread that runs the part also reads the documents.
fn part<D: Document + 'static, T: Send + 'static>(
    documents: Vec<D>,
    reader: Arc<Reader>,
    rows: impl FnMut(Result<(TypeId, RecordBatch), RunError>) -> Results<T> + Send + 'static,
) -> Part<T, RunError> {
    let batches = std::iter::once(documents).flat_map(move |documents| reader.clone().batches(documents));
    Box::pin(futures::stream::iter(batches.flat_map(rows)))
}

/// Runs the parts before the consumer asks for their results. To get the next part, a thread reads the iterator of
/// documents. This iterator may block until earlier documents are dropped, so the threads must be allowed to block.
fn ahead<T: Send + 'static>(parts: Parts<T, RunError>, limit: Option<usize>) -> Batches<T> {
    let pace = Pace {
        first_here: is_few(limit),
        blocking: true,
    };
    Prefetch::new(parts, pace).boxed()
}

/// Combines documents into groups that are large enough for a thread, in order.
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
