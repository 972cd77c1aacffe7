//! Finds the known name that an unknown name probably means.

use strsim::osa_distance;

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
}
