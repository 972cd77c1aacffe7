//! The resource type that a path names.

use super::super::error::Error;
use crate::fhir::{Kind, TypeId, facts};

/// The concrete resource type of this name.
pub(in crate::http) fn resource_type(name: &str) -> Result<TypeId, Error> {
    let facts = facts();
    facts
        .lookup(name)
        .filter(|type_id| {
            let def = facts.get(*type_id);
            def.kind == Kind::Resource && !def.is_abstract
        })
        .ok_or_else(|| Error::NotSupported(format!("R4 has no resource type {name:?}")))
}
