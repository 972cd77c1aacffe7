//! Views over resources that lie in no lake: documents are read in groups and the rows of each are computed at once.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::ordered::{Job, Jobs, Results};
use super::reader::{Document, Pick, Reader};
use super::shared::{self, OfView, SharedRows};
use super::view::View;
use super::write::Rows;

/// Bytes of documents that are worth a thread's while; smaller ones go together.
const GROUP_BYTES: usize = 1 << 20;
/// Documents that go together at most.
const GROUP: usize = 4096;

impl Rows {
    /// The rows of a view over documents, in their order.
    pub fn of_documents<D: Document + 'static>(
        view: Arc<View>,
        documents: impl Iterator<Item = D> + Send + 'static,
        limit: Option<usize>,
    ) -> Rows {
        let view = view.for_run();
        let reader = Arc::new(Reader::new([view.as_ref()]));
        let of_documents = view.clone();
        let jobs: Jobs<RecordBatch> = Box::new(groups(documents).map(move |documents| -> Job<RecordBatch> {
            let (view, reader) = (of_documents.clone(), reader.clone());
            Box::new(move || {
                Box::new(reader.batches(documents).flat_map(move |batch| match batch {
                    Ok((_, batch)) => Box::new(view.rows(batch, true)) as Results<RecordBatch>,
                    Err(error) => Box::new(std::iter::once(Err(error))),
                }))
            })
        }));
        Rows::new(view, jobs, limit)
    }
}

impl SharedRows {
    /// The rows of several views, of any types, over documents that are read once; of all resources in them, or of
    /// those that are picked.
    pub fn of_documents<D: Document + 'static>(
        views: Vec<Arc<View>>,
        documents: impl Iterator<Item = D> + Send + 'static,
        pick: Option<Arc<dyn Pick>>,
        limit: Option<usize>,
    ) -> SharedRows {
        let views: Vec<Arc<View>> = views.iter().map(|view| view.for_run()).collect();
        let reader = Arc::new(Reader::picking(views.iter().map(Arc::as_ref), pick));
        let stopped = shared::none_stopped(views.len());
        let (all, of_jobs) = (Arc::<[Arc<View>]>::from(views.as_slice()), stopped.clone());
        let jobs: Jobs<OfView<RecordBatch>> = Box::new(groups(documents).map(move |documents| {
            let (views, stopped, reader) = (all.clone(), of_jobs.clone(), reader.clone());
            let job: Job<OfView<RecordBatch>> = Box::new(move || {
                Box::new(reader.batches(documents).flat_map(move |batch| match batch {
                    Ok((ty, batch)) => {
                        let places = (0..views.len()).filter(|at| views[*at].resource() == ty).collect();
                        let rows = shared::fan(views.clone(), places, stopped.clone(), batch, true);
                        Box::new(rows.map(Ok)) as Results<OfView<RecordBatch>>
                    }
                    Err(error) => Box::new(std::iter::once(Err(error))),
                }))
            });
            job
        }));
        SharedRows::new(views, jobs, limit, stopped)
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
