//! Statistics in the catalog: the bounds of `owner`, `version` and `last_updated`, and for every other top-level column
//! of an open lake only whether it has nulls. Bounds of other columns would keep personal data after an erasure.
//! Statistics of leaves are in the files' footers.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, backup, params};

use super::super::stamp;
use super::commit::TableCommit;
use crate::columns::layout::{Layout, field_id};
use crate::lake::commit::written::WrittenFile;
use crate::lake::error::LakeError;

/// The time that SQLite's backup waits for another writer before it tries again.
const PAUSE: Duration = Duration::from_millis(20);

/// The bounds of an integer or time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake::catalog) struct Bounds {
    min: i64,
    max: i64,
    time: bool,
}

impl Bounds {
    /// Returns the lower and the upper bound as the catalog's texts: as times or as integers.
    pub(in crate::lake::catalog) fn texts(&self) -> (String, String) {
        let text = |value: i64| {
            if self.time {
                stamp::text(value)
            } else {
                value.to_string()
            }
        };
        (text(self.min), text(self.max))
    }

    fn union(self, other: Bounds) -> Bounds {
        Bounds {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            time: self.time,
        }
    }

    /// Reads bounds that [`texts`](Bounds::texts) has written. `None` for other texts.
    fn parse(min: &str, max: &str) -> Option<Bounds> {
        let number = |text: &str| text.parse().ok();
        let bounds = |of: &dyn Fn(&str) -> Option<i64>, time| {
            Some(Bounds {
                min: of(min)?,
                max: of(max)?,
                time,
            })
        };
        bounds(&number, false).or_else(|| bounds(&stamp::parse, true))
    }
}

/// Returns the bounds of a file's columns, by column id.
pub(in crate::lake::catalog) fn file_bounds(layout: &Layout, file: &WrittenFile) -> BTreeMap<i32, Bounds> {
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
                    min: *range.start(),
                    max: *range.end(),
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

/// Widens the statistics of a table by the files that a commit adds: bounds grow, and `contains_null` may become true.
/// Writes only the rows that change. If files end, [`recompute`] narrows the bounds.
pub(in crate::lake::catalog) fn widen(
    transaction: &Connection,
    table: u64,
    commit: &TableCommit<'_>,
) -> Result<(), LakeError> {
    let known = read(transaction, table)?;
    let mut insert =
        transaction.prepare_cached("INSERT INTO ducklake_table_column_stats VALUES (?, ?, ?, NULL, ?, ?, NULL)")?;
    let mut update = transaction.prepare_cached(
        "UPDATE ducklake_table_column_stats SET contains_null = ?3, min_value = ?4, max_value = ?5
         WHERE table_id = ?1 AND column_id = ?2",
    )?;
    // If a column is new in an existing table, it has only nulls in all earlier files.
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
        if file.written.key.is_some() {
            // A sealed lake has statistics only of columns with bounds, so write none for the other columns.
            now.retain(|column, _| bounds.contains_key(column));
        }
        for (column, statistics) in &mut now {
            let in_file = file.written.columns.iter().find(|in_file| in_file.id == *column);
            // A file without the column has only nulls in it.
            statistics.null |= in_file.is_none_or(|column| column.nulls > 0);
            if let Some(bounds) = bounds.get(column) {
                statistics.bounds = Some(statistics.bounds.map_or(*bounds, |old| old.union(*bounds)));
            }
        }
    }
    for (column, statistics) in now {
        let (min, max) = statistics.bounds.map(|bounds| bounds.texts()).unzip();
        let statement = match known.get(&column) {
            None => &mut insert,
            Some(known) if *known != statistics => &mut update,
            Some(_) => continue,
        };
        statement.execute(params![table, column, statistics.null, min, max])?;
    }
    Ok(())
}

/// Computes the statistics of all tables again, because an older program wrote them differently.
pub(in crate::lake) fn mend(connection: &mut Connection) -> Result<(), LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    recompute(&transaction, None)?;
    transaction.commit()?;
    Ok(())
}

/// Returns the tables whose statistics in the catalog differ from those of their files, one string each. The catalog
/// does not change, because the statistics are computed in a copy in memory.
pub(in crate::lake) fn wrong_statistics(connection: &Connection) -> Result<Vec<String>, LakeError> {
    let mut copy = Connection::open_in_memory()?;
    backup::Backup::new(connection, &mut copy)?.run_to_completion(i32::MAX, PAUSE, None)?;
    let before = of_tables(&copy)?;
    recompute(&copy, None)?;
    let after = of_tables(&copy)?;
    let wrong = before.iter().filter(|(table, said)| after.get(*table) != Some(*said));
    Ok(wrong
        .map(|(table, _)| format!("its statistics of {table} are not those of the files"))
        .collect())
}

