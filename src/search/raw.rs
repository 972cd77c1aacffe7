//! The parameters of a search as they stood in the URL or form body: percent-decoded names, modifiers and values, in order.
//!
//! Nothing is interpreted here; `query` resolves these into a checked query and the text is never scanned again.

/// One `name[:modifier]=value` pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawParameter {
    /// The name before any `:`.
    pub name: String,
    /// What follows the first `:`.
    pub modifier: Option<String>,
    /// The value.
    pub value: String,
}

impl RawParameter {
    /// A parameter by its written name: `name` or `name:modifier`.
    pub fn named(written: &str, value: &str) -> RawParameter {
        let (name, modifier) = match written.split_once(':') {
            Some((name, modifier)) => (name, Some(modifier.to_owned())),
            None => (written, None),
        };
        RawParameter {
            name: name.to_owned(),
            modifier,
            value: value.to_owned(),
        }
    }
}

/// Parses a query string or an `application/x-www-form-urlencoded` body.
pub fn parse(query: &str) -> Vec<RawParameter> {
    form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, value)| RawParameter::named(&name, &value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_and_splits_modifiers() {
        let parsed = parse("name:exact=J%C3%BCrgen&code=http%3A%2F%2Floinc.org%7C8480-6&&=x&_count=5");
        let found: Vec<_> = parsed
            .iter()
            .map(|p| (p.name.as_str(), p.modifier.as_deref(), p.value.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("name", Some("exact"), "Jürgen"),
                ("code", None, "http://loinc.org|8480-6"),
                ("_count", None, "5")
            ]
        );
    }
}
