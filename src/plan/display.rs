//! Formats plans as text for people.

use std::borrow::Cow;
use std::fmt;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;

use super::planner::Planned;
use crate::lake::scan::{LakeScanExec, SeenScan};

/// Returns a physical plan as text, with the metrics of its run and without keys of records.
pub fn plan_text(plan: &dyn ExecutionPlan) -> String {
    let text = DisplayableExecutionPlan::with_metrics(plan).indent(false).to_string();
    let text = text.replace(", metrics=[]\n", "\n");
    operators(&text).map(without_keys).collect()
}

/// Returns what each scan in a plan has read and skipped: files, row groups, pages and rows, bytes by leaf, and times.
/// Scans that have not run are left out. The reasons for skipping are known only if a `Watch` watches the tables.
pub fn scans_of(plan: &dyn ExecutionPlan) -> Vec<SeenScan> {
    let own = plan.downcast_ref::<LakeScanExec>().and_then(LakeScanExec::seen);
    let below = plan.children().into_iter().flat_map(|child| scans_of(child.as_ref()));
    own.into_iter().chain(below).collect()
}

/// Returns the result of [`scans_of`] as text.
pub fn scans_text(plan: &dyn ExecutionPlan) -> String {
    scans_of(plan).iter().map(SeenScan::to_string).collect()
}

/// Splits the text of a plan into its operators. An operator is usually one line. But the filter of a sort may contain
/// line breaks, so a sort with a filter ends at the end of the line with its metrics.
fn operators(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let line = text.find('\n').map_or(text.len(), |at| at + 1);
        let has_filter = is_sort(text) && text[..line].contains(FILTER);
        let end = match text.find(METRICS).filter(|_| has_filter) {
            Some(metrics) => text[metrics..].find('\n').map_or(text.len(), |at| metrics + at + 1),
            None => line,
        };
        let operator;
        (operator, text) = text.split_at(end);
        (!operator.is_empty()).then_some(operator)
    })
}

const FILTER: &str = ", filter=[";
const METRICS: &str = "], metrics=[";

fn is_sort(operator: &str) -> bool {
    operator.trim_start().starts_with("SortExec: ")
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.logical.display_indent())?;
        f.write_str(&plan_text(self.physical.as_ref()))
    }
}

impl Planned {
    /// Returns the plan as text, followed by what its scans have read if the plan has run.
    pub fn explained(&self) -> String {
        format!("{self}{}", scans_text(self.physical.as_ref()))
    }
}

/// Removes the dynamic filter of a sort from the text of one operator. The filter holds keys of records, which readers
/// of the plan may not be allowed to see.
fn without_keys(line: &str) -> Cow<'_, str> {
    let Some((plan, rest)) = line.split_once(FILTER).filter(|_| is_sort(line)) else {
        return Cow::Borrowed(line);
    };
    // Keys may contain any text, even `METRICS`. The metrics never contain `METRICS`, so they begin after its last
    // occurrence.
    match rest.rsplit_once(METRICS) {
        Some((_, metrics)) => Cow::Owned(format!("{plan}, metrics=[{metrics}")),
        None => Cow::Owned(format!("{plan}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::{operators, without_keys};

    #[test]
    fn keys_of_records_are_in_no_plan() {
        let line = "  SortExec: TopK(fetch=1), expr=[k ASC], filter=[k < [a], metrics=[Secret], metrics=[rows=1]\n";
        assert_eq!(
            without_keys(line),
            "  SortExec: TopK(fetch=1), expr=[k ASC], metrics=[rows=1]\n"
        );
        let lines =
            "GlobalLimitExec: skip=0\n  SortExec: expr=[k], filter=[k < a\nSecret], metrics=[rows=1]\n    Scan\n";
        let shown: String = operators(lines).map(without_keys).collect();
        assert_eq!(
            shown,
            "GlobalLimitExec: skip=0\n  SortExec: expr=[k], metrics=[rows=1]\n    Scan\n"
        );
        let scan = "LakeScanExec: filter=[code = 'x'], metrics=[]\n";
        assert_eq!(without_keys(scan), scan);
    }
}
