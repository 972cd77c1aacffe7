//! Suggests names for those that a type does not have: parameters, also behind chains and `_has`, and references.
//!
//! A parameter may be similar by its letters. It may also have its values in the element of that name: `onset-date` for
//! `onsetDateTime`. This is taken from the programs of the type's parameters.

use super::super::SearchError;
use super::parameter::Programs;
use super::resolver::resource_type;
use crate::fhir::nearest::{did_you_mean_one_of, nearest, nearest_resource_type};
use crate::fhir::search_parameter::{SearchParameter, SearchType};
use crate::fhir::{TypeId, facts};

/// The parameters that every type has, but that R4 does not define by SearchParameter resources.
const RESULT: [&str; 11] = [
    "_count",
    "_elements",
    "_filter",
    "_has",
    "_include",
    "_list",
    "_revinclude",
    "_sort",
    "_summary",
    "_total",
    "_type",
];

/// The maximum number of parameters that are suggested for the name of an element.
const MAX_OF_ELEMENT: usize = 4;

/// The maximum number of names in a chain for which a name is suggested. The search of a suggestion recurses for each.
const MAX_NAMES: usize = 64;

/// Returns the error for a parameter that the type does not have. `parameter` is the parameter as the client wrote it.
pub(in crate::search) fn unknown(programs: &Programs, type_id: TypeId, parameter: String) -> SearchError {
    let bare = parameter.split([':', '.']).next().unwrap_or_default();
    let is_known = bare != "_has" && RESULT.contains(&bare);
    let mut meant = Vec::new();
    if !is_known && parameter.matches(['.', ':']).count() < MAX_NAMES {
        meant = corrected(programs, &[type_id], &parameter);
    }
    if !is_known && meant.is_empty() {
        meant.extend(
            nearest(bare, RESULT.into_iter())
                .filter(|name| *name != bare)
                .map(str::to_owned),
        );
    }
    SearchError::Unknown {
        meant: did_you_mean_one_of(&meant),
        parameter,
        resource: facts().get(type_id).name.to_owned(),
    }
}

/// Returns a suggestion for a key of `_sort`, without its `-`. `is_meant` tells which parameters can be sorted by.
pub(in crate::search) fn sort_key(
    programs: &Programs,
    type_id: TypeId,
    code: &str,
    is_meant: fn(&SearchParameter) -> bool,
) -> String {
    did_you_mean_one_of(&parameters(programs, &[type_id], code, is_meant))
}

/// Returns `Type:parameter` or `Type:parameter:TargetType` with known names in the place of unknown ones. `None` if all
/// names are known, or if no known name is similar.
pub(in crate::search) fn reference_path(programs: &Programs, path: &str) -> Option<String> {
    let mut parts = path.splitn(3, ':');
    let mut known = vec![nearest_resource_type(parts.next()?)?.to_owned()];
    let source = resource_type(&known[0])?;
    if let Some(code) = parts.next() {
        let found = programs.parameter(source, code);
        if code == "*" || found.is_some_and(|parameter| is_reference(parameter)) {
            known.push(code.to_owned());
        } else {
            known.push(parameters(programs, &[source], code, is_reference).into_iter().next()?);
        }
    }
    if let Some(target) = parts.next() {
        known.push(nearest_resource_type(target)?.to_owned());
    }
    let known = known.join(":");
    (known != path).then_some(known)
}

/// Returns names that `name` probably means, with its chain or the path of its `_has`. `types` are the types that a
/// chain leads to.
fn corrected(programs: &Programs, types: &[TypeId], name: &str) -> Vec<String> {
    if let Some(path) = name.strip_prefix("_has:") {
        let parts: Vec<&str> = path.splitn(3, ':').collect();
        let [source, reference, rest] = parts.as_slice() else {
            return Vec::new();
        };
        let sources: Vec<TypeId> = resource_type(source).into_iter().collect();
        let rest = corrected(programs, &sources, rest).into_iter();
        return rest.map(|rest| format!("_has:{source}:{reference}:{rest}")).collect();
    }
    let Some((first, rest)) = name.split_once('.') else {
        // A modifier may not fit the suggested parameter, so it is left out.
        let code = name.split(':').next().unwrap_or_default();
        return parameters(programs, types, code, |_| true);
    };
    let (code, only) = match first.split_once(':') {
        Some((code, only)) => (code, Some(only)),
        None => (first, None),
    };
    let known = types.iter().filter_map(|type_id| programs.parameter(*type_id, code));
    let known: Vec<_> = known.filter(|parameter| is_reference(parameter)).collect();
    if known.is_empty() {
        let codes = parameters(programs, types, code, is_reference).into_iter();
        return codes.map(|found| found + &name[code.len()..]).collect();
    }
    let targets: Vec<TypeId> = match only {
        Some(only) => resource_type(only).into_iter().collect(),
        None if known.iter().any(|parameter| parameter.targets.is_empty()) => facts().resources().collect(),
        None => known.iter().flat_map(|parameter| &parameter.targets).copied().collect(),
    };
    let rest = corrected(programs, &targets, rest).into_iter();
    rest.map(|rest| format!("{first}.{rest}")).collect()
}

