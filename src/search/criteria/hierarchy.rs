//! `:below` and `:above` of references: a resource and its descendants or ancestors, for types whose resources refer to
//! their parent (R4 search, 3.1.1.4.5: "Location", "Organization" and the like).

use super::super::SearchError;
use super::super::parameters::parameter::Reading;
use super::super::parameters::raw::{RawParameter, written};
use super::super::parameters::resolver::Resolver;
use super::super::parameters::result::invalid;
use super::super::parameters::values::{ReferenceValue, escape};
use super::criterion::{Condition, Join};
use crate::fhir::TypeId;
use crate::fhir::search_parameter::SearchParameter;

/// Codes of the parameters that lead to a parent.
pub(in crate::search) const PARENTS: [&str; 2] = ["partof", "part-of"];

/// The condition. An error if the target type has no hierarchy.
pub(in crate::search) fn condition(
    resolver: &Resolver<'_>,
    ty: TypeId,
    parameter: &SearchParameter,
    raw: &RawParameter,
    below: bool,
) -> Result<Option<Condition>, SearchError> {
    let Some(compiled) = resolver.programs.get(ty, &raw.name, Reading::Targets)? else {
        return Ok(None);
    };
    let (mut from, mut parents) = (Vec::new(), Vec::new());
    for text in escape::split(&raw.value, ',') {
        let parsed = ReferenceValue::parse(text, None, resolver.around.base);
        let Some(ReferenceValue::Relative { ty: named, id }) = parsed else {
            return Err(invalid(&written(raw), text, "a reference: id or Type/id"));
        };
        let types = match named {
            Some(ty) => vec![ty],
            None => parameter.targets.clone(),
        };
        let before = from.len();
        for ty in types {
            let Some(parent) = parent(resolver, ty)? else { continue };
            if parents.iter().all(|(known, _)| *known != ty) {
                resolver.join(&raw.name)?;
                parents.push((ty, parent));
            }
            from.push((ty, id.clone()));
        }
        if from.len() == before {
            return Err(SearchError::Modifier {
                parameter: raw.name.clone(),
                modifier: raw.modifier.clone().unwrap_or_default(),
                ty: "reference to resources without a hierarchy",
            });
        }
    }
    Ok(Some(Condition::Join(Box::new(Join::Hierarchy {
        compiled,
        from,
        parents,
        below,
    }))))
}

fn parent(
    resolver: &Resolver<'_>,
    ty: TypeId,
) -> Result<Option<std::sync::Arc<super::super::parameters::parameter::Compiled>>, SearchError> {
    for code in PARENTS {
        if let Some(compiled) = resolver.programs.get(ty, code, Reading::Targets)?
            && compiled.parameter.targets.contains(&ty)
        {
            return Ok(Some(compiled));
        }
    }
    Ok(None)
}
