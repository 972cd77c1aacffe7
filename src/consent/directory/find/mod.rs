//! Finding an organization by what a patient remembers of its name, as they spell it.
//!
//! | file | decides |
//! |---|---|
//! | `words`, `synonyms`, `states` | what the words of a name are, and which others mean the same |
//! | `index` | by which words an organization is found, and how far it is from each |
//! | `misspelt` | which words a misspelt one may mean |
//! | `query` | which organizations a query means, and in which order |
//! | `meant` | which organizations of the store are searched; when the index is made anew |
//! | `catalogue` | the index as it is held in memory |

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
