//! Suggests the operation that a path under `/fhir` probably means.

use std::sync::OnceLock;

use super::table::table;
use crate::fhir::nearest::{did_you_mean, nearest};

/// Returns a suggestion for `name`, which is no operation at `place`, as the end of an error message. `place` is the
/// path between `/fhir` and the name, such as `["Patient", "[id]"]`. An operation of this place goes before one of
/// another. Empty if no operation is similar, if `name` does not begin with `$`, or if it is an operation of this
/// place.
pub(in crate::http) fn meant_operation(place: &[&str], name: &str) -> String {
    if !name.starts_with('$') {
        return String::new();
    }
    let here: Vec<&str> = operations()
        .iter()
        .filter(|operation| operation.is_at(place))
        .map(|operation| operation.name)
        .collect();
    if here.contains(&name) {
        return String::new();
    }
    let meant = did_you_mean(name, here.into_iter());
    if !meant.is_empty() {
        return meant;
    }
    let name = nearest(name, operations().iter().map(|operation| operation.name));
    let found = operations().iter().find(|operation| Some(operation.name) == name);
    found.map_or_else(String::new, |found| format!("; did you mean '{}'?", found.path()))
}

/// Returns a suggestion for the last part of a request's path, as [`meant_operation`] does.
pub(in crate::http) fn meant_operation_of(path: &str) -> String {
    let path = path.replace("%24", "$");
    let parts: Vec<&str> = path.split('/').skip(2).collect();
    match parts.as_slice() {
        [place @ .., name] => meant_operation(place, name),
        [] => String::new(),
    }
}

/// An operation of the table of routes.
struct Named {
    /// The parts of its path between `/fhir` and its name.
    place: Vec<&'static str>,
    name: &'static str,
}

impl Named {
    fn is_at(&self, place: &[&str]) -> bool {
        let mut parts = self.place.iter().zip(place);
        self.place.len() == place.len() && parts.all(|(known, part)| known.starts_with('{') || known == part)
    }

    /// Returns the operation's path relative to the FHIR base URL, such as `Patient/[id]/$everything`.
    fn path(&self) -> String {
        let parts = self.place.iter().chain([&self.name]);
        parts
            .copied()
            .collect::<Vec<_>>()
            .join("/")
            .replace('{', "[")
            .replace('}', "]")
    }
}

/// Returns the operations that the OpenAPI document describes.
fn operations() -> &'static [Named] {
    static OPERATIONS: OnceLock<Vec<Named>> = OnceLock::new();
    OPERATIONS.get_or_init(|| {
        let families = table();
        let routes = families.iter().flat_map(|family| &family.routes);
        let described = routes.filter(|route| !route.operations().is_empty());
        let paths = described.filter_map(|route| route.path().strip_prefix("/fhir/"));
        let named = paths.filter_map(|path| {
            let mut parts: Vec<&str> = path.split('/').collect();
            let name = parts.pop().filter(|name| name.starts_with('$'))?;
            Some(Named { place: parts, name })
        });
        named.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_guessed_from_its_place() {
        for (path, meant) in [
            ("/fhir/Patient/ann/$everthing", "; did you mean '$everything'?"),
            ("/fhir/Patient/ann/%24everthing", "; did you mean '$everything'?"),
            ("/fhir/Patient/$sumary", "; did you mean '$summary'?"),
            ("/fhir/ViewDefinition/$rn", "; did you mean '$run'?"),
            ("/fhir/$sql-rn", "; did you mean '$sql-run'?"),
            (
                "/fhir/Observation/$everthing",
                "; did you mean 'Patient/[id]/$everything'?",
            ),
            (
                "/fhir/Patient/$everything",
                "; did you mean 'Patient/[id]/$everything'?",
            ),
            ("/fhir/Patient/ann/$everything", ""),
            ("/fhir/Patient/ann/$lastn", ""),
            ("/fhir/Patient/ann/_history", ""),
            ("/fhir/Patient", ""),
            ("/fhir", ""),
            ("/", ""),
        ] {
            assert_eq!(meant_operation_of(path), meant, "{path}");
        }
    }
}
