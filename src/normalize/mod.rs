//! Normalization: turns a source's records into records that an application can use.
//!
//! Decides which resources are generated from the records of one consent, and how a record's codes, references and
//! missing elements are written. It is pure: it reads records in the form in which they will be stored and returns
//! edits and new resources. It reads no lake, no file and no clock. Two passes keep memory bounded: a [`Survey`] sees
//! every record once and keeps small facts, and the resulting [`Plan`] is applied to each record.

mod additions;
pub mod claims;
mod codes;
mod compact;
mod contributed;
pub mod form;
mod knowledge;
pub mod links;
mod marks;
mod plan;
mod plans;
mod record;
mod report;
mod settings;
mod survey;
mod walk;

pub use additions::{Addition, Additions, Generated};
pub use codes::{Codes, Concept, NoCodes};
pub use knowledge::{Knowledge, NewestKnowledge};
pub use marks::PLACEHOLDER;
pub use plan::{Plan, Rewrite};
pub use plans::{Area, Contact, NoPlans, PlanFacts, Plans, Premium};
pub use record::{Day, Record, Source, SourceId};
pub use report::{Counts, Report, Rule};
pub use settings::Settings;
pub use survey::Survey;
