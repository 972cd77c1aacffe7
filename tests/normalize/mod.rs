//! What normalization makes of records: a golden test for each rule over the real files, and properties that hold for all of them.

mod conditions;
mod dialects;
mod encounters;
mod insurance_plans;
mod prescriptions;
mod procedures;
mod properties;
mod world;
