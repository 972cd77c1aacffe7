//! Resolves paths: finds the columns that a name means for each possible type, and drops those that do not pass a type
//! test.

use std::borrow::Cow;
use std::sync::OnceLock;

use rustc_hash::FxHashSet;

use super::compiler::{Compiler, Resolved, Scope};
use super::json_names;
use crate::fhir::storage::Storage;
use crate::fhir::{Kind, TypeId, facts};
use crate::fhirpath::compile::leaves::below;
use crate::fhirpath::compile::node::{ALL_CHILDREN, Call, Node, Shape, Source};
use crate::fhirpath::compile::types::{ItemType, System, TypeTest, concrete};
use crate::fhirpath::error::{FhirPathError, Position};
use crate::fhirpath::evaluate::navigate::{Branch, branches, named};
use crate::fhirpath::functions::{self, Need};
use crate::fhirpath::syntax::ast::{Expr, ExprKind};

/// The maximum number of sources from which a step starts. If there are more, `bounded` merges the sources of each
/// type.
const MAX_COLUMNS: usize = 500;

impl Compiler<'_> {
    pub(super) fn member(&mut self, on: Option<&Expr>, name: &str, at: Position, scope: &Scope) -> Resolved {
        let Some(on) = on else {
            let is_element = scope.this.sources.iter().any(|source| has_element(source, name));
            if !is_element && let Some(type_id) = type_prefix(name) {
                return self.type_prefix(&scope.this, type_id, at);
            }
            return self.step(Node::This, &scope.this, name, at);
        };
        // `FHIR.Patient.name` begins with a qualified type.
        if let ExprKind::Member {
            on: None,
            name: namespace,
        } = &on.kind
            && namespace == "FHIR"
            && let Some(type_id) = type_prefix(name)
        {
            return self.type_prefix(&scope.this, type_id, at);
        }
        let (on, shape) = self.resolve(on, scope)?;
        self.step(on, &shape, name, at)
    }

    /// Returns the shape, or a smaller one if it has too many sources. (Types that contain themselves multiply the
    /// sources with each step.) The smaller shape has one source for each type, without its column, except inside JSON
    /// text. So the program reads everything below the columns of `shape`.
    pub(super) fn bounded<'s>(&mut self, shape: &'s Shape) -> Cow<'s, Shape> {
        if shape.sources.len() <= MAX_COLUMNS {
            return Cow::Borrowed(shape);
        }
        self.leaves.need(shape, Need::Whole);
        let mut met = FxHashSet::default();
        let untold = |source: &Source| Source {
            path: source.path.clone().filter(|_| source.inside),
            ..source.clone()
        };
        let sources = shape
            .sources
            .iter()
            .map(untold)
            .filter(|source| met.insert(source.clone()));
        Cow::Owned(Shape {
            sources: sources.collect(),
            many: shape.many,
        })
    }

    pub(super) fn step(&mut self, on: Node, shape: &Shape, name: &str, at: Position) -> Resolved {
        let shape = &*self.bounded(shape);
        self.weigh(shape, at)?;
        let json = self.options.search || self.options.json_names;
        let mut by: Vec<(TypeId, Vec<Branch>)> = Vec::new();
        let mut open = false;
        let mut found = Shape {
            sources: Vec::new(),
            many: shape.many,
        };
        for source in &shape.sources {
            match source.item_type {
                ItemType::Fhir(ancestor) if source.is_open() => {
                    open = true;
                    for type_id in concrete(ancestor) {
                        let branches = named(type_id, name, json);
                        found.many |= branches.iter().any(|branch| branch.many);
                        found.add_all(branches.iter().map(|branch| child(source, branch)));
                    }
                }
                ItemType::Fhir(type_id) => {
                    let branches = named(type_id, name, json);
                    if branches.is_empty() {
                        continue;
                    }
                    found.many |= branches.iter().any(|branch| branch.many);
                    found.add_all(branches.iter().map(|branch| child(source, branch)));
                    if by.iter().all(|(from, _)| *from != type_id) {
                        by.push((type_id, branches));
                    }
                }
                ItemType::System(System::Quantity) if name == "value" => {
                    found.add(&Shape::one(ItemType::System(System::Decimal)));
                }
                ItemType::System(System::Quantity) if name == "unit" => {
                    found.add(&Shape::one(ItemType::System(System::String)));
                }
                ItemType::System(System::TypeInfo) if matches!(name, "name" | "namespace") => {
                    found.add(&Shape::one(ItemType::System(System::String)));
                }
                ItemType::System(_) => {}
            }
        }
        let standard = json_names::standard(shape, name);
        if !found.sources.is_empty() {
            if let Some(standard) = standard {
                self.note_json_name(name, standard, at);
            }
            let step = Node::Step {
                on: Box::new(on),
                name: name.into(),
                by,
                open,
                json,
                at,
            };
            return Ok((step, found));
        }
        if self.options.json_names && name == json_names::RESOURCE_TYPE && standard.is_some() {
            return Ok(self.resource_type(on, shape, at));
        }
        if shape.sources.is_empty() || self.lenient {
            return Ok((Node::Empty, Shape::default()));
        }
        if let Some(standard) = standard {
            return Err(FhirPathError::JsonName {
                at,
                name: name.to_string(),
                standard,
            });
        }
        Err(FhirPathError::UnknownElement {
            at,
            name: name.to_string(),
            type_name: shape.names(),
        })
    }

    /// Resolves a type's name at the start of a path, such as `Patient` in `Patient.name`. The result is the context,
    /// if it has this type. If the context's type is abstract, the evaluation checks the type. If the context can never
    /// have this type, the result is an error, or empty if the options allow this.
    fn type_prefix(&self, this: &Shape, type_id: TypeId, at: Position) -> Resolved {
        let test = TypeTest {
            fhir: Some(type_id),
            system: None,
        };
        let (node, shape) = of_type(Node::This, this.clone(), test);
        let selects = self.options.search || self.options.lenient;
        if shape.sources.is_empty() && !this.sources.is_empty() && !selects {
            return Err(FhirPathError::WrongContext {
                at,
                name: facts().get(type_id).name.to_string(),
                type_name: this.names(),
            });
        }
        Ok((node, shape))
    }

    /// Resolves `as`: the result is the single item, if it has the type. Several items are an error, except in search
    /// parameters, where `as` filters them.
    pub(super) fn cast(&self, on: Node, shape: Shape, test: TypeTest, at: Position) -> (Node, Shape) {
        if !shape.many || self.options.search {
            return of_type(on, shape, test);
        }
        let single = Node::Call(Box::new(Call {
            function: &functions::SINGLE_OF_AS,
            on,
            arguments: Vec::new(),
            at,
        }));
        of_type(single, shape.single(), test)
    }

    pub(super) fn is(&mut self, on: Node, shape: &Shape, test: TypeTest, at: Position) -> Resolved {
        let dynamic = shape
            .sources
            .iter()
            .any(|source| source.item_type == ItemType::System(System::Target));
        self.leaves
            .need(shape, if dynamic { Need::Reference } else { Need::Presence });
        let is = Node::Is {
            on: Box::new(on),
            test,
            at,
        };
        Ok((is, Shape::one(ItemType::System(System::Boolean))))
    }
}

