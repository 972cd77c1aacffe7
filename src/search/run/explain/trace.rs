//! Traces a search: records its steps, with the time of each step and with what it read. A search without an
//! explanation has an empty trace, which records nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use datafusion::physical_plan::ExecutionPlan;

use super::explanation::{Explanation, Form, Part, Step};
use crate::fhir::outcome::{Issue, IssueType};
use crate::lake::scan::{ScopedTable, Watch};
use crate::plan::{On, Planned, plan_text};

/// The trace of a search. An empty trace records nothing.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct Trace(Option<Arc<Tracing>>);

#[derive(Debug)]
struct Tracing {
    /// The form of the explanation.
    form: Form,
    watch: Arc<Watch>,
    noted: Mutex<Noted>,
}

#[derive(Debug)]
struct Noted {
    /// The time at which the current step began.
    since: Instant,
    /// The texts of the plans that ran in the current step.
    plans: Vec<String>,
    /// The plans that ran in all steps.
    ran: Vec<Arc<dyn ExecutionPlan>>,
    explanation: Explanation,
}

impl Trace {
    /// Creates a trace that starts now.
    pub(in crate::search) fn on(form: Form) -> Trace {
        Trace(Some(Arc::new(Tracing {
            form,
            watch: Arc::default(),
            noted: Mutex::new(Noted {
                since: Instant::now(),
                plans: Vec::new(),
                ran: Vec::new(),
                explanation: Explanation::default(),
            }),
        })))
    }

    /// Whether the trace records anything.
    pub(in crate::search) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the same table, but the trace records what is read from the returned one.
    pub(in crate::search) fn watched(&self, table: ScopedTable) -> ScopedTable {
        match &self.0 {
            Some(tracing) => table.watched(&tracing.watch),
            None => table,
        }
    }

    /// Records how one table is searched. `part` is called only if the trace records anything.
    pub(in crate::search) fn part(&self, part: impl FnOnce() -> Part) {
        if let Some(mut noted) = self.noted() {
            noted.explanation.parts.push(part());
        }
    }

    /// Records a plan that DataFusion's planner made and that has run.
    pub(in crate::search) fn planned(&self, planned: &Planned) {
        if let Some(mut noted) = self.noted() {
            noted.plans.push(planned.to_string());
            noted.ran.push(planned.physical.clone());
        }
    }

    /// Records a physical plan that was built without the planner and that has run.
    pub(in crate::search) fn plan(&self, plan: &Arc<dyn ExecutionPlan>) {
        if let Some(mut noted) = self.noted() {
            noted.plans.push(plan_text(plan.as_ref()));
            noted.ran.push(plan.clone());
        }
    }

    /// Adds a plan only to the explanation. [`ran`](Self::ran) does not return it, so it is not sent to another
    /// process.
    pub(in crate::search) fn shown(&self, plan: &dyn ExecutionPlan) {
        if let Some(mut noted) = self.noted() {
            noted.plans.push(plan_text(plan));
        }
    }

    /// Adds the plans of these semi-joins to the explanation. A search calls this if none of its own plans shows them.
    pub(in crate::search) fn sides(&self, joins: &[On]) {
        let plans = joins.iter().flat_map(|on| &on.ids);
        plans.for_each(|plan| self.shown(plan.as_ref()));
    }

    /// Creates a separate trace for the plans of one include. [`stage`](Self::stage) later adds these plans to `self`.
    pub(in crate::search) fn of_stage(&self) -> Trace {
        let form = self.0.as_deref().map(|tracing| tracing.form);
        form.map_or_else(Trace::default, Trace::on)
    }

    /// Records an include that has run. `ran` is the trace of the include, and `stage` returns the line that describes
    /// it. The plans in `ran` are added to this trace.
    pub(in crate::search) fn stage(&self, ran: Trace, stage: impl FnOnce() -> String) {
        let Some(mut noted) = self.noted() else { return };
        let mut text = format!("{}\n", stage());
        let (plans, ran) = ran.noted().map_or_else(Default::default, |mut ran| {
            (std::mem::take(&mut ran.plans), std::mem::take(&mut ran.ran))
        });
        noted.ran.extend(ran);
        for line in plans.iter().flat_map(|plan| plan.lines()) {
            text.extend(["  ", line, "\n"]);
        }
        noted.plans.push(text);
    }

    /// Records that the current step has ended, with its name and number of rows. The next step begins now.
    pub(in crate::search) fn lap(&self, name: &'static str, rows: Option<usize>) {
        let (Some(tracing), Some(mut noted)) = (&self.0, self.noted()) else {
            return;
        };
        let now = Instant::now();
        let step = Step {
            name,
            time: now - noted.since,
            rows,
            plans: std::mem::take(&mut noted.plans),
            seen: tracing.watch.take(),
        };
        noted.since = now;
        noted.explanation.steps.push(step);
    }

    /// Returns the explanation so far, as a remark for the answer. Returns `None` for an empty trace.
    pub(in crate::search) fn remark(&self) -> Option<Issue> {
        let noted = self.noted()?;
        let text = match self.0.as_deref()?.form {
            Form::Text => noted.explanation.to_string(),
            Form::Json => noted.explanation.to_json().to_string(),
        };
        let issue = Issue::information(IssueType::Informational, "how this answer came about");
        Some(issue.diagnostics(text))
    }

    /// Returns the whole explanation, after the search has ended.
    pub(in crate::search) fn explanation(self) -> Explanation {
        let noted = self.noted();
        noted.map_or_else(Explanation::default, |mut noted| std::mem::take(&mut noted.explanation))
    }

    /// Returns the plans that ran, in the order in which they ran. Plans that find ids for conditions on other
    /// resources are not returned separately. They are parts of a returned plan, or they are left out.
    pub(in crate::search) fn ran(self) -> Vec<Arc<dyn ExecutionPlan>> {
        let noted = self.noted();
        noted.map_or_else(Vec::new, |mut noted| std::mem::take(&mut noted.ran))
    }

    fn noted(&self) -> Option<MutexGuard<'_, Noted>> {
        let tracing = self.0.as_deref()?;
        Some(tracing.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
