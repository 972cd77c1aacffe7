//! Criteria: conditions on rows, as a tree.
//!
//! A condition on other resources (a chain, `_has`, `_list`) is a [`Join`]. `joins::join` replaces it by a condition on
//! the ids of the found resources. Or it replaces it by `Condition::Dynamic`, if the plan that reads the rows finds the
//! ids itself. Only criteria without joins can be evaluated on rows.

use std::sync::Arc;

use super::super::SearchError;
use super::super::parameters::contained::COLUMN;
use super::super::parameters::parameter::{Compiled, Reading};
use super::super::parameters::raw::{RawParameter, written};
use super::super::parameters::result::invalid;
use super::super::parameters::values::ReferenceValue;
use super::matcher::{self, Matcher};
use super::origin::Origin;
use super::tuples::TupleSet;
use super::words::Words;
use crate::fhir::TypeId;
use crate::fhir::search_parameter::SearchType;
use crate::fhir::storage::LeafSet;
use crate::lake::scan::Predicate;
use crate::plan::DynamicFilter;

/// One condition on the rows. A match must meet all criteria of the query.
#[derive(Clone, Debug)]
pub(in crate::search) struct Criterion {
    /// The condition itself.
    pub(in crate::search) condition: Condition,
    /// The criterion as text. Explanations of a search show it.
    pub(in crate::search) label: String,
    /// The parameter and the value from which the criterion was resolved, if they are known. A plan that is sent to
    /// another process contains them, so that this process can resolve the criterion again.
    pub(in crate::search) origin: Option<Arc<Origin>>,
}

/// The condition of a criterion.
#[derive(Clone, Debug)]
pub(in crate::search) enum Condition {
    /// The values of a search parameter pass a test.
    Values {
        /// The search parameter, compiled for the type of the rows.
        compiled: Arc<Compiled>,
        /// The test of the values.
        test: Test,
    },
    /// The tuples of a composite search parameter pass a test. Each tuple has a value for each component.
    Tuples {
        /// The composite search parameter, compiled for the type of the rows.
        compiled: Arc<Compiled>,
        /// The test of the tuples.
        test: TupleTest,
    },
    /// Words occur in the narrative, or in any string of the resource.
    Words {
        /// Where the words must occur.
        within: Within,
        /// The condition on the words.
        words: Arc<Words>,
    },
    /// All of these criteria must hold.
    All(Vec<Criterion>),
    /// At least one of these criteria must hold.
    Any(Vec<Criterion>),
    /// This criterion must not hold.
    Not(Box<Criterion>),
    /// The criterion must hold for at least one item of an element. Brackets in `_filter` make such a condition.
    Item {
        /// The parameter whose program yields the items of the element.
        items: Arc<Compiled>,
        /// The criterion that an item must meet. Its programs are evaluated on the items and not on the resource.
        holds: Box<Criterion>,
    },
    /// The text of the row's contained resources has the name of this type. So the row may contain a resource of the
    /// type.
    Holds(TypeId),
    /// A reference of the row leads to a resource that the row contains. This resource meets the criterion that
    /// `targets` has for its type.
    Inside {
        /// The parameter whose program yields the references, with their text.
        references: Arc<Compiled>,
        /// For each type of a contained resource, the criterion that it must meet.
        targets: Vec<(TypeId, Criterion)>,
    },
    /// A condition on other resources that has not been answered yet.
    Join(Box<Join>),
    /// A condition on other resources that the plan answers when it runs. Before it reads the rows, it finds the ids of
    /// the other resources.
    Dynamic(Arc<DynamicFilter>),
}

/// A test of a parameter's values.
#[derive(Clone, Debug)]
pub(in crate::search) enum Test {
    /// `:missing`. If true, the parameter must have no value. If false, it must have at least one value.
    Missing(bool),
    /// At least one matcher must match a value. If `not` is true, no matcher may match any value.
    AnyOf {
        /// The alternatives, which the parameter separates by commas.
        matchers: Vec<Matcher>,
        /// Whether the modifier is `:not` or `:not-in`.
        not: bool,
    },
    /// At least one value must exist that the matcher does not match. `ne` in `_filter` makes such a test.
    Differs(Matcher),
}

