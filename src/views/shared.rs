//! Several views over the same resources, which are read once. Every batch of the scan passes through each view's
//! select tree on the thread that read it. An error of one view ends only the output of that view. Any other error
//! ends all outputs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::RecordBatch;
use datafusion::common::internal_datafusion_err;
use datafusion::physical_plan::ExecutionPlan;
use futures::StreamExt;
use futures::stream::iter;

use super::error::RunError;
use super::output::assembly::{Assembly, Computed, Tail};
use super::output::stop::Stop;
use super::output::write::{Batches, is_few, worked};
use super::output::{Format, TextColumn, TextFormat};
use super::plan::node::ViewNode;
use super::plan::several::{OfView, Stopped, ViewsExec, none_stopped};
use super::run::{self, Again, Below, Resources};
use super::view::View;
use crate::lake::scan::{LakeProvider, ScanReport, ScopedTable};
use crate::plan::{Limit, OrderedLimit, OrderedLimitExec, Planned, Waiting};

/// Several views of one resource type, planned over one scan.
#[derive(Debug)]
pub struct SharedRun {
    planned: Planned,
    views: Vec<Arc<View>>,
    provider: Arc<LakeProvider>,
    limit: Option<usize>,
    again: Again,
}

/// The rows of several views. They are computed when they are read.
pub struct SharedRows {
    views: Vec<Arc<View>>,
    batches: Batches<OfView<RecordBatch>>,
    limit: Option<usize>,
    stopped: Stopped,
}

/// An event in the output of several views.
#[derive(Debug)]
pub enum Event {
    /// The next bytes of a view's output, and the number of rows in them.
    Piece {
        /// The index of the view.
        view: usize,
        /// The bytes.
        bytes: Vec<u8>,
        /// The number of rows.
        rows: usize,
    },
    /// A view failed. Its output so far is invalid, and it yields no more.
    Failed {
        /// The index of the view.
        view: usize,
        /// Why the view failed.
        error: RunError,
    },
    /// A view's output is complete.
    Done {
        /// The index of the view.
        view: usize,
        /// The columns that are text in Parquet although their FHIR type has a SQL type.
        texts: Vec<TextColumn>,
    },
}

/// The events of the outputs of several views, in the order in which they occur.
pub struct Events {
    events: Box<dyn Iterator<Item = Result<Event, RunError>> + Send>,
}

impl SharedRun {
    /// Plans the views, which all have the table's resource type. Each yields at most `limit` rows.
    pub async fn new(
        table: &ScopedTable,
        views: Vec<Arc<View>>,
        resources: &Resources,
        limit: Option<usize>,
    ) -> Result<SharedRun, RunError> {
        let views: Vec<Arc<View>> = views.iter().map(|view| view.for_run()).collect();
        let Below {
            plan,
            filters,
            provider,
        } = Below::new(table, &views, resources)?;
        let plan = ViewNode::of_several(plan, &views, filters, limit)?;
        let plan = OrderedLimit::plan(plan, Limit::default());
        Ok(SharedRun {
            planned: run::planner().plan(&plan).await?,
            views,
            provider,
            limit,
            again: Again {
                table: table.clone(),
                resources: resources.clone(),
                limit,
                stop: Stop::default(),
            },
        })
    }

    /// Returns the plan that runs.
    pub fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.planned.physical
    }

    /// Returns the text for `explain`: the logical and the physical plan, and the filters that the scan applies. After
    /// a run, also the metrics, and what the scan read and skipped. The reasons why it skipped something are known only
    /// if the table is watched.
    pub fn explain(&self) -> String {
        let plan = self.planned.explained();
        match self.views.len() {
            1 => plan,
            several => format!("{several} views share one scan\n{plan}"),
        }
    }

    /// Returns the report of what the scan has read so far.
    pub fn report(&self) -> ScanReport {
        self.provider.report()
    }

    /// Returns the error of a view together with the resource that causes it. This reads the records again, so call
    /// it after all rows have been read.
    pub fn named(&self, view: usize, error: RunError) -> RunError {
        match self.views.get(view) {
            Some(view) => futures::executor::block_on(self.again.named(view, error)),
            None => error,
        }
    }

    /// Returns the rows of all views. Several threads compute them.
    pub fn rows(&self) -> SharedRows {
        let ordered = self.planned.physical.downcast_ref::<OrderedLimitExec>();
        let views = ordered.and_then(|ordered| Some((ordered, ordered.input().downcast_ref::<ViewsExec>()?)));
        let Some((ordered, views)) = views else {
            let error = internal_datafusion_err!("views are planned as ViewsExec in the table's order");
            let failed = iter([Err(error.into())]).boxed();
            return SharedRows::new(self.views.clone(), failed, self.limit, none_stopped(self.views.len()));
        };
        let (begun, outcome) = views.begun();
        let stopped = outcome.stopped.clone();
        let views: Arc<[Arc<View>]> = self.views.as_slice().into();
        let batches = run::batches(&ordered.over(Arc::new(begun)));
        let of_views = batches.flat_map(move |batch| match batch {
            Ok(batch) => iter(outcome.rows(&batch, &views).into_iter().map(Ok).collect::<Vec<_>>()),
            Err(error) => iter(vec![Err(error)]),
        });
        SharedRows::new(self.views.clone(), of_views.boxed(), self.limit, stopped)
    }
}

