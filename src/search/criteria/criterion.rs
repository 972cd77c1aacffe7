//! Criteria: conditions on rows, as a tree.
//!
//! A condition on other resources (a chain, `_has`, `_list`) is a [`Join`]. `joins::join` either replaces it by a
//! condition on the ids of the found resources, or leaves it to the plan that reads the rows. Only criteria without
//! joins can be evaluated on rows.

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
    /// The criterion as text, for explanations.
    pub(in crate::search) label: String,
    /// The text from which the criterion was resolved, if known. A plan that is sent to another process contains this
    /// text.
    pub(in crate::search) origin: Option<Arc<Origin>>,
}

/// The condition of a criterion.
#[derive(Clone, Debug)]
pub(in crate::search) enum Condition {
    /// The values of a parameter pass a test.
    Values {
        /// The parameter, compiled for the type.
        compiled: Arc<Compiled>,
        /// The test of the values.
        test: Test,
    },
    /// The tuples of a composite parameter pass a test.
    Tuples {
        /// The composite parameter, compiled for the type.
        compiled: Arc<Compiled>,
        /// The test of the tuples.
        test: TupleTest,
    },
    /// Words occur in the narrative or in any string of the resource.
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
    /// The criterion must hold for one item of an element.
    Item {
        /// The parameter whose program yields the items.
        items: Arc<Compiled>,
        /// The condition on each item. Its programs are evaluated on the items.
        holds: Box<Criterion>,
    },
    /// The row may contain a resource of this type, because the text of the row's contained resources has the type's
    /// name.
    Holds(TypeId),
    /// A reference leads to a resource that the row contains, and this resource meets the condition of its type.
    Inside {
        /// The parameter whose program yields the references, with their text.
        references: Arc<Compiled>,
        /// The condition for each type of a contained resource.
        targets: Vec<(TypeId, Criterion)>,
    },
    /// A condition on other resources that is not answered yet.
    Join(Box<Join>),
    /// A condition on other resources that the plan answers. The plan finds the ids of these resources before it reads
    /// the rows.
    Dynamic(Arc<DynamicFilter>),
}

/// A test of a parameter's values.
#[derive(Clone, Debug)]
pub(in crate::search) enum Test {
    /// `:missing`: whether there is no value.
    Missing(bool),
    /// At least one matcher must match a value. With `not`, no matcher may match a value.
    AnyOf {
        /// The alternatives.
        matchers: Vec<Matcher>,
        /// Whether the modifier is `:not` or `:not-in`.
        not: bool,
    },
    /// At least one value must not match.
    Differs(Matcher),
}

/// A test of a composite parameter's tuples.
#[derive(Clone, Debug)]
pub(in crate::search) enum TupleTest {
    /// `:missing`: whether no tuple has a value for every component.
    Missing(bool),
    /// At least one alternative must match a tuple. Each alternative has one matcher for each component.
    AnyOf(Vec<Vec<Matcher>>),
    /// At least one of many alternatives must match a tuple.
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
    /// A chain: a reference of the parameter leads to a resource that meets the criterion for its type.
    Chain {
        /// The reference parameter, compiled to yield targets.
        compiled: Arc<Compiled>,
        /// The condition for each target type.
        targets: Vec<(TypeId, Criterion)>,
    },
    /// `_has`: a resource that meets the criterion refers to the row.
    Has {
        /// The type of the referring resources.
        source: TypeId,
        /// The reference parameter of the referring resources, compiled to yield targets.
        through: Arc<Compiled>,
        /// The condition on the referring resources.
        criterion: Box<Criterion>,
        /// The parameter `_id` of the rows' type.
        ids: Arc<Compiled>,
    },
    /// `_list`: the row is an entry of one of the Lists in `lists`.
    List {
        /// The ids of the Lists.
        lists: Vec<String>,
        /// The parameter `_id` of the rows' type.
        ids: Arc<Compiled>,
    },
    /// `:below` or `:above`: a reference leads to a resource in `from`, or to a resource below or above it in the
    /// hierarchy.
    Hierarchy {
        /// The reference parameter, compiled to yield targets.
        compiled: Arc<Compiled>,
        /// The types and ids of the resources at which the hierarchy starts.
        from: Vec<(TypeId, String)>,
        /// For each type in `from`: the parameter that leads from a resource to its parent.
        parents: Vec<(TypeId, Arc<Compiled>)>,
        /// Whether the modifier is `:below`. If not, it is `:above`.
        below: bool,
    },
}

impl Test {
    /// Adapts the test to elements that R4 binds to one code system.
    pub(in crate::search) fn bind(&mut self, system: &'static str) {
        match self {
            Test::AnyOf { matchers, .. } => matchers.iter_mut().for_each(|matcher| matcher.bind(system)),
            Test::Differs(matcher) => matcher.bind(system),
            Test::Missing(_) => {}
        }
    }

    /// Adapts the test to the types of the compared values. A canonical without a version matches any version. A value
    /// for booleans must be `true` or `false`. Many alternatives are gathered into sets.
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

    /// Returns which columns of the values the test reads.
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

    /// Returns the parameter and the test, if the criterion is only a test of a parameter's values.
    pub(in crate::search) fn values(&self) -> Option<(&Arc<Compiled>, &Test)> {
        match &self.condition {
            Condition::Values { compiled, test } => Some((compiled, test)),
            _ => None,
        }
    }

    /// Whether the criterion has a condition on other resources. Such a condition must be answered before rows are
    /// tested.
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

    /// Whether the criterion needs the digits of a decimal as written. The companion column `__number` does not have
    /// them.
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

    /// Adds the leaves that the criterion reads.
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
    /// Returns the leaf with the text in which words are searched.
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

    /// Returns the criteria directly inside this one, including those on the rows of other tables.
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
