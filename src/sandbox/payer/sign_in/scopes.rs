//! SMART scopes: which requested scopes are known, which types a person may choose, and what a token allows. Unknown
//! scopes are not granted, but they are no error. OAuth allows this.

use std::collections::BTreeSet;

use super::super::office::organization::{Organization, SHARED};

/// The scopes that an application requested.
#[derive(Clone, Debug, Default)]
pub(in crate::sandbox::payer) struct Requested {
    /// Known scopes without a resource type, such as `launch/patient`.
    plain: Vec<String>,
    /// Pairs of a resource type, or `*` for all types, and the requested access as it was written, such as `read` or
    /// `rs`.
    resources: Vec<(String, String)>,
}

/// What a token allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::sandbox::payer) struct Granted {
    /// The scope as text, for the token response.
    pub(in crate::sandbox::payer) text: String,
    types: BTreeSet<String>,
    /// Whether a refresh token is issued.
    pub(in crate::sandbox::payer) offline: bool,
}

/// The known scopes without a resource type at an organization with records. `IDENTITY` has those at the identity
/// provider.
const RECORDS: &[&str] = &["launch/patient", "offline_access"];
const IDENTITY: &[&str] = &["openid", "profile"];

impl Requested {
    /// Parses the `scope` of an authorization request. Leaves out unknown scopes, and scopes that do not include
    /// reading.
    pub(in crate::sandbox::payer) fn parse(scope: &str) -> Requested {
        let mut requested = Requested::default();
        for word in scope.split_ascii_whitespace() {
            let resource = word.strip_prefix("patient/").and_then(|rest| rest.split_once('.'));
            match resource {
                Some((resource_type, access)) if reads(access) => {
                    requested.resources.push((resource_type.to_owned(), access.to_owned()))
                }
                Some(_) => {}
                None if (RECORDS.contains(&word) || IDENTITY.contains(&word)) && !requested.has(word) => {
                    requested.plain.push(word.to_owned())
                }
                None => {}
            }
        }
        requested
    }

    /// Whether this scope, which has no resource type, was requested.
    pub(in crate::sandbox::payer) fn has(&self, scope: &str) -> bool {
        self.plain.iter().any(|one| one == scope)
    }

    /// Returns the types among which the person chooses: the requested types of personal records that the organization
    /// has, without the types in `withheld`.
    pub(in crate::sandbox::payer) fn offered(
        &self,
        organization: &Organization,
        withheld: &[String],
    ) -> Vec<&'static str> {
        let mut types = organization.personal();
        types.retain(|resource_type| {
            self.covers(resource_type).is_some() && !withheld.iter().any(|one| one == resource_type)
        });
        types
    }

    /// Returns the grant for the types that the person chose, and for the requested types that people share. A refresh
    /// token is issued only if `offline` is true and `offline_access` was requested.
    pub(in crate::sandbox::payer) fn granted(
        &self,
        organization: &Organization,
        chosen: &[&str],
        offline: bool,
    ) -> Granted {
        let whole = organization
            .personal()
            .iter()
            .all(|resource_type| chosen.contains(resource_type));
        let mut words = self.plain_of(RECORDS);
        words.retain(|word| word != "offline_access" || offline);
        let shared = SHARED
            .iter()
            .filter(|resource_type| self.covers(resource_type).is_some());
        let types: BTreeSet<String> = chosen
            .iter()
            .chain(shared)
            .map(|resource_type| (*resource_type).to_owned())
            .collect();
        if whole && let Some(access) = self.covers("*") {
            words.push(format!("patient/*.{access}"));
        } else {
            let each = types
                .iter()
                .filter_map(|resource_type| Some(format!("patient/{resource_type}.{}", self.covers(resource_type)?)));
            words.extend(each);
        }
        Granted {
            text: words.join(" "),
            types,
            offline: offline && self.has("offline_access"),
        }
    }

    fn plain_of(&self, known: &[&str]) -> Vec<String> {
        let asked = self.plain.iter().filter(|one| known.contains(&one.as_str()));
        asked.cloned().collect()
    }

    /// Returns the access that was requested for a type, by the type's name or by `*`. `None` if the type was not
    /// requested.
    fn covers(&self, resource_type: &str) -> Option<&str> {
        let found = self
            .resources
            .iter()
            .find(|(asked, _)| asked == resource_type || asked == "*");
        found.map(|(_, access)| access.as_str())
    }
}

impl Granted {
    /// Returns the grant of a facility. It is for all types of the facility, because no person chooses types there.
    pub(in crate::sandbox::payer) fn whole(organization: &Organization) -> Granted {
        Requested::parse("launch/patient patient/*.read").granted(organization, &organization.personal(), false)
    }

    /// Returns the grant of the identity provider, which allows no resources.
    pub(in crate::sandbox::payer) fn identity(requested: &Requested) -> Granted {
        Granted {
            text: requested.plain_of(IDENTITY).join(" "),
            ..Granted::default()
        }
    }

    /// Whether resources of a type may be read.
    pub(in crate::sandbox::payer) fn allows(&self, resource_type: &str) -> bool {
        self.types.contains(resource_type)
    }
}

/// Whether an access includes reading. In SMART 1, the access is `read` or `*`. In SMART 2, it is letters of `cruds`.
fn reads(access: &str) -> bool {
    let access = access.split('?').next().unwrap_or_default();
    matches!(access, "read" | "*") || (access.contains('r') && access.bytes().all(|letter| b"cruds".contains(&letter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_grant_keeps_the_wildcard_and_a_partial_one_names_the_types() {
        let organization = Organization::named("hilltop").unwrap();
        let requested =
            Requested::parse("launch/patient offline_access patient/*.read user/*.read nonsense patient/X.c");
        let offered = requested.offered(organization, &[]);
        assert_eq!(offered, organization.personal());
        let whole = requested.granted(organization, &offered, true);
        assert_eq!(whole.text, "launch/patient offline_access patient/*.read");
        assert!(whole.offline && whole.allows("Coverage") && whole.allows("Organization") && !whole.allows("Goal"));
        let part = requested.granted(organization, &["Coverage"], false);
        assert!(
            part.text
                .starts_with("launch/patient patient/Coverage.read patient/InsurancePlan.read"),
            "{}",
            part.text
        );
        assert!(part.allows("Coverage") && !part.allows("Patient") && !part.offline);
    }

    #[test]
    fn only_what_was_asked_for_is_offered() {
        let organization = Organization::named("lakeshore").unwrap();
        let requested = Requested::parse("launch/patient patient/Coverage.rs patient/Goal.rs patient/Patient.read");
        assert_eq!(requested.offered(organization, &[]), ["Coverage", "Patient"]);
        assert_eq!(requested.offered(organization, &["Patient".to_owned()]), ["Coverage"]);
        let granted = requested.granted(organization, &["Coverage", "Patient"], true);
        assert_eq!(granted.text, "launch/patient patient/Coverage.rs patient/Patient.read");
        assert!(!granted.offline && !granted.allows("Organization"));
        assert!(
            Requested::parse("patient/*.s patient/*.x")
                .offered(organization, &[])
                .is_empty()
        );
    }
}
