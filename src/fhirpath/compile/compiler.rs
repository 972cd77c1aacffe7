//! Resolves an expression part by part. This file resolves literals, operators and type tests. `names` and `steps`
//! resolve names, `calls` and `forms` resolve function calls.

use super::leaves::Leaves;
use super::node::{Node, Shape, Source};
use super::options::CompileOptions;
use super::shapes::Shapes;
use super::types::{ItemType, System};
use crate::fhir::TypeId;
use crate::fhirpath::compiled::JsonName;
use crate::fhirpath::error::{FhirPathError, Places, Position};
use crate::fhirpath::functions::{self, Need};
use crate::fhirpath::operators;
use crate::fhirpath::syntax::ast::{Expr, ExprKind, Operator};

pub(super) type Resolved = Result<(Node, Shape), FhirPathError>;

/// The maximum number of parts that are resolved for one expression. A limit is needed because `repeat` and `aggregate`
/// resolve their arguments more than once, and the number of parts multiplies if they are nested.
const MAX_WORK: usize = 20_000;
/// A step counts as one additional part for every `SOURCES_PER_WORK` sources of its input.
const SOURCES_PER_WORK: usize = 8;

pub(super) struct Compiler<'a> {
    pub(super) places: Places,
    pub(super) root: TypeId,
    pub(super) options: &'a CompileOptions<'a>,
    pub(super) leaves: Leaves,
    /// The shape of `%context`.
    pub(super) context: Shape,
    /// The number of parts that have been resolved, including the additional parts for steps from many sources.
    pub(super) work: usize,
    /// If set, a step to an element that none of the possible types has yields an empty collection instead of an error.
    pub(super) lenient: bool,
    /// The JSON names that the expression uses in place of FHIRPath's names.
    pub(super) json_names: Vec<JsonName>,
    /// The variables that are visible at the current part.
    pub(super) variables: Vec<Variable>,
    /// The number of variables that have been defined. It is the index of the next variable.
    pub(super) defined: usize,
    /// Collects the shape of each part's result. `None` if the caller does not request the shapes.
    pub(super) shapes: Option<&'a mut Shapes>,
}

/// A variable that `defineVariable` defines.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) place: usize,
    pub(super) shape: Shape,
}