impl SharedRows {
    pub(super) fn new(
        views: Vec<Arc<View>>,
        batches: Batches<OfView<RecordBatch>>,
        limit: Option<usize>,
        stopped: Stopped,
    ) -> SharedRows {
        SharedRows {
            views,
            batches,
            limit,
            stopped,
        }
    }

    /// Returns the outputs of all views in this format, in pieces as they become ready. The pieces of each view are in
    /// order. Pieces of different views alternate in any order. An error that does not belong to a single view ends all
    /// outputs.
    pub fn events(self, format: Format) -> Events {
        let form = TextFormat::of(format);
        let views: Arc<[Arc<View>]> = self.views.as_slice().into();
        let here = is_few(self.limit) || form.is_none();
        let computed = worked(self.batches, here, move |(place, batch): OfView<RecordBatch>| {
            let computed = batch.and_then(|batch| Computed::new(&views[place], form, batch));
            Ok((place, computed))
        });
        let mut outputs = Outputs {
            stopped: self.stopped,
            open: Vec::new(),
            ready: Vec::new(),
            computed: None,
            ended: 0,
            tail: None,
        };
        for (place, view) in self.views.iter().enumerate() {
            let begun = Assembly::new(view.clone(), format, self.limit, self.views.len(), None)
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
        outputs.computed = Some(Waiting::new(computed));
        outputs.ready.reverse();
        Events {
            events: Box::new(outputs),
        }
    }
}

/// Assembles the outputs of all views.
struct Outputs {
    stopped: Stopped,
    /// The unfinished outputs, by view. `None` for a view that has failed, or whose output is complete or in `tail`.
    open: Vec<Option<Assembly>>,
    /// Events to return. The last one comes next.
    ready: Vec<Event>,
    computed: Option<Waiting<Batches<OfView<Computed>>>>,
    /// The index of the next view whose output must be finished.
    ended: usize,
    /// The view whose output is being finished, and what follows its rows.
    tail: Option<(usize, Tail)>,
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

    /// Tells the workers if a view needs no more rows.
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

    /// Finishes the outputs after the last row, one after the other.
    fn end(&mut self) -> Option<Event> {
        loop {
            if let Some((view, tail)) = &mut self.tail {
                let view = *view;
                match tail.next() {
                    Some(Ok(bytes)) if bytes.is_empty() => continue,
                    Some(Ok(bytes)) => return Some(Event::Piece { view, bytes, rows: 0 }),
                    Some(Err(error)) => {
                        self.tail = None;
                        return Some(Event::Failed { view, error });
                    }
                    None => {
                        let texts = tail.texts().to_vec();
                        self.tail = None;
                        return Some(Event::Done { view, texts });
                    }
                }
            }
            let view = self.ended;
            let output = self.open.get_mut(view)?.take();
            self.ended += 1;
            match output.map(Assembly::finish) {
                None => {}
                Some(Ok(tail)) => self.tail = Some((view, tail)),
                Some(Err(error)) => return Some(Event::Failed { view, error }),
            }
        }
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
            let Some(computed) = self.computed.as_mut() else {
                return self.end().map(Ok);
            };
            match if wanted { computed.next() } else { None } {
                Some(Ok(computed)) => self.add(computed),
                Some(Err(error)) => {
                    self.computed = None;
                    self.open.clear();
                    return Some(Err(error));
                }
                None => self.computed = None,
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
