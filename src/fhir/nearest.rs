//! Finds the known name that an unknown name probably means.

use strsim::osa_distance;

use super::facts;

/// Returns the known name that `name` probably means: the one with the fewest different letters, at most two. `None` if
/// no name is similar. Two swapped letters count as one difference.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let lower = name.to_ascii_lowercase();
    names
        // Skip names of a much different length. They are not similar, and computing the distance of a long text takes
        // long.
        .filter(|known| known.len().abs_diff(name.len()) <= 2)
        .map(|known| (osa_distance(&lower, &known.to_ascii_lowercase()), known))
        .filter(|(distance, known)| *distance <= 2 && distance * 3 <= known.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Returns a text for the end of an error message: `; did you mean '...'?` with the name that [`nearest`] returns.
/// Empty if no name is similar.
pub fn did_you_mean<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    match nearest(name, names) {
        Some(meant) => format!("; did you mean '{meant}'?"),
        None => String::new(),
    }
}

/// Returns a text for the end of an error message, like [`did_you_mean`], that names all of `meant`. Empty if there are
/// none.
pub fn did_you_mean_one_of(meant: &[String]) -> String {
    match meant {
        [] => String::new(),
        [only] => format!("; did you mean '{only}'?"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|name| format!("'{name}'")).collect();
            format!("; did you mean {} or '{last}'?", first.join(", "))
        }
    }
}

/// Returns the resource type of R4 that `name` probably means, or the type of this name. `None` if no type is similar.
pub fn nearest_resource_type(name: &str) -> Option<&'static str> {
    nearest(name, resource_types())
}

/// Returns a text for the end of an error message, like [`did_you_mean`], for a name that is no resource type of R4.
pub fn did_you_mean_resource_type(name: &str) -> String {
    did_you_mean(name, resource_types())
}

fn resource_types() -> impl Iterator<Item = &'static str> {
    facts().resources().map(|type_id| facts().get(type_id).name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_near() {
        let names = [
            "forEach",
            "forEachOrNull",
            "path",
            "unionAll",
            "column",
            "Observation",
            "code",
        ];
        for (name, meant) in [
            ("foreach", Some("forEach")),
            ("forEeach", Some("forEach")),
            ("columns", Some("column")),
            ("pth", Some("path")),
            ("Observatoin", Some("Observation")),
            ("observation", Some("Observation")),
            ("cod", Some("code")),
            ("union", None),
            ("ab", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, names.into_iter()), meant, "{name}");
        }
        assert_eq!(did_you_mean("cod", names.into_iter()), "; did you mean 'code'?");
        assert_eq!(did_you_mean(&"x".repeat(1 << 20), names.into_iter()), "");
    }

    #[test]
    fn several_names_may_be_meant() {
        let said = |meant: &[&str]| did_you_mean_one_of(&meant.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(said(&[]), "");
        assert_eq!(said(&["a"]), "; did you mean 'a'?");
        assert_eq!(said(&["a", "b"]), "; did you mean 'a' or 'b'?");
        assert_eq!(said(&["a", "b", "c"]), "; did you mean 'a', 'b' or 'c'?");
    }

    #[test]
    fn resource_types_are_known() {
        assert_eq!(nearest_resource_type("Observatoin"), Some("Observation"));
        assert_eq!(nearest_resource_type("Patient"), Some("Patient"));
        assert_eq!(nearest_resource_type("Nothing"), None);
        assert_eq!(did_you_mean_resource_type("Patinet"), "; did you mean 'Patient'?");
    }
}