/// A test of a composite parameter's tuples.
#[derive(Clone, Debug)]
pub(in crate::search) enum TupleTest {
    /// `:missing`. If true, no tuple may have a value for every component. If false, at least one tuple must have one.
    Missing(bool),
    /// At least one alternative must match a tuple. An alternative has one matcher for each component, and all of its
    /// matchers must match.
    AnyOf(Vec<Vec<Matcher>>),
    /// Like `AnyOf`, for many alternatives that each have a token. The set finds the alternatives with a tuple's token,
    /// so that the others are not compared.
    OneOf(Arc<TupleSet>),
}

/// Where words are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum Within {
    /// `_text`: in the narrative.
    Narrative,
    /// `_content`: in every string of the resource.
    Resource,
}

/// A condition on other resources.
#[derive(Clone, Debug)]
pub(in crate::search) enum Join {
    /// A chain: a reference of the row leads to a resource that meets the criterion for its type.
    Chain {
        /// The reference parameter of the rows. Its program yields the types and ids of the targets.
        compiled: Arc<Compiled>,
        /// For each type of a target, the criterion that the target must meet.
        targets: Vec<(TypeId, Criterion)>,
    },
    /// `_has`: a resource of type `source` meets the criterion and refers to the row.
    Has {
        /// The type of the referring resources.
        source: TypeId,
        /// The reference parameter of the referring resources. Its program yields the types and ids of the targets.
        through: Arc<Compiled>,
        /// The criterion that the referring resources must meet.
        criterion: Box<Criterion>,
        /// The parameter `_id` of the rows' type. The ids of the targets are compared with its values.
        ids: Arc<Compiled>,
    },
    /// `_list`: the row is an entry of one of the Lists in `lists`.
    List {
        /// The ids of the Lists.
        lists: Vec<String>,
        /// The parameter `_id` of the rows' type. The ids in the entries of the Lists are compared with its values.
        ids: Arc<Compiled>,
    },
    /// `:below` or `:above`: a reference leads to a resource in `from`, or to a resource below or above it in the
    /// hierarchy.
    Hierarchy {
        /// The reference parameter of the rows. Its program yields the types and ids of the targets.
        compiled: Arc<Compiled>,
        /// The types and ids of the resources at which the hierarchy starts.
        from: Vec<(TypeId, String)>,
        /// For each type in `from`: the reference parameter that leads from a resource to the resource above it.
        parents: Vec<(TypeId, Arc<Compiled>)>,
        /// Whether the modifier is `:below`. Otherwise it is `:above`.
        below: bool,
    },
}

impl Test {
    /// Adapts the test to an element that R4 binds to the code system `system`. A code of another system then matches
    /// nothing.
    pub(in crate::search) fn bind(&mut self, system: &'static str) {
        match self {
            Test::AnyOf { matchers, .. } => matchers.iter_mut().for_each(|matcher| matcher.bind(system)),
            Test::Differs(matcher) => matcher.bind(system),
            Test::Missing(_) => {}
        }
    }

    /// Adapts the test to the types of the parameter's values. If they are canonicals, one without a version matches
    /// any version. If they are booleans, a value must be `true` or `false`. Many alternatives are gathered into sets,
    /// which are faster.
    pub(in crate::search) fn fit(&mut self, compiled: &Compiled, raw: &RawParameter) -> Result<(), SearchError> {
        let matchers = match self {
            Test::AnyOf { matchers, .. } => matchers.as_mut_slice(),
            Test::Differs(matcher) => std::slice::from_mut(matcher),
            Test::Missing(_) => return Ok(()),
        };
        match compiled.parameter.search_type {
            SearchType::Uri if compiled.yields_only(&["canonical"]) => {
                matchers.iter_mut().for_each(Matcher::any_version)
            }
            SearchType::Token if compiled.yields_only(&["boolean", "Boolean"]) => {
                if let Some(value) = matchers.iter().find_map(Matcher::not_boolean) {
                    return Err(invalid(&written(raw), value, "true or false"));
                }
            }
            _ => {}
        }
        if let Test::AnyOf { matchers, .. } = self {
            matcher::gather_tokens(matchers, matcher::MAX_ALTERNATIVES);
            matcher::gather_values(matchers);
        }
        Ok(())
    }

