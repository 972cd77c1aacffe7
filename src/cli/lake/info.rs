//! `tabularium info`: the content of a lake in numbers.

use std::path::PathBuf;

use super::super::terminal::columns::{counted, grouped, tallied};
use super::super::terminal::failure::Failure;
use crate::lake::{Lake, LakeInfo, TableInfo};

/// Print what a lake holds: tables, rows, files, bytes, snapshots
///
/// It reads only the catalog, so it answers at once, even while another process imports or serves. A snapshot stays
/// readable for an hour after the next one. The first snapshot of a lake is empty.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Opens the lake and prints what it holds.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let lake = Lake::open(&arguments.data).map_err(Failure::from_lake)?;
    print(&lake, arguments.json)
}

/// Prints the numbers of rows, files and bytes in a lake, as a table or as JSON.
pub(in crate::cli) fn print(lake: &Lake, as_json: bool) -> Result<(), Failure> {
    let info = lake.info().map_err(Failure::from_lake)?;
    if as_json {
        println!("{}", serde_json::to_string_pretty(&info).map_err(Failure::other)?);
    } else {
        print!("{}", table(&info));
    }
    Ok(())
}

fn table(info: &LakeInfo) -> String {
    let row = |table: &TableInfo| {
        [
            format!("{}.{}", table.mode, table.table),
            grouped(table.rows),
            grouped(table.deleted),
            grouped(table.files),
            bytes(table.bytes),
            grouped(table.columns),
        ]
    };
    let mut rows: Vec<[String; 6]> = info.tables.iter().map(row).collect();
    rows.push([
        "total".to_owned(),
        grouped(info.rows),
        grouped(info.tables.iter().map(|table| table.deleted).sum()),
        grouped(info.files),
        bytes(info.bytes),
        String::new(),
    ]);
    let mut text = tallied(["table", "rows", "deleted", "files", "bytes", "columns"], &rows);
    text.push_str(&format!(
        "\nsnapshot {} of {}; {} readable\ncatalog {}; replaced files awaiting removal {}\n",
        info.snapshot,
        info.committed,
        counted(info.snapshots.saturating_sub(1), "earlier snapshot"),
        bytes(info.catalog_bytes),
        bytes(info.replaced_bytes),
    ));
    text
}

/// Formats a number of bytes with a binary unit, such as `4.77 MiB`.
pub(in crate::cli) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_line_up() {
        let info = LakeInfo {
            snapshot: 7,
            committed: "2026-01-01T00:00:00Z".to_owned(),
            snapshots: 2,
            rows: 1_200,
            files: 3,
            bytes: 5_000_000,
            catalog_bytes: 2048,
            replaced_bytes: 0,
            tables: vec![TableInfo {
                mode: "live",
                table: "Patient",
                rows: 1_200,
                deleted: 4,
                files: 3,
                bytes: 5_000_000,
                columns: 61,
            }],
        };
        expect_test::expect![[r#"
            table          rows  deleted  files     bytes  columns
            live.Patient  1,200        4      3  4.77 MiB       61
            total         1,200        4      3  4.77 MiB

            snapshot 7 of 2026-01-01T00:00:00Z; 1 earlier snapshot readable
            catalog 2.00 KiB; replaced files awaiting removal 0 B
        "#]]
        .assert_eq(&anstream::adapter::strip_str(&table(&info)).to_string());
    }
}
