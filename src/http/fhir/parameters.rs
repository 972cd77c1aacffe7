//! Reads the parameters of an operation, as the client sent them in the body or in the query. Each operation decides
//! which parameters it has, and which values they may have.

use std::borrow::Cow;

use super::super::error::{Error, shortened};
use crate::columns::json::{Kind, Tape, Value};
use crate::fhir::outcome::IssueType;

/// A parameter of an operation.
pub(in crate::http) struct Parameter<'t> {
    pub(in crate::http) name: Cow<'t, str>,
    pub(in crate::http) value: Given<'t>,
}

/// The value of a parameter.
pub(in crate::http) enum Given<'t> {
    /// A member `resource` with an object.
    Resource(Value<'t>),
    /// A member `value[x]`: the type in place of `x`, and the value.
    Value(Cow<'t, str>, Value<'t>),
    /// A value in the query.
    Text(Cow<'t, str>),
    /// A parameter without a value, with several values, or with an invalid one. Contains the reason.
    Odd(&'static str),
}

/// Parses the body. An error if it is not one JSON object.
pub(in crate::http) fn json<'t>(body: &'t [u8], tape: &'t mut Tape) -> Result<Value<'t>, Error> {
    let root = tape
        .parse(body)
        .map_err(|error| Error::Invalid(format!("the body is not JSON: {error}")))?;
    if root.is_object() {
        Ok(root)
    } else {
        Err(Error::Invalid("the body is not a JSON object".to_owned()))
    }
}

/// Returns an error if an object in the body has a property twice, because readers of JSON disagree about such an
/// object. Imports refuse it, too.
pub(in crate::http) fn refuse_duplicates(root: Value<'_>) -> Result<(), Error> {
    match duplicate(root) {
        None => Ok(()),
        Some(name) => {
            let name = shortened(&name);
            Err(Error::Invalid(format!(
                "the property `{name}` stands twice in one object of the body"
            )))
        }
    }
}

/// Finds the name of a property that an object in the value has twice. The tape limits the depth of the recursion.
fn duplicate(value: Value<'_>) -> Option<String> {
    if value.is_array() {
        return value.items().find_map(duplicate);
    }
    if !value.is_object() {
        return None;
    }
    let mut names: Vec<Cow<'_, str>> = value.entries().map(|(key, _)| key.name()).collect();
    names.sort_unstable();
    let twice = names
        .windows(2)
        .find(|pair| pair[0] == pair[1])
        .map(|pair| pair[0].to_string());
    twice.or_else(|| value.entries().find_map(|(_, inner)| duplicate(inner)))
}

/// Reads the parameters of a Parameters resource.
pub(in crate::http) fn of_body<'t>(root: Value<'t>) -> Result<Vec<Parameter<'t>>, Error> {
    match root.get_str("resourceType").as_deref() {
        Some("Parameters") => {}
        Some(other) => {
            let other = shortened(other);
            return Err(Error::Invalid(format!(
                "the body is a {other}, not a Parameters resource"
            )));
        }
        None => return Err(Error::Invalid("the body is no Parameters resource".to_owned())),
    }
    let Some(parameters) = root.get("parameter") else {
        return Ok(Vec::new());
    };
    if !parameters.is_array() {
        return Err(Error::Invalid("Parameters.parameter is not an array".to_owned()));
    }
    parameters
        .items()
        .enumerate()
        .map(|(place, one)| parameter(place, one))
        .collect()
}

/// Reads the parameters of a query.
pub(in crate::http) fn of_query(query: Option<&str>) -> impl Iterator<Item = Parameter<'_>> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .filter(|(name, value)| !(name.is_empty() && value.is_empty()))
        .map(|(name, value)| Parameter {
            name,
            value: Given::Text(value),
        })
}

/// Returns the value of a parameter that may be in the body, in the query, or in both. Returns an error if both have it
/// and the values differ.
pub(in crate::http) fn same<T: PartialEq>(name: &str, body: Option<T>, query: Option<T>) -> Result<Option<T>, Error> {
    match (body, query) {
        (Some(body), Some(query)) if body != query => {
            let problem = "stands in the body and in the query, and differs";
            Err(Error::parameter(name, IssueType::Invalid, problem))
        }
        (body, query) => Ok(body.or(query)),
    }
}

