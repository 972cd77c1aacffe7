//! Reads an operation's parameters as one list, from the query, a form or a Parameters resource.

use axum::body::Body;
use axum::http::HeaderMap;

use crate::columns::json::Tape;
use crate::http::body;
use crate::http::error::Error;
use crate::http::fhir::parameters;
use crate::http::fhir::parameters::{Given, Parameter};
use crate::http::service::Service;
use crate::search::raw;
use crate::search::raw::RawParameter;

/// The media types of a body that is a Parameters resource.
pub(super) const JSON: [&str; 2] = ["application/fhir+json", "application/json"];
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// Reads the parameters of the query.
pub(super) fn in_query(query: Option<&str>) -> Result<Vec<RawParameter>, Error> {
    Ok(raw::parse_checked(query.unwrap_or_default())?)
}

/// Reads the parameters of the query, then those of the body.
pub(super) async fn in_both(
    service: &Service,
    headers: &HeaderMap,
    query: Option<&str>,
    sent: Body,
) -> Result<Vec<RawParameter>, Error> {
    let sent = body::read(headers, sent, &service.limits).await?;
    let mut all = in_query(query)?;
    if sent.is_empty() {
        return Ok(all);
    }
    if body::is_typed(headers, &JSON) {
        all.extend(of_resource(&sent)?);
    } else if body::is_typed(headers, &[FORM]) {
        let form = std::str::from_utf8(&sent).map_err(|_| Error::Invalid("the body is not UTF-8".to_owned()))?;
        all.extend(raw::parse_checked(form)?);
    } else {
        return Err(Error::MediaType(JSON[0]));
    }
    Ok(all)
}

/// Reads the parameters of a Parameters resource, each with its value as a string.
fn of_resource(sent: &[u8]) -> Result<Vec<RawParameter>, Error> {
    let mut tape = Tape::new();
    let root = parameters::json(sent, &mut tape)?;
    parameters::refuse_duplicates(root)?;
    let sent = parameters::of_body(root)?;
    sent.iter().map(as_text).collect()
}

fn as_text(Parameter { name, value }: &Parameter<'_>) -> Result<RawParameter, Error> {
    let text = match value {
        Given::Value(_, given) => {
            let text = given.as_str().map(|text| text.into_owned());
            let number = || given.number().map(str::to_owned);
            let truth = || given.as_bool().map(|truth| truth.to_string());
            text.or_else(number).or_else(truth)
        }
        _ => None,
    };
    match text {
        Some(text) => Ok(RawParameter::named(name, &text)),
        None => Err(value.wrong(name, "a text, a number, or true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &str) -> Result<Vec<String>, String> {
        let parsed = of_resource(body.as_bytes()).map_err(|error| error.to_string())?;
        let written = |raw: RawParameter| format!("{}={}", raw.name, raw.value);
        Ok(parsed.into_iter().map(written).collect())
    }

    #[test]
    fn values_of_any_simple_type_are_text() {
        let body = r#"{"resourceType":"Parameters","parameter":[
            {"name":"start","valueDate":"2020-01"},{"name":"_count","valueInteger":5},
            {"name":"_type","valueCode":"Patient"},{"name":"_type","valueCode":"Goal"},{"name":"_pretty","valueBoolean":true}]}"#;
        let expected = [
            "start=2020-01",
            "_count=5",
            "_type=Patient",
            "_type=Goal",
            "_pretty=true",
        ];
        assert_eq!(parsed(body).unwrap(), expected);
        assert_eq!(parsed(r#"{"resourceType":"Parameters"}"#).unwrap(), [""; 0]);
    }

    #[test]
    fn other_values_are_refused_by_name() {
        let of = |value: &str| {
            let body = format!(r#"{{"resourceType":"Parameters","parameter":[{{"name":"start",{value}}}]}}"#);
            parsed(&body).unwrap_err()
        };
        for value in [
            r#""valueReference":{"reference":"Patient/a"}"#,
            r#""resource":{"resourceType":"Patient"}"#,
            r#""part":[]"#,
            r#""valueDate":"2020","valueString":"2021""#,
        ] {
            assert!(of(value).starts_with("the parameter start must be a text"), "{value}");
        }
        assert_eq!(
            parsed(r#"{"resourceType":"Bundle"}"#),
            Err("the body is a Bundle, not a Parameters resource".to_owned())
        );
    }
}
