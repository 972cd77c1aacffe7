//! `:below` and `:above` of URIs (R4 search, 3.1.1.4.9).

/// A URI and the URIs below it, or a URI and the URIs above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UriTree {
    uri: String,
    below: bool,
}

impl UriTree {
    /// Matches `uri` and the URIs below it. These begin with `uri`.
    pub(crate) fn below(uri: String) -> UriTree {
        UriTree { uri, below: true }
    }

    /// Matches `uri` and the URIs above it. `uri` begins with each of these.
    pub(crate) fn above(uri: String) -> UriTree {
        UriTree { uri, below: false }
    }

    /// Returns the URI, and whether the URIs below it match.
    pub(crate) fn into_parts(self) -> (String, bool) {
        (self.uri, self.below)
    }

    /// Returns the length of the URI in bytes.
    pub(crate) fn len(&self) -> usize {
        self.uri.len()
    }

    /// Whether a URI matches. Both URIs must be equal, or the longer one must continue the shorter one at the start of
    /// a path segment, a query, a fragment or a version.
    pub(crate) fn holds(&self, candidate: &str) -> bool {
        let (short, long) = if self.below {
            (self.uri.as_str(), candidate)
        } else {
            (candidate, self.uri.as_str())
        };
        // The parts of a URN are no path, and R4 defines no hierarchy of URNs.
        let is_path = !short.starts_with("urn:");
        match long.strip_prefix(short) {
            Some(rest) => {
                rest.is_empty() || is_path && (short.ends_with('/') || rest.starts_with(['/', '?', '#', '|']))
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_not_letters() {
        let below = |uri: &str, candidate| UriTree::below(uri.to_owned()).holds(candidate);
        assert!(below("http://acme.org/fhir/", "http://acme.org/fhir/ValueSet/1"));
        assert!(below("http://acme.org/fhir", "http://acme.org/fhir/ValueSet/1"));
        assert!(below("http://acme.org/fhir", "http://acme.org/fhir"));
        assert!(!below("http://acme.org/fhir", "http://acme.org/fhirs"));
        assert!(!below("urn:oid:1.2", "urn:oid:1.2.3"));
        let above = |uri: &str, candidate| UriTree::above(uri.to_owned()).holds(candidate);
        assert!(above(
            "http://acme.org/fhir/ValueSet/123/_history/5",
            "http://acme.org/fhir/ValueSet/123"
        ));
        assert!(!above("http://acme.org/fhir", "http://acme.org/fhir/x"));
    }
}
