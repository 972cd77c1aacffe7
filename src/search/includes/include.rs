//! `_include` and `_revinclude`: which references to follow, and in which direction (R4 search, 3.1.1.5.4).

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::super::SearchError;
use super::super::parameters::parameter::{Compiled, Programs, Reading};
use super::super::parameters::raw::RawParameter;
use super::super::parameters::resolver::resource_type;
use super::super::parameters::result::invalid_name;
use super::super::parameters::suggestion;
use crate::fhir::nearest::did_you_mean_one_of;
use crate::fhir::search_parameter::SearchType;
use crate::fhir::{TypeId, facts};

/// A reference parameter that is followed from the matches to their targets or, for `_revinclude`, from the matches to
/// the resources that refer to them.
#[derive(Clone, Debug)]
pub(in crate::search) struct Include {
    /// The type of the resources that have the references.
    pub(in crate::search) source: TypeId,
    /// The reference parameter.
    pub(in crate::search) compiled: Arc<Compiled>,
    /// The type of the targets. `None` means any type.
    pub(in crate::search) target: Option<TypeId>,
    /// Whether the resources with the references are included (`_revinclude`). If not, the targets are included.
    pub(in crate::search) reverse: bool,
    /// Whether the include is also followed for included resources (`:iterate`).
    pub(in crate::search) iterate: bool,
}

impl Include {
    /// Parses `Type:parameter`, `Type:parameter:TargetType`, `Type:*` or `*`. Leaves out an include that can find
    /// nothing: its references lead nowhere, or they do not begin at resources of `type_id` (for `_revinclude`: do not
    /// lead to them). With `:iterate` or `of_any`, an include is also followed for resources of other types, so only
    /// the first reason counts.
    pub(in crate::search) fn parse(
        programs: &Programs,
        type_id: TypeId,
        raw: &RawParameter,
        of_any: bool,
    ) -> Result<Vec<Include>, SearchError> {
        let iterate = match raw.modifier.as_deref() {
            None => false,
            // `:recurse` is the name of `:iterate` in earlier versions of FHIR.
            Some("iterate" | "recurse") => true,
            Some(modifier) => {
                return Err(SearchError::Modifier {
                    parameter: raw.name.clone(),
                    modifier: modifier.to_owned(),
                    parameter_type: "special",
                });
            }
        };
        let asked = Asked {
            programs,
            type_id,
            raw,
            reverse: raw.name == "_revinclude",
            iterate,
            of_any,
        };
        let parts: Vec<&str> = raw.value.split(':').collect();
        match parts.as_slice() {
            // With `_revinclude`, resources of any type may refer to the matches. With `:iterate`, the references of
            // included resources are followed, and included resources may have any type. So `*` means the references of
            // all types.
            ["*"] if asked.reverse || iterate => {
                let all = facts().resources().map(|source| asked.all_of(source));
                Ok(all.collect::<Result<Vec<_>, _>>()?.concat())
            }
            ["*"] => asked.all_of(type_id),
            [source, "*"] => asked.all_of(resource_type(source).ok_or_else(|| asked.bad())?),
            [source, code] => asked.one(source, code, None),
            [source, code, target] => asked.one(source, code, Some(target)),
            _ => Err(asked.bad()),
        }
    }

    /// Whether the parameter's references may lead to resources of `type_id`.
    pub(in crate::search) fn leads_to(&self, type_id: TypeId) -> bool {
        self.target.is_none_or(|target| target == type_id) && self.compiled.leads_to(type_id)
    }

    /// Whether the include is followed for resources of this type. It follows their references or, for `_revinclude`,
    /// the references to them.
    pub(in crate::search) fn follows(&self, type_id: TypeId) -> bool {
        if self.reverse {
            self.leads_to(type_id)
        } else {
            self.source == type_id
        }
    }

    /// Returns the line of an explanation for a stage: the include, the round, the number `of` and the type of the
    /// resources for which the include was followed, and the number `found` of newly included resources.
    pub(in crate::search) fn stage(&self, round: usize, type_id: TypeId, of: usize, found: usize) -> String {
        let name = |type_id: TypeId| facts().get(type_id).name;
        let way = if self.reverse { "Revinclude" } else { "Include" };
        let (source, code) = (name(self.source), &self.compiled.parameter.code);
        let target = self
            .target
            .map(|type_id| format!(":{}", name(type_id)))
            .unwrap_or_default();
        let from = name(type_id);
        format!("{way}: {source}:{code}{target}, round={round}, of={of} {from}, found={found}")
    }

    /// Returns the types to which canonicals of this parameter may lead, limited to the target type of the include if
    /// it has one.
    pub(in crate::search) fn led_to_by_url(&self) -> impl Iterator<Item = TypeId> {
        let leads = |type_id: &TypeId| {
            self.target.is_none_or(|target| target == *type_id) && self.compiled.leads_by_url(*type_id)
        };
        facts().resources().filter(leads)
    }
}

/// Removes includes that are equal to an earlier one.
pub(in crate::search) fn each_once(mut includes: Vec<Include>) -> Vec<Include> {
    let mut met = FxHashSet::default();
    includes.retain(|include| {
        let followed = (Arc::as_ptr(&include.compiled), include.target);
        met.insert((followed, include.reverse, include.iterate))
    });
    includes
}

/// The value of an `_include` or `_revinclude` while it is parsed.
struct Asked<'a> {
    programs: &'a Programs,
    /// The searched type.
    type_id: TypeId,
    raw: &'a RawParameter,
    reverse: bool,
    iterate: bool,
    /// Whether matches may also have other types than `type_id`, because containers are matches (`_contained`).
    of_any: bool,
}

impl Asked<'_> {
    fn bad(&self) -> SearchError {
        let expected = "of the form Type:parameter, Type:parameter:TargetType, Type:* or *, with a reference parameter of the type";
        let meant = suggestion::reference_path(self.programs, &self.raw.value);
        invalid_name(
            &self.raw.name,
            &self.raw.value,
            expected,
            did_you_mean_one_of(meant.as_slice()),
        )
    }

    fn one(&self, source: &str, code: &str, target: Option<&str>) -> Result<Vec<Include>, SearchError> {
        let source = resource_type(source).ok_or_else(|| self.bad())?;
        let target = target
            .map(|name| resource_type(name).ok_or_else(|| self.bad()))
            .transpose()?;
        let compiled = self.programs.get(source, code, Reading::Targets)?;
        let compiled = compiled
            .filter(|compiled| compiled.parameter.search_type == SearchType::Reference)
            .ok_or_else(|| self.bad())?;
        Ok(self.found(source, compiled, target).into_iter().collect())
    }

    /// Returns the includes of all reference parameters of a type.
    fn all_of(&self, source: TypeId) -> Result<Vec<Include>, SearchError> {
        let codes = self
            .programs
            .supported(source)
            .filter(|parameter| parameter.search_type == SearchType::Reference);
        let mut includes = Vec::new();
        for parameter in codes {
            let compiled = self.programs.get(source, &parameter.code, Reading::Targets)?;
            includes.extend(compiled.and_then(|compiled| self.found(source, compiled, None)));
        }
        Ok(includes)
    }

    fn found(&self, source: TypeId, compiled: Arc<Compiled>, target: Option<TypeId>) -> Option<Include> {
        let include = Include {
            source,
            compiled,
            target,
            reverse: self.reverse,
            iterate: self.iterate,
        };
        let touches = if self.reverse {
            include.leads_to(self.type_id)
        } else {
            source == self.type_id
        };
        (include.compiled.leads_anywhere() && (touches || self.iterate || self.of_any)).then_some(include)
    }
}
