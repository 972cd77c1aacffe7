//! An index of the records of a range, in the order of their owners and of the input.

use super::stowed::{self, Stowed};
use crate::ingest::error::IngestError;
use crate::ingest::rows::spill::Bin;

/// The position of a record in its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Placed {
    pub(super) owner: i64,
    ordinal: u64,
    at: u64,
    /// The length of the record in bytes.
    pub(super) length: usize,
}

/// The records of a range.
pub(super) enum Records<'r> {
    /// All records are in memory, in these bytes.
    Loaded(&'r [u8]),
    /// The records are in this bin. Each record is read into the buffer when it is needed.
    Stored(&'r Bin, &'r mut Vec<u8>),
}

impl Records<'_> {
    /// Returns the record at a position.
    pub(super) fn get(&mut self, placed: &Placed) -> Result<Stowed<'_>, IngestError> {
        let bytes = match self {
            Records::Loaded(bytes) => bytes.get(placed.at as usize..placed.at as usize + placed.length),
            Records::Stored(bin, buffer) => {
                bin.fetch(placed.at, placed.length, buffer)?;
                Some(&buffer[..])
            }
        };
        bytes.and_then(stowed::read).ok_or_else(damaged)
    }
}

/// Replaces the content of `index` with the positions of all records in a range.
pub(super) fn read_index(bin: &Bin, index: &mut Vec<Placed>) -> Result<(), IngestError> {
    index.clear();
    bin.parts(|start, bytes| {
        let mut at = 0;
        while at < bytes.len() {
            let extent = stowed::extent(&bytes[at..]).ok_or_else(damaged)?;
            index.push(Placed {
                owner: extent.owner,
                ordinal: extent.ordinal,
                at: start + at as u64,
                length: extent.length,
            });
            at += extent.length;
        }
        Ok::<_, IngestError>(())
    })?;
    index.sort_unstable();
    Ok(())
}

fn damaged() -> IngestError {
    std::io::Error::from(std::io::ErrorKind::InvalidData).into()
}
