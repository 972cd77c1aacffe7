//! Builds a data folder from a snapshot (`restore`) in a subfolder of its own, and ends or removes what a killed
//! restore has left there (`building`).

mod building;
mod restore;

pub use restore::{Restored, Restoring, restore};
