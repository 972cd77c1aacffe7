//! Resolves names that do not come from the data: `%constants`, literals and types.

use super::compiler::{Compiler, Resolved, root_shape};
use crate::fhir::{Kind, facts};
use crate::fhirpath::compile::node::{Node, Shape, Source};
use crate::fhirpath::compile::types::{ItemType, System, TypeTest};
use crate::fhirpath::error::{FhirPathError, Position};
use crate::fhirpath::syntax::ast::{Expr, ExprKind, Literal, TypeName};
use crate::fhirpath::values::literal;

impl Compiler<'_> {
    pub(super) fn external(&mut self, name: &str, at: Position) -> Resolved {
        let text = |text: &str| Literal::String(text.to_string());
        match name {
            "resource" => Ok((Node::Resource, self.resource_shape(false))),
            "rootResource" => Ok((Node::RootResource, self.resource_shape(true))),
            "context" => Ok((Node::Context, self.context.clone())),
            "rowIndex" => Ok((Node::RowIndex, Shape::one(ItemType::System(System::Integer)))),
            _ => match self.options.constants.get(name) {
                _ if self.variables.iter().any(|variable| variable.name == name) => self.variable(name),
                Some(constant) => self.constant(constant, at),
                None => match name {
                    "ucum" => self.constant(&text("http://unitsofmeasure.org"), at),
                    "sct" => self.constant(&text("http://snomed.info/sct"), at),
                    "loinc" => self.constant(&text("http://loinc.org"), at),
                    _ => match (name.strip_prefix("vs-"), name.strip_prefix("ext-")) {
                        (Some(set), _) => self.constant(&text(&format!("http://hl7.org/fhir/ValueSet/{set}")), at),
                        (_, Some(extension)) => self.constant(
                            &text(&format!("http://hl7.org/fhir/StructureDefinition/{extension}")),
                            at,
                        ),
                        _ => Err(FhirPathError::UnknownConstant {
                            at,
                            name: name.to_string(),
                        }),
                    },
                },
            },
        }
    }

    /// Returns the shape of `%resource`, or of `%rootResource` if `root` is set. The result is the row's resource. If
    /// the context lies inside another resource of the row, such as that of a Bundle entry, the result is this inner
    /// resource. But for a context inside a contained resource, `%rootResource` is the row's resource.
    fn resource_shape(&self, root: bool) -> Shape {
        let mut shape = Shape::default();
        for source in &self.context.sources {
            let contained = source.path.as_deref() == Some("contained");
            if !source.inside || root && contained {
                shape.add(&root_shape(self.root));
                continue;
            }
            let item_type = match source.item_type.fhir() {
                Some(type_id) if !root && facts().get(type_id).kind == Kind::Resource => source.item_type,
                _ => facts().lookup("Resource").map_or(source.item_type, ItemType::Fhir),
            };
            shape.add_all([Source {
                item_type,
                ..source.clone()
            }]);
        }
        if shape.sources.is_empty() {
            root_shape(self.root)
        } else {
            shape
        }
    }

    fn variable(&self, name: &str) -> Resolved {
        let variable = self.variables.iter().find(|variable| variable.name == name);
        Ok(variable.map_or((Node::Empty, Shape::default()), |variable| {
            (Node::Variable(variable.place), variable.shape.clone())
        }))
    }

    pub(super) fn constant(&self, value: &Literal, at: Position) -> Resolved {
        let items = literal::items(value, at)?;
        let shape = Shape::one(items.item_type());
        Ok((Node::Constant(items), shape))
    }

    /// Reads the type that an argument names, as in `ofType(Quantity)` and `ofType(FHIR.Patient)`. The parser has read
    /// the name as an expression.
    pub(super) fn type_argument(&self, argument: &Expr) -> Result<TypeTest, FhirPathError> {
        let at = argument.at;
        match &argument.kind {
            ExprKind::Member { on: None, name } => self.type_named(&TypeName {
                namespace: None,
                name: name.clone(),
                at,
            }),
            ExprKind::Member { on: Some(on), name } => match &on.kind {
                ExprKind::Member {
                    on: None,
                    name: namespace,
                } => self.type_named(&TypeName {
                    namespace: Some(namespace.clone()),
                    name: name.clone(),
                    at,
                }),
                _ => Err(FhirPathError::UnknownType {
                    at: self.at(at),
                    name: name.clone(),
                }),
            },
            _ => Err(FhirPathError::Syntax {
                at: self.at(at),
                reason: "expected the name of a type".to_string(),
            }),
        }
    }

    pub(super) fn type_named(&self, type_name: &TypeName) -> Result<TypeTest, FhirPathError> {
        TypeTest::named(type_name.namespace.as_deref(), &type_name.name).ok_or_else(|| FhirPathError::UnknownType {
            at: self.at(type_name.at),
            name: type_name.name.clone(),
        })
    }
}
