//! Where access to a source may be shown: under its FHIR base, and under what else the operator has said to be the source's.

use url::Url;

/// The addresses under some others.
#[derive(Clone, Debug, Default)]
pub struct Realm(Vec<Url>);

impl Realm {
    /// What lies under these addresses, each with or without a trailing slash. What is no URL holds nothing.
    pub fn under<'a>(bases: impl IntoIterator<Item = &'a str>) -> Realm {
        Realm(bases.into_iter().filter_map(|base| Url::parse(base).ok()).collect())
    }

    /// Whether an address is one of the source's.
    pub fn holds(&self, url: &Url) -> bool {
        self.0.iter().any(|base| {
            let under = url.path().strip_prefix(base.path().trim_end_matches('/'));
            url.origin() == base.origin() && under.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realm_is_a_base_and_what_lies_under_it() {
        let realm = Realm::under(["https://payer.example/fhir/", "https://pages.example:8443", "nonsense"]);
        for own in [
            "https://payer.example/fhir",
            "https://payer.example/fhir?_getpages=1",
            "https://payer.example/fhir/Patient/p",
            "https://payer.example:443/fhir/x",
            "https://pages.example:8443/whatever",
        ] {
            assert!(realm.holds(&own.parse().unwrap()), "{own}");
        }
        for foreign in [
            "https://payer.example/",
            "https://payer.example/fhirx/Patient",
            "https://payer.example/fhir/../other",
            "https://payer.example/fhir/%2e%2e/other",
            "https://payer.example/FHIR/Patient",
            "https://payer.example:8443/fhir",
            "http://payer.example/fhir",
            "https://payer.example.evil.example/fhir",
            "https://pages.example/whatever",
        ] {
            assert!(!realm.holds(&foreign.parse().unwrap()), "{foreign}");
        }
        assert!(!Realm::default().holds(&"https://payer.example/".parse().unwrap()));
    }
}
