//! Checks the parameters of `$summary`.

use super::request::Sections;
use crate::patient::PatientError;
use crate::search::raw::RawParameter;
use crate::search::{Handling, shortened};

/// The profile of the documents. `VERSIONS` has the accepted versions of its implementation guide.
const PROFILE: &str = "http://hl7.org/fhir/uv/ips/StructureDefinition/Composition-uv-ips";
const VERSIONS: [&str; 2] = ["2.0.0", "2.0.1"];

/// The checked parameters of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The requested sections.
    pub sections: Sections,
    /// The Patient's identifier, as `system|value` or `value`, for a request without the Patient's id.
    pub identifier: Option<String>,
}

impl Asked {
    /// Checks the parameters. Unknown ones are ignored if `handling` is lenient, and refused if it is strict.
    pub fn parse(parameters: &[RawParameter], handling: Handling) -> Result<Asked, PatientError> {
        let mut sections = Vec::new();
        let mut identifier: Option<String> = None;
        let given = parameters.iter().filter(|parameter| !parameter.value.is_empty());
        for parameter in given {
            let value = parameter.value.as_str();
            match (parameter.name.as_str(), &parameter.modifier) {
                ("_section", None) => sections.push(value),
                ("identifier", None) if identifier.as_deref().is_some_and(|before| before != value) => {
                    return Err(PatientError::Repeated("identifier"));
                }
                ("identifier", None) => identifier = Some(value.to_owned()),
                ("profile", None) if is_ips(value) => {}
                ("profile", None) => return Err(PatientError::Profile(shortened(value))),
                ("_format" | "_pretty", None) => {}
                (name, _) if handling == Handling::Strict => return Err(PatientError::Unknown(shortened(name))),
                _ => {}
            }
        }
        let sections = Sections::parse(sections).map_err(|unknown| PatientError::Value {
            parameter: "_section",
            value: shortened(&unknown.0),
            expected: "the code or alias of a section, such as 48765-2 or allergies",
        })?;
        Ok(Asked { sections, identifier })
    }
}

fn is_ips(profile: &str) -> bool {
    match profile.split_once('|') {
        Some((url, version)) => url == PROFILE && VERSIONS.contains(&version),
        None => profile == PROFILE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str, handling: Handling) -> Result<Asked, String> {
        Asked::parse(&crate::search::raw::parse(query), handling).map_err(|error| error.to_string())
    }

    #[test]
    fn parameters_are_checked() {
        let sections = Sections::parse(["allergies", "problems"]).unwrap();
        let both = asked("_section=allergies&_section=11450-4&_format=json", Handling::Strict).unwrap();
        assert_eq!(both.sections, sections);
        assert_eq!(asked("_section=", Handling::Lenient).unwrap(), Asked::default());
        let named = asked("identifier=urn:x|1", Handling::Strict).unwrap();
        assert_eq!(named.identifier.as_deref(), Some("urn:x|1"));
        let profile = format!("profile={PROFILE}");
        assert!(
            asked(&profile, Handling::Strict).is_ok() && asked(&format!("{profile}|2.0.1"), Handling::Strict).is_ok()
        );
        assert_eq!(asked("sections=all", Handling::Lenient).unwrap(), Asked::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |query: &str| asked(query, Handling::Strict).unwrap_err();
        assert!(refused("_section=alerts").contains("it is 'alerts'"));
        assert_eq!(refused("sections=all"), "there is no parameter sections");
        assert_eq!(
            refused("identifier=1&identifier=2"),
            "the parameter identifier comes more than once"
        );
        assert_eq!(
            refused("profile=http://x"),
            "summaries of the profile 'http://x' are not made; documents are of the International Patient Summary"
        );
        assert!(refused(&format!("profile={PROFILE}|9")).contains("are not made"));
    }
}