/// Returns the parameter of these types with the most similar code. If there is none, returns the parameters whose
/// values are in the element of this name.
fn parameters(
    programs: &Programs,
    types: &[TypeId],
    name: &str,
    is_meant: fn(&SearchParameter) -> bool,
) -> Vec<String> {
    let known = types.iter().flat_map(|type_id| programs.supported(*type_id));
    let codes = known.filter(|parameter| is_meant(parameter));
    match nearest(name, codes.map(|parameter| &*parameter.code)) {
        // The name is known, so something else is wrong.
        Some(code) if code == name => Vec::new(),
        Some(code) => vec![code.to_owned()],
        None => types
            .iter()
            .map(|type_id| of_element(programs, *type_id, name, is_meant))
            .find(|codes| !codes.is_empty())
            .unwrap_or_default(),
    }
}

/// Returns the codes of the parameters whose values are the items of an element. `name` is FHIRPath's name (`onset`) or
/// JSON's (`onsetDateTime`). Empty if there are too many to be of use.
fn of_element(programs: &Programs, type_id: TypeId, name: &str, is_meant: fn(&SearchParameter) -> bool) -> Vec<String> {
    let facts = facts();
    let property = facts.child(type_id, name).map(|child| child.element);
    let Some(element) = property.or_else(|| facts.element(type_id, name)) else {
        return Vec::new();
    };
    let reads = |parameter: &SearchParameter| {
        let Some(compiled) = programs.unkept(type_id, &parameter.code) else {
            return false;
        };
        let paths: Vec<&str> = compiled
            .program
            .origins()
            .map(|origin| origin.path.unwrap_or_default())
            .collect();
        let is_within = |path: &&str| {
            let child = facts.child(type_id, path);
            child.is_some_and(|child| child.element.name == element.name)
        };
        paths.iter().all(is_within) && paths.iter().any(|path| name == element.name || *path == name)
    };
    let known = programs.supported(type_id);
    let known = known.filter(|parameter| is_meant(parameter) && reads(parameter));
    let codes: Vec<String> = known.map(|parameter| parameter.code.to_string()).collect();
    if codes.len() > MAX_OF_ELEMENT {
        Vec::new()
    } else {
        codes
    }
}

fn is_reference(parameter: &SearchParameter) -> bool {
    parameter.search_type == SearchType::Reference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fhir::SearchParameters;

    fn programs() -> Programs {
        Programs::new(SearchParameters::builtin())
    }

    fn said(resource: &str, parameter: &str) -> String {
        let type_id = resource_type(resource).unwrap();
        let error = unknown(&programs(), type_id, parameter.to_owned()).to_string();
        let known = format!("'{parameter}' is not a search parameter of {resource}");
        error.strip_prefix(&known).unwrap().to_owned()
    }

    #[test]
    fn an_unknown_parameter_has_a_suggestion() {
        for (resource, parameter, meant) in [
            ("Observation", "cod", "; did you mean 'code'?"),
            ("Observation", "cod:not", "; did you mean 'code'?"),
            ("Observation", "_conut", "; did you mean '_count'?"),
            ("Observation", "patient.nme", "; did you mean 'patient.name'?"),
            (
                "Observation",
                "subject:Patient.nme",
                "; did you mean 'subject:Patient.name'?",
            ),
            ("Observation", "patint.name", "; did you mean 'patient.name'?"),
            (
                "Observation",
                "encounter.subject:Patient.famly",
                "; did you mean 'encounter.subject:Patient.family'?",
            ),
            (
                "Patient",
                "_has:Observation:patient:cod",
                "; did you mean '_has:Observation:patient:code'?",
            ),
            ("Condition", "onsetDateTime", "; did you mean 'onset-date'?"),
            (
                "Condition",
                "onset",
                "; did you mean 'onset-age', 'onset-date' or 'onset-info'?",
            ),
            ("Patient", "birthDate", "; did you mean 'birthdate'?"),
            ("Account", "_include", ""),
            ("Patient", "nothing-alike", ""),
            ("Patient", "", ""),
        ] {
            assert_eq!(said(resource, parameter), meant, "{resource}?{parameter}");
        }
    }

    #[test]
    fn a_chain_of_many_names_has_no_suggestion() {
        for step in ["partof.", "_has:Organization:partof:"] {
            let chain = |steps: usize| step.repeat(steps) + "nme";
            assert!(said("Organization", &chain(2)).ends_with("name'?"));
            assert_eq!(said("Organization", &chain(100_000)), "");
        }
    }

    #[test]
    fn a_path_of_a_reference_has_a_suggestion() {
        for (path, meant) in [
            ("Observation:subjct", Some("Observation:subject")),
            ("Observatoin:subject", Some("Observation:subject")),
            ("Observation:subject:Patinet", Some("Observation:subject:Patient")),
            ("Observatoin:*", Some("Observation:*")),
            ("Observation:subject", None),
            ("Observation:zzzzzz", None),
            ("Nothing:subject", None),
            ("", None),
        ] {
            assert_eq!(reference_path(&programs(), path).as_deref(), meant, "{path}");
        }
    }
}
