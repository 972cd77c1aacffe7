//! The state while the parameters of one search are resolved: the compiled programs, the context of values, and the
//! limits on the tables that conditions read. The file `resolve.rs` resolves the conditions.

use std::cell::Cell;
use std::sync::Arc;

use super::super::SearchError;
use super::parameter::{Compiled, Programs, Reading};
use super::raw::RawParameter;
use super::result::shortened;
use crate::fhir::{Kind, TypeId, facts};
use crate::lake::scan::Budget;
use crate::terminology::Terminology;

/// The maximum number of other tables that the conditions of one search may read.
const MAX_JOINS: usize = 500;

/// The maximum number of resources in a chain or `_has`. Each of them is a search inside another search.
const MAX_DEPTH: usize = 16;

/// The work of resolving one parameter, in addition to that of its text.
const PER_PARAMETER: u64 = 64;
/// The work of resolving one byte of a parameter's text.
const PER_BYTE: u64 = 8;

/// The context in which values are parsed.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct Surroundings<'a> {
    /// The time of the search, in microseconds since 1970.
    pub(in crate::search) now_us: i64,
    /// The address of the server's FHIR API, which ends with `/fhir/`. An absolute reference that begins with it counts
    /// as a relative one.
    pub(in crate::search) base: &'a str,
    /// The code systems and value sets that values may name.
    pub(in crate::search) terminology: &'a Terminology,
}

/// Resolves the parameters of one search.
pub(in crate::search) struct Resolver<'a> {
    pub(in crate::search) programs: &'a Programs,
    pub(in crate::search) around: Surroundings<'a>,
    /// Whether several types are searched together. If so, a value that is impossible for one type is not an error.
    pub(in crate::search) among_others: bool,
    /// The budget of the search. A parameter is resolved again for each type that is searched and to which a chain may
    /// lead. So a long value takes work each time.
    budget: Option<&'a Budget>,
    joins: Cell<usize>,
    depth: Cell<usize>,
    /// The number of tests in the filters of the type that is being resolved.
    tests: Cell<usize>,
}

impl<'a> Resolver<'a> {
    pub(in crate::search) fn new(
        programs: &'a Programs,
        around: Surroundings<'a>,
        budget: Option<&'a Budget>,
    ) -> Resolver<'a> {
        Resolver {
            programs,
            around,
            among_others: false,
            budget,
            joins: Cell::new(0),
            depth: Cell::new(0),
            tests: Cell::new(0),
        }
    }

    /// Marks the search as a search of one type among several.
    pub(in crate::search) fn among_others(self) -> Resolver<'a> {
        Resolver {
            among_others: true,
            ..self
        }
    }

    /// Calls `resolve` for a condition inside another condition. Returns an error instead if conditions are nested too
    /// deeply.
    pub(in crate::search) fn deeper<T>(
        &self,
        parameter: &str,
        resolve: impl FnOnce() -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        let depth = self.depth.get();
        // Depth 0 is the parameter itself, so it does not count as a resource of the chain.
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

    /// Takes the work of resolving a parameter from the budget. Returns an error if too little is left.
    pub(in crate::search) fn spend(&self, raw: &RawParameter) -> Result<(), SearchError> {
        let bytes = raw.name.len() + raw.modifier.as_ref().map_or(0, String::len) + raw.value.len();
        match self.budget {
            Some(budget) => Ok(budget.spend(PER_PARAMETER + PER_BYTE * bytes as u64)?),
            None => Ok(()),
        }
    }

    /// Begins to count the tests of filters anew, for the query of another type.
    pub(in crate::search) fn begin_query(&self) {
        self.tests.set(0);
    }

    /// Counts tests of a filter. Returns the number of all tests since the last `begin_query`.
    pub(in crate::search) fn count_tests(&self, tests: usize) -> usize {
        self.tests.set(self.tests.get().saturating_add(tests));
        self.tests.get()
    }

    /// Counts one more table that the conditions of the search read. Returns an error if there are more than
    /// `MAX_JOINS`. `parameter` is the parameter that the error names.
    pub(in crate::search) fn join(&self, parameter: &str) -> Result<(), SearchError> {
        self.joins.set(self.joins.get() + 1);
        if self.joins.get() > MAX_JOINS {
            Err(SearchError::Joins {
                parameter: shortened(parameter),
                max: MAX_JOINS,
            })
        } else {
            Ok(())
        }
    }

    /// Returns the compiled parameter `_id` of a type.
    pub(in crate::search) fn ids(&self, type_id: TypeId) -> Result<Option<Arc<Compiled>>, SearchError> {
        self.programs.get(type_id, "_id", Reading::Values)
    }
}

/// Returns the concrete resource type of this name. Returns `None` if there is none.
pub(in crate::search) fn resource_type(name: &str) -> Option<TypeId> {
    let type_id = facts().lookup(name)?;
    let def = facts().get(type_id);
    (def.kind == Kind::Resource && !def.is_abstract).then_some(type_id)
}
