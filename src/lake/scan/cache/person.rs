//! People's rows in the cache: their positions, and the columns that were read so far.

use std::sync::{Arc, PoisonError, RwLock};

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{FieldRef, Fields};
use rustc_hash::FxHashMap;

use super::super::conditions::ranges::Ranges;
use super::super::rows::request::Person;
use super::weigh::Weigh;
use crate::lake::owners::scope::Scope;
use crate::lake::snapshot::DataFile;

/// The cache key of a person's rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::lake::scan) struct PersonKey {
    pub(in crate::lake::scan) table: u64,
    pub(in crate::lake::scan) person: Person,
    pub(in crate::lake::scan) scope: Arc<Scope>,
}

/// The files, snapshot and erasures that determine a person's rows. A cached entry is valid as long as they are the
/// same.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::lake::scan) struct Origin {
    /// The ids of the data files, each with the id of its delete file, or zero if it has none.
    pub(in crate::lake::scan) files: Vec<(u64, u64)>,
    /// The id of the snapshot if the rows include shared rows, and zero if they do not.
    pub(in crate::lake::scan) shared: u64,
    /// The ids of the erasures whose rows are left out.
    pub(in crate::lake::scan) erasures: Vec<u64>,
}

/// A person's rows: their positions, their locator columns, and the other columns that were read so far.
#[derive(Debug)]
pub(in crate::lake::scan) struct PersonRowsBase {
    pub(in crate::lake::scan) origin: Origin,
    pub(in crate::lake::scan) parts: Vec<Part>,
    pub(in crate::lake::scan) count: usize,
    pub(in crate::lake::scan) file: ArrayRef,
    pub(in crate::lake::scan) row: ArrayRef,
    pub(in crate::lake::scan) columns: RwLock<FxHashMap<FieldRef, ArrayRef>>,
}

/// A person's rows in one row group.
#[derive(Debug)]
pub(in crate::lake::scan) struct Part {
    pub(in crate::lake::scan) data: Arc<DataFile>,
    pub(in crate::lake::scan) group: usize,
    pub(in crate::lake::scan) rows: Ranges,
}

impl PersonRowsBase {
    /// Returns the ids of the data files that the rows are in, each with the id of its delete file, or zero if it has
    /// none.
    pub(in crate::lake::scan) fn files(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.origin.files.iter().copied()
    }

    /// Returns the columns for these fields. `None` for a column that was not read before.
    pub(in crate::lake::scan) fn columns(&self, fields: &Fields) -> Vec<Option<ArrayRef>> {
        let known = self.columns.read().unwrap_or_else(PoisonError::into_inner);
        fields.iter().map(|field| known.get(field).cloned()).collect()
    }

    /// Returns the size in bytes, including the columns that were read so far.
    pub(in crate::lake::scan) fn weight(&self) -> u64 {
        let parts = self
            .parts
            .iter()
            .map(|part| size_of::<Part>() + 8 * part.rows.iter().count());
        let own = parts.sum::<usize>() + 16 * self.origin.files.len() + 12 * self.count + 512;
        let known = self.columns.read().unwrap_or_else(PoisonError::into_inner);
        // Count the size of the field twice: a nested array holds a tree of fields, and the key in this map holds
        // another one.
        let columns = known
            .iter()
            .map(|(field, array)| array.get_array_memory_size() + 2 * field.size() + 64);
        (own + columns.sum::<usize>()) as u64
    }
}

impl Weigh for Arc<PersonKey> {
    fn weigh(&self) -> u64 {
        self.scope.weigh() + size_of::<PersonKey>() as u64
    }
}
