//! The parameters of a query or a form.

/// The names and values of the parameters, in the order of the query or form.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Params(Vec<(String, String)>);

/// The error for a parameter that occurs more than once.
#[derive(Debug, thiserror::Error)]
#[error("the parameter {0} was given more than once")]
pub(in crate::sandbox) struct Repeated(String);

impl Params {
    /// Parses a query or a form.
    pub(in crate::sandbox) fn parse(text: &[u8]) -> Params {
        Params(form_urlencoded::parse(text).into_owned().collect())
    }

    /// Creates parameters from pairs of name and value.
    pub(in crate::sandbox) fn of(pairs: impl Iterator<Item = (String, String)>) -> Params {
        Params(pairs.collect())
    }

    /// Returns the first value of a parameter.
    pub(in crate::sandbox) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns the first value of a parameter. It is empty if the parameter is missing.
    pub(in crate::sandbox) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Returns all values of a parameter, in their order.
    pub(in crate::sandbox) fn all<'p>(&'p self, name: &str) -> impl Iterator<Item = &'p str> {
        let named = self.0.iter().filter(move |(one, _)| one == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Returns all names and values.
    pub(in crate::sandbox) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Checks that none of the parameters with these names is repeated, as OAuth requires.
    pub(in crate::sandbox) fn single(&self, names: &[&str]) -> Result<(), Repeated> {
        match names.iter().find(|name| self.all(name).count() > 1) {
            Some(name) => Err(Repeated((*name).to_owned())),
            None => Ok(()),
        }
    }
}