impl Compiler<'_> {
    pub(super) fn resolve(&mut self, expr: &Expr, scope: &Scope) -> Resolved {
        let (node, shape) = self.part(expr, scope)?;
        if let Some(shapes) = &mut self.shapes {
            shapes.add(expr, &shape, &scope.this);
        }
        Ok((node, shape))
    }

    fn part(&mut self, expr: &Expr, scope: &Scope) -> Resolved {
        let at = self.at(expr.at);
        self.spend(1, at)?;
        match &expr.kind {
            ExprKind::Empty => Ok((Node::Empty, Shape::default())),
            ExprKind::Literal(literal) => self.constant(literal, at),
            ExprKind::External(name) => self.external(name, at),
            ExprKind::This => Ok((Node::This, scope.this.clone())),
            ExprKind::Index => Ok((Node::Index, Shape::one(ItemType::System(System::Integer)))),
            ExprKind::Total => Ok((Node::Total, scope.total.clone().unwrap_or_default())),
            ExprKind::Member { on, name } => self.member(on.as_deref(), name, at, scope),
            ExprKind::Call { on, name, arguments } => self.call(on.as_deref(), name, arguments, at, scope),
            ExprKind::Indexer { on, index } => {
                self.call(Some(on), functions::INDEXER, std::slice::from_ref(index), at, scope)
            }
            ExprKind::Sign { negative, operand } => {
                let (on, shape) = self.apart(operand, &scope.strict())?;
                self.leaves.need(&shape, Need::Value);
                let shape = operators::arithmetic::sign_shape(&shape, at)?;
                Ok((
                    Node::Sign {
                        negative: *negative,
                        on: Box::new(on),
                        at,
                    },
                    shape,
                ))
            }
            ExprKind::Binary {
                operator: Operator::Union,
                left,
                right,
            } => self.union(left, right, at, scope),
            ExprKind::Binary { operator, left, right } => {
                let (left, left_shape) = self.apart(left, &scope.strict())?;
                let (right, right_shape) = self.apart(right, &scope.strict())?;
                self.leaves.need(&left_shape, Need::Value);
                self.leaves.need(&right_shape, Need::Value);
                let shape = operators::shape(*operator, &left_shape, &right_shape, at)?;
                let (left, right) = (Box::new(left), Box::new(right));
                Ok((
                    Node::Binary {
                        operator: *operator,
                        left,
                        right,
                        at,
                    },
                    shape,
                ))
            }
            ExprKind::TypeTest {
                cast,
                operand,
                type_name,
            } => {
                let test = self.type_named(type_name)?;
                let (on, shape) = self.resolve(operand, scope)?;
                if *cast {
                    Ok(self.cast(on, shape, test, at))
                } else {
                    self.is(on, &shape, test, at)
                }
            }
        }
    }

    fn union(&mut self, left: &Expr, right: &Expr, at: Position, scope: &Scope) -> Resolved {
        let (left, left_shape) = self.apart(left, scope)?;
        let (right, right_shape) = self.apart(right, scope)?;
        let mut shape = left_shape.clone().join(&right_shape);
        shape.many |= !left_shape.sources.is_empty() && !right_shape.sources.is_empty();
        if scope.bag {
            return Ok(if left_shape.sources.is_empty() {
                (right, right_shape)
            } else if right_shape.sources.is_empty() {
                (left, left_shape)
            } else {
                let fixed = left.is_fixed() && right.is_fixed();
                let both = Node::Concatenation(Box::new(left.unfixed()), Box::new(right.unfixed()));
                (if fixed { Node::Fixed(Box::new(both)) } else { both }, shape)
            });
        }
        self.leaves.need(&shape, Need::Content);
        let fixed = left.is_fixed() && right.is_fixed();
        let (left, right) = (Box::new(left.unfixed()), Box::new(right.unfixed()));
        let union = Node::Binary {
            operator: Operator::Union,
            left,
            right,
            at,
        };
        Ok((if fixed { Node::Fixed(Box::new(union)) } else { union }, shape))
    }

    pub(super) fn spend(&mut self, work: usize, at: Position) -> Result<(), FhirPathError> {
        self.work += work;
        if self.work > MAX_WORK {
            Err(FhirPathError::TooComplex { at })
        } else {
            Ok(())
        }
    }

    /// Counts the work of a step from items of this shape, which grows with the number of sources. The children of a
    /// resource of unknown type alone have hundreds of sources.
    pub(super) fn weigh(&mut self, shape: &Shape, at: Position) -> Result<(), FhirPathError> {
        self.spend(shape.sources.len() / SOURCES_PER_WORK, at)
    }

    pub(super) fn at(&self, offset: usize) -> Position {
        self.places.of(offset)
    }
}

/// The context in which a part of the expression is resolved.
#[derive(Clone)]
pub(super) struct Scope {
    /// The shape of `$this`. A path that begins with a name starts at `$this`.
    pub(super) this: Shape,
    /// The shape of `$total`. `None` outside of `aggregate`.
    pub(super) total: Option<Shape>,
    /// Whether duplicate items in the result of this part do not matter. If set, the part may keep or drop them,
    /// whichever is cheaper.
    pub(super) bag: bool,
}

impl Scope {
    pub(super) fn strict(&self) -> Scope {
        Scope {
            bag: false,
            ..self.clone()
        }
    }

    pub(super) fn of_items(&self, this: &Shape) -> Scope {
        Scope {
            this: this.clone().single(),
            total: self.total.clone(),
            bag: false,
        }
    }
}

pub(super) fn root_shape(root: TypeId) -> Shape {
    Shape {
        sources: vec![Source {
            item_type: ItemType::Fhir(root),
            path: Some("".into()),
            inside: false,
        }],
        many: false,
    }
}
