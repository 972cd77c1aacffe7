//! Traces a search: its steps, their times, and what each reads. A search without a trace records nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use datafusion::physical_plan::ExecutionPlan;

use super::explanation::{Explanation, Form, Part, Step};
use crate::fhir::outcome::{Issue, IssueType};
use crate::lake::scan::{ScopedTable, Watch};
use crate::plan::{On, Planned, plan_text};

/// The trace of a query.
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
    /// When the current step began.
    since: Instant,
    /// The plans of the current step.
    plans: Vec<String>,
    /// The plans of all steps.
    ran: Vec<Arc<dyn ExecutionPlan>>,
    explanation: Explanation,
}

impl Trace {
    /// A trace that starts now.
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

    /// The table, with its reads recorded.
    pub(in crate::search) fn watched(&self, table: ScopedTable) -> ScopedTable {
        match &self.0 {
            Some(tracing) => table.watched(&tracing.watch),
            None => table,
        }
    }

    /// Records the kind of the search. `part` runs only if there is a trace.
    pub(in crate::search) fn part(&self, part: impl FnOnce() -> Part) {
        if let Some(mut noted) = self.noted() {
            noted.explanation.parts.push(part());
        }
    }

    /// Adds a plan that DataFusion made and that has run.
    pub(in crate::search) fn planned(&self, planned: &Planned) {
        if let Some(mut noted) = self.noted() {
            noted.plans.push(planned.to_string());
            noted.ran.push(planned.physical.clone());
        }
    }

    /// Adds a physical plan that was built directly and that has run.
    pub(in crate::search) fn plan(&self, plan: &Arc<dyn ExecutionPlan>) {
        if let Some(mut noted) = self.noted() {
            noted.plans.push(plan_text(plan.as_ref()));
            noted.ran.push(plan.clone());
        }
    }

    /// Adds a plan only to the explanation. [`ran`](Self::ran) does not return it, so no other process gets it.
    pub(in crate::search) fn shown(&self, plan: &dyn ExecutionPlan) {
        if let Some(mut noted) = self.noted() {
            noted.plans.push(plan_text(plan));
        }
    }

    /// Adds the plans that answered conditions on other resources. Used if no other plan shows them.
    pub(in crate::search) fn sides(&self, joins: &[On]) {
        let plans = joins.iter().flat_map(|on| &on.ids);
        plans.for_each(|plan| self.shown(plan.as_ref()));
    }

    /// A separate trace for the plans of a stage. [`stage`](Self::stage) adds its records to this one.
    pub(in crate::search) fn of_stage(&self) -> Trace {
        let form = self.0.as_deref().map(|tracing| tracing.form);
        form.map_or_else(Trace::default, Trace::on)
    }

    /// Adds a stage that has run, with its plans.
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

    /// Records that a step has ended, and its number of rows.
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

    /// The explanation so far, as a remark of the answer.
    pub(in crate::search) fn remark(&self) -> Option<Issue> {
        let noted = self.noted()?;
        let text = match self.0.as_deref()?.form {
            Form::Text => noted.explanation.to_string(),
            Form::Json => noted.explanation.to_json().to_string(),
        };
        let issue = Issue::information(IssueType::Informational, "how this answer came about");
        Some(issue.diagnostics(text))
    }

    /// The whole explanation, after the search has ended.
    pub(in crate::search) fn explanation(self) -> Explanation {
        let noted = self.noted();
        noted.map_or_else(Explanation::default, |mut noted| std::mem::take(&mut noted.explanation))
    }

    /// The plans that ran, in this order. Plans of conditions on other resources are parts of these, or are left out.
    /// Work on one person's columns is left out.
    pub(in crate::search) fn ran(self) -> Vec<Arc<dyn ExecutionPlan>> {
        let noted = self.noted();
        noted.map_or_else(Vec::new, |mut noted| std::mem::take(&mut noted.ran))
    }

    fn noted(&self) -> Option<MutexGuard<'_, Noted>> {
        let tracing = self.0.as_deref()?;
        Some(tracing.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
