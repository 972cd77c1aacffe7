//! R4 as data: what types, elements, search parameters and compartments there are, how an element is stored in columns,
//! and the value types (partial dates, exact decimals, references, OperationOutcome) that every room above speaks.

pub mod case;
mod codes;
pub mod compartment;
pub mod decimal;
pub mod facts;
pub(crate) mod name_table;
pub mod narrative;
pub mod nearest;
pub mod outcome;
mod parameter_folder;
mod parameter_table;
pub mod reference;
pub mod search_parameter;
pub mod storage;
pub mod temporal;
mod type_table;

pub use facts::{Child, Element, Facts, Kind, Primitive, TypeDef, TypeId, facts};
pub use search_parameter::{SearchParameter, SearchParameters, SearchType};
