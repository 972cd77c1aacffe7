//! Erases a person's rows for good, from the newest snapshot and from every older one that can still be read.
//!
//! This module decides which rows an erasure covers. It hides them as soon as the erasure is recorded, and rewrites the
//! files that hold them. It does not decide who may request an erasure, and it does not touch rows without a person.
//!
//! The catalog records an erasure first. From then on no reader sees the rows (`known`). Then the files are rewritten
//! (`prepare`, `rewrite`), and SQLite transactions exchange them in the catalog. The last of these transactions removes
//! the record (`run`). All recorded erasures run together, so each file is rewritten once. If the process is killed,
//! the next writer continues the erasures.

mod again;
mod collect;
mod erased;
mod evidence;
mod intent;
mod keys;
mod known;
pub mod ledger;
mod prepare;
mod rewrite;
mod run;
mod search;
mod superseded;

pub use erased::Erased;
pub(super) use evidence::{Entry, subject};
pub use evidence::{ErasedAttachment, ErasedFile, ErasedIds, Evidence, LakeState, ReplacingFile, Searched};
pub use intent::Intent;
pub(super) use intent::{Erasure, Erasures};
pub(super) use known::Known;
pub(super) use prepare::{Fresh, Hindrance, meant, random_name, reasons};
pub(super) use rewrite::rewrite;
