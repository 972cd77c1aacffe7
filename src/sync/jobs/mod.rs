//! One job: it plans its requests, fetches records and the records to which they refer into a spool on disk, and
//! commits them as one snapshot.

mod attach;
mod catch;
mod commit;
mod fetch;
mod follow;
mod gap;
mod made;
mod person;
mod plan;
mod run;
mod said;
mod search;
mod source;
mod spool;
mod work;

pub(super) use attach::{Json, of_json};
pub(super) use run::{JobContext, JobResources, run};
pub(super) use spool::Spools;
pub use spool::empty_spool;
