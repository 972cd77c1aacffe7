//! Reads a system column of a row group, as one value per row. Many rows have equal values, so the column is read
//! through its dictionary and codes. Columns in other encodings are decoded.

use std::cell::RefCell;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Int64Type, TimeUnit, TimestampMicrosecondType};
use rustc_hash::FxHashMap;

use super::super::cache::file::{OpenFile, ReadBytes};
use super::super::decode::chunk::Chunk;
use super::super::decode::columns::{read_leaf, texts};
use super::super::error::ScanError;
use super::system_columns::{NONE, Names, Run, Runs, SystemColumns};

impl SystemColumns {
    /// Reads the system columns of a row group.
    pub(in crate::lake::scan) fn build(file: &Arc<OpenFile>, group: usize) -> Result<SystemColumns, ScanError> {
        let rows = file.groups()[group].rows;
        let owner = numbers(file, group, "owner")?;
        file.require("application")?;
        let (applications, application) = names(file, group, "application")?;
        // A file may lack `authorization` if no row has one, and `patient` if no row is filed under a Patient.
        let (authorizations, authorization) = names(file, group, "authorization")?;
        let (patients, patient) = names(file, group, "patient")?;
        let mut directory = SystemColumns {
            rows,
            runs: Vec::new(),
            sorted: owner.is_sorted(),
            applications,
            authorizations,
            patients,
            versions: Runs::of(&numbers(file, group, "version")?),
            updated: Runs::of(&numbers(file, group, "last_updated")?),
        };
        let values = |row: usize| (owner[row], application[row], authorization[row], patient[row]);
        for row in 0..rows as usize {
            if row == 0 || values(row) != values(row - 1) {
                let (owner, application, authorization, patient) = values(row);
                directory.runs.push(Run {
                    start: row as u32,
                    owner,
                    application,
                    authorization,
                    patient,
                });
            }
        }
        directory.runs.shrink_to_fit();
        Ok(directory)
    }
}

/// The distinct texts of a column that were met so far, with their indexes.
#[derive(Default)]
struct Interned {
    names: Names,
    ids: FxHashMap<Box<str>, u32>,
    /// Whether some value was not valid UTF-8.
    damaged: bool,
}

impl Interned {
    fn id(&mut self, text: Option<&str>) -> u32 {
        let Some(text) = text else { return NONE };
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.ids.len() as u32;
        self.names.0.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }

    fn id_of_bytes(&mut self, bytes: Option<&[u8]>) -> u32 {
        let text = bytes.map(std::str::from_utf8).transpose();
        self.damaged |= text.is_err();
        self.id(text.unwrap_or_default())
    }
}

/// Returns the distinct texts of a column, and for each row the index of its text, or [`NONE`] for null. A column that
/// the file lacks is null in all rows.
pub(in crate::lake::scan) fn names(
    file: &Arc<OpenFile>,
    group: usize,
    column: &'static str,
) -> Result<(Names, Vec<u32>), ScanError> {
    let rows = file.groups()[group].rows as usize;
    let Some(leaf) = file.leaf(column) else {
        return Ok((Names::default(), vec![NONE; rows]));
    };
    if file.fields().find(column).map(|(_, field)| field.data_type()) != Some(&DataType::Utf8) {
        return Err(file.missing(column));
    }
    let interned = RefCell::new(Interned::default());
    let id = |bytes: Option<&[u8]>| interned.borrow_mut().id_of_bytes(bytes);
    if let Some(ids) = coded(file, group, leaf, id)? {
        let interned = interned.into_inner();
        return if interned.damaged {
            Err(file.missing(column))
        } else {
            Ok((interned.names, ids))
        };
    }
    let array = read_leaf(file, group, column)?;
    let text = texts(file, &array, column)?;
    let mut interned = Interned::default();
    let ids = (0..rows).map(|row| interned.id(text(row))).collect();
    Ok((interned.names, ids))
}

/// Returns the numbers of a column. Fails if one is null. Timestamps are in microseconds since 1970.
pub(in crate::lake::scan) fn numbers(
    file: &Arc<OpenFile>,
    group: usize,
    column: &'static str,
) -> Result<Vec<i64>, ScanError> {
    let leaf = file.require(column)?;
    let is_moment = match file.fields().find(column).map(|(_, field)| field.data_type()) {
        Some(DataType::Int64) => false,
        Some(DataType::Timestamp(TimeUnit::Microsecond, _)) => true,
        _ => return Err(file.missing(column)),
    };
    // The result is `None` for a null, and for a value of less than eight bytes. The file is damaged in both cases.
    let number = |bytes: Option<&[u8]>| bytes.and_then(|bytes| Some(i64::from_le_bytes(*bytes.first_chunk()?)));
    if let Some(numbers) = coded(file, group, leaf, number)? {
        return numbers
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(|| file.missing(column));
    }
    let array = read_leaf(file, group, column)?;
    if array.null_count() > 0 {
        return Err(file.missing(column));
    }
    Ok(if is_moment {
        array.as_primitive::<TimestampMicrosecondType>().values().to_vec()
    } else {
        array.as_primitive::<Int64Type>().values().to_vec()
    })
}

/// Calls `stands_for` with the values of a column, and returns its result for each row. `None` if the column must be
/// decoded because of its encoding.
fn coded<A: Copy + Default>(
    file: &Arc<OpenFile>,
    group: usize,
    leaf: usize,
    stands_for: impl Fn(Option<&[u8]>) -> A,
) -> Result<Option<Vec<A>>, ScanError> {
    let chunk = Chunk::open(file, group, leaf, &ReadBytes::new(file), stands_for).map_err(file.parquet())?;
    let slots = match chunk {
        Some(chunk) if chunk.repetition() == 0 => chunk.slots().map_err(file.parquet())?,
        _ => None,
    };
    Ok(slots.map(|slots| slots.allowed))
}
