//! Searches organizations by words that a patient remembers of a name, even if they are misspelt.
//!
//! | file | content |
//! |---|---|
//! | `words`, `synonyms`, `states` | the words of a name, and other words with the same meaning |
//! | `index` | all words that find an organization, each with a distance |
//! | `misspelt` | which words a misspelt word may mean |
//! | `query` | which organizations match a query, and their order |
//! | `meant` | which endpoints can be found, and when the index is rebuilt |
//! | `catalogue` | the cached index |

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
