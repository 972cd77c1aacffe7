//! Looks up the resource type in a path.

use super::super::error::Error;
use crate::fhir::nearest::did_you_mean_resource_type;
use crate::fhir::{Kind, TypeId, facts};

/// Returns the concrete resource type with this name. An error if R4 has none.
pub(in crate::http) fn resource_type(name: &str) -> Result<TypeId, Error> {
    let facts = facts();
    facts
        .lookup(name)
        .filter(|type_id| {
            let def = facts.get(*type_id);
            def.kind == Kind::Resource && !def.is_abstract
        })
        .ok_or_else(|| {
            let meant = did_you_mean_resource_type(name);
            Error::NotSupported(format!("R4 has no resource type {name:?}{meant}"))
        })
}
