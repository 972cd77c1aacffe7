//! Compiles whole expressions, given as text or as a tree. They are evaluated on the rows of a table or on the items
//! that another program yields.

use std::sync::Arc;

use super::compiler::{Compiler, Scope, root_shape};
use super::leaves::Leaves;
use super::options::CompileOptions;
use super::order;
use super::shapes::Shapes;
use crate::fhir::TypeId;
use crate::fhirpath::compiled::Inner;
use crate::fhirpath::error::{FhirPathError, Places};
use crate::fhirpath::program::Program;
use crate::fhirpath::syntax::ast::Expr;
use crate::fhirpath::syntax::parse::parse;

/// Compiles an expression for the rows of a table of type `root`. With [`CompileOptions::context`], compiles it for
/// the items that another program yields, and uses that program's root type instead of `root`.
pub fn compile(text: &str, root: TypeId, options: &CompileOptions<'_>) -> Result<Program, FhirPathError> {
    let inner = resolve(&parse(text)?, text, root, options, None)?;
    Ok(Program { inner: Arc::new(inner) })
}

/// Compiles the tree of the expression `text`. Also returns the shape of each part.
pub(in crate::fhirpath) fn shapes(
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
