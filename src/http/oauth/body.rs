//! Reads the fields of a request to a token endpoint. The body is a form, as OAuth defines, or one JSON object with the
//! same names.
//!
//! A repeated field is refused. An empty field and a JSON null count as absent (RFC 6749, section 3.2). Unknown
//! fields are ignored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::error::OAuthError;
use crate::fhir::hidden::is_hidden;
use crate::http::body::{is_typed, read};
use crate::http::limits::Limits;

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
/// The maximum bytes of a body. Valid bodies have at most a few thousand.
const LONGEST: usize = 64 * 1_024;

/// The fields of a request, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::http) struct Fields(BTreeMap<String, Given>);

/// The value of a field.
#[derive(Debug, PartialEq, Eq)]
enum Given {
    Text(String),
    /// A JSON value that is neither a string nor null.
    Other,
}

impl Fields {
    /// Reads the fields of a request's body. A body without Content-Type is read as JSON if it begins with `{`, and
    /// as a form if not.
    pub(in crate::http) async fn read(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Fields, OAuthError> {
        if !is_typed(headers, &[FORM, JSON]) {
            return Err(OAuthError::media_type());
        }
        let limits = Limits {
            body: limits.body.min(LONGEST),
            ..limits.clone()
        };
        let bytes = read(headers, body, &limits).await?;
        let as_json = if headers.contains_key(CONTENT_TYPE) {
            is_typed(headers, &[JSON])
        } else {
            bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
        };
        if as_json {
            Fields::json(&bytes)
        } else {
            Fields::form(&bytes)
        }
    }

    fn form(bytes: &[u8]) -> Result<Fields, OAuthError> {
        let mut fields = Fields::default();
        for (name, value) in form_urlencoded::parse(bytes) {
            if name.is_empty() && value.is_empty() {
                continue;
            }
            fields.add(name, Given::Text(value.into_owned()))?;
        }
        Ok(fields)
    }

    fn json(bytes: &[u8]) -> Result<Fields, OAuthError> {
        let Pairs(pairs) = serde_json::from_slice(bytes)
            .map_err(|error| OAuthError::request(format!("the body is not one JSON object: {}", place(&error))))?;
        let mut fields = Fields::default();
        for (name, value) in pairs {
            if let Some(value) = value {
                fields.add(Cow::Owned(name), value)?;
            }
        }
        Ok(fields)
    }

    fn add(&mut self, name: Cow<'_, str>, value: Given) -> Result<(), OAuthError> {
        if self.0.contains_key(name.as_ref()) {
            let name: String = name.chars().filter(|letter| !is_hidden(*letter)).take(64).collect();
            return Err(OAuthError::request(format!("the field {name} came twice")));
        }
        self.0.insert(name.into_owned(), value);
        Ok(())
    }

    /// Returns a field's value. `None` if the field is absent or empty. An error if its JSON value is not a string.
    pub(in crate::http) fn get(&self, name: &'static str) -> Result<Option<&str>, OAuthError> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Given::Text(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(Given::Other) => Err(OAuthError::request(format!("the field {name} must be a string"))),
        }
    }

    /// Returns a required field's value. An error if the field is absent or empty.
    pub(in crate::http) fn need(&self, name: &'static str) -> Result<&str, OAuthError> {
        self.get(name)?
            .ok_or_else(|| OAuthError::request(format!("the field {name} is missing")))
    }
}

/// Returns the position of a JSON error. The text there is not repeated, because it may be secret.
fn place(error: &serde_json::Error) -> String {
    format!("line {}, column {}", error.line(), error.column())
}

/// The members of a JSON object in their order. A name may occur repeatedly, so that a repeated field can be refused. A
/// null member has the value `None`.
struct Pairs(Vec<(String, Option<Given>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            pairs.push((name, map.next_value::<MemberValue>()?.0));
        }
        Ok(Pairs(pairs))
    }
}

struct MemberValue(Option<Given>);

impl<'de> Deserialize<'de> for MemberValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MemberValue, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = MemberValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<MemberValue, E> {
        Ok(MemberValue(Some(Given::Text(text.to_owned()))))
    }

    fn visit_unit<E>(self) -> Result<MemberValue, E> {
        Ok(MemberValue(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<MemberValue, E> {
        Ok(MemberValue(Some(Given::Other)))
    }

    fn visit_i64<E>(self, _: i64) -> Result<MemberValue, E> {
        Ok(MemberValue(Some(Given::Other)))
    }

    fn visit_u64<E>(self, _: u64) -> Result<MemberValue, E> {
        Ok(MemberValue(Some(Given::Other)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<MemberValue, E> {
        Ok(MemberValue(Some(Given::Other)))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<MemberValue, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(MemberValue(Some(Given::Other)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MemberValue, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(MemberValue(Some(Given::Other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(content_type: &str, body: &str) -> Result<Fields, OAuthError> {
        let mut headers = HeaderMap::new();
        if !content_type.is_empty() {
            headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(Fields::read(&headers, Body::from(body.to_owned()), &Limits::default()))
    }

    #[test]
    fn forms_and_objects_say_the_same() {
        let json = sent(
            "application/json; charset=utf-8",
            r#"{"code":"a b","state":null,"n":{"x":[1]}}"#,
        )
        .unwrap();
        let form = sent(FORM, "code=a+b&state=&n=").unwrap();
        for fields in [&json, &form] {
            assert_eq!(fields.get("code").unwrap(), Some("a b"));
            assert_eq!(fields.get("state").unwrap(), None);
            assert_eq!(fields.get("missing").unwrap(), None);
            assert!(fields.need("state").is_err());
        }
        assert!(json.get("n").is_err(), "no text");
    }

    #[test]
    fn a_body_that_does_not_say_what_it_is_is_told_by_its_looks() {
        assert_eq!(sent("", " {\"a\":\"1\"}").unwrap().get("a").unwrap(), Some("1"));
        assert_eq!(sent("", "a=1").unwrap().get("a").unwrap(), Some("1"));
    }

    #[test]
    fn a_field_that_comes_twice_is_refused() {
        for (content_type, body) in [(FORM, "a=1&a=1"), (JSON, r#"{"a":"1","a":"1"}"#), (FORM, "a=&a=1")] {
            assert_eq!(
                sent(content_type, body).unwrap_err().to_string(),
                "the field a came twice"
            );
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        for (content_type, body) in [
            (JSON, "[1]"),
            (JSON, "{"),
            (JSON, r#"{"a":1}{}"#),
            ("text/plain", "a=1"),
        ] {
            assert!(sent(content_type, body).is_err(), "{body}");
        }
        let long = format!("a={}", "x".repeat(LONGEST));
        assert!(sent(FORM, &long).is_err());
    }
}
