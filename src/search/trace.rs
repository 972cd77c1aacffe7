//! A search that is watched: which steps it takes, how long each, and what each reads. One that nobody watches notes
//! nothing.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;

use super::explain::{Explanation, Form, Part, Step};
use crate::fhir::outcome::{Issue, IssueType};
use crate::lake::scan::{Planned, ScopedTable, Watch};

/// Goes along with a query.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace(Option<Arc<Tracing>>);

#[derive(Debug)]
struct Tracing {
    /// How the answer says it.
    form: Form,
    watch: Arc<Watch>,
    noted: Mutex<Noted>,
}

#[derive(Debug)]
struct Noted {
    /// When the step under way began.
    since: Instant,
    /// The plans of the step under way.
    plans: Vec<String>,
    explanation: Explanation,
}

impl Trace {
    /// A trace that notes what happens from now on.
    pub(super) fn on(form: Form) -> Trace {
        Trace(Some(Arc::new(Tracing {
            form,
            watch: Arc::default(),
            noted: Mutex::new(Noted {
                since: Instant::now(),
                plans: Vec::new(),
                explanation: Explanation::default(),
            }),
        })))
    }

    /// Whether anybody watches.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The table, with what is read of it noted.
    pub(super) fn watched(&self, table: ScopedTable) -> ScopedTable {
        match &self.0 {
            Some(tracing) => table.watched(&tracing.watch),
            None => table,
        }
    }

    /// What is searched for and how, told only if it is wanted.
    pub(super) fn part(&self, part: impl FnOnce() -> Part) {
        if let Some(mut noted) = self.noted() {
            noted.explanation.parts.push(part());
        }
    }

    /// A plan that DataFusion made, and that has run.
    pub(super) fn planned(&self, planned: &Planned) {
        if let Some(mut noted) = self.noted() {
            let logical = planned.logical.display_indent().to_string();
            let physical = shown(planned.physical.as_ref());
            noted.plans.push(format!("{logical}\n{physical}"));
        }
    }

    /// A physical plan that was built directly, and that has run.
    pub(super) fn plan(&self, plan: &dyn ExecutionPlan) {
        if let Some(mut noted) = self.noted() {
            noted.plans.push(shown(plan));
        }
    }

    /// A trace for what a stage runs; `stage` takes what it notes.
    pub(super) fn of_stage(&self) -> Trace {
        let form = self.0.as_deref().map(|tracing| tracing.form);
        form.map_or_else(Trace::default, Trace::on)
    }

    /// A stage that has run, with the plans that it ran.
    pub(super) fn stage(&self, ran: Trace, stage: impl FnOnce() -> String) {
        let Some(mut noted) = self.noted() else { return };
        let mut text = format!("{}\n", stage());
        let plans = ran
            .noted()
            .map_or_else(Vec::new, |mut ran| std::mem::take(&mut ran.plans));
        for line in plans.iter().flat_map(|plan| plan.lines()) {
            text.extend(["  ", line, "\n"]);
        }
        noted.plans.push(text);
    }

    /// A step has ended, and given so many rows.
    pub(super) fn lap(&self, name: &'static str, rows: Option<usize>) {
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

    /// The explanation so far, as an answer says it.
    pub(super) fn remark(&self) -> Option<Issue> {
        let noted = self.noted()?;
        let text = match self.0.as_deref()?.form {
            Form::Text => noted.explanation.to_string(),
            Form::Json => noted.explanation.to_json().to_string(),
        };
        let issue = Issue::information(IssueType::Informational, "how this answer came about");
        Some(issue.diagnostics(text))
    }

    /// The whole explanation, once the search has ended.
    pub(super) fn explanation(self) -> Explanation {
        let noted = self.noted();
        noted.map_or_else(Explanation::default, |mut noted| std::mem::take(&mut noted.explanation))
    }

    fn noted(&self) -> Option<MutexGuard<'_, Noted>> {
        let tracing = self.0.as_deref()?;
        Some(tracing.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A physical plan with its metrics, for people.
fn shown(plan: &dyn ExecutionPlan) -> String {
    let text = DisplayableExecutionPlan::with_metrics(plan).indent(false).to_string();
    text.split_inclusive('\n').map(without_keys).collect()
}

/// A line of a plan without the filter that a sort has learned while it ran: it holds keys of records, and whoever sees
/// the plan need not see these.
fn without_keys(line: &str) -> Cow<'_, str> {
    let is_sort = line.trim_start().starts_with("SortExec: ");
    let Some((plan, rest)) = line.split_once(", filter=[").filter(|_| is_sort) else {
        return Cow::Borrowed(line);
    };
    // Keys may hold any text, metrics hold none of it.
    match rest.rsplit_once("], metrics=[") {
        Some((_, metrics)) => Cow::Owned(format!("{plan}, metrics=[{metrics}")),
        None => Cow::Owned(format!("{plan}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::without_keys;

    #[test]
    fn keys_of_records_are_in_no_plan() {
        let line = "  SortExec: TopK(fetch=1), expr=[k ASC], filter=[k < [a], metrics=[Secret], metrics=[rows=1]\n";
        assert_eq!(
            without_keys(line),
            "  SortExec: TopK(fetch=1), expr=[k ASC], metrics=[rows=1]\n"
        );
        let scan = "LakeScanExec: filter=[code = 'x'], metrics=[]\n";
        assert_eq!(without_keys(scan), scan);
    }
}
