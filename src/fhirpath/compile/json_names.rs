//! JSON names for which FHIRPath has another form: `valueCoding` for `value.ofType(Coding)`, `resourceType` for the
//! type of a resource. This file decides what such a name means, what FHIRPath's form is, and which type a criterion
//! on `resourceType` implies.

use super::compiler::Compiler;
use crate::fhir::{Kind, TypeId, facts};
use crate::fhirpath::compile::node::{Call, Node, Shape, Source};
use crate::fhirpath::compile::types::{ItemType, System, TypeTest, concrete};
use crate::fhirpath::compiled::JsonName;
use crate::fhirpath::error::Position;
use crate::fhirpath::functions::{Need, RESOURCE_TYPE as FUNCTION};
use crate::fhirpath::syntax::ast::{Expr, ExprKind, Literal, Operator};

/// The JSON property that holds the type of a resource.
pub(super) const RESOURCE_TYPE: &str = "resourceType";

impl Compiler<'_> {
    /// Records a JSON name that the expression uses, once for each position, if the option `json_names` is set. Search
    /// parameters are published with JSON names and compile without this option, so their JSON names are not recorded.
    pub(super) fn note_json_name(&mut self, name: &str, standard: String, at: Position) {
        let met = JsonName {
            at,
            name: name.to_string(),
            standard,
        };
        if self.options.json_names && !self.json_names.contains(&met) {
            self.json_names.push(met);
        }
    }

    /// Resolves `resourceType` to a function that yields the name of each resource's type.
    pub(super) fn resource_type(&mut self, on: Node, shape: &Shape, at: Position) -> (Node, Shape) {
        if let Some(standard) = standard(shape, RESOURCE_TYPE) {
            self.note_json_name(RESOURCE_TYPE, standard, at);
        }
        self.leaves.need(shape, Need::Reference);
        let call = Call {
            function: &FUNCTION,
            on,
            arguments: Vec::new(),
            at,
        };
        let shape = Shape {
            many: shape.many,
            ..Shape::one(ItemType::System(System::String))
        };
        (Node::Call(Box::new(call)), shape)
    }
}

/// Returns FHIRPath's form of a JSON name for items of this shape. `None` if the name is also a FHIRPath name for some
/// of the items, or if it is not a JSON name of this kind.
pub(super) fn standard(shape: &Shape, name: &str) -> Option<String> {
    let types = || shape.sources.iter().flat_map(of_source);
    if types().any(|type_id| facts().element(type_id, name).is_some()) {
        return None;
    }
    if name == RESOURCE_TYPE {
        let mut sources = shape.sources.iter();
        let is_resource = sources.any(is_resource);
        return is_resource.then(|| "type().name, or ofType(...) in place of where(resourceType = ...)".to_string());
    }
    let mut children = types().filter_map(|type_id| facts().child(type_id, name));
    let child = children.find(|child| child.element.choice)?;
    Some(format!(
        "{}.ofType({})",
        child.element.name,
        facts().get(child.type_id).name
    ))
}

fn of_source(source: &Source) -> Vec<TypeId> {
    match source.item_type {
        ItemType::Fhir(type_id) if source.is_open() => concrete(type_id).collect(),
        ItemType::Fhir(type_id) => vec![type_id],
        ItemType::System(_) => Vec::new(),
    }
}

/// Whether items of a source are resources, or targets of references.
fn is_resource(source: &Source) -> bool {
    match source.item_type {
        ItemType::Fhir(type_id) => facts().get(type_id).kind == Kind::Resource,
        ItemType::System(system) => system == System::Target,
    }
}

/// If a criterion of `where` keeps only resources of one type, returns this type. Such a criterion is `resourceType =
/// '...'`, or is an `and` with this test as an operand. `None` for other criteria, and if not all items of the input
/// are resources.
pub(super) fn type_kept(criterion: &Expr, input: &Shape) -> Option<TypeTest> {
    if input.sources.is_empty() || !input.sources.iter().all(is_resource) {
        return None;
    }
    match &criterion.kind {
        ExprKind::Binary {
            operator: Operator::And,
            left,
            right,
        } => type_kept(left, input).or_else(|| type_kept(right, input)),
        ExprKind::Binary {
            operator: Operator::Equal,
            left,
            right,
        } => {
            let name = match (&left.kind, &right.kind) {
                (_, ExprKind::Literal(Literal::String(name))) if is_resource_type(left) => name,
                (ExprKind::Literal(Literal::String(name)), _) if is_resource_type(right) => name,
                _ => return None,
            };
            let type_id = facts()
                .lookup(name)
                .filter(|type_id| facts().get(*type_id).kind == Kind::Resource)?;
            Some(TypeTest {
                fhir: Some(type_id),
                system: None,
            })
        }
        _ => None,
    }
}

/// Whether an expression is `resourceType` or `$this.resourceType`.
fn is_resource_type(part: &Expr) -> bool {
    match &part.kind {
        ExprKind::Member { on, name } => {
            name == RESOURCE_TYPE && on.as_deref().is_none_or(|on| on.kind == ExprKind::This)
        }
        _ => false,
    }
}
