//! Resolves function calls: the input, the arguments and the types of the result. Also resolves type tests and other
//! expressions that are written like function calls.

use super::compiler::{Compiler, Resolved, Scope, root_shape};
use super::json_names;
use super::steps::{children, of_type};
use crate::fhir::facts;
use crate::fhir::nearest::did_you_mean;
use crate::fhirpath::compile::node::{Argument, Call, Node, Shape, Source};
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::{FhirPathError, Position};
use crate::fhirpath::functions::{self, Function, Need, Parameter, Signature};
use crate::fhirpath::syntax::ast::{Expr, ExprKind, Operator};

/// The maximum height of the syntax tree of `extension()`'s argument.
const MAX_URL_HEIGHT: usize = 20;

impl Compiler<'_> {
    pub(super) fn call(
        &mut self,
        on: Option<&Expr>,
        name: &str,
        arguments: &[Expr],
        at: Position,
        scope: &Scope,
    ) -> Resolved {
        let function = match functions::lookup(name) {
            Some(_) if name == "resolve" && self.options.references_alone => &functions::RESOLVE_ALONE,
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
        // The start value of `aggregate` is the value of `$total` for the first item, so `$total` begins with the shape
        // of the start value.
        let start = match (function.parameters, arguments) {
            ([Parameter::Folded, ..], [_, start]) => Some(self.apart(start, &scope.strict())?.1),
            _ => scope.total.clone(),
        };
        let inner = Scope {
            total: start,
            ..scope.clone()
        };
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let (argument, shape) = self.argument(*parameter, argument, &input, &inner)?;
            if function.reads == Need::Content {
                self.leaves.need(&shape, Need::Content);
            }
            resolved.push(argument);
            shapes.push(shape);
        }
        if name == "iif" {
            require_boolean(name, &shapes[0], at)?;
        }
        let mut shape = (function.shape)(&Signature {
            input: &input,
            arguments: &shapes,
        });
        if name == "resolve" && !self.options.references_alone {
            self.add_targets(&input, &mut shape);
        }
        let is_fixed = |argument: &Argument| match argument {
            Argument::Value(node) => node.is_fixed(),
            Argument::Type(_) => true,
            _ => false,
        };
        let fixed = on.is_fixed() && resolved.iter().all(is_fixed) && name != "trace";
        let call = Node::Call(Box::new(Call {
            function,
            on,
            arguments: resolved,
            at,
        }));
        if name == "where"
            && self.options.json_names
            && let Some(test) = arguments
                .first()
                .and_then(|criterion| json_names::type_kept(criterion, &input))
        {
            return Ok(of_type(call, shape, test));
        }
        Ok((if fixed { Node::Fixed(Box::new(call)) } else { call }, shape))
    }

    /// Adds the resources within the row that may be targets of the references in `input`: contained resources,
    /// resources in the same Bundle, and the row itself.
    fn add_targets(&mut self, input: &Shape, shape: &mut Shape) {
        let Some(resource) = facts().lookup("Resource").map(ItemType::Fhir) else {
            return;
        };
        for source in input
            .sources
            .iter()
            .filter(|source| functions::is_reference(source.item_type))
        {
            let path = match (&source.path, source.inside) {
                (Some(path), true) => path.clone(),
                (Some(_), false) if facts().element(self.root, "contained").is_some() => "contained".into(),
                _ => continue,
            };
            if source.inside && *path == *"contained" {
                shape.add(&root_shape(self.root));
            }
            if source.inside && facts().element(self.root, "entry").is_some() {
                self.leaves.require("entry.fullUrl");
            }
            shape.add_all([Source {
                item_type: resource,
                path: Some(path),
                inside: true,
            }]);
        }
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
            Parameter::Value | Parameter::Items => self.apart(argument, &scope.strict())?,
            Parameter::Each | Parameter::EachItems => self.apart(argument, &scope.of_items(input))?,
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

    /// Resolves the projection of `repeat`. First resolves it for the types of the input, and then again for the types
    /// of its own result, until no new types appear. The depth of the data is unknown, so the program reads all columns
    /// below the results. Not every type needs to have each step (`repeat(item | answer)`). A name is an error only if
    /// no type has it.
    fn repeated(&mut self, argument: &Expr, input: &Shape, scope: &Scope) -> Result<(Argument, Shape), FhirPathError> {
        let mut over = input.clone();
        let lenient = std::mem::replace(&mut self.lenient, true);
        loop {
            let (node, shape) = self.apart(argument, &scope.of_items(&over))?;
            let known = over.sources.len();
            for source in &shape.sources {
                if over.sources.iter().all(|known| known.item_type != source.item_type) {
                    over.sources.push(source.clone());
                }
            }
            self.leaves.need(&shape, Need::Content);
            if over.sources.len() == known {
                self.lenient = lenient;
                return if lenient {
                    Ok((Argument::Each(node), shape))
                } else {
                    let (node, shape) = self.apart(argument, &scope.of_items(&over))?;
                    Ok((Argument::Each(node), shape))
                };
            }
        }
    }

    /// Resolves the expression of `aggregate`. `$total` has the types of the start value, if there is one, and the
    /// types of the expression's own results. Resolving is repeated until no new types appear.
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
            let (node, shape) = self.apart(argument, &inner)?;
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
        let (node, shape) = self.apart(key, &scope.of_items(input))?;
        self.leaves.need(&shape, Need::Value);
        Ok((Argument::Key { node, descending }, shape))
    }

    /// Resolves what is written like a function call but is not in the function table: type tests, `extension(url)`,
    /// `children()`, `descendants()` and the functions of `forms`.
    fn special_form(
        &mut self,
        on: Option<&Expr>,
        name: &str,
        arguments: &[Expr],
        at: Position,
        scope: &Scope,
    ) -> Resolved {
        if let Some(resolved) = self.form(on, name, arguments, at, scope) {
            return resolved;
        }
        match (name, arguments) {
            ("ofType" | "as" | "is", [named]) => {
                let test = self.type_argument(named)?;
                let (on, shape) = match on {
                    Some(on) => self.resolve(on, scope)?,
                    None => (Node::This, scope.this.clone()),
                };
                match name {
                    "is" => self.is(on, &shape, test, at),
                    "as" => Ok(self.cast(on, shape, test, at)),
                    _ => Ok(of_type(on, shape, test)),
                }
            }
            // `extension(url)` is resolved as `extension.where(url = ...)`, so one level of nesting costs several
            // levels of recursion. So limit the height of the argument.
            ("extension", [url]) if url.height > MAX_URL_HEIGHT => Err(FhirPathError::TooDeep {
                at,
                limit: MAX_URL_HEIGHT,
            }),
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
                let shape = self.bounded(&shape);
                self.weigh(&shape, at)?;
                Ok(children(on, &shape, at))
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
                meant: did_you_mean(name, functions::functions()),
            }),
        }
    }

    /// Resolves `descendants()`: the children, their children, and so on. It is like `repeat(children())`, but does not
    /// drop equal items.
    fn descendants(&mut self, on: Option<&Expr>, at: Position, scope: &Scope) -> Resolved {
        let (on, input) = match on {
            Some(on) => self.resolve(on, scope)?,
            None => (Node::This, scope.this.clone()),
        };
        let mut over = self.bounded(&input).into_owned();
        loop {
            self.weigh(&over, at)?;
            let (node, shape) = children(Node::This, &over, at);
            let known = over.sources.len();
            for source in &shape.sources {
                if over.sources.iter().all(|known| known.item_type != source.item_type) {
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
}

/// Returns an error if none of the possible types of the criterion's result is a boolean.
fn require_boolean(function: &str, criterion: &Shape, at: Position) -> Result<(), FhirPathError> {
    let fits = |source: &Source| source.item_type.system() == Some(System::Boolean);
    if criterion.sources.is_empty() || criterion.sources.iter().any(fits) {
        Ok(())
    } else {
        Err(FhirPathError::Operands {
            at,
            operation: format!("the criterion of {function}()"),
            operands: criterion.names(),
        })
    }
}

fn arity(function: &Function) -> String {
    match (function.required, function.parameters.len()) {
        (_, 0) => "takes no arguments".to_string(),
        (1, 1) => "takes 1 argument".to_string(),
        (min, max) if min == max => format!("takes {max} arguments"),
        (min, max) => format!("takes {min} to {max} arguments"),
    }
}
