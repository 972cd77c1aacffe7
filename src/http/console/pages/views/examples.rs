//! The example views of the folder `examples/`, which are built in.

/// Lists the examples by the names of their files.
macro_rules! examples {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../../examples/", $name, ".view.json")))),*]
    };
}

/// The name of each example, and its ViewDefinition.
const EXAMPLES: [(&str, &str); 14] = examples![
    "allergies",
    "blood-pressure",
    "claim-diagnoses",
    "claim-lines",
    "claim-totals",
    "coverage",
    "encounters",
    "immunizations",
    "laboratory-results",
    "medications",
    "patient-demographics",
    "problem-list",
    "procedures",
    "vital-signs",
];

/// Returns the names of the examples.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().map(|(name, _)| *name)
}

/// Returns the ViewDefinition of an example.
pub(super) fn get(name: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(one, _)| *one == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_an_example() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
        let files = std::fs::read_dir(folder).unwrap();
        let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut views: Vec<String> = files
            .filter_map(|name| name.strip_suffix(".view.json").map(str::to_owned))
            .collect();
        views.sort();
        assert_eq!(names().collect::<Vec<_>>(), views);
    }
}
