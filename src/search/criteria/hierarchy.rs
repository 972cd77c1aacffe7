//! `:below` and `:above` of references: a resource with its descendants or ancestors. The modifiers apply to types
//! whose resources refer to their parents (such as Location and Organization, R4 search, "Modifiers").

use super::super::SearchError;
use super::super::parameters::parameter::Reading;
use super::super::parameters::raw::{RawParameter, written};
use super::super::parameters::repeated::alternatives;
use super::super::parameters::resolver::Resolver;
use super::super::parameters::result::invalid;
use super::super::parameters::values::ReferenceValue;
use super::criterion::{Condition, Join};
use crate::fhir::TypeId;
use crate::fhir::search_parameter::SearchParameter;

/// The codes of the parameters that lead to a resource's parent.
pub(in crate::search) const PARENTS: [&str; 2] = ["partof", "part-of"];

/// Resolves `:below` or `:above` of a reference parameter to a condition. It is an error if no possible target type of
/// a value has a hierarchy.
pub(in crate::search) fn condition(
    resolver: &Resolver<'_>,
    type_id: TypeId,
    parameter: &SearchParameter,
    raw: &RawParameter,
    below: bool,
) -> Result<Option<Condition>, SearchError> {
    let Some(compiled) = resolver.programs.get(type_id, &raw.name, Reading::Targets)? else {
        return Ok(None);
    };
    let (mut from, mut parents) = (Vec::new(), Vec::new());
    for text in alternatives(&raw.value) {
        let parsed = ReferenceValue::parse(text, None, resolver.around.base);
        let Some(ReferenceValue::Relative { type_id: named, id }) = parsed else {
            return Err(invalid(&written(raw), text, "a reference: id or Type/id"));
        };
        let types = match named {
            Some(type_id) => vec![type_id],
            None => parameter.targets.clone(),
        };
        let before = from.len();
        for type_id in types {
            let Some(parent) = parent(resolver, type_id)? else {
                continue;
            };
            if parents.iter().all(|(known, _)| *known != type_id) {
                resolver.join(&raw.name)?;
                parents.push((type_id, parent));
            }
            from.push((type_id, id.clone()));
        }
        if from.len() == before {
            return Err(SearchError::Modifier {
                parameter: raw.name.clone(),
                modifier: raw.modifier.clone().unwrap_or_default(),
                parameter_type: "reference to resources without a hierarchy",
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
    type_id: TypeId,
) -> Result<Option<std::sync::Arc<super::super::parameters::parameter::Compiled>>, SearchError> {
    for code in PARENTS {
        if let Some(compiled) = resolver.programs.get(type_id, code, Reading::Targets)?
            && compiled.parameter.targets.contains(&type_id)
        {
            return Ok(Some(compiled));
        }
    }
    Ok(None)
}