/// Returns the source of the children of `source` that are in the column `branch`.
fn child(source: &Source, branch: &Branch) -> Source {
    Source {
        item_type: ItemType::Fhir(branch.type_id),
        path: if source.inside {
            source.path.clone()
        } else {
            below(source, &branch.column)
        },
        inside: source.inside || branch.storage == Storage::Json,
    }
}

/// Returns the possible children of a resource of unknown type: one column for each type of child, from any element
/// that has this type.
fn any_children() -> &'static [Branch] {
    static CHILDREN: OnceLock<Vec<Branch>> = OnceLock::new();
    CHILDREN.get_or_init(|| {
        let elements = facts().resources().flat_map(|type_id| &facts().get(type_id).elements);
        let mut met = FxHashSet::default();
        elements
            .flat_map(branches)
            .filter(|branch| met.insert(branch.type_id))
            .collect()
    })
}

/// Resolves a step to all elements, for all possible types of the items.
pub(super) fn children(on: Node, shape: &Shape, at: Position) -> (Node, Shape) {
    let mut by: Vec<(TypeId, Vec<Branch>)> = Vec::new();
    let mut open = false;
    let mut met = FxHashSet::default();
    let mut sources = Vec::new();
    let mut add = |source: &Source, branches: &[Branch]| {
        let children = branches.iter().map(|branch| child(source, branch));
        sources.extend(children.filter(|child| met.insert(child.clone())));
    };
    for source in &shape.sources {
        let Some(type_id) = source.item_type.fhir() else {
            continue;
        };
        if source.is_open() {
            open = true;
            add(source, any_children());
            continue;
        }
        let all: Vec<Branch> = facts().get(type_id).elements.iter().flat_map(branches).collect();
        add(source, &all);
        if by.iter().all(|(from, _)| *from != type_id) {
            by.push((type_id, all));
        }
    }
    (
        Node::Step {
            on: Box::new(on),
            name: ALL_CHILDREN.into(),
            by,
            open,
            json: false,
            at,
        },
        Shape { sources, many: true },
    )
}

