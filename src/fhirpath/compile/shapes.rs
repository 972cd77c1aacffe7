//! The shapes of the results of an expression's parts, as the compiler records them.

use std::collections::HashMap;

use super::node::Shape;
use crate::fhirpath::syntax::ast::{Expr, ExprKind};

/// The shape of each part of a syntax tree. The keys are the memory addresses of the parts. If the compiler resolves a
/// part several times, its shapes are merged.
#[derive(Debug, Default)]
pub(in crate::fhirpath) struct Shapes {
    of: HashMap<usize, Shape>,
    /// The shape of `$this` at a function call that has no expression before it, such as `exists()`. The keys are the
    /// memory addresses of the calls.
    this: HashMap<usize, Shape>,
}

impl Shapes {
    /// Returns the shape of a part's result. `None` for a part that is not an expression, such as a type's name.
    pub(in crate::fhirpath) fn of(&self, part: &Expr) -> Option<&Shape> {
        self.of.get(&address(part))
    }

    /// Returns the shape of a function call's input: the part before the dot, or `$this`.
    pub(in crate::fhirpath) fn input(&self, call: &Expr) -> Option<&Shape> {
        match &call.kind {
            ExprKind::Call { on: Some(on), .. } => self.of(on),
            _ => self.this.get(&address(call)),
        }
    }

    pub(super) fn add(&mut self, part: &Expr, shape: &Shape, this: &Shape) {
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
