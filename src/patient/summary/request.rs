//! The sections that a request names in `_section`, by code or alias.

use super::list::SECTIONS;

/// The system of LOINC and `|`. In a request, this text may precede a section's code.
const LOINC: &str = "http://loinc.org|";

/// The requested sections: a bit for each index in `SECTIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections(u16);

/// The name of a section that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no section {0:?}")]
pub struct UnknownSection(pub String);

impl Default for Sections {
    fn default() -> Sections {
        Sections::ALL
    }
}

impl Sections {
    /// All sections.
    pub const ALL: Sections = Sections((1 << SECTIONS.len()) - 1);

    /// Parses the values of `_section`: codes and aliases, separated by commas. If there is no code and no alias, all
    /// sections are requested.
    pub fn parse<'v>(values: impl IntoIterator<Item = &'v str>) -> Result<Sections, UnknownSection> {
        let names = values.into_iter().flat_map(|value| value.split(','));
        let mut asked = Sections(0);
        for name in names.map(str::trim).filter(|name| !name.is_empty()) {
            let code = name.strip_prefix(LOINC).unwrap_or(name);
            let place = SECTIONS
                .iter()
                .position(|section| section.code == code || section.alias.eq_ignore_ascii_case(name))
                .ok_or_else(|| UnknownSection(name.to_owned()))?;
            asked.0 |= 1 << place;
        }
        Ok(if asked.0 == 0 { Sections::ALL } else { asked })
    }

    /// Returns the alias and the code of each section.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        SECTIONS.iter().map(|section| (section.alias, section.code))
    }

    /// Whether the section at the index `place` of `SECTIONS` is requested.
    pub(super) fn has(self, place: usize) -> bool {
        self.0 & (1 << place) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(values: &[&str]) -> Vec<&'static str> {
        let asked = Sections::parse(values.iter().copied()).unwrap();
        let asked = SECTIONS.iter().enumerate().filter(|(place, _)| asked.has(*place));
        asked.map(|(_, section)| section.alias).collect()
    }

    #[test]
    fn sections_are_named_by_code_or_alias() {
        assert_eq!(places(&["allergies"]), ["allergies"]);
        assert_eq!(
            places(&["11450-4, medications", "10160-0"]),
            ["medications", "problems"]
        );
        assert_eq!(
            places(&["http://loinc.org|42348-3", "VitalSigns"]),
            ["vitalsigns", "advancedirectives"]
        );
    }

    #[test]
    fn without_a_name_all_are_asked_for() {
        for values in [&[][..], &[""], &[" , "]] {
            assert_eq!(Sections::parse(values.iter().copied()), Ok(Sections::ALL));
        }
        assert_eq!(places(&[]).len(), 14);
    }

    #[test]
    fn an_unknown_section_is_named() {
        let error = Sections::parse(["allergies,alerts"]).unwrap_err();
        assert_eq!(error, UnknownSection("alerts".to_owned()));
    }
}
