//! Syntax tree to resolved program: every name becomes an R4 column, a constant or a function, with the possible types
//! of its items. An expression that can never work is refused here, with its place. Later errors belong to rows.

use std::collections::HashMap;
use std::sync::Arc;

use super::compile::leaves::Leaves;
use super::compile::node::{Node, Shape, Source};
use super::compile::options::CompileOptions;
use super::compile::types::{ItemType, System};
use super::compiled::{Inner, JsonName};
use super::error::{FhirPathError, Places, Position};
use super::functions::{self, Need};
use super::operators;
use super::program::Program;
use super::syntax::ast::{Expr, ExprKind, Operator};
use super::syntax::parse::parse;
use crate::fhir::TypeId;

mod calls;
mod forms;
mod json_names;
pub(super) mod leaves;
mod names;
pub(super) mod node;
pub(super) mod options;
mod order;
mod steps;
pub(super) mod typed;
pub(super) mod types;

type Resolved = Result<(Node, Shape), FhirPathError>;

/// The maximum number of resolved parts of an expression. `repeat` and `aggregate` resolve their arguments more than
/// once, so nesting them multiplies the work.
const MAX_WORK: usize = 20_000;
/// This many kinds of items in a step count as one more part.
const SOURCES_PER_WORK: usize = 8;

/// Compiles an expression for the rows of a table of `root`. With [`CompileOptions::context`], for the items that
/// another program over such a table yields.
pub fn compile(text: &str, root: TypeId, options: &CompileOptions<'_>) -> Result<Program, FhirPathError> {
    let inner = resolve(&parse(text)?, text, root, options, None)?;
    Ok(Program { inner: Arc::new(inner) })
}

/// The results for each part of a tree, by the part's address. A part that is resolved more than once has all of its
/// results.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    of: HashMap<usize, Shape>,
    /// The shape of `$this` at functions that are called on nothing.
    this: HashMap<usize, Shape>,
}

impl Shapes {
    /// The result for a part of the tree. `None` for parts that are no expressions, such as a type's name.
    pub(super) fn of(&self, part: &Expr) -> Option<&Shape> {
        self.of.get(&address(part))
    }

    /// The input of a function's call: the part before the dot, or `$this`.
    pub(super) fn input(&self, call: &Expr) -> Option<&Shape> {
        match &call.kind {
            ExprKind::Call { on: Some(on), .. } => self.of(on),
            _ => self.this.get(&address(call)),
        }
    }

    fn add(&mut self, part: &Expr, shape: &Shape, this: &Shape) {
        add(&mut self.of, part, shape);
        if let ExprKind::Call { on: None, .. } = &part.kind {
            add(&mut self.this, part, this);
        }
    }
}

fn address(part: &Expr) -> usize {
    std::ptr::from_ref(part).addr()
}

fn add(shapes: &mut HashMap<usize, Shape>, part: &Expr, shape: &Shape) {
    let known = shapes.entry(address(part)).or_default();
    *known = std::mem::take(known).join(shape);
}

/// Compiles a tree, and records the static facts about its parts.
pub(super) fn shapes(
    tree: &Expr,
    text: &str,
    root: TypeId,
    options: &CompileOptions<'_>,
) -> Result<(Inner, Shapes), FhirPathError> {
    let mut shapes = Shapes::default();
    let inner = resolve(tree, text, root, options, Some(&mut shapes))?;
    Ok((inner, shapes))
}

fn resolve(
    tree: &Expr,
    text: &str,
    root: TypeId,
    options: &CompileOptions<'_>,
    shapes: Option<&mut Shapes>,
) -> Result<Inner, FhirPathError> {
    let context = match options.context {
        Some(program) => program.inner.shape.clone().single(),
        None => root_shape(root),
    };
    let root = options.context.map_or(root, |program| program.inner.root);
    let mut compiler = Compiler {
        places: Places::new(text),
        root,
        options,
        leaves: Leaves::default(),
        context,
        work: 0,
        lenient: options.lenient,
        json_names: Vec::new(),
        variables: Vec::new(),
        defined: 0,
        shapes,
    };
    if options.ordered {
        order::check(tree, &compiler.places)?;
    }
    let scope = Scope {
        this: compiler.context.clone(),
        total: None,
        bag: options.duplicates,
    };
    let (node, shape) = compiler.resolve(tree, &scope)?;
    compiler.leaves.output(&shape, options.extra);
    Ok(Inner {
        text: text.to_string(),
        root,
        node,
        shape,
        leaves: compiler.leaves.into_set(),
        parts: compiler.work,
        json_names: compiler.json_names,
    })
}

fn root_shape(root: TypeId) -> Shape {
    Shape {
        sources: vec![Source {
            ty: ItemType::Fhir(root),
            path: Some("".into()),
            inside: false,
        }],
        many: false,
    }
}

/// The position of a part in the expression.
#[derive(Clone)]
struct Scope {
    /// The shape of `$this` and bare names.
    this: Shape,
    /// The shape of `$total`.
    total: Option<Shape>,
    /// Whether duplicates of items make no difference here.
    bag: bool,
}

impl Scope {
    fn strict(&self) -> Scope {
        Scope {
            bag: false,
            ..self.clone()
        }
    }

    fn of_items(&self, this: &Shape) -> Scope {
        Scope {
            this: this.clone().single(),
            total: self.total.clone(),
            bag: false,
        }
    }
}

struct Compiler<'a> {
    places: Places,
    root: TypeId,
    options: &'a CompileOptions<'a>,
    leaves: Leaves,
    /// The shape of `%context`.
    context: Shape,
    /// How many parts have been resolved.
    work: usize,
    /// Whether a name that no possible type has is an empty collection instead of an error.
    lenient: bool,
    /// The JSON names that occurred in place of FHIRPath's.
    json_names: Vec<JsonName>,
    /// The visible variables.
    variables: Vec<Variable>,
    /// How many variables have been defined.
    defined: usize,
    /// Collects the results for each part, if wanted.
    shapes: Option<&'a mut Shapes>,
}

/// A name from `defineVariable`.
struct Variable {
    name: String,
    place: usize,
    shape: Shape,
}

impl Compiler<'_> {
    fn resolve(&mut self, expr: &Expr, scope: &Scope) -> Resolved {
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
            ExprKind::TypeTest { cast, operand, ty } => {
                let test = self.type_named(ty)?;
                let (on, shape) = self.resolve(operand, scope)?;
                match cast {
                    true => Ok(self.cast(on, shape, test, at)),
                    false => self.is(on, &shape, test, at),
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
            return Ok(match (left_shape.sources.is_empty(), right_shape.sources.is_empty()) {
                (true, _) => (right, right_shape),
                (_, true) => (left, left_shape),
                _ => {
                    let fixed = left.is_fixed() && right.is_fixed();
                    let both = Node::Concatenation(Box::new(left.unfixed()), Box::new(right.unfixed()));
                    (if fixed { Node::Fixed(Box::new(both)) } else { both }, shape)
                }
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

    fn spend(&mut self, work: usize, at: Position) -> Result<(), FhirPathError> {
        self.work += work;
        match self.work > MAX_WORK {
            true => Err(FhirPathError::TooComplex { at }),
            false => Ok(()),
        }
    }

    /// Counts the work of a step from items of many kinds. Below resources of any type there are hundreds.
    fn weigh(&mut self, shape: &Shape, at: Position) -> Result<(), FhirPathError> {
        self.spend(shape.sources.len() / SOURCES_PER_WORK, at)
    }

    fn at(&self, offset: usize) -> Position {
        self.places.of(offset)
    }
}
