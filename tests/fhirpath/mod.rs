//! FHIRPath over columns: all search parameters compile, and results over real records equal those of another
//! implementation.

mod cases;
mod command;
mod contained;
mod costs;
mod functions;
mod generated;
mod json_names;
mod leaves;
mod suites;
mod terminology;
mod units;
mod variables;

use arrow::array::RecordBatch;
use tabularium::columns::json::Tape;
use tabularium::columns::shred::{Shredder, SystemValues};
use tabularium::fhir::TypeId;

/// Resources of one type as a batch.
fn batch(type_id: TypeId, resources: &[String]) -> RecordBatch {
    let mut shredder = Shredder::new(type_id);
    for resource in resources {
        let mut tape = Tape::new();
        let root = tape.parse(resource.as_bytes()).unwrap();
        let id = root.get_str("id").map(String::from).unwrap_or_default();
        let system = SystemValues::outside(&id, resource);
        shredder.push(&system, root).unwrap();
    }
    shredder.finish().unwrap()
}
