//! The FHIR base of a source in all the forms in which its answers write it. Gateways end TLS, change the case of paths
//! and leave addresses of their internal hosts in the records.

use std::borrow::Cow;

use url::Url;

/// A longer address, in bytes, is under no base.
const LONGEST: usize = 4_096;
/// The maximum number of other forms that are learned from a source's answers.
const LEARNED: usize = 8;

/// A source's FHIR base, and the other bases under which its answers show the same records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceBase {
    /// The base with a trailing slash.
    text: String,
    forms: Vec<Url>,
}

impl SourceBase {
    /// Creates the base from its address, with or without a trailing slash.
    pub fn new(fhir_base: &str) -> SourceBase {
        SourceBase {
            text: format!("{}/", fhir_base.trim_end_matches('/')),
            forms: Url::parse(fhir_base).into_iter().collect(),
        }
    }

    /// Creates the base with other forms that earlier answers have shown.
    pub fn with_forms(fhir_base: &str, forms: &[String]) -> SourceBase {
        let mut base = SourceBase::new(fhir_base);
        let forms = forms.iter().take(LEARNED).filter_map(|form| Url::parse(form).ok());
        base.forms.extend(forms);
        base
    }

    /// Returns the forms that answers have shown.
    pub fn learned(&self) -> Vec<String> {
        self.forms.iter().skip(1).map(|form| form.as_str().to_owned()).collect()
    }

    /// Returns the base with a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Adds the base of an address under which the source shows its own record `name`, such as `Patient/1`. The address
    /// is an entry's `fullUrl`, for example. Returns whether the base is a form that was not known yet.
    pub fn learn(&mut self, address: &str, name: &str) -> bool {
        let base = address.strip_suffix(name).and_then(|rest| rest.strip_suffix('/'));
        let Some(url) = base.filter(|_| is_http(address)).and_then(|base| Url::parse(base).ok()) else {
            return false;
        };
        if self.forms.len() > LEARNED || self.has_form(&url) {
            return false;
        }
        self.forms.push(url);
        true
    }

    /// Returns the relative form of an address under the base, such as `Patient/1`. Returns `None` if the address is
    /// relative already, or not under the base.
    pub fn relative<'t>(&self, text: &'t str) -> Option<&'t str> {
        if let Some(rest) = text.strip_prefix(&self.text) {
            return Some(rest);
        }
        if text.len() > LONGEST || !is_http(text) {
            return None;
        }
        // The base ends at a slash. Every slash is tried, because a base and the rest may have any number of them.
        let after_scheme = text.find("//")? + 2;
        let slashes = text
            .match_indices('/')
            .map(|(at, _)| at)
            .filter(|at| *at >= after_scheme);
        for at in slashes {
            let Ok(url) = Url::parse(&text[..at]) else { continue };
            if self.has_form(&url) {
                return Some(text[at..].trim_start_matches('/'));
            }
        }
        None
    }

    /// Returns an address below any form of the base as one below the base itself. Returns `None` for any other
    /// address.
    pub fn own(&self, url: &Url) -> Option<Url> {
        let (address, query) = match url.as_str().split_once('?') {
            Some((address, query)) => (address, Some(query)),
            None => (url.as_str(), None),
        };
        let is_base = Url::parse(address).is_ok_and(|url| self.has_form(&url));
        let mut own = match is_base {
            true => Url::parse(self.text.trim_end_matches('/')).ok()?,
            // A plain concatenation, because a relative address may lead anywhere.
            false => Url::parse(&format!("{}{}", self.text, self.relative(address)?)).ok()?,
        };
        if !is_under(Url::parse(&self.text).ok()?.path(), own.path()) {
            return None;
        }
        own.set_query(query);
        Some(own)
    }

    fn has_form(&self, url: &Url) -> bool {
        self.forms.iter().any(|form| {
            form.host() == url.host()
                && (form.scheme() != url.scheme() || form.port_or_known_default() == url.port_or_known_default())
                && alike(form.path()).trim_end_matches('/') == alike(url.path()).trim_end_matches('/')
        })
    }
}