/// Returns the statistics of each table as text: its rows and bytes, and for each column its bounds and whether it has
/// nulls.
fn of_tables(connection: &Connection) -> Result<BTreeMap<String, String>, LakeError> {
    let mut statement = connection.prepare(
        "SELECT p.schema_name || '.' || t.table_name,
                concat_ws(' ', s.record_count, s.file_size_bytes,
                    (SELECT group_concat(concat_ws(',', c.column_id, c.contains_null, c.min_value, c.max_value), ' ')
                     FROM (SELECT * FROM ducklake_table_column_stats WHERE table_id = t.table_id ORDER BY column_id) c))
         FROM ducklake_table_stats s
         JOIN ducklake_table t ON t.table_id = s.table_id
         JOIN ducklake_schema p ON p.schema_id = t.schema_id",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Removes the statistics of columns that a sealed lake must not have.
pub(in crate::lake::catalog) fn reduce(transaction: &Connection) -> Result<(), LakeError> {
    transaction.execute(
        "DELETE FROM ducklake_table_column_stats AS s WHERE NOT EXISTS
         (SELECT 1 FROM ducklake_column c WHERE c.table_id = s.table_id AND c.column_id = s.column_id
          AND c.parent_column IS NULL AND c.column_name IN ('owner', 'version', 'last_updated'))",
        [],
    )?;
    Ok(())
}

/// Adds statistics for each top-level column that has none: only whether the column has nulls, as an open lake has
/// them. If a file has no statistics of the column, all its rows have null there.
pub(in crate::lake::catalog) fn complete(transaction: &Connection) -> Result<(), LakeError> {
    transaction.execute_batch(
        "WITH files AS (SELECT table_id, count(*) AS files FROM ducklake_data_file GROUP BY table_id),
              said AS (SELECT s.table_id, s.column_id, count(*) AS files, max(s.null_count) AS nulls
                       FROM ducklake_file_column_stats s GROUP BY s.table_id, s.column_id)
         INSERT INTO ducklake_table_column_stats
         SELECT c.table_id, c.column_id, coalesce(said.files, 0) < files.files OR coalesce(said.nulls, 0) > 0,
                NULL, NULL, NULL, NULL
         FROM ducklake_column c
         JOIN files ON files.table_id = c.table_id
         LEFT JOIN said ON said.table_id = c.table_id AND said.column_id = c.column_id
         WHERE c.parent_column IS NULL AND c.end_snapshot IS NULL AND NOT EXISTS
         (SELECT 1 FROM ducklake_table_column_stats t WHERE t.table_id = c.table_id AND t.column_id = c.column_id)",
    )?;
    Ok(())
}

/// Computes the statistics of one table, or of all tables for `None`, from those of their live files, and writes the
/// differences.
///
/// `record_count` is the number of rows in all live files, including deleted rows, as DuckDB's writer counts. DuckDB
/// takes the bounds as exact if `record_count` equals the number of remaining rows. So the bounds must cover exactly
/// the live files.
pub(in crate::lake::catalog) fn recompute(transaction: &Connection, table: Option<u64>) -> Result<(), LakeError> {
    for table in totals(transaction, table)? {
        transaction
            .prepare_cached(
                "UPDATE ducklake_table_stats SET record_count = ?2, file_size_bytes = ?3
                 WHERE table_id = ?1 AND (record_count IS NOT ?2 OR file_size_bytes IS NOT ?3)",
            )?
            .execute(params![table.id, table.rows, table.bytes])?;
        for (column, bounds) in table.bounds {
            let (min, max) = bounds.map(|bounds| bounds.texts()).unzip();
            transaction
                .prepare_cached(
                    "UPDATE ducklake_table_column_stats SET min_value = ?3, max_value = ?4
                     WHERE table_id = ?1 AND (min_value IS NOT ?3 OR max_value IS NOT ?4) AND column_id =
                     (SELECT column_id FROM ducklake_column
                      WHERE table_id = ?1 AND column_name = ?2 AND parent_column IS NULL AND end_snapshot IS NULL)",
                )?
                .execute(params![table.id, column, min, max])?;
        }
    }
    Ok(())
}

/// The combined statistics of a table's live files.
struct Totals {
    id: u64,
    rows: u64,
    bytes: u64,
    /// The bounds of three columns. They are `None` if there is no file, or if a file has no recorded bounds and may
    /// have any value.
    bounds: [(&'static str, Option<Bounds>); 3],
}

fn totals(transaction: &Connection, table: Option<u64>) -> Result<Vec<Totals>, LakeError> {
    let mut statement = transaction.prepare_cached(
        "SELECT t.table_id, coalesce(sum(f.record_count), 0),
                coalesce(sum(f.file_size_bytes), 0)
              + (SELECT coalesce(sum(d.file_size_bytes), 0) FROM ducklake_delete_file d
                 WHERE d.table_id = t.table_id AND d.end_snapshot IS NULL),
                count(f.data_file_id) = count(b.data_file_id),
                min(b.owner_min), max(b.owner_max), min(b.version_min), max(b.version_max),
                min(b.last_updated_min), max(b.last_updated_max)
         FROM ducklake_table t
         LEFT JOIN ducklake_data_file f ON f.table_id = t.table_id AND f.end_snapshot IS NULL
         LEFT JOIN tabularium_file_bounds b ON b.data_file_id = f.data_file_id
         WHERE ?1 IS NULL OR t.table_id = ?1
         GROUP BY t.table_id",
    )?;
    let mut rows = statement.query([table])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let all_known: bool = row.get(3)?;
        let bounds = |at: usize, time| -> Result<Option<Bounds>, rusqlite::Error> {
            let (min, max): (Option<i64>, Option<i64>) = (row.get(at)?, row.get(at + 1)?);
            let bounds = min.zip(max).filter(|_| all_known);
            Ok(bounds.map(|(min, max)| Bounds { min, max, time }))
        };
        found.push(Totals {
            id: row.get(0)?,
            rows: row.get(1)?,
            bytes: row.get(2)?,
            bounds: [
                ("owner", bounds(4, false)?),
                ("version", bounds(6, false)?),
                ("last_updated", bounds(8, true)?),
            ],
        });
    }
    Ok(found)
}

fn read(transaction: &Connection, table: u64) -> Result<BTreeMap<i32, ColumnStatistics>, LakeError> {
    let mut statement = transaction.prepare_cached(
        "SELECT column_id, contains_null, min_value, max_value FROM ducklake_table_column_stats WHERE table_id = ?",
    )?;
    let mut rows = statement.query([table])?;
    let mut known = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (min, max): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
        let bounds = min.zip(max).and_then(|(min, max)| Bounds::parse(&min, &max));
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
