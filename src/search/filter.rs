//! A query's criteria over a batch of rows: which rows match.
//!
//! The population plan runs this inside the scan, the person path straight over a person's columns: there is one meaning.

use arrow::array::{BooleanArray, RecordBatch};

use super::SearchError;
use super::query::{Criterion, Test};
use crate::fhir::storage::LeafSet;

/// The columns that the criteria read.
pub(super) fn leaves(criteria: &[Criterion]) -> LeafSet {
    criteria
        .iter()
        .flat_map(|criterion| criterion.compiled.program.leaves().iter().cloned())
        .collect()
}

/// For each row whether all criteria hold.
pub(super) fn matches(criteria: &[Criterion], batch: &RecordBatch) -> Result<BooleanArray, SearchError> {
    let mut all = vec![true; batch.num_rows()];
    for criterion in criteria {
        let mut rows = vec![false; batch.num_rows()];
        mark(criterion, batch, &mut rows)?;
        for (all, row) in all.iter_mut().zip(rows) {
            *all &= row;
        }
        if !all.contains(&true) {
            break;
        }
    }
    Ok(BooleanArray::from(all))
}

/// Marks the rows for which the criterion holds. A row on which a parameter's expression is in error has no values.
fn mark(criterion: &Criterion, batch: &RecordBatch, rows: &mut [bool]) -> Result<(), SearchError> {
    let compiled = &criterion.compiled;
    let values = compiled
        .program
        .evaluate(batch)
        .map_err(|source| SearchError::Expression {
            parameter: compiled.parameter.code.to_string(),
            source,
        })?
        .lenient();
    match &criterion.test {
        Test::Missing(missing) => {
            for (row, marked) in rows.iter_mut().enumerate() {
                *marked = values.range(row).is_empty() == *missing;
            }
        }
        Test::AnyOf { matchers, not } => {
            for part in values.typed() {
                for matcher in matchers {
                    matcher.mark(&part, rows);
                }
            }
            if *not {
                rows.iter_mut().for_each(|row| *row = !*row);
            }
        }
    }
    Ok(())
}
