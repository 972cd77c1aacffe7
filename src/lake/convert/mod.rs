//! Making a sealed lake of an open one, and an open one of a sealed one, while others read and write it.
//!
//! The catalog says first that the lake is on its way: from then on files of both kinds are the lake's, and new ones
//! are of the kind that it is to be of. Then every file of the other kind, of all snapshots, is written anew and
//! exchanged for the old one, as an erasure does it (`lake::erase`): rows keep their places, so that snapshots, page
//! links and row ids stay as they are. When none is left the catalog says that the lake is of the new kind. Killed
//! anywhere, it is a whole lake, be it half-way, and the same call goes on.
//!
//! This room does not decide who may ask for it, nor how a file is sealed (`lake::seal`).

mod file;
mod leftovers;
mod run;

pub use run::{Conversion, Converted};
