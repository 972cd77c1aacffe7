//! Active care plans and goals.

use super::super::record::Chart;
use super::super::shared::common::{cell, day, named, newest, status};
use super::super::shared::{Row, Section};
use crate::patient::concept::codings;
use crate::patient::words;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "planofcare",
    code: "18776-5",
    display: "Plan of care note",
    title: "Plan of Care",
    columns: &["Plan or goal", "Details", "Status", "Period", "Target"],
    nothing: "No information about a plan of care is available.",
    rows,
};

fn rows(chart: &Chart<'_>) -> Vec<Row> {
    let plans = chart
        .own("CarePlan")
        .filter(|at| chart.entries[*at].is_one("status", &["active"]));
    let plans = newest(chart, plans, &["period", "created"]);
    let goals = chart
        .own("Goal")
        .filter(|at| chart.entries[*at].is_one("lifecycleStatus", &["active"]));
    let goals = newest(chart, goals, &["startDate", "statusDate"]);
    let plans = plans.into_iter().map(|at| plan(chart, at));
    plans.chain(goals.into_iter().map(|at| goal(chart, at))).collect()
}

fn plan(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let title = words::text(entry.get("title")).or_else(|| category(chart, at));
    let activities = entry.get("activity").into_iter().flat_map(|list| list.items());
    let activities = activities.filter_map(|activity| {
        let detail = activity.get("detail")?;
        words::concepts(detail.get("code")).or_else(|| words::text(detail.get("description")))
    });
    let details = words::text(entry.get("description")).or_else(|| words::join(activities, "; "));
    let cells = vec![
        title.unwrap_or_else(|| "Care plan".to_owned()),
        cell(details),
        status(entry, "status"),
        cell(entry.get("period").and_then(words::period)),
        String::new(),
    ];
    Row { entry: at, cells }
}

/// Returns the categories of a plan. US Core's `assess-plan` is left out, because it only says that the resource is a
/// plan.
fn category(chart: &Chart<'_>, at: usize) -> Option<String> {
    let entry = &chart.entries[at];
    let categories = entry.get("category").into_iter().flat_map(|list| list.items());
    let telling = categories
        .filter(|category| !codings(*category).any(|coding| coding.get_str("code").as_deref() == Some("assess-plan")));
    words::join(telling.filter_map(words::concept), ", ")
}

fn goal(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let targets = entry.get("target").into_iter().flat_map(|list| list.items());
    let targets = targets.filter_map(|target| {
        let measure = words::concepts(target.get("measure"));
        let detail = words::chosen(target, "detail");
        let due = words::chosen(target, "due").map(|due| format!("by {due}"));
        words::join([measure, detail, due].into_iter().flatten(), " ")
    });
    let cells = vec![
        named(entry.get("description")),
        cell(words::concepts(entry.get("achievementStatus"))),
        status(entry, "lifecycleStatus"),
        match day(entry, &["startDate"]) {
            day if day.is_empty() => day,
            day => format!("since {day}"),
        },
        cell(words::join(targets, "; ")),
    ];
    Row { entry: at, cells }
}