fn parameter(place: usize, one: Value<'_>) -> Result<Parameter<'_>, Error> {
    let name = one.get_str("name").filter(|name| !name.is_empty());
    let Some(name) = name else {
        return Err(Error::Invalid(format!("Parameters.parameter[{place}] has no name")));
    };
    let mut value = None;
    for (key, given) in one.entries() {
        let key = key.name();
        let given = match &*key {
            "resource" if given.is_object() => Given::Resource(given),
            "resource" => Given::Odd("has a resource that is no JSON object"),
            "part" => Given::Odd("has parts"),
            key => match key.strip_prefix("value") {
                Some(_) if given.kind() == Kind::Null => continue,
                Some(value_type) => Given::Value(Cow::Owned(value_type.to_owned()), given),
                None => continue,
            },
        };
        value = match value {
            None => Some(given),
            Some(_) => Some(Given::Odd("has several values")),
        };
    }
    Ok(Parameter {
        name,
        value: value.unwrap_or(Given::Odd("has no value")),
    })
}

impl<'t> Given<'t> {
    /// Returns the value if it is a resource.
    pub(in crate::http) fn resource(&self) -> Option<Value<'t>> {
        match self {
            Given::Resource(resource) => Some(*resource),
            _ => None,
        }
    }

    /// Returns the value as a string, if it is in the query or has one of these types.
    pub(in crate::http) fn text(&self, types: &[&str]) -> Option<Cow<'_, str>> {
        match self {
            Given::Text(text) => Some(Cow::Borrowed(text)),
            Given::Value(value_type, value) if types.contains(&&**value_type) => value.as_str(),
            _ => None,
        }
    }

    /// Returns the value as a nonnegative integer, if it is in the query or has one of these types.
    pub(in crate::http) fn whole(&self, types: &[&str]) -> Option<usize> {
        let digits = match self {
            Given::Value(value_type, value) if types.contains(&&**value_type) => value.number().map(Cow::Borrowed),
            _ => None,
        };
        let digits = digits.or_else(|| self.text(types))?;
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse().ok()).flatten()
    }

    /// Returns the value as a boolean, if it is in the query or has the type boolean.
    pub(in crate::http) fn boolean(&self) -> Option<bool> {
        match self {
            Given::Text(text) => text.parse().ok(),
            Given::Value(value_type, value) if value_type == "Boolean" => value.as_bool(),
            _ => None,
        }
    }

    /// Returns the value as a reference's string, if it is in the query or has the type Reference.
    pub(in crate::http) fn reference(&self) -> Option<Cow<'_, str>> {
        match self {
            Given::Text(text) => Some(Cow::Borrowed(text)),
            Given::Value(value_type, value) if value_type == "Reference" => value.get_str("reference"),
            _ => None,
        }
    }

    /// Stores the value in `place`. Returns an error if `value` is `None`, which means that the parameter does not have
    /// the value that `expected` describes. Also returns an error if the parameter occurs twice.
    pub(in crate::http) fn once<T>(
        &self,
        place: &mut Option<T>,
        name: &str,
        value: Option<T>,
        expected: &str,
    ) -> Result<(), Error> {
        let value = value.ok_or_else(|| self.wrong(name, expected))?;
        match place.replace(value) {
            None => Ok(()),
            Some(_) => Err(Error::parameter(name, IssueType::Invalid, "comes more than once")),
        }
    }

    /// Returns the error for an unexpected value.
    pub(in crate::http) fn wrong(&self, name: &str, expected: &str) -> Error {
        let problem = format!("must be {expected}; it {}", self.came(expected));
        Error::parameter(name, IssueType::Invalid, problem)
    }

    /// Describes what came as the value, for error messages. If it has the type at the end of `expected`, its type is
    /// not the problem.
    fn came(&self, expected: &str) -> String {
        match self {
            Given::Resource(_) => "came with a resource".to_owned(),
            Given::Value(value_type, _) if expected.ends_with(&format!("value{value_type}")) => {
                "has another value".to_owned()
            }
            Given::Value(value_type, _) => format!("came as value{}", shortened(value_type)),
            Given::Text(_) => "came in the query as something else".to_owned(),
            Given::Odd(how) => (*how).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(body: &str) -> String {
        let mut tape = Tape::new();
        let parsed = json(body.as_bytes(), &mut tape).and_then(of_body);
        parsed.map(|_| String::new()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn what_is_no_parameters_resource_is_said() {
        assert_eq!(problem("nonsense"), "the body is not JSON: expected a value at byte 0");
        assert_eq!(problem("[]"), "the body is not a JSON object");
        assert_eq!(problem("{}"), "the body is no Parameters resource");
        assert_eq!(
            problem(r#"{"resourceType":"Bundle"}"#),
            "the body is a Bundle, not a Parameters resource"
        );
        assert_eq!(
            problem(r#"{"resourceType":"Parameters","parameter":{}}"#),
            "Parameters.parameter is not an array"
        );
        let nameless = r#"{"resourceType":"Parameters","parameter":[{"name":"a","valueCode":"b"},{"valueCode":"c"}]}"#;
        assert_eq!(problem(nameless), "Parameters.parameter[1] has no name");
        assert_eq!(problem(r#"{"resourceType":"Parameters"}"#), "");
    }

    #[test]
    fn values_are_told_by_their_type() {
        let body = br#"{"resourceType":"Parameters","parameter":[
            {"name":"a","valueInteger":5},{"name":"b","valueString":"5"},{"name":"c","valueDecimal":5.0},
            {"name":"d","valueBoolean":true},{"name":"e","valueReference":{"reference":"Patient/p"}},
            {"name":"f","resource":{"x":1.50}},{"name":"g","valueCode":"a","valueString":"b"},
            {"name":"h","_valueCode":{}},{"name":"i","part":[]}]}"#;
        let mut tape = Tape::new();
        let sent = of_body(json(body, &mut tape).unwrap()).unwrap();
        let given = |place: usize| &sent[place].value;
        let numbers: Vec<Option<usize>> = (0..9).map(|place| given(place).whole(&["Integer", "String"])).collect();
        assert_eq!(numbers[..4], [Some(5), Some(5), None, None]);
        assert_eq!(given(3).boolean(), Some(true));
        assert_eq!(given(4).reference().as_deref(), Some("Patient/p"));
        assert_eq!(given(5).resource().unwrap().raw(), r#"{"x":1.50}"#);
        let came: Vec<String> = (2..9).map(|place| given(place).came("")).collect();
        assert_eq!(
            came,
            [
                "came as valueDecimal",
                "came as valueBoolean",
                "came as valueReference",
                "came with a resource",
                "has several values",
                "has no value",
                "has parts"
            ]
        );
    }

    #[test]
    fn a_long_name_is_cut() {
        assert_eq!(shortened(&"é".repeat(65)), format!("{}...", "é".repeat(64)));
        assert_eq!(shortened("a"), "a");
    }
}
