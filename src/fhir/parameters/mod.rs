//! Search parameters, and the Patient compartment that some of them make.

pub mod compartment;
mod definition;
pub(super) mod parameter_folder;
pub(super) mod parameter_table;
pub mod search_parameter;
