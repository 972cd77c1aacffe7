//! Several views over the same resources, which are read once: every batch of the scan goes through each view's select
//! tree on the thread that read it. Decides how one scan serves all of them and what becomes of the others when one
//! fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, displayable};

use super::assembly::{Assembly, Computed};
use super::error::RunError;
use super::exec::ViewExec;
use super::ordered::{Job, Jobs, Ordered};
use super::output::{Format, TextFormat};
use super::run::{Planned, Resources};
use super::view::View;
use super::write::Rows;
use crate::lake::scan::{LakeProvider, ScanReport, ScopedTable};

/// Views of one resource type, planned over one scan.
#[derive(Debug)]
pub struct SharedRun {
    operators: Vec<Arc<dyn ExecutionPlan>>,
    views: Vec<Arc<View>>,
    filters: bool,
    scan: Arc<dyn ExecutionPlan>,
    provider: Arc<LakeProvider>,
    context: Arc<TaskContext>,
    limit: Option<usize>,
}

/// The rows of several views that are still to be computed.
pub struct SharedRows {
    views: Vec<Arc<View>>,
    jobs: Jobs<OfView<RecordBatch>>,
    limit: Option<usize>,
    stopped: Stopped,
}

/// Something of one of the views, named by its place; an error is that view's alone.
pub(super) type OfView<T> = (usize, Result<T, RunError>);

/// Which views want no more rows.
pub(super) type Stopped = Arc<[AtomicBool]>;

/// A step on the way to the outputs of several views.
#[derive(Debug)]
pub enum Event {
    /// The next bytes of a view's output, and how many rows they add to it.
    Piece {
        /// The view's place.
        view: usize,
        /// The bytes.
        bytes: Vec<u8>,
        /// The rows.
        rows: usize,
    },
    /// A view failed: what it has so far is of no use, and nothing follows of it.
    Failed {
        /// The view's place.
        view: usize,
        /// Why.
        error: RunError,
    },
    /// A view's output is whole.
    Done {
        /// The view's place.
        view: usize,
    },
}

/// The outputs of several views, as they get ready.
pub struct Events {
    events: Box<dyn Iterator<Item = Result<Event, RunError>> + Send>,
}

impl SharedRun {
    /// Plans the views, all of the table's type; at most `limit` rows of each.
    pub async fn new(
        table: &ScopedTable,
        views: Vec<Arc<View>>,
        resources: &Resources,
        limit: Option<usize>,
    ) -> Result<SharedRun, RunError> {
        let views: Vec<Arc<View>> = views.iter().map(|view| view.for_run()).collect();
        let planned = Planned::new(table, &views, resources).await?;
        let operator = |view: &Arc<View>| -> Arc<dyn ExecutionPlan> {
            Arc::new(ViewExec::new(
                view.clone(),
                planned.scan.clone(),
                planned.filters,
                planned.stop.clone(),
            ))
        };
        Ok(SharedRun {
            operators: views.iter().map(operator).collect(),
            views,
            filters: planned.filters,
            scan: planned.scan,
            provider: planned.provider,
            context: planned.context,
            limit,
        })
    }

    /// The plan, for `explain`: each view's operator and, below all of them, the scan that they share.
    pub fn explain(&self) -> String {
        if let [only] = self.operators.as_slice() {
            return displayable(only.as_ref()).indent(true).to_string();
        }
        let mut text = format!("{} views share one scan\n", self.operators.len());
        for (operator, view) in self.operators.iter().zip(&self.views) {
            let line = displayable(operator.as_ref()).one_line().to_string();
            match view.name() {
                Some(name) => text.push_str(&format!("  {name}: {line}")),
                None => text.push_str(&format!("  {line}")),
            }
        }
        for line in displayable(self.scan.as_ref()).indent(true).to_string().lines() {
            text.push_str(&format!("    {line}\n"));
        }
        text
    }

    /// What has been read so far.
    pub fn report(&self) -> ScanReport {
        self.provider.report()
    }

    /// The rows of all views, computed by several threads.
    pub fn rows(&self) -> SharedRows {
        let stopped = none_stopped(self.views.len());
        let views: Arc<[Arc<View>]> = self.views.as_slice().into();
        let all: Arc<[usize]> = (0..views.len()).collect();
        let (scan, context, filters) = (self.scan.clone(), self.context.clone(), self.filters);
        let partitions = scan.output_partitioning().partition_count();
        let of_jobs = stopped.clone();
        let jobs = (0..partitions).map(move |partition| -> Job<OfView<RecordBatch>> {
            let (scan, context) = (scan.clone(), context.clone());
            let (views, all, stopped) = (views.clone(), all.clone(), of_jobs.clone());
            Box::new(move || match scan.execute(partition, context) {
                // The stream computes when it is polled and waits for nothing.
                Ok(stream) => {
                    let batches = futures::executor::block_on_stream(stream);
                    Box::new(batches.flat_map(move |batch| match batch {
                        Ok(batch) => Fan::Of(fan(views.clone(), all.clone(), stopped.clone(), batch, filters)),
                        Err(error) => Fan::Failed(Some(error.into())),
                    }))
                }
                Err(error) => Box::new(std::iter::once(Err(error.into()))),
            })
        });
        SharedRows::new(self.views.clone(), Box::new(jobs), self.limit, stopped)
    }
}

/// As many flags as there are views, none of them set.
pub(super) fn none_stopped(views: usize) -> Stopped {
    (0..views).map(|_| AtomicBool::new(false)).collect()
}

