//! Merges the matches of several tables in one order. Each table yields its first matches with their sort keys.
//!
//! Rows with equal sort keys are ordered by their ids. If rows of different tables have equal keys and ids, the order
//! of the tables decides.

use arrow::array::ArrayRef;
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use arrow::row::{OwnedRow, RowConverter, SortField};

use super::super::SearchError;
use super::super::criteria::sort;
use super::super::parameters::query::{Query, SortKey};
use super::super::parameters::result::invalid;
use crate::lake::scan::Locator;

/// The order of matches: by the sort keys, then by the id.
#[derive(Debug)]
pub(in crate::search) struct Order {
    converter: RowConverter,
}

/// A match of one table, with the key that decides its position in the order.
#[derive(Clone, Debug)]
pub(in crate::search) struct Keyed {
    pub(in crate::search) key: OwnedRow,
    pub(in crate::search) at: Locator,
}

impl Order {
    /// Returns the common order of the queries of several tables. It is an error if their sort keys cannot be compared.
    pub(in crate::search) fn of(queries: &[&Query]) -> Result<Order, SearchError> {
        let keys: &[SortKey] = queries.first().map_or(&[], |query| &query.sort);
        for query in queries {
            for (key, other) in keys.iter().zip(&query.sort) {
                if sort::data_type(key) != sort::data_type(other) {
                    let expected = "a parameter of the same kind in all types that are sorted together";
                    return Err(invalid("_sort", &key.compiled.parameter.code, expected));
                }
            }
        }
        let options = |descending| SortOptions {
            descending,
            nulls_first: false,
        };
        let mut fields: Vec<SortField> = keys
            .iter()
            .map(|key| SortField::new_with_options(sort::data_type(key), options(key.descending)))
            .collect();
        fields.push(SortField::new_with_options(DataType::Utf8, options(false)));
        Ok(Order {
            converter: RowConverter::new(fields)?,
        })
    }

    /// Returns, for each row, the key that decides its position in the order.
    pub(in crate::search) fn places(
        &self,
        mut keys: Vec<ArrayRef>,
        ids: ArrayRef,
    ) -> Result<Vec<OwnedRow>, SearchError> {
        keys.push(ids);
        let rows = self.converter.convert_columns(&keys)?;
        Ok(rows.iter().map(|row| row.owned()).collect())
    }
}
