//! Resolves functions with special arguments: a canonical of a value set or a type, a variable's name, or any number of
//! expressions.

use super::compiler::{Compiler, Resolved, Scope, Variable};
use crate::fhirpath::compile::node::{Argument, Call, Node, Shape};
use crate::fhirpath::compile::options::{DATA_VARIABLES, SYSTEM_VARIABLES};
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::{FhirPathError, Position};
use crate::fhirpath::functions::{self, Function, Need};
use crate::fhirpath::syntax::ast::{Expr, ExprKind, Literal};

impl Compiler<'_> {
    /// Resolves a call of one of the functions of this file. `None` if none of them has this name.
    pub(super) fn form(
        &mut self,
        on: Option<&Expr>,
        name: &str,
        arguments: &[Expr],
        at: Position,
        scope: &Scope,
    ) -> Option<Resolved> {
        Some(match (name, arguments) {
            ("memberOf", [set]) => self.member_of(on, set, at, scope),
            ("subsumes", [other]) => self.subsumption(&functions::SUBSUMES, on, other, at, scope),
            ("subsumedBy", [other]) => self.subsumption(&functions::SUBSUMED_BY, on, other, at, scope),
            ("conformsTo", [structure]) => self.conforms_to(on, structure, at, scope),
            ("checkModifiers", [_, ..]) => self.check_modifiers(on, arguments, at, scope),
            ("coalesce", [_, ..]) => self.coalesce(on, arguments, at, scope),
            ("defineVariable", [name]) => self.define(on, name, None, at, scope),
            ("defineVariable", [name, value]) => self.define(on, name, Some(value), at, scope),
            ("memberOf" | "subsumes" | "subsumedBy" | "conformsTo", _) => {
                Err(wrong_arguments(at, name, "takes 1 argument"))
            }
            ("checkModifiers" | "coalesce", _) => Err(wrong_arguments(at, name, "takes 1 argument or more")),
            ("defineVariable", _) => Err(wrong_arguments(at, name, "takes 1 to 2 arguments")),
            _ => return None,
        })
    }

    fn input(&mut self, on: Option<&Expr>, scope: &Scope) -> Resolved {
        match on {
            Some(on) => self.resolve(on, &scope.strict()),
            None => Ok((Node::This, scope.this.clone())),
        }
    }

    fn member_of(&mut self, on: Option<&Expr>, set: &Expr, at: Position, scope: &Scope) -> Resolved {
        let (on, input) = self.input(on, scope)?;
        require(&input, functions::has_codes, "memberOf()", at)?;
        self.leaves.need(&input, Need::Codes);
        let arguments = match text_of(set) {
            Some(canonical) => match self
                .options
                .terminology
                .as_ref()
                .and_then(|known| known.value_set(canonical))
            {
                Some(set) => vec![Argument::ValueSet(set)],
                None => return Ok((Node::Empty, boolean())),
            },
            None => self.with_terminology(set, scope)?,
        };
        Ok(called(&functions::MEMBER_OF, on, arguments, at, boolean()))
    }

    fn subsumption(
        &mut self,
        function: &'static Function,
        on: Option<&Expr>,
        other: &Expr,
        at: Position,
        scope: &Scope,
    ) -> Resolved {
        let (on, input) = self.input(on, scope)?;
        let operation = format!("{}()", function.name);
        require(&input, functions::is_coded, &operation, at)?;
        let (node, argument) = self.apart(other, &scope.strict())?;
        require(&argument, functions::is_coded, &operation, at)?;
        self.leaves.need(&input, Need::Codes);
        self.leaves.need(&argument, Need::Codes);
        let mut arguments = vec![Argument::Value(node)];
        arguments.extend(self.options.terminology.clone().map(Argument::Terminology));
        Ok(called(function, on, arguments, at, boolean()))
    }

    /// Resolves an argument whose string is not known until run time. The function looks the string up in the
    /// terminology. Returns two arguments: the expression, and the terminology if the options have one.
    fn with_terminology(&mut self, text: &Expr, scope: &Scope) -> Result<Vec<Argument>, FhirPathError> {
        let (node, shape) = self.apart(text, &scope.strict())?;
        self.leaves.need(&shape, Need::Value);
        let terminology = self.options.terminology.clone().map(Argument::Terminology);
        Ok([Argument::Value(node)].into_iter().chain(terminology).collect())
    }

    fn conforms_to(&mut self, on: Option<&Expr>, structure: &Expr, at: Position, scope: &Scope) -> Resolved {
        let (on, input) = self.input(on, scope)?;
        self.leaves.need(&input, Need::Reference);
        let argument = match text_of(structure) {
            Some(canonical) => {
                let test = functions::base_type(canonical).ok_or_else(|| FhirPathError::Unsupported {
                    at: self.at(structure.at),
                    what: format!("conformsTo('{canonical}'), which names no type of R4,"),
                })?;
                Argument::Type(test)
            }
            None => {
                let (node, shape) = self.apart(structure, &scope.strict())?;
                self.leaves.need(&shape, Need::Value);
                Argument::Value(node)
            }
        };
        Ok(called(&functions::CONFORMS_TO, on, vec![argument], at, boolean()))
    }

    /// Resolves `checkModifiers`. The function yields its input, and fails if an item has a modifier extension whose
    /// URL is not listed.
    fn check_modifiers(&mut self, on: Option<&Expr>, urls: &[Expr], at: Position, scope: &Scope) -> Resolved {
        let (on, input) = self.input(on, scope)?;
        let member = |on: Option<Expr>, name: &str| Expr {
            kind: ExprKind::Member {
                on: on.map(Box::new),
                name: name.to_string(),
            },
            at: urls[0].at,
            height: 1,
        };
        let path = member(Some(member(None, "modifierExtension")), "url");
        let strict = std::mem::replace(&mut self.lenient, true);
        let found = self.apart(&path, &scope.of_items(&input));
        self.lenient = strict;
        let (found, shape) = found?;
        self.leaves.need(&shape, Need::Value);
        let mut arguments = vec![Argument::Each(found)];
        for url in urls {
            let (node, shape) = self.apart(url, &scope.strict())?;
            self.leaves.need(&shape, Need::Value);
            arguments.push(Argument::Value(node));
        }
        Ok(called(&functions::CHECK_MODIFIERS, on, arguments, at, input))
    }

    fn coalesce(&mut self, on: Option<&Expr>, choices: &[Expr], at: Position, scope: &Scope) -> Resolved {
        let (on, _) = self.input(on, scope)?;
        let mut shape = Shape::default();
        let mut arguments = Vec::with_capacity(choices.len());
        for choice in choices {
            let (node, one) = self.apart(choice, &scope.strict())?;
            shape = shape.join(&one);
            arguments.push(Argument::Value(node));
        }
        Ok(called(&functions::COALESCE, on, arguments, at, shape))
    }

    /// Resolves `defineVariable`. The following steps can use the variable. Its value is the second argument or,
    /// without one, the input.
    fn define(
        &mut self,
        on: Option<&Expr>,
        name: &Expr,
        value: Option<&Expr>,
        at: Position,
        scope: &Scope,
    ) -> Resolved {
        let (on, input) = match on {
            Some(on) => self.resolve(on, scope)?,
            None => (Node::This, scope.this.clone()),
        };
        let Some(text) = text_of(name) else {
            return Err(wrong_arguments(
                at,
                "defineVariable",
                "takes a name written as a string",
            ));
        };
        let taken = DATA_VARIABLES.contains(&text)
            || SYSTEM_VARIABLES.contains(&text)
            || text.starts_with("vs-")
            || text.starts_with("ext-")
            || self.options.constants.contains_key(text)
            || self.variables.iter().any(|variable| variable.name == text);
        if taken {
            let problem = format!("cannot define %{text}, which is defined already");
            return Err(wrong_arguments(at, "defineVariable", &problem));
        }
        let (value, shape) = match value {
            Some(value) => {
                let inner = Scope {
                    this: input.clone(),
                    ..scope.strict()
                };
                self.apart(value, &inner)?
            }
            None => (Node::This, input.clone()),
        };
        let place = self.defined;
        self.defined += 1;
        self.variables.push(Variable {
            name: text.to_string(),
            place,
            shape,
        });
        let arguments = vec![Argument::Variable(place), Argument::Value(value)];
        Ok(called(&functions::DEFINE_VARIABLE, on, arguments, at, input))
    }

    /// Resolves a part of the expression. Variables that the part defines are not visible outside the part.
    pub(super) fn apart(&mut self, expr: &Expr, scope: &Scope) -> Resolved {
        let known = self.variables.len();
        let resolved = self.resolve(expr, scope);
        self.variables.truncate(known);
        resolved
    }
}

fn called(
    function: &'static Function,
    on: Node,
    arguments: Vec<Argument>,
    at: Position,
    shape: Shape,
) -> (Node, Shape) {
    let call = Call {
        function,
        on,
        arguments,
        at,
    };
    (Node::Call(Box::new(call)), shape)
}

fn boolean() -> Shape {
    Shape::one(ItemType::System(System::Boolean))
}

fn wrong_arguments(at: Position, function: &str, problem: &str) -> FhirPathError {
    FhirPathError::Arguments {
        at,
        function: function.to_string(),
        problem: problem.to_string(),
    }
}

/// Returns an error if the function `operation` accepts none of the possible types of the items.
fn require(shape: &Shape, fits: fn(ItemType) -> bool, operation: &str, at: Position) -> Result<(), FhirPathError> {
    if shape.sources.is_empty() || shape.sources.iter().any(|source| fits(source.item_type)) {
        Ok(())
    } else {
        Err(FhirPathError::Operands {
            at,
            operation: operation.to_string(),
            operands: shape.names(),
        })
    }
}

/// Returns the text of a string literal. `None` for any other expression.
fn text_of(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => Some(text),
        _ => None,
    }
}
