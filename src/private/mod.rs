//! Files and folders that belong to this program: how they are made, opened, listed and removed.
//!
//! Only the operating system's user of this process may read them, because they contain health records, or something
//! that gives access to health records. And only they may be read, changed or removed. So a link in the place of a file
//! is refused and not followed, and a pipe or a device is refused and does not block the process. The folder that the
//! user has named may be a link itself; below it nothing is.

mod below;
mod made;
mod opened;
mod own_folder;

pub(crate) use below::Below;
pub(crate) use made::folder;
pub(crate) use opened::{create, link, named, open, options, read, read_to_string, refuse_foreign};
pub(crate) use own_folder::{Kind, OwnFolder};
