//! Guarantees of the scan: all ways of reading show a scope's rows and no others; clipping to some leaves changes
//! neither rows nor values; pruning loses no row; a query reads only the bytes of its leaves.

mod asked;
mod clip;
mod filters;
mod foreign;
mod items;
mod kept;
mod memory;
mod row_pruning;
mod rows;
mod scope;

use arrow::array::{Array, RecordBatch};
use arrow::compute::concat_batches;
use datafusion::prelude::{SessionConfig, SessionContext};
use tabularium::fhir::storage::LeafSet;
use tabularium::lake::scan::{LakeProvider, Sought, Span};
use tabularium::lake::{Locator, Person, ScanRequest, ScopedTable};

/// A set of leaves.
fn leaves(paths: &[&str]) -> LeafSet {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// Runs a provider to its end in two partitions.
fn collect(provider: &std::sync::Arc<LakeProvider>) -> RecordBatch {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    runtime.block_on(async {
        let frame = context.read_table(provider.clone()).unwrap();
        let batches = frame.collect().await.unwrap();
        concat_batches(&datafusion::catalog::TableProvider::schema(provider.as_ref()), &batches).unwrap()
    })
}

/// The ids of all rows that a table shows. All ways of reading must agree on them.
fn ids(table: &ScopedTable) -> Vec<String> {
    let provider = table.provider(ScanRequest {
        leaves: leaves(&["id"]),
        ..ScanRequest::default()
    });
    let batch = collect(&provider);
    let mut found: Vec<(String, Locator)> = texts(&batch, "id").into_iter().zip(Locator::of(&batch)).collect();
    found.sort();
    let places: Vec<Locator> = found.iter().map(|(_, place)| *place).collect();
    let rows = table.resources(&places).unwrap();
    for ((id, place), row) in found.iter().zip(&rows) {
        assert_eq!(row.id, *id);
        assert_eq!(table.read(id).unwrap().as_ref(), Some(row));
        assert_eq!(table.locate(id).unwrap(), Some(*place));
        let json: serde_json::Value = serde_json::from_slice(&row.resource).unwrap();
        assert_eq!(json["id"], **id);
    }
    // Lookups of many ids, some of them unknown, with the right owner, a wrong one, and none.
    let owners = table.owners(&places).unwrap();
    for guess in [Some(None), Some(Some(0)), None] {
        let mut sought = Vec::new();
        for ((id, _), owner) in found.iter().zip(&owners) {
            let owner = guess.unwrap_or(Some(*owner));
            sought.push(Sought { id: id.clone(), owner });
            sought.push(Sought {
                id: format!("no-{id}"),
                owner,
            });
        }
        let read = table.read_all(&sought, usize::MAX).unwrap().unwrap();
        for (at, here) in read.iter().enumerate() {
            let expected = (at % 2 == 0).then(|| (places[at / 2], rows[at / 2].clone()));
            assert_eq!(*here, expected, "{:?}", sought[at]);
        }
        if !rows.is_empty() {
            assert_eq!(table.read_all(&sought, 10).unwrap(), None);
            assert_eq!(table.resources_at_most(&places, 10).unwrap(), None);
        }
    }
    // The columns of rows in any order.
    let turned: Vec<Locator> = places.iter().rev().copied().collect();
    let columns = table.columns(&turned, &leaves(&["id"])).unwrap();
    assert!(texts(&columns, "id").iter().eq(found.iter().rev().map(|(id, _)| id)));
    spans(table, &Locator::of(&batch));
    found.into_iter().map(|(id, _)| id).collect()
}

/// Checks the spans before, from, after and between rows.
fn spans(table: &ScopedTable, all: &[Locator]) {
    let places = |span: Span| {
        let provider = table.provider(ScanRequest {
            span,
            ..ScanRequest::default()
        });
        Locator::of(&collect(&provider))
    };
    let step = (all.len() / 3).max(1);
    for at in (0..all.len()).step_by(step) {
        assert_eq!(places(Span::before(all[at])), all[..at]);
        assert_eq!(places(Span::from(all[at])), all[at..]);
        assert_eq!(places(Span::after(all[at])), all[at + 1..]);
        let between = Span {
            from: Some(all[at]),
            until: all.last().copied(),
        };
        assert_eq!(places(between), all[at..all.len() - 1]);
    }
    let nowhere = Locator { file: 1 << 40, row: 0 };
    assert!(places(Span::from(nowhere)).is_empty() && places(Span::before(nowhere)).is_empty());
}

/// The ids of a person's rows.
fn person_ids(table: &ScopedTable, person: Person) -> Vec<String> {
    let mut ids = texts(&table.person_batch(person, &leaves(&["id"])).unwrap().batch, "id");
    ids.sort();
    ids
}

/// The values of a text column.
fn texts(batch: &RecordBatch, column: &str) -> Vec<String> {
    let column = batch.column_by_name(column).unwrap();
    let column = column.as_any().downcast_ref::<arrow::array::StringArray>().unwrap();
    (0..column.len()).map(|row| column.value(row).to_owned()).collect()
}
