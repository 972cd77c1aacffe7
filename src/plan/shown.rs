//! Plans as text for people.

use std::borrow::Cow;
use std::fmt;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;

use super::planner::Planned;

/// A physical plan, with the metrics of what has run.
pub fn shown(plan: &dyn ExecutionPlan) -> String {
    let text = DisplayableExecutionPlan::with_metrics(plan).indent(false).to_string();
    text.replace(", metrics=[]\n", "\n")
        .split_inclusive('\n')
        .map(without_keys)
        .collect()
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.logical.display_indent())?;
        f.write_str(&shown(self.physical.as_ref()))
    }
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
