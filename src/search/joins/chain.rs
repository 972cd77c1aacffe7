//! Chained parameters (`subject:Patient.name`) and reverse chaining (`_has`), R4 search, "Chained parameters"
//! and "Reverse Chaining".

use std::sync::Arc;

use super::super::SearchError;
use super::super::criteria::criterion::{Condition, Criterion, Join};
use super::super::parameters::parameter::{Compiled, Reading};
use super::super::parameters::raw::{RawParameter, written};
use super::super::parameters::resolver::{Resolver, resource_type};
use super::super::parameters::result::invalid_name;
use super::super::parameters::suggestion;
use crate::fhir::nearest::did_you_mean_one_of;
use crate::fhir::search_parameter::SearchType;
use crate::fhir::{TypeId, facts};

/// Resolves the rest of a chain, the text after its first dot, to a criterion for resources of a type. The result is
/// `None` if a name in the rest is unknown.
pub(in crate::search) type Ask<'a> = &'a dyn Fn(TypeId, &str) -> Result<Option<Criterion>, SearchError>;

/// Resolves `reference[:Type].rest`. The text after the dot is a condition on the target. Returns `None` if a name is
/// unknown.
pub(in crate::search) fn chain(
    resolver: &Resolver<'_>,
    type_id: TypeId,
    raw: &RawParameter,
) -> Result<Option<Condition>, SearchError> {
    along(resolver, type_id, &written(raw), &|target, rest| {
        resolver.criterion(target, &RawParameter::named(rest, &raw.value))
    })
}

/// Follows the first step of a chain, such as `subject:Patient`. Resolves the rest with `ask`: for the type that the
/// step names, or else for every type to which the step may lead. Returns `None` if a name is unknown.
pub(in crate::search) fn along(
    resolver: &Resolver<'_>,
    type_id: TypeId,
    chain: &str,
    ask: Ask<'_>,
) -> Result<Option<Condition>, SearchError> {
    let Some((first, rest)) = chain.split_once('.') else {
        return Ok(None);
    };
    let (code, only) = match first.split_once(':') {
        Some((code, name)) => (code, Some(name)),
        None => (first, None),
    };
    let Some(compiled) = resolver.programs.get(type_id, code, Reading::Targets)? else {
        return Ok(None);
    };
    follow(resolver, compiled, only, chain, &|target| ask(target, rest))
}

/// Resolves a condition on the targets of a reference: for the type `only`, or else for every type to which the
/// reference may lead. Returns `None` if `ask` returns `None` for all of these types.
pub(in crate::search) fn follow(
    resolver: &Resolver<'_>,
    compiled: Arc<Compiled>,
    only: Option<&str>,
    chain: &str,
    ask: &dyn Fn(TypeId) -> Result<Option<Criterion>, SearchError>,
) -> Result<Option<Condition>, SearchError> {
    let code = &*compiled.parameter.code;
    if compiled.parameter.search_type != SearchType::Reference {
        return Err(SearchError::Chain {
            parameter: code.to_owned(),
            parameter_type: compiled.parameter.search_type.as_str(),
        });
    }
    let follow = match only {
        None => targets(&compiled),
        Some(name) => {
            let type_id = resource_type(name).ok_or_else(|| SearchError::Modifier {
                parameter: code.to_owned(),
                modifier: name.to_owned(),
                parameter_type: SearchType::Reference.as_str(),
            })?;
            vec![type_id]
        }
    };
    let (mut found, mut failed) = (Vec::new(), None);
    for target in follow {
        resolver.join(chain)?;
        match ask(target) {
            Ok(Some(criterion)) => found.push((target, criterion)),
            Ok(None) => {}
            // Parameters of the same name may have different types. So a value, a modifier or a further step may be
            // wrong for one type and right for another. The caller gets the error only if no type accepts the
            // condition.
            Err(error @ (SearchError::Value { .. } | SearchError::Modifier { .. } | SearchError::Chain { .. })) => {
                failed = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    match (found.is_empty(), failed) {
        (true, Some(error)) => Err(error),
        (true, None) => Ok(None),
        (false, _) => Ok(Some(Condition::Join(Box::new(Join::Chain {
            compiled,
            targets: found,
        })))),
    }
}

/// Returns the types to which a reference parameter may lead: those of its definition, or all types if the definition
/// lists none. Canonicals lead only to types with a `url`.
fn targets(compiled: &Compiled) -> Vec<TypeId> {
    let named = &compiled.parameter.targets;
    let all: Vec<TypeId> = if named.is_empty() {
        facts().resources().collect()
    } else {
        named.clone()
    };
    all.into_iter().filter(|type_id| compiled.leads_to(*type_id)).collect()
}

/// Resolves `_has:Type:reference:rest`: a resource of the type refers to the row and meets the rest. Returns `None` if
/// a name in the rest is unknown.
pub(in crate::search) fn has(
    resolver: &Resolver<'_>,
    type_id: TypeId,
    raw: &RawParameter,
) -> Result<Option<Condition>, SearchError> {
    let path = raw.modifier.as_deref().unwrap_or_default();
    let form = || {
        let expected = "of the form Type:reference:parameter, where the reference may lead to the type searched";
        // The parameter behind the reference is resolved later.
        let (reference, rest) = path
            .match_indices(':')
            .nth(1)
            .map_or((path, ""), |(end, _)| path.split_at(end));
        let meant = suggestion::reference_path(resolver.programs, reference).map(|meant| meant + rest);
        invalid_name("_has", path, expected, did_you_mean_one_of(meant.as_slice()))
    };
    let mut parts = path.splitn(3, ':');
    let (Some(source), Some(reference), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(form());
    };
    let source = resource_type(source).ok_or_else(form)?;
    let through = resolver.programs.get(source, reference, Reading::Targets)?;
    let through = through.ok_or_else(form)?;
    if through.parameter.search_type != SearchType::Reference {
        return Err(form());
    }
    if !through.leads_to(type_id) {
        return if resolver.among_others {
            Ok(Some(Condition::Any(Vec::new())))
        } else {
            Err(form())
        };
    }
    let rest = RawParameter::named(rest, &raw.value);
    let (Some(criterion), Some(ids)) = (resolver.criterion(source, &rest)?, resolver.ids(type_id)?) else {
        return Ok(None);
    };
    resolver.join(&written(raw))?;
    Ok(Some(Condition::Join(Box::new(Join::Has {
        source,
        through,
        criterion: Box::new(criterion),
        ids,
    }))))
}
