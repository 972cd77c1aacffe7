//! `tabularium info`: the content of a lake in numbers.

use std::path::PathBuf;

use super::super::terminal::failure::Failure;
use crate::lake::{Lake, LakeInfo};

/// Print what a lake holds: tables, rows, files, bytes, snapshots
///
/// It reads only the catalog, so it answers at once, even while another process imports or serves.
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
    let heading = ["table", "rows", "deleted", "files", "bytes", "columns"].map(str::to_owned);
    let mut rows = vec![heading];
    rows.extend(info.tables.iter().map(|table| {
        [
            format!("{}.{}", table.mode, table.table),
            table.rows.to_string(),
            table.deleted.to_string(),
            table.files.to_string(),
            bytes(table.bytes),
            table.columns.to_string(),
        ]
    }));
    rows.push([
        "total".to_owned(),
        info.rows.to_string(),
        info.tables.iter().map(|table| table.deleted).sum::<u64>().to_string(),
        info.files.to_string(),
        bytes(info.bytes),
        String::new(),
    ]);
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(&format!(
        "\nsnapshot {} of {}; {} snapshot{} readable\ncatalog {}; replaced files awaiting removal {}\n",
        info.snapshot,
        info.committed,
        info.snapshots,
        if info.snapshots == 1 { "" } else { "s" },
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
    use crate::lake::TableInfo;

    #[test]
    fn numbers_line_up() {
        let info = LakeInfo {
            snapshot: 7,
            committed: "2026-01-01T00:00:00Z".to_owned(),
            snapshots: 1,
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
            table         rows  deleted  files     bytes  columns
            live.Patient  1200        4      3  4.77 MiB       61
            total         1200        4      3  4.77 MiB

            snapshot 7 of 2026-01-01T00:00:00Z; 1 snapshot readable
            catalog 2.00 KiB; replaced files awaiting removal 0 B
        "#]]
        .assert_eq(&table(&info));
    }
}
