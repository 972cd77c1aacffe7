//! A process of this program's own that reads what others made. It has no files, no network and no other programs: only
//! one connection to the process that started it. Its memory and its processor time are bounded, and its end harms
//! nobody else.
//!
//! This module starts such a process, confines it and carries frames between the two. It does not know what the process
//! does. `patient::pdf::apart` reads attachments with it.
//!
//! Invariant: a [`Process`] ends when its value is dropped, and at the latest when the process that started it ends.

mod channel;
#[cfg(target_os = "linux")]
mod filter;
mod inside;
mod process;
mod watched;

pub use channel::{Channel, Frame};
pub use inside::{Inside, enter};
pub use process::{End, Process};
pub use watched::{Patience, Watched};
