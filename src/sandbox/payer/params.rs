//! Parameters of a query or a form.

/// Names and values in their order.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Params(Vec<(String, String)>);

/// A parameter occurs more than once.
#[derive(Debug, thiserror::Error)]
#[error("the parameter {0} was given more than once")]
pub(in crate::sandbox) struct Repeated(String);

impl Params {
    /// Reads the text of a query or a form.
    pub(in crate::sandbox) fn parse(text: &[u8]) -> Params {
        Params(form_urlencoded::parse(text).into_owned().collect())
    }

    /// Parameters from pairs.
    pub(in crate::sandbox) fn of(pairs: impl Iterator<Item = (String, String)>) -> Params {
        Params(pairs.collect())
    }

    /// The first value of a parameter.
    pub(in crate::sandbox) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The value of a parameter; empty if it is missing.
    pub(in crate::sandbox) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// All values of a parameter.
    pub(in crate::sandbox) fn all<'p>(&'p self, name: &str) -> impl Iterator<Item = &'p str> {
        let named = self.0.iter().filter(move |(one, _)| one == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Names and values.
    pub(in crate::sandbox) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Checks that none of these parameters is repeated, as OAuth requires.
    pub(in crate::sandbox) fn single(&self, names: &[&str]) -> Result<(), Repeated> {
        match names.iter().find(|name| self.all(name).count() > 1) {
            Some(name) => Err(Repeated((*name).to_owned())),
            None => Ok(()),
        }
    }
}
