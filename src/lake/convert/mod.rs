//! Seals an open lake or unseals a sealed one while others read and write it.
//!
//! First the catalog records the conversion. From then on new files are of the new kind (sealed or unencrypted), and
//! the lake has files of both kinds. Then each file of the former kind, in every snapshot, is rewritten and replaced,
//! in the same way as by an erasure (`lake::erase`). Rows keep their positions, so snapshots, page links and row ids
//! stay valid. At the end the catalog records the new kind. If a conversion is killed, the lake stays consistent, and a
//! new [`Conversion`] continues.
//!
//! This module does not decide who may convert a lake, nor how a file is sealed (`lake::seal`).

mod file;
mod leftovers;
mod run;

pub use run::{Conversion, Converted};