    /// Returns what the test needs of the parameter's values. This decides which columns are read.
    pub(in crate::search) fn reading(&self) -> Reading {
        let Test::AnyOf { matchers, .. } = self else {
            return Reading::Values;
        };
        let all = |is: fn(&Matcher) -> bool| matchers.iter().all(is);
        if all(|matcher| {
            matches!(
                matcher,
                Matcher::Reference(ReferenceValue::Relative { .. }) | Matcher::RefersTo(_) | Matcher::PointsTo(_)
            )
        }) {
            Reading::Targets
        } else if all(|matcher| matches!(matcher, Matcher::Quantity(value) if value.is_of_any_unit())) {
            Reading::Numbers
        } else if all(|matcher| matches!(matcher, Matcher::ReferenceIdentifier(_))) {
            Reading::Identifier
        } else if all(|matcher| matches!(matcher, Matcher::Label(_))) {
            Reading::Labels
        } else if all(|matcher| matches!(matcher, Matcher::OfType(_))) {
            Reading::TypedIdentifier
        } else {
            Reading::Values
        }
    }
}

impl Criterion {
    /// Creates a criterion for a test of a parameter's values.
    pub(in crate::search) fn of_values(compiled: Arc<Compiled>, test: Test, label: String) -> Criterion {
        Criterion {
            condition: Condition::Values { compiled, test },
            label,
            origin: None,
        }
    }

    /// Returns the parameter and the test, if the criterion tests only the values of one parameter. `None` for any
    /// other criterion.
    pub(in crate::search) fn values(&self) -> Option<(&Arc<Compiled>, &Test)> {
        match &self.condition {
            Condition::Values { compiled, test } => Some((compiled, test)),
            _ => None,
        }
    }

    /// Whether the criterion contains a [`Join`]. All joins must be answered before rows are tested.
    pub(in crate::search) fn has_join(&self) -> bool {
        match &self.condition {
            Condition::All(parts) | Condition::Any(parts) => parts.iter().any(Criterion::has_join),
            Condition::Not(part) | Condition::Item { holds: part, .. } => part.has_join(),
            Condition::Join(_) => true,
            Condition::Values { .. }
            | Condition::Tuples { .. }
            | Condition::Words { .. }
            | Condition::Holds(_)
            | Condition::Inside { .. }
            | Condition::Dynamic(_) => false,
        }
    }

    /// Whether the criterion needs the digits of a decimal as they were written. The companion column `__number` does
    /// not have them.
    pub(in crate::search) fn reads_digits(&self) -> bool {
        match &self.condition {
            Condition::Values { test, .. } => match test {
                Test::AnyOf { matchers, .. } => matchers.iter().any(|matcher| matches!(matcher, Matcher::Imprecise(_))),
                Test::Missing(_) | Test::Differs(_) => false,
            },
            Condition::All(parts) | Condition::Any(parts) => parts.iter().any(Criterion::reads_digits),
            Condition::Not(part) | Condition::Item { holds: part, .. } => part.reads_digits(),
            _ => false,
        }
    }

