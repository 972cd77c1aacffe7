//! The parameters of a request that begins a flow, or the fields of a form, as the client sent them. The module
//! `request` decides what they mean.

use std::borrow::Cow;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The decoded names and values, in the order in which the client sent them. A parameter without a value counts as
/// missing (RFC 6749, section 3.1).
pub(in crate::http::connect) struct Parameters(Vec<(String, String)>);

/// The error for a parameter that occurs more than once, which RFC 6749 forbids.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::http::connect) struct Repeated;

impl Parameters {
    /// Parses a query or the body of a form.
    pub(in crate::http::connect) fn parse(text: &[u8]) -> Parameters {
        let pairs = form_urlencoded::parse(text).filter(|(_, value)| !value.is_empty());
        Parameters(
            pairs
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// Returns the value of a parameter that may occur at most once. `None` if it is missing. An error if it is
    /// repeated.
    pub(in crate::http::connect) fn one<'p>(&'p self, name: &str) -> Result<Option<&'p str>, Repeated> {
        let mut values = self
            .0
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.as_str());
        let value = values.next();
        match values.next() {
            None => Ok(value),
            Some(_) => Err(Repeated),
        }
    }

    /// Returns the value of a parameter. `None` if it is missing or repeated.
    pub(in crate::http::connect) fn sole<'p>(&'p self, name: &str) -> Option<&'p str> {
        self.one(name).ok().flatten()
    }

    /// Returns all values of a parameter.
    pub(in crate::http::connect) fn all<'p, 'n: 'p>(
        &'p self,
        name: &'n str,
    ) -> impl Iterator<Item = &'p str> + use<'p, 'n> {
        let named = move |(key, _): &&(String, String)| key == name;
        self.0.iter().filter(named).map(|(_, value)| value.as_str())
    }

    /// Returns a digest of all names and values except those of the parameter `without`. The order of the parameters
    /// does not matter.
    pub(in crate::http::connect) fn fingerprint(&self, without: &str) -> String {
        let mut pairs: Vec<Cow<'_, str>> = self
            .0
            .iter()
            .filter(|(name, _)| name != without)
            .map(|(name, value)| {
                let mut one = form_urlencoded::Serializer::new(String::new());
                Cow::Owned(one.append_pair(name, value).finish())
            })
            .collect();
        pairs.sort();
        URL_SAFE_NO_PAD.encode(digest(&SHA256, pairs.join("&").as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_parameter_is_told_from_a_missing_one() {
        let parameters = Parameters::parse(b"a=1&b=&b=2&c=1&c=1&d");
        assert_eq!(parameters.one("a"), Ok(Some("1")));
        assert_eq!(parameters.one("b"), Ok(Some("2")));
        assert_eq!(parameters.one("c"), Err(Repeated));
        assert_eq!(parameters.one("d"), Ok(None));
        assert_eq!(parameters.sole("c"), None);
    }

    #[test]
    fn a_fingerprint_goes_by_every_parameter_but_one() {
        let of = |text: &str| Parameters::parse(text.as_bytes()).fingerprint("svc_resume");
        assert_eq!(of("a=1&b=2"), of("b=2&svc_resume=true&a=1"));
        assert_ne!(of("a=1&b=2"), of("a=1&b=3"));
        assert_ne!(of("a=1&b=2"), of("a=1&b=2&c=3"));
        assert_ne!(of("a=1%26b=2"), of("a=1&b=2"));
    }
}
