//! Finds an organization by the words that a patient remembers of its name, as the patient spells them.
//!
//! | file | decides |
//! |---|---|
//! | `words`, `synonyms`, `states` | the words of a name, and which other words mean the same |
//! | `index` | the words by which an organization is found, and its distance from each |
//! | `misspelt` | which words a misspelt one may mean |
//! | `query` | which organizations a query means, and in which order |
//! | `meant` | which organizations of the store are searched; when the index is made again |
//! | `catalogue` | the index in memory |

mod catalogue;
mod index;
mod meant;
mod misspelt;
mod query;
mod states;
mod synonyms;
#[cfg(test)]
mod tests;
mod words;

pub(in crate::consent) use catalogue::Catalogue;
