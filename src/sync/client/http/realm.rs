//! The realm of a source: the addresses to which its access token may be sent. These are its FHIR base, and others that
//! the operator has declared.

use url::Url;

use crate::ingest::is_under;

/// A set of address prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Realm(Vec<Url>);

impl Realm {
    /// Creates the set of all addresses below these bases. A base may end in a slash or not. An invalid URL adds
    /// nothing.
    pub fn under<'a>(bases: impl IntoIterator<Item = &'a str>) -> Realm {
        Realm(bases.into_iter().filter_map(|base| Url::parse(base).ok()).collect())
    }

    /// Creates the set of all addresses with the same origin as one of these.
    pub fn origins<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Realm {
        let urls = addresses.into_iter().filter_map(|address| Url::parse(address).ok());
        let origins = urls.filter_map(|url| Url::parse(&url.origin().ascii_serialization()).ok());
        Realm(origins.collect())
    }

    /// Whether an address belongs to the realm. Case and percent-encoding of the path make no difference, because
    /// sources write their own base in several ways.
    pub fn holds(&self, url: &Url) -> bool {
        self.0
            .iter()
            .any(|base| url.origin() == base.origin() && is_under(base.path(), url.path()))
    }
}

impl Realm {
    /// Returns the address, if it belongs to the realm. A source behind a TLS proxy may write `http` for its own host.
    /// Such an address is returned with the scheme and the port of the realm.
    pub fn own(&self, url: &Url) -> Option<Url> {
        if self.holds(url) {
            return Some(url.clone());
        }
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
        let of_host = self
            .0
            .iter()
            .filter(|base| is_web(url) && is_web(base) && url.scheme() != base.scheme() && base.host() == url.host());
        let mut taken = of_host.filter_map(|base| {
            let mut taken = url.clone();
            taken.set_scheme(base.scheme()).ok()?;
            taken.set_port(base.port()).ok()?;
            Some(taken)
        });
        taken.find(|url| self.holds(url))
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
            "https://Payer.example/FHIR/Patient",
            "https://payer.example/%66hir/Patient",
            "https://pages.example:8443/whatever",
        ] {
            assert!(realm.holds(&own.parse().unwrap()), "{own}");
        }
        for foreign in [
            "https://payer.example/",
            "https://payer.example/fhirx/Patient",
            "https://payer.example/fhir/../other",
            "https://payer.example/fhir/%2e%2e/other",
            "https://payer.example/fhir%2f..%2fother",
            "https://payer.example:8443/fhir",
            "http://payer.example/fhir",
            "https://payer.example.evil.example/fhir",
            "https://pages.example/whatever",
        ] {
            assert!(!realm.holds(&foreign.parse().unwrap()), "{foreign}");
        }
        assert!(!Realm::default().holds(&"https://payer.example/".parse().unwrap()));
    }

    #[test]
    fn another_scheme_at_the_same_host_is_the_realms() {
        let realm = Realm::under(["https://payer.example/fhir", "https://gateway.example:8443/pages"]);
        let own = |text: &str| realm.own(&text.parse().unwrap()).map(String::from);
        for (next, expected) in [
            (
                "https://payer.example/fhir?page=2",
                Some("https://payer.example/fhir?page=2"),
            ),
            (
                "http://payer.example/fhir/x?page=2",
                Some("https://payer.example/fhir/x?page=2"),
            ),
            ("http://payer.example:8080/fhir?a", Some("https://payer.example/fhir?a")),
            (
                "http://gateway.example/pages/2",
                Some("https://gateway.example:8443/pages/2"),
            ),
            ("http://payer.example/other", None),
            ("http://other.example/fhir", None),
            ("https://payer.example:8080/fhir", None),
        ] {
            assert_eq!(own(next).as_deref(), expected, "{next}");
        }
        let plain = Realm::under(["http://payer.example:8080/fhir"]);
        let next = plain.own(&"https://payer.example/fhir?a".parse().unwrap());
        assert_eq!(next.unwrap().as_str(), "http://payer.example:8080/fhir?a");
    }
}
