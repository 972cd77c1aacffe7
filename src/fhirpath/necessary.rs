//! The necessary conditions of an expression, as conditions on the columns of a row. If the expression is true for a
//! row, the conditions hold for the row. A scan checks the conditions by statistics and by the dictionary codes of
//! texts, and skips rows for which they do not hold. The expression must still be evaluated on the remaining rows.
//!
//! An expression that can fail has no necessary conditions, because the scan would skip rows on which the expression
//! fails, and hide the errors.

use std::collections::HashMap;
use std::sync::Arc;

use super::compile::node::{Shape, Source};
use super::compile::options::{CompileOptions, Constant};
use super::compile::types::{ItemType, System, TypeTest};
use super::compile::{Shapes, shapes};
use super::error::FhirPathError;
use super::syntax::ast::{Expr, ExprKind, Literal, Operator};
use super::syntax::parse::parse;
use crate::columns::conditions::{IdSet, ItemMatch, LeafTest, Necessary, Prune};
use crate::columns::shape::{Shape as Columns, SlotKind};
use crate::fhir::decimal::Decimal;
use crate::fhir::storage::{ELEMENT, NUMBER, REFERENCE_ID, REFERENCE_TYPE, SYSTEM_COLUMNS, Storage};
use crate::fhir::temporal::Temporal;
use crate::fhir::{Kind, TypeId, facts};

/// The function that returns a resource's own key.
const RESOURCE_KEY: &str = "getResourceKey";
/// The function that returns the key of a reference's target.
const REFERENCE_KEY: &str = "getReferenceKey";
/// The column of a resource's id.
const ID: &str = "id";
/// The maximum number of combinations of tests in one [`ItemMatch`].
const MAX_COMBINATIONS: usize = 64;

/// Returns the necessary conditions of an expression: if it is true for a row of the root type's table, they hold for
/// the row. `None` if the expression can fail, or can have a result other than true, false or empty. Then the
/// expression must be evaluated on every row.
pub fn necessary(text: &str, root: TypeId, options: &CompileOptions<'_>) -> Result<Option<Necessary>, FhirPathError> {
    let tree = parse(text)?;
    let (_, shapes) = shapes(&tree, text, root, options)?;
    let analysis = Analysis {
        root,
        shapes,
        constants: &options.constants,
    };
    if !analysis.is_criterion(&tree) {
        return Ok(None);
    }
    let mut conjuncts = Vec::new();
    flatten(&tree, &mut conjuncts);
    Ok(Some(Necessary {
        prune: Prune::all(conjuncts.iter().map(|part| analysis.holds(part))),
        items: conjuncts.iter().flat_map(|part| analysis.items(part)).collect(),
        ..Necessary::default()
    }))
}

/// Adds the operands of a chain of `and` to `parts`, in the order of evaluation.
fn flatten<'e>(part: &'e Expr, parts: &mut Vec<&'e Expr>) {
    match &part.kind {
        ExprKind::Binary {
            operator: Operator::And,
            left,
            right,
        } => {
            flatten(left, parts);
            flatten(right, parts);
        }
        _ => parts.push(part),
    }
}

struct Analysis<'a> {
    root: TypeId,
    shapes: Shapes,
    constants: &'a HashMap<String, Constant>,
}

/// A column that holds items of an expression.
struct Leaf {
    path: Arc<str>,
    kind: SlotKind,
    /// Whether the column is a list. Then the values are the items of the lists.
    many: bool,
}

/// The tests of an expression such as `code = 'a'` or `code in ('a' | 'b')`. They test text columns of one item.
struct Texts<'e> {
    /// The operand that yields the item's text.
    path: &'e Expr,
    leaves: Vec<Arc<str>>,
    /// Combinations of tests, of which at least one must pass. A combination has one test for each column in `leaves`.
    any_of: Vec<Vec<LeafTest>>,
}

