//! Syntax tree to resolved program: every name becomes a column of R4, a constant or a function, with the types that its items
//! may have. What cannot be is refused here, with its place; what is found later is a row's error.

use super::ast::{Expr, ExprKind, Literal, Operator, TypeName};
use super::error::{FhirPathError, Position};
use super::functions::{self, Function, Need, Parameter, Signature};
use super::leaves::{Leaves, below};
use super::literal;
use super::navigate::{Branch, branches};
use super::node::{Argument, Call, Node, Shape, Source};
use super::operators;
use super::options::CompileOptions;
use super::parse::parse;
use super::program::Inner;
use super::types::{ItemType, System, TypeTest};
use crate::fhir::{Kind, TypeId, facts};

type Resolved = Result<(Node, Shape), FhirPathError>;

pub(super) fn compile(text: &str, root: TypeId, options: &CompileOptions<'_>) -> Result<Inner, FhirPathError> {
    let tree = parse(text)?;
    let context = match options.context {
        Some(program) => program.inner.shape.clone().single(),
        None => root_shape(root),
    };
    let root = options.context.map_or(root, |program| program.inner.root);
    let mut compiler = Compiler {
        text,
        root,
        options,
        leaves: Leaves::default(),
        context,
    };
    let scope = Scope {
        this: compiler.context.clone(),
        total: None,
        bag: options.duplicates,
    };
    let (node, shape) = compiler.resolve(&tree, &scope)?;
    compiler.leaves.output(&shape, options.extra);
    Ok(Inner {
        text: text.to_string(),
        root,
        node,
        shape,
        leaves: compiler.leaves.into_set(),
    })
}

fn root_shape(root: TypeId) -> Shape {
    Shape {
        sources: vec![Source {
            ty: ItemType::Fhir(root),
            path: Some("".into()),
        }],
        many: false,
    }
}

/// Where a part of the expression stands.
#[derive(Clone)]
struct Scope {
    /// What `$this` and bare names refer to.
    this: Shape,
    /// What `$total` is.
    total: Option<Shape>,
    /// Whether it makes no difference here that equal items appear more than once.
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
    text: &'a str,
    root: TypeId,
    options: &'a CompileOptions<'a>,
    leaves: Leaves,
    /// What `%context` is.
    context: Shape,
}

