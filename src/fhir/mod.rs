//! R4 as data: types, elements, search parameters and compartments, how an element is stored in columns. Also the value
//! types (partial dates, exact decimals, references, OperationOutcome) that all higher modules use.

pub mod case;
mod codes;
pub mod hidden;
pub mod nearest;
pub mod outcome;
mod parameters;
pub mod storage;
mod types;
mod values;

pub use parameters::{compartment, search_parameter};
pub use types::facts;
pub(crate) use types::name_table;
pub use values::{decimal, narrative, reference, temporal};

pub use facts::{Child, Element, Facts, Kind, Primitive, TypeDef, TypeId, facts};
pub use search_parameter::{SearchParameter, SearchParameters, SearchType};
