//! The languages of the pages, as Fluent files. English and Spanish are built in. Other languages come from a folder.

mod bundle;
mod chosen;
mod file;
mod languages;
#[cfg(test)]
mod reading;
mod texts;

pub use file::LanguageError;
pub use languages::Languages;

pub(super) use chosen::{here, named, picked, with_language};
pub(in crate::http) use chosen::{of, switched};
pub(in crate::http) use texts::Texts;
