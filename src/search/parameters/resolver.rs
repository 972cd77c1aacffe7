//! The state of resolving the parameters of one search: the programs and surroundings that they are resolved with, and
//! how many tables and how deep their conditions lead. `resolve` makes the conditions.

use std::cell::Cell;
use std::sync::Arc;

use super::super::SearchError;
use super::parameter::{Compiled, Programs, Reading};
use super::result::shortened;
use crate::fhir::{Kind, TypeId, facts};
use crate::terminology::Terminology;

/// The most other types' tables that the conditions of one search may lead to.
const MAX_JOINS: usize = 500;

/// The maximum number of resources in a chain or `_has`: each is a table searched within a search.
const MAX_DEPTH: usize = 16;

/// The context for parsing a value.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct Surroundings<'a> {
    /// The time of the search, in microseconds.
    pub(in crate::search) now_us: i64,
    /// `{base}/fhir/`: an absolute reference that begins with it is a relative one.
    pub(in crate::search) base: &'a str,
    /// Code systems and value sets that values may speak of.
    pub(in crate::search) terminology: &'a Terminology,
}

/// Resolves the parameters of one search.
pub(in crate::search) struct Resolver<'a> {
    pub(in crate::search) programs: &'a Programs,
    pub(in crate::search) around: Surroundings<'a>,
    /// Whether several types are searched together: then a value may be impossible for one of the types.
    pub(in crate::search) among_others: bool,
    joins: Cell<usize>,
    depth: Cell<usize>,
}

impl<'a> Resolver<'a> {
    pub(in crate::search) fn new(programs: &'a Programs, around: Surroundings<'a>) -> Resolver<'a> {
        Resolver {
            programs,
            around,
            among_others: false,
            joins: Cell::new(0),
            depth: Cell::new(0),
        }
    }

    /// The same for a search of several types.
    pub(in crate::search) fn among_others(self) -> Resolver<'a> {
        Resolver {
            among_others: true,
            ..self
        }
    }

    /// Resolves something within another condition, unless that is within very many already.
    pub(in crate::search) fn deeper<T>(
        &self,
        parameter: &str,
        resolve: impl FnOnce() -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        let depth = self.depth.get();
        // The first is the parameter itself.
        if depth > MAX_DEPTH {
            return Err(SearchError::Deep {
                parameter: shortened(parameter),
                max: MAX_DEPTH,
            });
        }
        self.depth.set(depth + 1);
        let resolved = resolve();
        self.depth.set(depth);
        resolved
    }

    /// Counts one more table that a condition leads to.
    pub(in crate::search) fn join(&self, parameter: &str) -> Result<(), SearchError> {
        self.joins.set(self.joins.get() + 1);
        if self.joins.get() > MAX_JOINS {
            Err(SearchError::Joins {
                parameter: parameter.to_owned(),
                max: MAX_JOINS,
            })
        } else {
            Ok(())
        }
    }

    /// The parameter `_id` of a type.
    pub(in crate::search) fn ids(&self, type_id: TypeId) -> Result<Option<Arc<Compiled>>, SearchError> {
        self.programs.get(type_id, "_id", Reading::Values)
    }
}

/// The concrete resource type of this name.
pub(in crate::search) fn resource_type(name: &str) -> Option<TypeId> {
    let type_id = facts().lookup(name)?;
    let def = facts().get(type_id);
    (def.kind == Kind::Resource && !def.is_abstract).then_some(type_id)
}
