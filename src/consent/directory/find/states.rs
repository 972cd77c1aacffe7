//! The states and territories of the USA. People write their names in full or as a code of two letters.

use std::sync::LazyLock;

use super::words::words;

/// The words of each name.
static NAMES: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| STATES.iter().map(|(_, name)| words(name)).collect());

/// The codes and names.
const STATES: &[(&str, &str)] = &[
    ("AL", "Alabama"),
    ("AK", "Alaska"),
    ("AZ", "Arizona"),
    ("AR", "Arkansas"),
    ("CA", "California"),
    ("CO", "Colorado"),
    ("CT", "Connecticut"),
    ("DE", "Delaware"),
    ("DC", "District of Columbia"),
    ("FL", "Florida"),
    ("GA", "Georgia"),
    ("GU", "Guam"),
    ("HI", "Hawaii"),
    ("ID", "Idaho"),
    ("IL", "Illinois"),
    ("IN", "Indiana"),
    ("IA", "Iowa"),
    ("KS", "Kansas"),
    ("KY", "Kentucky"),
    ("LA", "Louisiana"),
    ("ME", "Maine"),
    ("MD", "Maryland"),
    ("MA", "Massachusetts"),
    ("MI", "Michigan"),
    ("MN", "Minnesota"),
    ("MS", "Mississippi"),
    ("MO", "Missouri"),
    ("MT", "Montana"),
    ("NE", "Nebraska"),
    ("NV", "Nevada"),
    ("NH", "New Hampshire"),
    ("NJ", "New Jersey"),
    ("NM", "New Mexico"),
    ("NY", "New York"),
    ("NC", "North Carolina"),
    ("ND", "North Dakota"),
    ("OH", "Ohio"),
    ("OK", "Oklahoma"),
    ("OR", "Oregon"),
    ("PA", "Pennsylvania"),
    ("PR", "Puerto Rico"),
    ("RI", "Rhode Island"),
    ("SC", "South Carolina"),
    ("SD", "South Dakota"),
    ("TN", "Tennessee"),
    ("TX", "Texas"),
    ("UT", "Utah"),
    ("VT", "Vermont"),
    ("VA", "Virginia"),
    ("VI", "Virgin Islands"),
    ("WA", "Washington"),
    ("WV", "West Virginia"),
    ("WI", "Wisconsin"),
    ("WY", "Wyoming"),
];

/// Returns other names for the states that a text contains: the code for a name, and the name for a code. A code must
/// be two capital letters, and a longer text must also have small letters: "CARE IN MOTION" is not in Indiana.
pub(super) fn other_names(text: &str) -> Vec<&'static str> {
    let own = words(text);
    let mixed = text.chars().any(char::is_lowercase) || text.chars().count() <= 2;
    let parts: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric()).collect();
    let mut found = Vec::new();
    for ((code, name), in_words) in STATES.iter().zip(NAMES.iter()) {
        if mixed && parts.contains(code) {
            found.push(*name);
        }
        // In "West Virginia", "Virginia" is not the state of this name.
        let named = own.windows(in_words.len()).enumerate().any(|(at, part)| {
            let before = at.checked_sub(1).and_then(|at| own.get(at));
            part == in_words.as_slice() && !(*code == "VA" && before.is_some_and(|word| word == "west"))
        });
        if named {
            found.push(*code);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_known_by_both_names() {
        for (text, expected) in [
            ("Springfield, IL", vec!["Illinois"]),
            ("Portland, Oregon", vec!["OR"]),
            ("Charleston, West Virginia", vec!["WV"]),
            ("new york", vec!["NY"]),
            ("CARE IN MOTION", vec![]),
            ("Care in Motion", vec![]),
            ("TX", vec!["Texas"]),
            ("", vec![]),
        ] {
            assert_eq!(other_names(text), expected, "{text}");
        }
    }
}
