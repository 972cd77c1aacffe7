//! The text from which a criterion was resolved, with the other inputs. Another process can resolve the same criterion
//! from it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::SearchError;
use super::super::engine::Engine;
use super::super::parameters::query::written;
use super::super::parameters::raw::RawParameter;
use super::super::parameters::resolve::{Resolver, resource_type};
use super::criterion::{Condition, Criterion, Join};
use crate::fhir::{TypeId, facts};

/// The origin of a criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::search) struct Origin {
    /// The type of the rows.
    resource: String,
    /// The parameter with its modifier, as the client wrote it.
    parameter: String,
    /// The value of the parameter.
    value: String,
    /// The time of the search, in microseconds.
    now: i64,
    /// `{base}/fhir/`.
    base: String,
    /// Whether several types were searched together.
    among_others: bool,
    /// The part of the parameter's condition, as the path of indexes that leads to it.
    part: Vec<usize>,
}

impl Origin {
    pub(in crate::search) fn of(resolver: &Resolver<'_>, ty: TypeId, raw: &RawParameter) -> Origin {
        Origin {
            resource: facts().get(ty).name.to_owned(),
            parameter: written(raw),
            value: raw.value.clone(),
            now: resolver.around.now_us,
            base: resolver.around.base.to_owned(),
            among_others: resolver.among_others,
            part: Vec::new(),
        }
    }

    /// Resolves the criterion again. `None` if this text yields no such criterion here.
    pub(in crate::search) fn resolve(&self, engine: &Engine) -> Result<Option<Criterion>, SearchError> {
        let Some(ty) = resource_type(&self.resource) else {
            return Ok(None);
        };
        let resolver = engine.resolver(self.now, &self.base);
        let resolver = match self.among_others {
            true => resolver.among_others(),
            false => resolver,
        };
        let raw = RawParameter::named(&self.parameter, &self.value);
        let root = resolver.criterion(ty, &raw)?;
        let part = |within: Option<Criterion>, at: &usize| {
            let mut within = within?;
            within.parts_mut().into_iter().nth(*at).cloned()
        };
        Ok(self.part.iter().fold(root, part))
    }

    fn part(&self, at: usize) -> Origin {
        let mut origin = self.clone();
        origin.part.push(at);
        origin
    }
}

impl Criterion {
    /// Notes the origin in the criterion and its parts. A part that is its own parameter has an origin already.
    pub(in crate::search) fn come_from(&mut self, origin: Origin) {
        for (at, part) in self.parts_mut().into_iter().enumerate() {
            if part.origin.is_none() {
                part.come_from(origin.part(at));
            }
        }
        self.origin = Some(Arc::new(origin));
    }

    /// The criteria of which it consists, including those on other resources.
    fn parts_mut(&mut self) -> Vec<&mut Criterion> {
        match &mut self.condition {
            Condition::All(parts) | Condition::Any(parts) => parts.iter_mut().collect(),
            Condition::Not(part) | Condition::Item { holds: part, .. } => vec![part],
            Condition::Inside { targets, .. } => targets.iter_mut().map(|(_, part)| part).collect(),
            Condition::Join(join) => match join.as_mut() {
                Join::Chain { targets, .. } => targets.iter_mut().map(|(_, part)| part).collect(),
                Join::Has { criterion, .. } => vec![criterion],
                Join::List { .. } | Join::Hierarchy { .. } => Vec::new(),
            },
            Condition::Values { .. }
            | Condition::Tuples { .. }
            | Condition::Words { .. }
            | Condition::Holds(_)
            | Condition::Late(_) => Vec::new(),
        }
    }
}
