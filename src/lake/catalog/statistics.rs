//! What the catalog knows of values: bounds of `owner`, `version` and `last_updated`, and for every other top-level column
//! only whether it has nulls. Bounds of other columns would keep personal data after an erasure; leaf statistics stand in
//! the files' footers.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::insert::TableCommit;
use super::stamp;
use crate::lake::error::LakeError;
use crate::lake::layout::{Layout, field_id};
use crate::lake::written::WrittenFile;

/// The bounds of an integer or time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    least: i64,
    greatest: i64,
    time: bool,
}

impl Bounds {
    /// Both as the catalog writes values of the column's type.
    pub(super) fn texts(&self) -> (String, String) {
        let text = |value: i64| {
            if self.time {
                stamp::text(value)
            } else {
                value.to_string()
            }
        };
        (text(self.least), text(self.greatest))
    }

    fn union(self, other: Bounds) -> Bounds {
        Bounds {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
            time: self.time,
        }
    }

    /// The bounds of [`texts`](Bounds::texts).
    fn parse(least: &str, greatest: &str) -> Option<Bounds> {
        let number = |text: &str| text.parse().ok();
        let bounds = |of: &dyn Fn(&str) -> Option<i64>, time| {
            Some(Bounds {
                least: of(least)?,
                greatest: of(greatest)?,
                time,
            })
        };
        bounds(&number, false).or_else(|| bounds(&stamp::parse, true))
    }
}

/// The bounds of a file's columns, by column id.
pub(super) fn file_bounds(layout: &Layout, file: &WrittenFile) -> BTreeMap<i32, Bounds> {
    let columns = [
        ("owner", &file.owners, false),
        ("version", &file.versions, false),
        ("last_updated", &file.last_updated, true),
    ];
    columns
        .into_iter()
        .filter_map(|(name, range, time)| {
            Some((
                layout.column_id(name)?,
                Bounds {
                    least: *range.start(),
                    greatest: *range.end(),
                    time,
                },
            ))
        })
        .collect()
}

/// A row of `ducklake_table_column_stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ColumnStatistics {
    null: bool,
    bounds: Option<Bounds>,
}

/// Widens the table's statistics by the files a commit adds: bounds grow and `contains_null` rises; neither ever goes back.
/// Only rows that change are written.
pub(super) fn widen(transaction: &Connection, table: u64, commit: &TableCommit<'_>) -> Result<(), LakeError> {
    let known = read(transaction, table)?;
    let mut insert =
        transaction.prepare_cached("INSERT INTO ducklake_table_column_stats VALUES (?, ?, ?, NULL, ?, ?, NULL)")?;
    let mut update = transaction.prepare_cached(
        "UPDATE ducklake_table_column_stats SET contains_null = ?3, min_value = ?4, max_value = ?5
         WHERE table_id = ?1 AND column_id = ?2",
    )?;
    // Rows of files from before a column was first seen are null in it.
    let unseen = ColumnStatistics {
        null: commit.id.is_some(),
        bounds: None,
    };
    let mut now: BTreeMap<i32, ColumnStatistics> = commit
        .layout
        .schema()
        .fields()
        .iter()
        .filter_map(|field| field_id(field))
        .map(|column| (column, known.get(&column).copied().unwrap_or(unseen)))
        .collect();
    for file in &commit.files {
        let bounds = file_bounds(commit.layout, file.written);
        for (column, statistics) in &mut now {
            let in_file = file.written.columns.iter().find(|in_file| in_file.id == *column);
            // A file without the column is null throughout.
            statistics.null |= in_file.is_none_or(|column| column.nulls > 0);
            if let Some(bounds) = bounds.get(column) {
                statistics.bounds = Some(statistics.bounds.map_or(*bounds, |old| old.union(*bounds)));
            }
        }
    }
    for (column, statistics) in now {
        let (least, greatest) = statistics.bounds.map(|bounds| bounds.texts()).unzip();
        let statement = match known.get(&column) {
            None => &mut insert,
            Some(known) if *known != statistics => &mut update,
            Some(_) => continue,
        };
        statement.execute(params![table, column, statistics.null, least, greatest])?;
    }
    Ok(())
}

/// Works the table's statistics out anew from those of its files: rows were erased, and with them what only they said.
pub(super) fn recompute(transaction: &Connection, table: u64, layout: &Layout) -> Result<(), LakeError> {
    transaction.execute(
        "UPDATE ducklake_table_stats SET
            record_count =
                (SELECT coalesce(sum(record_count), 0) FROM ducklake_data_file WHERE table_id = ?1 AND end_snapshot IS NULL)
              - (SELECT coalesce(sum(delete_count), 0) FROM ducklake_delete_file WHERE table_id = ?1 AND end_snapshot IS NULL),
            file_size_bytes =
                (SELECT coalesce(sum(file_size_bytes), 0) FROM ducklake_data_file WHERE table_id = ?1 AND end_snapshot IS NULL)
              + (SELECT coalesce(sum(file_size_bytes), 0) FROM ducklake_delete_file WHERE table_id = ?1 AND end_snapshot IS NULL)
         WHERE table_id = ?1",
        [table],
    )?;
    for (column, time) in [("owner", false), ("version", false), ("last_updated", true)] {
        let Some(id) = layout.column_id(column) else { continue };
        let range: (Option<i64>, Option<i64>) = transaction.query_row(
            &format!(
                "SELECT min(b.{column}_min), max(b.{column}_max)
                 FROM tabularium_file_bounds b JOIN ducklake_data_file f ON f.data_file_id = b.data_file_id
                 WHERE f.table_id = ?"
            ),
            [table],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let bounds = range
            .0
            .zip(range.1)
            .map(|(least, greatest)| Bounds { least, greatest, time });
        let (least, greatest) = bounds.map(|bounds| bounds.texts()).unzip();
        transaction.execute(
            "UPDATE ducklake_table_column_stats SET min_value = ?3, max_value = ?4 WHERE table_id = ?1 AND column_id = ?2",
            params![table, id, least, greatest],
        )?;
    }
    Ok(())
}

fn read(transaction: &Connection, table: u64) -> Result<BTreeMap<i32, ColumnStatistics>, LakeError> {
    let mut statement = transaction.prepare_cached(
        "SELECT column_id, contains_null, min_value, max_value FROM ducklake_table_column_stats WHERE table_id = ?",
    )?;
    let mut rows = statement.query([table])?;
    let mut known = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (least, greatest): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
        let bounds = least
            .zip(greatest)
            .and_then(|(least, greatest)| Bounds::parse(&least, &greatest));
        known.insert(
            row.get(0)?,
            ColumnStatistics {
                null: row.get(1)?,
                bounds,
            },
        );
    }
    Ok(known)
}
