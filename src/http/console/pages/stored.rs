//! Shows the stored data: the tables with exact counts and bytes, the snapshots that can still be read, and how the
//! lake grew from one of these snapshots to the next.

use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::super::session::form::Fields;
use super::super::session::operator::Operator;
use super::super::shown::axis::Unit;
use super::super::shown::page::{Frame, html, page_or_error};
use super::super::shown::plot::{Plot, Points};
use super::super::shown::tenant::Tenant;
use super::super::shown::words::{self, Moment};
use crate::consent::{Application, LOCAL_APPLICATION};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::lake::{LakeInfo, Mode, SnapshotSize};

const MICROS_OF_DAY: f64 = 86_400e6;
/// The maximum number of snapshots on the page.
const SNAPSHOTS: u32 = 50;

#[derive(Template)]
#[template(path = "console/stored.html")]
struct Stored<'a> {
    frame: &'a Frame,
    applications: Vec<Choice>,
    tables: Vec<Table>,
    rows: String,
    files: String,
    bytes: String,
    catalog: String,
    replaced: String,
    snapshot: u64,
    committed: Moment,
    snapshots: u64,
    sealed: bool,
    growth: Vec<Snapshot>,
    /// The plots of resources and of bytes over time.
    plots: Vec<String>,
}

struct Choice {
    id: String,
    is_chosen: bool,
}

struct Table {
    mode: &'static str,
    name: &'static str,
    /// The part of the table's URL that names the tenant.
    path: String,
    rows: String,
    deleted: String,
    files: String,
    bytes: String,
    columns: String,
}

struct Snapshot {
    id: u64,
    committed: Moment,
    rows: String,
    added: String,
    files: String,
    bytes: String,
}

pub(in crate::http::console) async fn show(
    State(service): State<Arc<Service>>,
    operator: Operator,
    RawQuery(query): RawQuery,
) -> Response {
    let fields = Fields::of_query(query.as_deref());
    let application = fields.filled("application").unwrap_or(LOCAL_APPLICATION).to_owned();
    let place = Tenant::of(Mode::Live, &application);
    let frame = operator.frame(&service, "stored", Some(&place));
    let work = async {
        // The page shows numbers and no records, so the audit log gets no entry.
        let reading = service.blocking(|service| {
            let info = service.lake.info().map_err(Error::internal)?;
            let growth = service.lake.growth(SNAPSHOTS).map_err(Error::internal)?;
            let applications = service.store.applications().all().map_err(Error::internal)?;
            let sealed = service.lake.kind() == crate::lake::Kind::Sealed;
            Ok::<_, Error>((info, growth, applications, sealed))
        });
        let (info, growth, applications, sealed) = reading.await??;
        Ok(rendered(&frame, &application, &info, &growth, (&applications, sealed)))
    };
    page_or_error(&frame, work).await
}

fn rendered(
    frame: &Frame,
    application: &str,
    info: &LakeInfo,
    growth: &[SnapshotSize],
    (applications, sealed): (&[Application], bool),
) -> Response {
    let choice = |one: &Application| Choice {
        id: one.id.clone(),
        is_chosen: one.id == application,
    };
    let table = |table: &crate::lake::TableInfo| Table {
        mode: table.mode,
        name: table.table,
        path: place(table.mode, application).path,
        rows: words::number(table.rows),
        deleted: words::number(table.deleted),
        files: words::number(table.files),
        bytes: words::bytes(table.bytes),
        columns: words::number(table.columns),
    };
    let page = Stored {
        frame,
        applications: applications.iter().map(choice).collect(),
        tables: info.tables.iter().map(table).collect(),
        rows: words::number(info.rows),
        files: words::number(info.files),
        bytes: words::bytes(info.bytes),
        catalog: words::bytes(info.catalog_bytes),
        replaced: words::bytes(info.replaced_bytes),
        snapshot: info.snapshot,
        committed: Moment::parse(&info.committed),
        snapshots: info.snapshots,
        sealed,
        growth: snapshots(growth),
        plots: plots(growth),
    };
    html(StatusCode::OK, &page)
}

fn place(mode: &str, application: &str) -> Tenant {
    let mode = if mode == Mode::Test.schema() {
        Mode::Test
    } else {
        Mode::Live
    };
    Tenant::of(mode, application)
}

/// Returns the snapshots, newest first, each with its difference in rows from the previous one.
fn snapshots(growth: &[SnapshotSize]) -> Vec<Snapshot> {
    let earlier = growth.iter().skip(1).map(Some).chain([None]);
    let each = growth.iter().zip(earlier);
    each.map(|(one, before)| Snapshot {
        id: one.snapshot,
        committed: words::time(one.committed.div_euclid(1_000_000)),
        rows: words::number(one.rows),
        added: before.map_or_else(String::new, |before| change(before.rows, one.rows)),
        files: words::number(one.files),
        bytes: words::bytes(one.bytes),
    })
    .collect()
}

fn change(before: u64, after: u64) -> String {
    match after.checked_sub(before) {
        Some(0) => "0".to_owned(),
        Some(more) => format!("+{}", words::number(more)),
        None => format!("−{}", words::number(before - after)),
    }
}

/// Draws the resources and the bytes over the times of the commits, if there are at least two snapshots.
fn plots(growth: &[SnapshotSize]) -> Vec<String> {
    if growth.len() < 2 {
        return Vec::new();
    }
    let drawn = |y, y_unit, value: fn(&SnapshotSize) -> u64| {
        let point = |one: &SnapshotSize| (one.committed as f64 / MICROS_OF_DAY, value(one) as f64);
        let plot = Plot {
            x: "time of the commit (UTC)",
            y,
            y_unit,
            points: Points::Lines {
                series: vec![growth.iter().rev().map(point).collect()],
                unit: Unit::Days,
                is_joined: true,
            },
        };
        plot.svg().ok()
    };
    let plots = [
        drawn("resources", Unit::Number, |one| one.rows),
        drawn("size", Unit::Bytes, |one| one.bytes),
    ];
    plots.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_say_what_they_added() {
        let size = |snapshot, rows| SnapshotSize {
            snapshot,
            committed: 0,
            rows,
            files: 1,
            bytes: 10,
        };
        let shown = snapshots(&[size(3, 90), size(2, 1_100), size(1, 0)]);
        let added: Vec<&str> = shown.iter().map(|one| one.added.as_str()).collect();
        assert_eq!(added, ["−1,010", "+1,100", ""]);
    }

    #[test]
    fn resources_and_bytes_grow_over_time() {
        let size = |day: i64, rows, bytes| SnapshotSize {
            snapshot: day as u64,
            committed: (19_723 + day) * 86_400_000_000,
            rows,
            files: 1,
            bytes,
        };
        let drawn = plots(&[size(2, 30, 4 << 20), size(0, 1, 2 << 20)]);
        let [resources, bytes] = &drawn[..] else {
            panic!("{drawn:?}")
        };
        assert!(
            resources.contains("resources by time") && resources.contains("2024-01-02"),
            "{resources}"
        );
        assert!(bytes.contains("size by time") && bytes.contains("3 MiB"), "{bytes}");
        assert!(plots(&[size(0, 1, 1)]).is_empty());
    }
}
