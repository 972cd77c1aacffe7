//! Search parameters, and the Patient compartment that some of them define.

pub mod compartment;
mod definition;
pub(super) mod parameter_folder;
pub(super) mod parameter_table;
pub mod search_parameter;
