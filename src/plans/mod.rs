//! Medicare Advantage plans as CMS publishes them, by calendar year: names, organizations, areas, premiums and
//! contacts.
//!
//! Decides which of CMS's files are read, which facts are stored beside the lake, and how a plan is described. Each
//! publication of a year is one table. A load always replaces the whole table. An answer combines all tables of a
//! year. This module downloads nothing.

mod columns;
mod error;
mod facts;
mod folder;
mod load;
mod money;
mod publication;
mod states;
mod table;
mod tables;

pub use error::PlansError;
pub use facts::{Area, Contact, Plan, Premium};
pub use folder::{Folder, List, TableEntry};
pub use load::{Loaded, load};
pub use publication::Publication;
pub use tables::PlanTables;
