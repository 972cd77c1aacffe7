//! Rewrites a data file without some of its rows. All other rows keep their positions.
//!
//! Row ids, delete files and page links count rows from the file's start, in every snapshot that has the file. So an
//! erased row becomes a blank row (`blank.rs`). The file's new delete files delete the blank row in all snapshots, and
//! the next compaction drops it.
//!
//! Most of an unencrypted file is copied as it is. A row group without erased rows is copied as a whole. In the other
//! row groups only those pages are encoded anew in which an erased row has a value (`column.rs`). A row group whose
//! first row is erased is decoded and encoded as a whole, and so is a sealed file.

mod blank;
mod column;
mod file;
mod new_pages;
mod pages;
mod records;
mod statistics;

pub(in crate::lake) use file::rewrite;