/// The rows of the views at these places over a batch of resources, one view after the other; of those that want rows.
pub(super) fn fan(
    views: Arc<[Arc<View>]>,
    places: Arc<[usize]>,
    stopped: Stopped,
    batch: RecordBatch,
    filters: bool,
) -> impl Iterator<Item = OfView<RecordBatch>> {
    (0..places.len()).flat_map(move |at| {
        let place = places[at];
        let wanted = stopped.clone();
        let rows = (!wanted[place].load(Ordering::Relaxed)).then(|| views[place].rows(batch.clone(), filters));
        rows.into_iter()
            .flatten()
            .take_while(move |_| !wanted[place].load(Ordering::Relaxed))
            .map(move |rows| (place, rows))
    })
}

/// What a batch of the scan gives.
enum Fan<I> {
    Of(I),
    Failed(Option<RunError>),
}

impl<I: Iterator<Item = OfView<RecordBatch>>> Iterator for Fan<I> {
    type Item = Result<OfView<RecordBatch>, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Fan::Of(rows) => rows.next().map(Ok),
            Fan::Failed(error) => error.take().map(Err),
        }
    }
}

impl SharedRows {
    pub(super) fn new(
        views: Vec<Arc<View>>,
        jobs: Jobs<OfView<RecordBatch>>,
        limit: Option<usize>,
        stopped: Stopped,
    ) -> SharedRows {
        SharedRows {
            views,
            jobs,
            limit,
            stopped,
        }
    }

    /// The outputs in this format, in pieces as they get ready. Each view's pieces come in order; those of several
    /// views are mixed. An error ends all of them.
    pub fn events(self, format: Format) -> Events {
        let threads = Rows::threads(self.limit);
        let form = TextFormat::of(format);
        let views: Arc<[Arc<View>]> = self.views.as_slice().into();
        let computed = self.jobs.map(move |job| -> Job<OfView<Computed>> {
            let views = views.clone();
            let computed = move |(place, batch): OfView<RecordBatch>| {
                let computed = batch.and_then(|batch| Computed::new(&views[place], form, batch));
                (place, computed)
            };
            Box::new(move || Box::new(job().map(move |result| result.map(&computed))))
        });
        let mut outputs = Outputs {
            stopped: self.stopped,
            open: Vec::new(),
            ready: Vec::new(),
            computed: None,
        };
        for (place, view) in self.views.iter().enumerate() {
            let begun = Assembly::new(view.clone(), format, self.limit, self.views.len())
                .and_then(|assembly| assembly.head().map(|head| (assembly, head)));
            match begun {
                Ok((assembly, head)) => {
                    outputs.open.push(Some(assembly));
                    outputs.say(place, head, 0);
                    outputs.full(place);
                }
                Err(error) => {
                    outputs.open.push(None);
                    outputs.fail(place, error);
                }
            }
        }
        outputs.computed = Some(Ordered::new(Box::new(computed), threads));
        outputs.ready.reverse();
        Events {
            events: Box::new(outputs),
        }
    }
}

/// Puts the outputs together.
struct Outputs {
    stopped: Stopped,
    /// The outputs under way; `None` for a view that has failed or is done.
    open: Vec<Option<Assembly>>,
    /// Events to be handed out, the next one last.
    ready: Vec<Event>,
    computed: Option<Ordered<OfView<Computed>>>,
}

impl Outputs {
    fn say(&mut self, view: usize, bytes: Vec<u8>, rows: usize) {
        if !bytes.is_empty() || rows > 0 {
            self.ready.push(Event::Piece { view, bytes, rows });
        }
    }

    fn fail(&mut self, view: usize, error: RunError) {
        self.stopped[view].store(true, Ordering::Relaxed);
        self.open[view] = None;
        self.ready.push(Event::Failed { view, error });
    }

    /// Tells the workers if a view has all the rows that it wants.
    fn full(&self, view: usize) {
        if self.open[view].as_ref().is_none_or(|output| !output.wants_rows()) {
            self.stopped[view].store(true, Ordering::Relaxed);
        }
    }

    fn add(&mut self, (view, computed): OfView<Computed>) {
        let Some(output) = &mut self.open[view] else { return };
        if !output.wants_rows() {
            return;
        }
        match computed.and_then(|computed| output.add(computed)) {
            Ok(piece) => self.say(view, piece.bytes, piece.rows),
            Err(error) => self.fail(view, error),
        }
        self.full(view);
    }

    fn finish(&mut self) {
        for view in 0..self.open.len() {
            match self.open[view].take().map(Assembly::finish) {
                None => {}
                Some(Ok(tail)) => {
                    self.say(view, tail, 0);
                    self.ready.push(Event::Done { view });
                }
                Some(Err(error)) => self.fail(view, error),
            }
        }
        self.ready.reverse();
    }

    fn wants_rows(&self) -> bool {
        self.open.iter().flatten().any(Assembly::wants_rows)
    }
}

impl Iterator for Outputs {
    type Item = Result<Event, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.ready.pop() {
                return Some(Ok(event));
            }
            let wanted = self.wants_rows();
            let computed = self.computed.as_mut()?;
            match if wanted { computed.next() } else { None } {
                Some(Ok(computed)) => self.add(computed),
                Some(Err(error)) => {
                    self.computed = None;
                    return Some(Err(error));
                }
                None => {
                    self.computed = None;
                    self.finish();
                }
            }
        }
    }
}

impl Iterator for Events {
    type Item = Result<Event, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.events.next()
    }
}

impl std::fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<Option<&str>> = self.views.iter().map(|view| view.name()).collect();
        f.debug_struct("SharedRows")
            .field("views", &names)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}
