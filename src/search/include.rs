//! `_include` and `_revinclude`: which references to follow, and in which direction (R4 search, 3.1.1.5.4).

use std::sync::Arc;

use super::SearchError;
use super::parameter::{Compiled, Programs, Reading};
use super::raw::RawParameter;
use super::result::invalid;
use crate::fhir::search_parameter::SearchType;
use crate::fhir::{Kind, TypeId, facts};

/// A reference parameter to follow from the matches, or to the matches.
#[derive(Clone, Debug)]
pub(super) struct Include {
    /// The type that holds the references.
    pub(super) source: TypeId,
    /// Its reference parameter.
    pub(super) compiled: Arc<Compiled>,
    /// Only targets of this type.
    pub(super) target: Option<TypeId>,
    /// Whether the sources are included (`_revinclude`) or the targets.
    pub(super) reverse: bool,
}

impl Include {
    /// Parses `[Resource]:[parameter]` or `[Resource]:[parameter]:[target type]`. `None` where it can never find anything for
    /// a search of `ty`, because it speaks of another type's references.
    pub(super) fn parse(programs: &Programs, ty: TypeId, raw: &RawParameter) -> Result<Option<Include>, SearchError> {
        let expected =
            "of the form Type:parameter or Type:parameter:TargetType, with a reference parameter of the type";
        let bad = || invalid(&raw.name, &raw.value, expected);
        if let Some(modifier) = &raw.modifier {
            return Err(SearchError::Modifier {
                parameter: raw.name.clone(),
                modifier: modifier.clone(),
                ty: "special",
            });
        }
        let mut parts = raw.value.split(':');
        let (source, code, target) = (
            parts.next().unwrap_or_default(),
            parts.next().ok_or_else(bad)?,
            parts.next(),
        );
        if parts.next().is_some() {
            return Err(bad());
        }
        let source = concrete(source).ok_or_else(bad)?;
        let target = target.map(|name| concrete(name).ok_or_else(bad)).transpose()?;
        let compiled = programs.get(source, code, Reading::Targets)?.ok_or_else(bad)?;
        if compiled.parameter.ty != SearchType::Reference {
            return Err(bad());
        }
        let reverse = raw.name == "_revinclude";
        if (reverse && target.is_some_and(|target| target != ty)) || (!reverse && source != ty) {
            return Ok(None);
        }
        Ok(Some(Include {
            source,
            compiled,
            target,
            reverse,
        }))
    }
}

fn concrete(name: &str) -> Option<TypeId> {
    let ty = facts().lookup(name)?;
    let def = facts().get(ty);
    (def.kind == Kind::Resource && !def.is_abstract).then_some(ty)
}