/// Whether the path of an address is that of `base` or lies under it. Case and percent-encoding make no difference.
pub fn is_under(base: &str, path: &str) -> bool {
    let (base, path) = (alike(base), alike(path));
    let rest = path.strip_prefix(base.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_http(text: &str) -> bool {
    let has = |scheme: &str| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    has("http://") || has("https://")
}

/// Returns a path in lower case, without percent-encoding of characters that need none (RFC 3986, section 6.2.2.2).
/// `Url` has resolved the segments `.` and `..` in all their spellings before.
fn alike(path: &str) -> Cow<'_, str> {
    if !path.bytes().any(|byte| byte == b'%' || byte.is_ascii_uppercase()) {
        return Cow::Borrowed(path);
    }
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let digits = rest
            .get(at + 1..at + 3)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match digits {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 3..];
            }
            _ => {
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out.make_ascii_lowercase();
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_base_is_known_in_all_its_forms() {
        let base = SourceBase::new("https://payer.example/fhir/r4~b");
        for own in [
            "https://payer.example/fhir/r4~b/Patient/1",
            "http://payer.example/fhir/r4~b/Patient/1",
            "http://payer.example:8080/fhir/r4~b/Patient/1",
            "HTTPS://Payer.Example:443/FHIR/R4~b/Patient/1",
            "https://payer.example/fhir/r4%7Eb/Patient/1",
            "https://payer.example/fhir/r4%7eb//Patient/1",
        ] {
            assert_eq!(base.relative(own), Some("Patient/1"), "{own}");
        }
        for other in [
            "Patient/1",
            "https://payer.example/fhir/Patient/1",
            "https://payer.example/fhir/r4~bx/Patient/1",
            "https://payer.example:8443/fhir/r4~b/Patient/1",
            "https://other.example/fhir/r4~b/Patient/1",
            "urn:uuid:1",
            "https:",
        ] {
            assert_eq!(base.relative(other), None, "{other}");
        }
    }

    #[test]
    fn a_base_is_learned_from_the_records_own_addresses() {
        let mut base = SourceBase::new("https://payer.example/fhir");
        let text = "http://inside:8080/r4/Practitioner/2";
        assert_eq!(base.relative(text), None);
        assert!(!base.learn("http://inside:8080/r4/Patient/1", "Patient/2"));
        assert!(
            !base.learn("https://payer.example/fhir/Patient/1", "Patient/1"),
            "it is known"
        );
        assert!(!base.learn("urn:uuid:/Patient/1", "Patient/1"));
        assert!(base.learn("http://inside:8080/r4/Patient/1", "Patient/1"));
        assert!(!base.learn("http://inside:8080/r4/Patient/2", "Patient/2"));
        assert_eq!(base.relative(text), Some("Practitioner/2"));
        let own = |text: &str| base.own(&text.parse().unwrap()).map(String::from);
        assert_eq!(
            own("http://inside:8080/r4?page=2").as_deref(),
            Some("https://payer.example/fhir?page=2")
        );
        assert_eq!(
            own("http://inside:8080/r4/Goal?page=2").as_deref(),
            Some("https://payer.example/fhir/Goal?page=2")
        );
        assert_eq!(own("http://inside:8080/other?page=2"), None);
        let evil = own("http://inside:8080/r4/https://evil.example/x").unwrap();
        assert!(evil.starts_with("https://payer.example/fhir/"), "{evil}");
        let long = format!("http://inside:8080/{}", "a/".repeat(1 << 20));
        assert_eq!(base.relative(&long), None);
        let known = SourceBase::with_forms("https://payer.example/fhir", &base.learned());
        assert_eq!(known.relative(text), Some("Practitioner/2"));
        for number in 0..100 {
            base.learn(&format!("http://h{number}/Patient/1"), "Patient/1");
        }
        assert_eq!(base.relative("http://h99/Patient/1"), None);
    }
}
