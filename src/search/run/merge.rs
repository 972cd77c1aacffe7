//! Merges the matches of several tables into one order. Each table yields its first matches with their sort keys.
//!
//! The ids order rows with equal keys. The order of the tables decides between equal ids.

use arrow::array::ArrayRef;
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use arrow::row::{OwnedRow, RowConverter, SortField};

use super::super::SearchError;
use super::super::criteria::sort;
use super::super::parameters::query::{Query, SortKey};
use super::super::parameters::result::invalid;
use crate::lake::scan::Locator;

/// The values that decide a position: the sort keys, then the id.
#[derive(Debug)]
pub(in crate::search) struct Order {
    converter: RowConverter,
}

/// A match of a table with its position in the order.
#[derive(Clone, Debug)]
pub(in crate::search) struct Keyed {
    pub(in crate::search) key: OwnedRow,
    pub(in crate::search) at: Locator,
}

impl Order {
    /// The common order of several tables' queries. An error if their sort keys cannot be compared.
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

    /// The positions of rows with these sort keys and ids.
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