/// The columns that hold the result of `getResourceKey()` or `getReferenceKey()`.
struct Key {
    /// The column of the id.
    id: Arc<str>,
    /// For `getReferenceKey()`: the column of the target's type, and the type that the expression requires, if any.
    /// `None` for `getResourceKey()`.
    of_type: Option<(Arc<str>, Option<&'static str>)>,
}

impl Analysis<'_> {
    /// Whether the evaluation of a part succeeds on all data. The limits of work do not count.
    fn is_safe(&self, part: &Expr) -> bool {
        match &part.kind {
            ExprKind::Empty | ExprKind::Literal(_) | ExprKind::External(_) | ExprKind::This => true,
            ExprKind::Member { on, .. } => {
                // An element inside JSON text does not count as safe, because the text may be invalid.
                let inside = |source: &Source| source.inside;
                on.as_deref().is_none_or(|on| self.is_safe(on))
                    && self
                        .shapes
                        .of(part)
                        .is_some_and(|shape| !shape.sources.iter().any(inside))
            }
            ExprKind::Call { on, name, arguments } => {
                let each = || arguments.iter().all(|argument| self.is_criterion(argument));
                on.as_deref().is_none_or(|on| self.is_safe(on))
                    && match name.as_str() {
                        "exists" | "where" => each(),
                        "empty" | "first" | "last" | "count" | "today" | "now" => arguments.is_empty(),
                        "startsWith" | "endsWith" | "contains" => match (on.as_deref(), arguments.as_slice()) {
                            (Some(on), [part]) => {
                                self.is_text(on) && matches!(part.kind, ExprKind::Literal(Literal::String(_)))
                            }
                            _ => false,
                        },
                        "not" => on.as_deref().is_some_and(|on| self.is_truth(on)),
                        "ofType" | RESOURCE_KEY | REFERENCE_KEY => true,
                        _ => false,
                    }
            }
            ExprKind::Binary { operator, left, right } => {
                let both = self.is_safe(left) && self.is_safe(right);
                both && match operator {
                    Operator::And | Operator::Or | Operator::Xor | Operator::Implies => {
                        self.is_truth(left) && self.is_truth(right)
                    }
                    Operator::Equal | Operator::NotEqual | Operator::Union => true,
                    Operator::In => self.is_single(left),
                    Operator::Contains => self.is_single(right),
                    Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                        self.is_ordered(left, right)
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    fn is_single(&self, part: &Expr) -> bool {
        self.shapes.of(part).is_some_and(|shape| !shape.many)
    }

    fn is_text(&self, part: &Expr) -> bool {
        let text = |source: &Source| source.item_type.system() == Some(System::String);
        self.shapes
            .of(part)
            .is_some_and(|shape| !shape.many && shape.sources.iter().all(text))
    }

    fn is_truth(&self, part: &Expr) -> bool {
        let boolean = |source: &Source| source.item_type.system() == Some(System::Boolean);
        self.shapes
            .of(part)
            .is_some_and(|shape| !shape.many && shape.sources.iter().all(boolean))
    }

    fn is_criterion(&self, part: &Expr) -> bool {
        self.is_safe(part) && self.is_truth(part)
    }

    /// Whether both sides are single values of the same kind, and `<` is defined for values of this kind.
    fn is_ordered(&self, left: &Expr, right: &Expr) -> bool {
        let kind = |part: &Expr| {
            let shape = self.shapes.of(part).filter(|shape| !shape.many)?;
            let mut kinds = shape.sources.iter().map(|source| match source.item_type.system()? {
                System::Date | System::DateTime => Some(System::DateTime),
                System::Integer | System::Decimal => Some(System::Decimal),
                System::String => Some(System::String),
                _ => None,
            });
            let first = kinds.next()??;
            kinds.all(|kind| kind == Some(first)).then_some(first)
        };
        matches!((kind(left), kind(right)), (Some(left), Some(right)) if left == right)
    }

    /// Returns a necessary condition of `part`: it holds for every row for which the part is true.
    fn holds(&self, part: &Expr) -> Prune {
        match &part.kind {
            ExprKind::Binary { operator, left, right } => match operator {
                Operator::And => Prune::all([self.holds(left), self.holds(right)]),
                Operator::Or => Prune::any([self.holds(left), self.holds(right)]),
                Operator::Equal => match (self.literals(left), self.literals(right)) {
                    (None, Some(values)) => self.has(left, &values, Operator::Equal),
                    (Some(values), None) => self.has(right, &values, Operator::Equal),
                    _ => Prune::Keep,
                },
                Operator::In | Operator::Contains => {
                    let (one, among) = if *operator == Operator::In {
                        (left, right)
                    } else {
                        (right, left)
                    };
                    match (self.literals(one), self.literals(among)) {
                        (None, Some(values)) => self.has(one, &values, Operator::Equal),
                        (Some(values), None) => self.has(among, &values, Operator::Equal),
                        _ => Prune::Keep,
                    }
                }
                Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                    match (self.literals(left), self.literals(right)) {
                        (None, Some(values)) => self.has(left, &values, *operator),
                        (Some(values), None) => self.has(right, &values, mirrored(*operator)),
                        _ => Prune::Keep,
                    }
                }
                _ => Prune::Keep,
            },
            ExprKind::Call {
                on: Some(on),
                name,
                arguments,
            } => match (name.as_str(), arguments.as_slice()) {
                ("exists", []) => self.is_there(on),
                ("exists", [criterion]) => Prune::all([self.is_there(on), self.holds(criterion)]),
                ("not", []) => self.has(on, &[Literal::Boolean(false)], Operator::Equal),
                _ => Prune::Keep,
            },
            ExprKind::Member { .. } => self.has(part, &[Literal::Boolean(true)], Operator::Equal),
            _ => Prune::Keep,
        }
    }

    /// Returns a condition that holds for every row in which an item of the part has this relation to at least one of
    /// the values.
    fn has(&self, part: &Expr, values: &[Literal], relation: Operator) -> Prune {
        if let Some(key) = self.key(part).filter(|_| relation == Operator::Equal) {
            return Prune::all([key.one_of(values), self.on_the_way(part)]);
        }
        let Some(leaves) = self.leaves(part) else {
            return Prune::Keep;
        };
        let mut conditions = Vec::new();
        for leaf in &leaves {
            conditions.extend(
                values
                    .iter()
                    .map(|value| leaf.compares(value, relation).unwrap_or_default()),
            );
        }
        Prune::all([Prune::any(conditions), self.on_the_way(part)])
    }

    /// Returns a condition that holds for every row in which the part has items.
    fn is_there(&self, part: &Expr) -> Prune {
        let conditions = match self.leaves(part) {
            None => Prune::Keep,
            Some(leaves) => Prune::any(leaves.iter().flat_map(Leaf::present)),
        };
        Prune::all([conditions, self.on_the_way(part)])
    }

    /// Returns the conditions that the steps of a path require for the path to have items. For example,
    /// `name.where(use = 'usual').family` requires an item with `use = 'usual'`.
    fn on_the_way(&self, part: &Expr) -> Prune {
        match &part.kind {
            ExprKind::Member { on: Some(on), .. } => self.on_the_way(on),
            ExprKind::Call {
                on: Some(on),
                name,
                arguments,
            } => match (name.as_str(), arguments.as_slice()) {
                ("where", [criterion]) => Prune::all([self.on_the_way(on), self.holds(criterion)]),
                ("first" | "last" | "ofType" | RESOURCE_KEY | REFERENCE_KEY, _) => self.on_the_way(on),
                _ => Prune::Keep,
            },
            _ => Prune::Keep,
        }
    }

    /// Returns necessary conditions of `part` on the texts of one item, such as `code = 'a'`. They hold for every row
    /// for which the part is true.
    fn items(&self, part: &Expr) -> Vec<ItemMatch> {
        let mut found = Vec::new();
        match &part.kind {
            ExprKind::Binary {
                operator: Operator::Equal | Operator::In | Operator::Contains,
                left,
                right,
            } => {
                found.extend(self.combination(&[part]));
                for side in [left, right] {
                    found.extend(self.items_on_the_way(side));
                }
            }
            ExprKind::Call {
                on: Some(on),
                name,
                arguments,
            } if name == "exists" => {
                if let [criterion] = arguments.as_slice() {
                    found.extend(self.criterion(criterion));
                }
                found.extend(self.items_on_the_way(on));
            }
            ExprKind::Member { .. } => found.extend(self.items_on_the_way(part)),
            _ => {}
        }
        found
    }

    fn items_on_the_way(&self, part: &Expr) -> Vec<ItemMatch> {
        match &part.kind {
            ExprKind::Member { on: Some(on), .. } => self.items_on_the_way(on),
            ExprKind::Call {
                on: Some(on),
                name,
                arguments,
            } => match (name.as_str(), arguments.as_slice()) {
                ("where", [criterion]) => {
                    let mut found = self.items_on_the_way(on);
                    found.extend(self.criterion(criterion));
                    found
                }
                ("first" | "last" | "ofType" | RESOURCE_KEY | REFERENCE_KEY, _) => self.items_on_the_way(on),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Returns the conditions on items that a criterion of `where` or `exists` implies. All tests of the item's own
    /// children become one condition, which a single item must meet. Tests of deeper elements stay separate.
    fn criterion(&self, criterion: &Expr) -> Vec<ItemMatch> {
        let mut parts = Vec::new();
        flatten(criterion, &mut parts);
        // Separate the tests of the item's own children from the tests of deeper elements. Only own children certainly
        // belong to one item.
        let own = |part: &&Expr| self.equality(part).is_some_and(|texts| is_child(texts.path));
        let (own, deeper): (Vec<&Expr>, Vec<&Expr>) = parts.into_iter().partition(own);
        let mut found: Vec<ItemMatch> = self.combination(&own).into_iter().collect();
        for part in deeper {
            found.extend(self.items(part));
        }
        found
    }

    /// Combines tests of texts to one condition on an item. `None` if a part is not a test that
    /// [`equality`](Self::equality) knows, if the leaves are not in one struct, if a leaf occurs twice, or if there are
    /// more than [`MAX_COMBINATIONS`] combinations.
    fn combination(&self, parts: &[&Expr]) -> Option<ItemMatch> {
        let mut leaves: Vec<Arc<str>> = Vec::new();
        let mut any_of: Vec<Vec<LeafTest>> = vec![Vec::new()];
        for part in parts {
            let texts = self.equality(part)?;
            for leaf in texts.leaves {
                if leaves.contains(&leaf) || leaves.first().is_some_and(|first| parent(first) != parent(&leaf)) {
                    return None;
                }
                leaves.push(leaf);
            }
            let combined = any_of.iter().flat_map(|before| {
                let both = |tests: &Vec<LeafTest>| [before.as_slice(), tests.as_slice()].concat();
                texts.any_of.iter().map(both)
            });
            any_of = combined.collect();
            if any_of.len() > MAX_COMBINATIONS {
                return None;
            }
        }
        (!leaves.is_empty() && !any_of.is_empty()).then(|| ItemMatch {
            label: label(&leaves, &any_of).into(),
            leaves,
            any_of,
        })
    }

    /// Returns the tests of an expression that requires a text to equal one of several strings, such as
    /// `code in ('a' | 'b')`. `None` for other expressions.
    fn equality<'e>(&self, part: &'e Expr) -> Option<Texts<'e>> {
        let ExprKind::Binary { operator, left, right } = &part.kind else {
            return None;
        };
        if !matches!(operator, Operator::Equal | Operator::In | Operator::Contains) {
            return None;
        }
        let (path, values) = match (self.literals(left), self.literals(right)) {
            (None, Some(values)) => (left.as_ref(), values),
            (Some(values), None) => (right.as_ref(), values),
            _ => return None,
        };
        let text = |value: Literal| match value {
            Literal::String(text) => Some(text),
            _ => None,
        };
        let values: Vec<String> = values.into_iter().map(text).collect::<Option<_>>()?;
        if let Some(key) = self.key(path) {
            let (leaves, any_of) = key.tests(&values);
            return Some(Texts { path, leaves, any_of });
        }
        let mut leaves = self.leaves(path)?;
        let leaf = leaves.pop().filter(|leaf| {
            leaves.is_empty() && matches!(leaf.kind, SlotKind::Text | SlotKind::Reference) && !leaf.many
        })?;
        let any_of = match &*leaf.path {
            ID => vec![vec![id_test(&values)]],
            _ => values
                .iter()
                .map(|value| vec![LeafTest::Is(value.as_str().into())])
                .collect(),
        };
        Some(Texts {
            path,
            leaves: vec![leaf.path],
            any_of,
        })
    }

    /// Returns the columns of a key if `part` is `getResourceKey()` of the row, or `getReferenceKey()` of references in
    /// a single column. `None` for any other part.
    ///
    /// A reference has values in these columns if and only if it is relative. Only relative references have keys.
    fn key(&self, part: &Expr) -> Option<Key> {
        let ExprKind::Call { name, arguments, .. } = &part.kind else {
            return None;
        };
        let (RESOURCE_KEY | REFERENCE_KEY) = name.as_str() else {
            return None;
        };
        let [source] = self.shapes.input(part)?.sources.as_slice() else {
            return None;
        };
        if source.inside {
            return None;
        }
        if name == RESOURCE_KEY {
            let is_row = source.path.as_deref() == Some("");
            return is_row.then(|| Key {
                id: ID.into(),
                of_type: None,
            });
        }
        let ItemType::Fhir(type_id) = source.item_type else {
            return None;
        };
        if Storage::of(facts().get(type_id)) != Storage::Reference {
            return None;
        }
        let path = self.leaf(source)?.path;
        let wanted = match arguments.first() {
            None => None,
            Some(argument) => target_type(argument)?,
        };
        Some(Key {
            id: format!("{path}.{REFERENCE_ID}").into(),
            of_type: Some((format!("{path}.{REFERENCE_TYPE}").into(), wanted)),
        })
    }

    /// Returns the values of a literal, a constant, or a union of these. `None` for any other expression.
    fn literals(&self, part: &Expr) -> Option<Vec<Literal>> {
        match &part.kind {
            ExprKind::Literal(literal) => Some(vec![literal.clone()]),
            ExprKind::External(name) => Some(vec![self.constants.get(name)?.clone()]),
            ExprKind::Binary {
                operator: Operator::Union,
                left,
                right,
            } => {
                let mut values = self.literals(left)?;
                values.extend(self.literals(right)?);
                Some(values)
            }
            _ => None,
        }
    }

    /// Returns the columns of a part's items. `None` if the part never has items, or if some of its items are not in
    /// columns.
    fn leaves(&self, part: &Expr) -> Option<Vec<Leaf>> {
        let shape: &Shape = self.shapes.of(part)?;
        let leaves: Option<Vec<Leaf>> = shape.sources.iter().map(|source| self.leaf(source)).collect();
        leaves.filter(|leaves| !leaves.is_empty())
    }

    fn leaf(&self, source: &Source) -> Option<Leaf> {
        let path = source.path.as_ref().filter(|path| !path.is_empty() && !source.inside)?;
        let ItemType::Fhir(_) = source.item_type else {
            return None;
        };
        let (mut columns, mut last) = (Columns::of(self.root), None);
        let mut names = path.split('.').peekable();
        let mut root = true;
        while let Some(name) = names.next() {
            let column = columns.column(name, root).filter(|column| !column.companion)?;
            if names.peek().is_some() && column.slot.part != SlotKind::Struct {
                return None;
            }
            // `_x` has the columns of an Element, whatever the type of `x` is.
            let type_id = if name.starts_with('_') {
                facts().lookup("Element")?
            } else {
                column.slot.type_id
            };
            (columns, root, last) = (Columns::of(type_id), false, Some(column.slot));
        }
        let slot = last?;
        Some(Leaf {
            path: path.clone(),
            kind: slot.part,
            many: slot.many,
        })
    }
}

impl Key {
    /// Returns the tests for the condition that the key is one of `ids`. First come the columns that are tested, then
    /// combinations of tests, of which at least one must pass.
    fn tests(self, ids: &[String]) -> (Vec<Arc<str>>, Vec<Vec<LeafTest>>) {
        let Some((leaf, wanted)) = self.of_type else {
            return (vec![self.id], vec![vec![id_test(ids)]]);
        };
        let type_test = wanted.map_or(LeafTest::Any, |name| LeafTest::Is(name.into()));
        let id = |id: &String| vec![type_test.clone(), LeafTest::Is(id.as_str().into())];
        (vec![leaf, self.id], ids.iter().map(id).collect())
    }

    /// Returns a necessary condition for the key to be one of these values.
    fn one_of(self, values: &[Literal]) -> Prune {
        let text = |value: &Literal| -> Option<Arc<str>> {
            match value {
                Literal::String(text) => Some(text.as_str().into()),
                _ => None,
            }
        };
        let texts: Option<Vec<Arc<str>>> = values.iter().map(text).collect();
        let Some(any_of) = texts else { return Prune::Keep };
        let id = Prune::Text { leaf: self.id, any_of };
        let by_type = self.of_type.and_then(|(leaf, wanted)| {
            let any_of = vec![wanted?.into()];
            Some(Prune::Text { leaf, any_of })
        });
        Prune::all([id, by_type.unwrap_or_default()])
    }
}

/// Returns a test that a row has one of these ids. The scan looks the ids up.
fn id_test(ids: &[String]) -> LeafTest {
    LeafTest::In(Arc::new(ids.iter().collect::<IdSet>()))
}

/// Returns the type that an argument of `getReferenceKey()` names. `Some(None)` for an abstract type, because every
/// target has this type. `None` if the argument names no resource type.
fn target_type(argument: &Expr) -> Option<Option<&'static str>> {
    let (namespace, name) = match &argument.kind {
        ExprKind::Member { on: None, name } => (None, name),
        ExprKind::Member { on: Some(on), name } => match &on.kind {
            ExprKind::Member { on: None, name: of } => (Some(of.as_str()), name),
            _ => return None,
        },
        _ => return None,
    };
    let type_def = facts().get(TypeTest::named(namespace, name)?.fhir?);
    match (type_def.kind, type_def.is_abstract) {
        (Kind::Resource, false) => Some(Some(type_def.name)),
        (Kind::Resource, true) => Some(None),
        _ => None,
    }
}

/// Whether a path is a single step from the item: `name` or `$this.name`.
fn is_child(path: &Expr) -> bool {
    let ExprKind::Member { on, .. } = &path.kind else {
        return false;
    };
    on.as_deref().is_none_or(|on| on.kind == ExprKind::This)
}

/// Returns the operator that has the same result after the operands have been exchanged: `>` for `<`.
fn mirrored(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        other => other,
    }
}

/// Returns the minimum and the maximum of the numbers that may have this relation to `number`. A missing bound is
/// `None`. `number` itself is in the range for `<` and `>`, too, because the condition need only be necessary. The
/// result is `None` if the relation is not one of order or equality.
fn bounds(number: i128, relation: Operator) -> Option<(Option<i128>, Option<i128>)> {
    Some(match relation {
        Operator::Equal => (Some(number), Some(number)),
        Operator::Less | Operator::LessOrEqual => (None, Some(number)),
        Operator::Greater | Operator::GreaterOrEqual => (Some(number), None),
        _ => return None,
    })
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// Returns the text that `explain` shows for a condition, such as
/// `item [code.coding.system = 'a' and code.coding.code = 'b']`.
fn label(leaves: &[Arc<str>], any_of: &[Vec<LeafTest>]) -> String {
    if any_of.len() > 4 {
        return format!("item [{} in {} ways]", leaves.join(", "), any_of.len());
    }
    let combination = |tests: &Vec<LeafTest>| {
        let tests = leaves.iter().zip(tests).filter_map(|(leaf, test)| match test {
            LeafTest::Any => None,
            LeafTest::Is(text) => Some(format!("{leaf} = '{text}'")),
            LeafTest::In(ids) => Some(match (ids.iter().next(), ids.len()) {
                (Some(id), 1) => format!("{leaf} = '{id}'"),
                (_, several) => format!("{leaf} in {several} ids"),
            }),
            _ => Some(leaf.to_string()),
        });
        tests.collect::<Vec<_>>().join(" and ")
    };
    let combinations: Vec<String> = any_of.iter().map(combination).collect();
    format!("item [{}]", combinations.join(" or "))
}

impl Leaf {
    /// Returns the condition that the column has a value with this relation to a literal. `None` if a condition on
    /// columns cannot express this.
    fn compares(&self, value: &Literal, relation: Operator) -> Option<Prune> {
        let leaf = self.path.clone();
        match (self.kind, value) {
            (SlotKind::Text | SlotKind::Reference, Literal::String(text)) if relation == Operator::Equal => {
                Some(Prune::Text {
                    leaf,
                    any_of: vec![text.as_str().into()],
                })
            }
            (SlotKind::Boolean, Literal::Boolean(is)) if relation == Operator::Equal => {
                Some(Prune::Flag { leaf, is: *is })
            }
            (SlotKind::Integer, Literal::Integer(text)) => {
                let (from, to) = bounds(text.parse().ok()?, relation)?;
                Some(Prune::Range { leaf, from, to })
            }
            // Decimals are compared by value, in the number column. If this column cannot hold the literal exactly, the
            // result is `None`.
            (SlotKind::Decimal, Literal::Decimal(text) | Literal::Integer(text)) => {
                let number = Decimal::parse(text).ok()?.scaled()?;
                let (from, to) = bounds(number, relation)?;
                let leaf = format!("{leaf}{NUMBER}").into();
                Some(Prune::Range { leaf, from, to })
            }
            // A time without a zone may be in any zone. If a comparison with it is true, it is true for every zone. So
            // it is also true for UTC, which the bounds in the columns assume.
            (SlotKind::DateTime, Literal::Date(text) | Literal::DateTime(text)) => {
                let time = Temporal::date_time(text.strip_suffix('T').unwrap_or(text)).ok()?;
                let (from, until) = match relation {
                    Operator::Equal => (Some(time.start), Some(time.end)),
                    Operator::Less | Operator::LessOrEqual => (None, Some(time.end)),
                    Operator::Greater | Operator::GreaterOrEqual => (Some(time.start), None),
                    _ => return None,
                };
                Some(Prune::overlaps(&self.path, from, until))
            }
            _ => None,
        }
    }

    /// Returns two conditions for a primitive `x`: the column `x` has a value, and the column `_x` is present. If the
    /// element exists in a row, at least one of them holds. For a struct, returns only the first.
    fn present(&self) -> Vec<Prune> {
        let mut present = vec![Prune::Present {
            leaf: self.path.clone(),
        }];
        if self.kind != SlotKind::Struct {
            let (parent, name) = match self.path.rsplit_once('.') {
                Some((parent, name)) => (format!("{parent}."), name),
                None => (String::new(), &*self.path),
            };
            let plain = name
                .strip_suffix(ELEMENT)
                .filter(|plain| SYSTEM_COLUMNS.contains(plain))
                .unwrap_or(name);
            present.push(Prune::Present {
                leaf: format!("{parent}_{plain}").into(),
            });
        }
        present
    }
}