    /// Returns the work of testing one row, in the unit of a [`Budget`](crate::lake::scan::Budget).
    pub(in crate::search) fn cost(&self) -> u64 {
        match &self.condition {
            Condition::Values { test, .. } => match test {
                Test::AnyOf { matchers, .. } => 2 + matchers.iter().map(Matcher::cost).sum::<u64>() / 4,
                Test::Missing(_) | Test::Differs(_) => 2,
            },
            Condition::Tuples { test, .. } => match test {
                TupleTest::AnyOf(alternatives) => 6 + alternatives.len() as u64 / 2,
                TupleTest::Missing(_) | TupleTest::OneOf(_) => 6,
            },
            // The text of the row is parsed, and split into words.
            Condition::Words { within, words } => {
                let read = match within {
                    Within::Narrative => 50,
                    Within::Resource => 200,
                };
                read + words.count() as u64 / 4
            }
            Condition::All(parts) | Condition::Any(parts) => 1 + parts.iter().map(Criterion::cost).sum::<u64>(),
            Condition::Not(part) => 1 + part.cost(),
            Condition::Item { holds: part, .. } => 4 + part.cost(),
            Condition::Inside { targets, .. } => 16 + targets.iter().map(|(_, part)| part.cost()).sum::<u64>(),
            Condition::Holds(_) => 4,
            Condition::Dynamic(filter) => filter.cost(),
            Condition::Join(_) => 1,
        }
    }

    /// Adds to `leaves` the leaves that the criterion reads.
    pub(in crate::search) fn add_leaves(&self, leaves: &mut LeafSet) {
        match &self.condition {
            Condition::Values { compiled, .. } => leaves.extend(compiled.program.leaves().iter().cloned()),
            Condition::Tuples { compiled, .. } => {
                let programs = compiled.components.iter().map(|component| &component.program);
                for program in programs.chain([&compiled.program]) {
                    leaves.extend(program.leaves().iter().cloned());
                }
            }
            Condition::Words { within, .. } => {
                leaves.insert(within.leaf().to_owned());
            }
            Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| part.add_leaves(leaves)),
            Condition::Not(part) => part.add_leaves(leaves),
            Condition::Item { items, holds } => {
                leaves.extend(items.program.leaves().iter().cloned());
                holds.add_leaves(leaves);
            }
            Condition::Holds(_) => {
                leaves.insert(COLUMN.to_owned());
            }
            Condition::Inside { references, .. } => {
                leaves.insert(COLUMN.to_owned());
                leaves.extend(references.program.leaves().iter().cloned());
            }
            Condition::Dynamic(filter) => leaves.extend(filter.leaves().iter().cloned()),
            Condition::Join(_) => {}
        }
    }
}

impl Within {
    /// Returns the leaf that has the text in which words are searched.
    pub(in crate::search) fn leaf(self) -> &'static str {
        match self {
            Within::Narrative => "text.div",
            Within::Resource => "resource",
        }
    }
}

impl Criterion {
    /// Sets the origin of the criterion and of its parts. A part that already has an origin keeps it.
    pub(in crate::search) fn come_from(&mut self, origin: Origin) {
        for (at, part) in self.parts_mut().into_iter().enumerate() {
            if part.origin.is_none() {
                part.come_from(origin.part(at));
            }
        }
        self.origin = Some(Arc::new(origin));
    }

    /// Returns the criteria directly inside this one. They include the criteria of joins, which are on rows of other
    /// tables.
    pub(in crate::search) fn parts_mut(&mut self) -> Vec<&mut Criterion> {
        match &mut self.condition {
            Condition::All(parts) | Condition::Any(parts) => parts.iter_mut().collect(),
            Condition::Not(part) | Condition::Item { holds: part, .. } => vec![part],
            Condition::Inside { targets, .. } => targets.iter_mut().map(|(_, part)| part).collect(),
            Condition::Join(join) => match join.as_mut() {
                Join::Chain { targets, .. } => targets.iter_mut().map(|(_, part)| part).collect(),
                Join::Has { criterion, .. } => vec![criterion],
                Join::List { .. } | Join::Hierarchy { .. } => Vec::new(),
            },
            Condition::Values { .. }
            | Condition::Tuples { .. }
            | Condition::Words { .. }
            | Condition::Holds(_)
            | Condition::Dynamic(_) => Vec::new(),
        }
    }
}
