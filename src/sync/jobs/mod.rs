//! One job: the plan of its requests, the fetching into a spool on disk with referenced records, and the commit as one
//! snapshot.

mod attach;
mod catch;
mod commit;
mod fetch;
mod follow;
mod gap;
mod person;
mod plan;
mod run;
mod said;
mod search;
mod source;
mod spool;

pub(super) use attach::{Json, of_json};
pub(super) use run::{JobContext, JobResources, run};
pub(super) use spool::Spools;
