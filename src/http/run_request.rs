//! The Parameters resource that `ViewDefinition/$run` takes, as a checked request.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::Error;
use crate::views::Format;

/// What a `$run` asks for. The view itself is not looked into.
#[derive(Debug)]
pub(super) struct RunRequest {
    /// The ViewDefinition as it was sent.
    pub(super) view: Box<RawValue>,
    /// Id of the one Patient to keep to.
    pub(super) patient: Option<String>,
    /// Ids of the Groups to whose members to keep to.
    pub(super) groups: Vec<String>,
    pub(super) format: Option<Format>,
    /// Output rows at most.
    pub(super) limit: Option<usize>,
    /// Only resources updated since, in microseconds since 1970.
    pub(super) since: Option<i64>,
    /// Whether CSV begins with a header row.
    pub(super) header: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parameters {
    resource_type: String,
    #[serde(default)]
    parameter: Vec<Parameter>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parameter {
    name: String,
    resource: Option<Box<RawValue>>,
    value_reference: Option<Reference>,
    value_code: Option<String>,
    value_string: Option<String>,
    value_integer: Option<i64>,
    value_positive_int: Option<i64>,
    value_unsigned_int: Option<i64>,
    value_instant: Option<String>,
    value_date_time: Option<String>,
    value_boolean: Option<bool>,
}

#[derive(Deserialize)]
struct Reference {
    reference: Option<String>,
}

impl RunRequest {
    /// Reads a request's body.
    pub(super) fn parse(body: &[u8]) -> Result<RunRequest, Error> {
        let parameters: Parameters = serde_json::from_slice(body)
            .map_err(|error| Error::Invalid(format!("the body is no Parameters resource: {error}")))?;
        if parameters.resource_type != "Parameters" {
            return Err(Error::Invalid(format!(
                "the body is a {}, not a Parameters resource",
                parameters.resource_type
            )));
        }
        let mut view = None;
        let (mut patient, mut groups) = (None, Vec::new());
        let (mut format, mut limit, mut since, mut header) = (None, None, None, None);
        for parameter in parameters.parameter {
            match parameter.name.as_str() {
                "viewResource" => once(&mut view, parameter.resource, "viewResource", "a resource")?,
                "viewReference" => {
                    return Err(Error::NotSupported(
                        "views are given inline, as viewResource".to_owned(),
                    ));
                }
                "patient" => once(
                    &mut patient,
                    parameter.id_of("Patient"),
                    "patient",
                    "a reference Patient/id",
                )?,
                "group" => groups.push(
                    parameter
                        .id_of("Group")
                        .ok_or_else(|| wrong("group", "a reference Group/id"))?,
                ),
                "_format" => once(
                    &mut format,
                    parameter.format(),
                    "_format",
                    "json, csv, ndjson or parquet",
                )?,
                "_limit" => once(&mut limit, parameter.limit(), "_limit", "a whole number above zero")?,
                "_since" => once(&mut since, parameter.instant(), "_since", "an instant")?,
                "header" => once(&mut header, parameter.boolean(), "header", "true or false")?,
                other => return Err(Error::Invalid(format!("$run has no parameter {other:?}"))),
            }
        }
        let view = view.ok_or_else(|| Error::Invalid("the parameter viewResource is missing".to_owned()))?;
        Ok(RunRequest {
            view,
            patient,
            groups,
            format,
            limit,
            since,
            header: header.unwrap_or(true),
        })
    }
}

impl Parameter {
    fn id_of(&self, ty: &str) -> Option<String> {
        let reference = self.value_reference.as_ref()?.reference.as_deref()?;
        let id = reference.strip_prefix(ty)?.strip_prefix('/')?;
        (!id.is_empty() && !id.contains('/')).then(|| id.to_owned())
    }

    fn format(&self) -> Option<Format> {
        Format::parse(self.value_code.as_deref().or(self.value_string.as_deref())?)
    }

    fn limit(&self) -> Option<usize> {
        let number = self
            .value_integer
            .or(self.value_positive_int)
            .or(self.value_unsigned_int)?;
        usize::try_from(number).ok().filter(|number| *number > 0)
    }

    fn instant(&self) -> Option<i64> {
        let text = self.value_instant.as_deref().or(self.value_date_time.as_deref())?;
        chrono::DateTime::parse_from_rfc3339(text)
            .ok()
            .map(|time| time.timestamp_micros())
    }

    fn boolean(&self) -> Option<bool> {
        self.value_boolean
            .or_else(|| self.value_string.as_deref()?.parse().ok())
    }
}

/// Takes a value that may come once.
fn once<T>(place: &mut Option<T>, value: Option<T>, name: &str, expected: &str) -> Result<(), Error> {
    let value = value.ok_or_else(|| wrong(name, expected))?;
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::Invalid(format!("the parameter {name} comes more than once"))),
    }
}

fn wrong(name: &str, expected: &str) -> Error {
    Error::Invalid(format!("the parameter {name} is {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(parameters: &str) -> Result<RunRequest, Error> {
        RunRequest::parse(format!(r#"{{"resourceType":"Parameters","parameter":[{parameters}]}}"#).as_bytes())
    }

    const VIEW: &str = r#"{"name":"viewResource","resource":{"resourceType":"ViewDefinition","x":1.50}}"#;

    #[test]
    fn all_parameters_are_understood() {
        let request = parse(&format!(
            r#"{VIEW},{{"name":"patient","valueReference":{{"reference":"Patient/p1"}}}},
            {{"name":"group","valueReference":{{"reference":"Group/g1"}}}},
            {{"name":"group","valueReference":{{"reference":"Group/g2"}}}},
            {{"name":"_format","valueCode":"csv"}},{{"name":"_limit","valueInteger":5}},
            {{"name":"_since","valueInstant":"1970-01-01T00:00:01Z"}},{{"name":"header","valueBoolean":false}}"#
        ))
        .unwrap();
        assert!(request.view.get().contains("1.50"), "digits stay");
        assert_eq!(request.patient.as_deref(), Some("p1"));
        assert_eq!(request.groups, ["g1", "g2"]);
        assert_eq!(
            (request.format, request.limit, request.since),
            (Some(Format::Csv { header: true }), Some(5), Some(1_000_000))
        );
        assert!(!request.header);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let reason = |parameters: &str| parse(parameters).unwrap_err().to_string();
        assert!(reason("").contains("viewResource"));
        assert!(reason(&format!("{VIEW},{VIEW}")).contains("more than once"));
        assert!(reason(&format!(r#"{VIEW},{{"name":"_limit","valueInteger":0}}"#)).contains("_limit"));
        assert!(reason(&format!(r#"{VIEW},{{"name":"_format","valueCode":"xml"}}"#)).contains("_format"));
        assert!(reason(&format!(r#"{VIEW},{{"name":"_since","valueInstant":"then"}}"#)).contains("_since"));
        assert!(reason(&format!(r#"{VIEW},{{"name":"colour","valueCode":"red"}}"#)).contains("colour"));
        let patient = r#"{"name":"patient","valueReference":{"reference":"Group/g1"}}"#;
        assert!(reason(&format!("{VIEW},{patient}")).contains("Patient/id"));
        assert!(RunRequest::parse(b"nonsense").is_err());
        assert!(RunRequest::parse(br#"{"resourceType":"Bundle"}"#).is_err());
    }
}
