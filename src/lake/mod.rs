//! The lake: one Parquet table per resource type and mode, a DuckLake catalog in SQLite, and the one door to the data.

pub mod json;
pub mod layout;
pub mod scope;
pub mod shape;

pub use scope::{Mode, PatientScope, Scope};
