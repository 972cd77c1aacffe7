//! R4 as data: what types, elements, search parameters and compartments there are, how an element is stored in columns,
//! and the value types (partial dates, exact decimals, references, OperationOutcome) that every room above speaks.

pub mod facts;
pub mod storage;
mod type_table;

pub use facts::{Child, Element, Facts, Kind, Primitive, TypeDef, TypeId, facts};