impl Compiler<'_> {
    fn resolve(&mut self, expr: &Expr, scope: &Scope) -> Resolved {
        let at = self.at(expr.at);
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
                let (on, shape) = self.resolve(operand, &scope.strict())?;
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
                let (left, left_shape) = self.resolve(left, &scope.strict())?;
                let (right, right_shape) = self.resolve(right, &scope.strict())?;
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
                    true => Ok(of_type(on, shape, test)),
                    false => self.is(on, &shape, test, at),
                }
            }
        }
    }

    fn union(&mut self, left: &Expr, right: &Expr, at: Position, scope: &Scope) -> Resolved {
        let (left, left_shape) = self.resolve(left, scope)?;
        let (right, right_shape) = self.resolve(right, scope)?;
        let mut shape = left_shape.clone().join(&right_shape);
        shape.many |= !left_shape.sources.is_empty() && !right_shape.sources.is_empty();
        if scope.bag {
            return Ok(match (left_shape.sources.is_empty(), right_shape.sources.is_empty()) {
                (true, _) => (right, right_shape),
                (_, true) => (left, left_shape),
                _ => (Node::Concatenation(Box::new(left), Box::new(right)), shape),
            });
        }
        self.leaves.need(&shape, Need::Value);
        let (left, right) = (Box::new(left), Box::new(right));
        Ok((
            Node::Binary {
                operator: Operator::Union,
                left,
                right,
                at,
            },
            shape,
        ))
    }

    fn member(&mut self, on: Option<&Expr>, name: &str, at: Position, scope: &Scope) -> Resolved {
        let Some(on) = on else {
            let is_element = scope.this.sources.iter().any(|source| has_element(source, name));
            if !is_element && let Some(ty) = type_prefix(name) {
                return Ok(of_type_prefix(&scope.this, ty));
            }
            return self.step(Node::This, &scope.this, name, at);
        };
        // `FHIR.Patient.name` begins with a qualified type.
        if let ExprKind::Member {
            on: None,
            name: namespace,
        } = &on.kind
            && namespace == "FHIR"
            && let Some(ty) = type_prefix(name)
        {
            return Ok(of_type_prefix(&scope.this, ty));
        }
        let (on, shape) = self.resolve(on, scope)?;
        self.step(on, &shape, name, at)
    }

    fn step(&mut self, on: Node, shape: &Shape, name: &str, at: Position) -> Resolved {
        let mut by: Vec<(TypeId, Vec<Branch>)> = Vec::new();
        let mut found = Shape {
            sources: Vec::new(),
            many: shape.many,
        };
        for source in &shape.sources {
            match source.ty {
                ItemType::Fhir(ty) => {
                    let Some(element) = facts().element(ty, name) else {
                        continue;
                    };
                    if source.ty.is_any_resource() && source.path.as_deref() != Some("") {
                        return Err(FhirPathError::Unsupported {
                            at,
                            what: format!(
                                "a step into {source_name} whose type is not known",
                                source_name = source.ty
                            ),
                        });
                    }
                    let branches = branches(element);
                    found.many |= element.many;
                    for branch in &branches {
                        let path = below(source, &branch.column);
                        found.add(&Shape {
                            sources: vec![Source {
                                ty: ItemType::Fhir(branch.ty),
                                path,
                            }],
                            many: false,
                        });
                    }
                    if by.iter().all(|(from, _)| *from != ty) {
                        by.push((ty, branches));
                    }
                }
                ItemType::System(System::TypeInfo) if matches!(name, "name" | "namespace") => {
                    found.add(&Shape::one(ItemType::System(System::String)));
                }
                ItemType::System(_) => {}
            }
        }
        if !found.sources.is_empty() {
            let step = Node::Step {
                on: Box::new(on),
                name: name.into(),
                by,
            };
            return Ok((step, found));
        }
        if shape.sources.is_empty() || self.options.lenient {
            return Ok((Node::Empty, Shape::default()));
        }
        Err(FhirPathError::UnknownElement {
            at,
            name: name.to_string(),
            ty: shape.names(),
        })
    }

    fn call(&mut self, on: Option<&Expr>, name: &str, arguments: &[Expr], at: Position, scope: &Scope) -> Resolved {
        let function = match functions::lookup(name) {
            Some(function) => function,
            None => return self.special_form(on, name, arguments, at, scope),
        };
        let bag = match function.reads {
            Need::Presence => matches!(name, "exists" | "empty"),
            _ => scope.bag && matches!(name, "where" | "resolve"),
        };
        let (on, input) = match on {
            Some(on) => self.resolve(on, &Scope { bag, ..scope.clone() })?,
            None => (Node::This, scope.this.clone()),
        };
        self.leaves.need(&input, function.reads);
        if arguments.len() < function.required || arguments.len() > function.parameters.len() {
            let problem = arity(function);
            return Err(FhirPathError::Arguments {
                at,
                function: name.to_string(),
                problem,
            });
        }
        let mut shapes = Vec::with_capacity(arguments.len());
        let mut resolved = Vec::with_capacity(arguments.len());
        // The start value of `aggregate` is what `$total` is first.
        let start = match (function.parameters, arguments) {
            ([Parameter::Folded, ..], [_, start]) => Some(self.resolve(start, &scope.strict())?.1),
            _ => scope.total.clone(),
        };
        let inner = Scope {
            total: start,
            ..scope.clone()
        };
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let (argument, shape) = self.argument(*parameter, argument, &input, &inner)?;
            resolved.push(argument);
            shapes.push(shape);
        }
        if name == "iif" {
            require_boolean(name, &shapes[0], at)?;
        }
        let shape = (function.shape)(&Signature {
            input: &input,
            arguments: &shapes,
        });
        Ok((
            Node::Call(Box::new(Call {
                function,
                on,
                arguments: resolved,
                at,
            })),
            shape,
        ))
    }

    fn argument(
        &mut self,
        parameter: Parameter,
        argument: &Expr,
        input: &Shape,
        scope: &Scope,
    ) -> Result<(Argument, Shape), FhirPathError> {
        let (node, shape) = match parameter {
            Parameter::Repeated => return self.repeated(argument, input, scope),
            Parameter::Folded => return self.folded(argument, input, scope),
            Parameter::Key => return self.key(argument, input, scope),
            Parameter::Type => return Ok((Argument::Type(self.type_argument(argument)?), Shape::default())),
            Parameter::Value | Parameter::Items => self.resolve(argument, &scope.strict())?,
            Parameter::Each | Parameter::EachItems => self.resolve(argument, &scope.of_items(input))?,
        };
        Ok(match parameter {
            Parameter::Value => {
                self.leaves.need(&shape, Need::Value);
                (Argument::Value(node), shape)
            }
            Parameter::Each => {
                self.leaves.need(&shape, Need::Presence);
                (Argument::Each(node), shape)
            }
            Parameter::EachItems => (Argument::Each(node), shape),
            _ => (Argument::Value(node), shape),
        })
    }

    /// The projection of `repeat`: resolved for the input's types and for those that it yields itself, until no more come. How
    /// deep the data nest is not known, so everything below what it yields is read.
    fn repeated(&mut self, argument: &Expr, input: &Shape, scope: &Scope) -> Result<(Argument, Shape), FhirPathError> {
        let mut over = input.clone();
        loop {
            let (node, shape) = self.resolve(argument, &scope.of_items(&over))?;
            let known = over.sources.len();
            for source in &shape.sources {
                if over.sources.iter().all(|known| known.ty != source.ty) {
                    over.sources.push(source.clone());
                }
            }
            self.leaves.need(&shape, Need::Whole);
            if over.sources.len() == known {
                return Ok((Argument::Each(node), shape));
            }
        }
    }

    /// The expression of `aggregate`: `$total` is nothing, then whatever the expression itself yields.
    fn folded(&mut self, argument: &Expr, input: &Shape, scope: &Scope) -> Result<(Argument, Shape), FhirPathError> {
        let mut total = Shape::default();
        if let Some(start) = &scope.total {
            total.add(start);
        }
        loop {
            let inner = Scope {
                total: Some(total.clone()),
                ..scope.of_items(input)
            };
            let (node, shape) = self.resolve(argument, &inner)?;
            let known = total.sources.len();
            total.add(&shape);
            self.leaves.need(&shape, Need::Value);
            if total.sources.len() == known {
                return Ok((Argument::Each(node), shape));
            }
        }
    }

    fn key(&mut self, argument: &Expr, input: &Shape, scope: &Scope) -> Result<(Argument, Shape), FhirPathError> {
        let (descending, key) = match &argument.kind {
            ExprKind::Sign { negative, operand } => (*negative, operand.as_ref()),
            _ => (false, argument),
        };
        let (node, shape) = self.resolve(key, &scope.of_items(input))?;
        self.leaves.need(&shape, Need::Value);
        Ok((Argument::Key { node, descending }, shape))
    }

    /// What is written like a function but resolved otherwise: type tests and `extension(url)`.
    fn special_form(
        &mut self,
        on: Option<&Expr>,
        name: &str,
        arguments: &[Expr],
        at: Position,
        scope: &Scope,
    ) -> Resolved {
        match (name, arguments) {
            ("ofType" | "as" | "is", [ty]) => {
                let test = self.type_argument(ty)?;
                let (on, shape) = match on {
                    Some(on) => self.resolve(on, scope)?,
                    None => (Node::This, scope.this.clone()),
                };
                match name {
                    "is" => self.is(on, &shape, test, at),
                    _ => Ok(of_type(on, shape, test)),
                }
            }
            ("extension", [url]) => {
                let offset = url.at;
                let expr = |kind| Expr {
                    kind,
                    at: offset,
                    height: 1,
                };
                let member = |on: Option<Box<Expr>>, name: &str| {
                    expr(ExprKind::Member {
                        on,
                        name: name.to_string(),
                    })
                };
                let left = Box::new(member(None, "url"));
                let criterion = ExprKind::Binary {
                    operator: Operator::Equal,
                    left,
                    right: Box::new(url.clone()),
                };
                let extensions = member(on.cloned().map(Box::new), "extension");
                self.call(Some(&extensions), "where", &[expr(criterion)], at, scope)
            }
            ("children", []) => {
                let (on, shape) = match on {
                    Some(on) => self.resolve(on, scope)?,
                    None => (Node::This, scope.this.clone()),
                };
                Ok(children(on, &shape))
            }
            ("descendants", []) => self.descendants(on, at, scope),
            ("children" | "descendants", _) => Err(FhirPathError::Arguments {
                at,
                function: name.to_string(),
                problem: "takes no arguments".to_string(),
            }),
            ("ofType" | "as" | "is" | "extension", _) => Err(FhirPathError::Arguments {
                at,
                function: name.to_string(),
                problem: "takes 1 argument".to_string(),
            }),
            _ => Err(FhirPathError::UnknownFunction {
                at,
                name: name.to_string(),
            }),
        }
    }

    /// Children, their children, and so on; like `repeat(children())`, but equal items stay.
    fn descendants(&mut self, on: Option<&Expr>, at: Position, scope: &Scope) -> Resolved {
        let (on, input) = match on {
            Some(on) => self.resolve(on, scope)?,
            None => (Node::This, scope.this.clone()),
        };
        let mut over = input.clone();
        loop {
            let (node, shape) = children(Node::This, &over);
            let known = over.sources.len();
            for source in &shape.sources {
                if over.sources.iter().all(|known| known.ty != source.ty) {
                    over.sources.push(source.clone());
                }
            }
            if over.sources.len() == known {
                self.leaves.need(&input, Need::Whole);
                let function = &functions::DESCENDANTS;
                let call = Call {
                    function,
                    on,
                    arguments: vec![Argument::Each(node)],
                    at,
                };
                return Ok((Node::Call(Box::new(call)), shape.multiple()));
            }
        }
    }

    fn is(&mut self, on: Node, shape: &Shape, test: TypeTest, at: Position) -> Resolved {
        let dynamic = shape
            .sources
            .iter()
            .any(|source| source.ty == ItemType::System(System::Target));
        self.leaves
            .need(shape, if dynamic { Need::Reference } else { Need::Presence });
        let is = Node::Is {
            on: Box::new(on),
            test,
            at,
        };
        Ok((is, Shape::one(ItemType::System(System::Boolean))))
    }

    fn external(&mut self, name: &str, at: Position) -> Resolved {
        let text = |text: &str| Literal::String(text.to_string());
        match name {
            "resource" | "rootResource" => Ok((Node::Resource, root_shape(self.root))),
            "context" => Ok((Node::Context, self.context.clone())),
            "rowIndex" => Ok((Node::RowIndex, Shape::one(ItemType::System(System::Integer)))),
            _ => match self.options.constants.get(name) {
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

    fn constant(&self, value: &Literal, at: Position) -> Resolved {
        let items = literal::items(value, at)?;
        let shape = Shape::one(items.ty());
        Ok((Node::Constant(items), shape))
    }

    /// A type where the grammar has an expression: `ofType(Quantity)`, `is(FHIR.Patient)`.
    fn type_argument(&self, argument: &Expr) -> Result<TypeTest, FhirPathError> {
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

    fn type_named(&self, ty: &TypeName) -> Result<TypeTest, FhirPathError> {
        TypeTest::named(ty.namespace.as_deref(), &ty.name).ok_or_else(|| FhirPathError::UnknownType {
            at: self.at(ty.at),
            name: ty.name.clone(),
        })
    }

    fn at(&self, offset: usize) -> Position {
        Position::of(self.text, offset)
    }
}

/// All elements of all the types.
fn children(on: Node, shape: &Shape) -> (Node, Shape) {
    let mut by: Vec<(TypeId, Vec<Branch>)> = Vec::new();
    let mut found = Shape {
        sources: Vec::new(),
        many: true,
    };
    for source in &shape.sources {
        let Some(ty) = source.ty.fhir() else { continue };
        let all: Vec<Branch> = facts().get(ty).elements.iter().flat_map(branches).collect();
        for branch in &all {
            let path = below(source, &branch.column);
            found.add(&Shape {
                sources: vec![Source {
                    ty: ItemType::Fhir(branch.ty),
                    path,
                }],
                many: false,
            });
        }
        if by.iter().all(|(from, _)| *from != ty) {
            by.push((ty, all));
        }
    }
    (
        Node::Step {
            on: Box::new(on),
            name: "*".into(),
            by,
        },
        found,
    )
}

fn has_element(source: &Source, name: &str) -> bool {
    source.ty.fhir().is_some_and(|ty| facts().element(ty, name).is_some())
}

/// The resource or complex type that a path may begin with.
fn type_prefix(name: &str) -> Option<TypeId> {
    let ty = facts().lookup(name)?;
    let def = facts().get(ty);
    (!matches!(def.kind, Kind::Primitive(_)) && name.starts_with(|first: char| first.is_ascii_uppercase()))
        .then_some(ty)
}

/// `Patient` in `Patient.name`: the context if it is one. Whether it is, is known statically but for abstract contexts.
fn of_type_prefix(this: &Shape, ty: TypeId) -> (Node, Shape) {
    of_type(
        Node::This,
        this.clone(),
        TypeTest {
            fhir: Some(ty),
            system: None,
        },
    )
}

fn of_type(on: Node, shape: Shape, test: TypeTest) -> (Node, Shape) {
    let all = shape.sources.iter().all(|source| test.selects(source.ty));
    if all && !shape.sources.is_empty() {
        return (on, shape);
    }
    let mut sources = Vec::new();
    for source in shape.sources {
        if test.may_select(source.ty) {
            let narrowed = match (source.ty, test.fhir) {
                (ItemType::Fhir(ty), Some(wanted)) if !facts().is_a(ty, wanted) => ItemType::Fhir(wanted),
                (kept, _) => kept,
            };
            sources.push(Source {
                ty: narrowed,
                path: source.path,
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

/// A choice of which only one type is wanted need not look at the others' columns.
fn narrow(on: Node, test: &TypeTest) -> Node {
    match on {
        Node::Step { on, name, mut by }
            if by.iter().all(|(_, branches)| {
                branches
                    .iter()
                    .all(|branch| branch.storage != crate::fhir::storage::Storage::Json)
            }) =>
        {
            for (_, branches) in &mut by {
                branches.retain(|branch| test.selects(ItemType::Fhir(branch.ty)));
            }
            Node::Step { on, name, by }
        }
        on => Node::OfType {
            on: Box::new(on),
            test: *test,
        },
    }
}

/// A criterion that is never a boolean is a mistake.
fn require_boolean(function: &str, criterion: &Shape, at: Position) -> Result<(), FhirPathError> {
    let fits = |source: &Source| source.ty.system() == Some(System::Boolean);
    match criterion.sources.is_empty() || criterion.sources.iter().any(fits) {
        true => Ok(()),
        false => Err(FhirPathError::Operands {
            at,
            operation: format!("the criterion of {function}()"),
            operands: criterion.names(),
        }),
    }
}

fn arity(function: &Function) -> String {
    match (function.required, function.parameters.len()) {
        (_, 0) => "takes no arguments".to_string(),
        (1, 1) => "takes 1 argument".to_string(),
        (least, most) if least == most => format!("takes {most} arguments"),
        (least, most) => format!("takes {least} to {most} arguments"),
    }
}
