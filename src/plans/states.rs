//! The states and territories of the USA: postal codes, names, and numbers of counties.

/// Postal code, name, and number of counties and county equivalents, from the Census Bureau's list of 2020. Connecticut
/// has the eight counties from before 2022, which CMS still uses. The number is 0 for territories, except Puerto Rico.
const STATES: [(&str, &str, usize); 56] = [
    ("AK", "Alaska", 30),
    ("AL", "Alabama", 67),
    ("AR", "Arkansas", 75),
    ("AS", "American Samoa", 0),
    ("AZ", "Arizona", 15),
    ("CA", "California", 58),
    ("CO", "Colorado", 64),
    ("CT", "Connecticut", 8),
    ("DC", "District of Columbia", 1),
    ("DE", "Delaware", 3),
    ("FL", "Florida", 67),
    ("GA", "Georgia", 159),
    ("GU", "Guam", 0),
    ("HI", "Hawaii", 5),
    ("IA", "Iowa", 99),
    ("ID", "Idaho", 44),
    ("IL", "Illinois", 102),
    ("IN", "Indiana", 92),
    ("KS", "Kansas", 105),
    ("KY", "Kentucky", 120),
    ("LA", "Louisiana", 64),
    ("MA", "Massachusetts", 14),
    ("MD", "Maryland", 24),
    ("ME", "Maine", 16),
    ("MI", "Michigan", 83),
    ("MN", "Minnesota", 87),
    ("MO", "Missouri", 115),
    ("MP", "Northern Mariana Islands", 0),
    ("MS", "Mississippi", 82),
    ("MT", "Montana", 56),
    ("NC", "North Carolina", 100),
    ("ND", "North Dakota", 53),
    ("NE", "Nebraska", 93),
    ("NH", "New Hampshire", 10),
    ("NJ", "New Jersey", 21),
    ("NM", "New Mexico", 33),
    ("NV", "Nevada", 17),
    ("NY", "New York", 62),
    ("OH", "Ohio", 88),
    ("OK", "Oklahoma", 77),
    ("OR", "Oregon", 36),
    ("PA", "Pennsylvania", 67),
    ("PR", "Puerto Rico", 78),
    ("RI", "Rhode Island", 5),
    ("SC", "South Carolina", 46),
    ("SD", "South Dakota", 66),
    ("TN", "Tennessee", 95),
    ("TX", "Texas", 254),
    ("UT", "Utah", 29),
    ("VA", "Virginia", 133),
    ("VI", "Virgin Islands", 0),
    ("VT", "Vermont", 14),
    ("WA", "Washington", 39),
    ("WI", "Wisconsin", 72),
    ("WV", "West Virginia", 55),
    ("WY", "Wyoming", 23),
];

/// Returns the postal code of a state that a file names by its code or its name. Returns any other text trimmed.
pub(super) fn code(text: &str) -> &str {
    let text = text.trim();
    let named = |state: &&(&'static str, &str, usize)| {
        state.0.eq_ignore_ascii_case(text)
            || state.1.eq_ignore_ascii_case(text)
            || text == "Washington D.C." && state.0 == "DC"
    };
    STATES.iter().find(named).map_or(text, |state| state.0)
}

/// Returns the name of the state with this postal code.
pub(super) fn name(code: &str) -> Option<&'static str> {
    STATES.iter().find(|state| state.0 == code).map(|state| state.1)
}

/// Whether a state has at most `counties` counties, so that this many counties are the whole state. False if the
/// state's number of counties is unknown.
pub(super) fn is_all(code: &str, counties: usize) -> bool {
    let known = STATES.iter().find(|state| state.0 == code);
    known.is_some_and(|state| state.2 > 0 && counties >= state.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_known_by_code_and_name() {
        assert_eq!(
            (code("Illinois"), code("il"), code("Atlantis")),
            ("IL", "IL", "Atlantis")
        );
        assert_eq!((code("Washington D.C."), code(" Puerto Rico ")), ("DC", "PR"));
        assert!(is_all("DE", 3) && !is_all("DE", 2) && !is_all("GU", 9) && !is_all("Atlantis", 9));
        // The sum of 3,143 counties and county equivalents, and of 78 municipios of Puerto Rico.
        assert_eq!(STATES.iter().map(|state| state.2).sum::<usize>(), 3_143 + 78);
        assert!(STATES.is_sorted());
    }
}