fn has_element(source: &Source, name: &str) -> bool {
    source.item_type.fhir().is_some_and(|type_id| {
        if source.is_open() {
            concrete(type_id).any(|type_id| facts().element(type_id, name).is_some())
        } else {
            facts().element(type_id, name).is_some()
        }
    })
}

/// Returns the resource type or complex type with this name, with which a path may begin.
fn type_prefix(name: &str) -> Option<TypeId> {
    let type_id = facts().lookup(name)?;
    let def = facts().get(type_id);
    (!matches!(def.kind, Kind::Primitive(_)) && name.starts_with(|first: char| first.is_ascii_uppercase()))
        .then_some(type_id)
}

pub(super) fn of_type(on: Node, shape: Shape, test: TypeTest) -> (Node, Shape) {
    let all = shape.sources.iter().all(|source| test.selects(source.item_type));
    if all && !shape.sources.is_empty() {
        return (on, shape);
    }
    let mut sources = Vec::new();
    for source in shape.sources {
        if test.may_select(source.item_type) {
            let narrowed = match (source.item_type, test.fhir) {
                (ItemType::Fhir(type_id), Some(wanted)) if !facts().is_a(type_id, wanted) => ItemType::Fhir(wanted),
                (kept, _) => kept,
            };
            sources.push(Source {
                item_type: narrowed,
                path: source.path,
                inside: source.inside,
            });
        }
    }
    if sources.is_empty() {
        return (Node::Empty, Shape::default());
    }
    (
        narrow(on, &test),
        Shape {
            sources,
            many: shape.many,
        },
    )
}

/// Applies a type test to a node. If the node is a step and the types of all its columns are known, removes the columns
/// of other types from the step. Then the evaluation needs no test.
fn narrow(on: Node, test: &TypeTest) -> Node {
    match on {
        Node::Step {
            on,
            name,
            mut by,
            open: false,
            json,
            at,
        } if by
            .iter()
            .all(|(_, branches)| branches.iter().all(|branch| branch.storage != Storage::Json)) =>
        {
            for (_, branches) in &mut by {
                branches.retain(|branch| test.selects(ItemType::Fhir(branch.type_id)));
            }
            Node::Step {
                on,
                name,
                by,
                open: false,
                json,
                at,
            }
        }
        on => Node::OfType {
            on: Box::new(on),
            test: *test,
        },
    }
}
