//! FHIRPath over columns: all search parameters compile, and results over real records equal those of another
//! implementation.

mod arranged;
mod cases;
mod command;
mod contained;
mod costs;
mod expressions;
mod functions;
mod grammar;
mod json_names;
mod leaves;
mod mutations;
mod official;
mod robust;
mod rows;
mod search_parameters;
mod search_values;
mod terminology;
mod units;
mod variables;

use arrow::array::RecordBatch;
use tabularium::columns::json::Tape;
use tabularium::columns::shred::{Shredder, SystemValues};
use tabularium::fhir::TypeId;

/// Resources of one type as a batch.
fn batch(ty: TypeId, resources: &[String]) -> RecordBatch {
    let mut shredder = Shredder::new(ty);
    for resource in resources {
        let mut tape = Tape::new();
        let root = tape.parse(resource.as_bytes()).unwrap();
        let id = root.get_str("id").map(String::from).unwrap_or_default();
        let system = SystemValues::outside(&id, resource);
        shredder.push(&system, root).unwrap();
    }
    shredder.finish().unwrap()
}
