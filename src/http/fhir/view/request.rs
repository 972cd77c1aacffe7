//! Reads and checks the parameters of a `$run`, from the body and the query.
//!
//! The specification that this service implements has `viewResource`, `patient`, `group`, `_format`, `_limit`,
//! `_since`, `header`, `_count` and `_offset`. The ballot of SQL on FHIR 3.0 first had `$viewdefinition-run` (for the
//! system, a type or an instance) and `$sqlquery-run`. It then replaced both by `$sql-run` for the system. In
//! `$sql-run`, the view is in `subjectCanonical`, `subjectReference` or `subjectResource`. In the earlier operations it
//! was in `viewCanonical`, `viewReference` or `viewResource`. `resource` has the resources over which the view runs,
//! `source` is another place to read from, and `parameters` and `context` are for SQL libraries. `patient` may be
//! repeated.
//!
//! For all of these operations, this service accepts the view as a resource, accepts `resource`, and lets `patient` be
//! repeated. It refuses the other parameters of the ballot, because if it ignored one, the response would answer
//! another question.
//!
//! All parameters except `_tag` may be in the body. Those without a resource may be in the query, too. A parameter in
//! both must have the same value. The exception is a page link (it has a `_tag`): its `_count` and `_offset` override
//! those of the body, because the client posts the same body again.

use std::borrow::Cow;
use std::collections::BTreeSet;

use bytes::Bytes;

use super::super::parameters;
use super::super::parameters::{Given, Parameter};
use crate::columns::json::{Tape, Value};
use crate::fhir::outcome::IssueType;
use crate::fhir::reference::is_id;
use crate::fhir::temporal::Temporal;
use crate::http::error::Error;
use crate::lake::Lake;
use crate::search::{Handling, SnapshotToken};
use crate::views::Format;

/// A request whose parameters are checked. The view itself is not checked yet.
#[derive(Debug)]
pub(in crate::http) struct RunRequest {
    /// The ViewDefinition as the client sent it.
    pub(in crate::http) view: Bytes,
    /// The resources to run over. `None` to run over those of the lake.
    pub(in crate::http) resources: Option<Vec<Bytes>>,
    /// The ids of the Patients whose resources are included. One may be the wildcard. `None` to include all.
    pub(in crate::http) patients: Option<Vec<String>>,
    /// The ids of the Groups whose members' resources are included. Empty to include all.
    pub(in crate::http) groups: Vec<String>,
    pub(in crate::http) format: Option<Format>,
    /// The maximum number of rows.
    pub(in crate::http) limit: Option<usize>,
    /// Only resources that were updated at this time or later are included, in microseconds since 1970.
    pub(in crate::http) since: Option<i64>,
    /// Whether CSV begins with a header row.
    pub(in crate::http) header: bool,
    /// The number of resources on a page.
    pub(in crate::http) count: Option<usize>,
    /// The number of resources before the page.
    pub(in crate::http) offset: usize,
    /// The snapshot of a page link.
    pub(in crate::http) pin: Option<SnapshotToken>,
    /// How strictly the view is checked. If it is checked strictly, JSON's names of elements in FHIRPath, such as
    /// `valueCoding`, are errors.
    pub(in crate::http) handling: Handling,
    /// The parameters of the query except `_tag`, `_count` and `_offset`. The link to the next page repeats them.
    pub(in crate::http) repeated: Vec<(String, String)>,
}

/// A request as it was received.
pub(in crate::http) struct Sent<'a> {
    /// The body of a POST. `None` for a GET.
    pub(in crate::http) body: Option<&'a Bytes>,
    pub(in crate::http) query: Option<&'a str>,
    pub(in crate::http) handling: Handling,
    /// The name of the operation's parameter for the view, for error messages.
    pub(in crate::http) view_name: &'static str,
    /// The address of the server's FHIR API, which ends with `/fhir/`. A reference may begin with it.
    pub(in crate::http) fhir_base: &'a str,
    /// The lake that encrypted the `_tag` of the request's page link.
    pub(in crate::http) lake: &'a Lake,
}

const VIEW_NAMES: [&str; 2] = ["viewResource", "subjectResource"];
/// Parameters that only refer to a view. This service does not support them, because it stores no views.
const LOOKED_UP: [&str; 4] = ["viewReference", "viewCanonical", "subjectReference", "subjectCanonical"];
const PATIENT: &str = "patient";
const GROUP: &str = "group";
const NUMBERS: [&str; 3] = ["Integer", "PositiveInt", "UnsignedInt"];
/// The types of `_count` and `_offset`. The specification that has them declares them as strings.
const PAGE_NUMBERS: [&str; 4] = ["Integer", "PositiveInt", "UnsignedInt", "String"];

/// The values of the parameters that are also allowed in a query. One `Simple` is read from the query and one from the
/// body.
#[derive(Debug, Default)]
struct Simple {
    patients: Option<BTreeSet<String>>,
    groups: Option<BTreeSet<String>>,
    format: Option<Format>,
    limit: Option<usize>,
    since: Option<i64>,
    header: Option<bool>,
    count: Option<usize>,
    offset: Option<usize>,
}

impl RunRequest {
    /// Reads and checks a request.
    pub(in crate::http) fn parse(sent: &Sent<'_>) -> Result<RunRequest, Error> {
        let mut of_query = Simple::default();
        let mut repeated = Vec::new();
        let mut pin = None;
        let mut unknown = Vec::new();
        for Parameter { name, value } in parameters::of_query(sent.query) {
            refuse_foreign(&name)?;
            if is_resource(&name) {
                let problem = "carries a resource: POST it in a Parameters resource";
                return Err(Error::parameter(&name, IssueType::Invalid, problem));
            }
            if name == "_tag" {
                let parsed = value.text(&[]).and_then(|text| SnapshotToken::parse(&text, sent.lake));
                value.once(&mut pin, "_tag", parsed, "what a link to the next page has there")?;
            } else if !of_query.take(&name, &value, sent.fhir_base)? {
                unknown.push(name.into_owned());
            } else if name != "_count" && name != "_offset" {
                let text = value.text(&[]).unwrap_or_default().into_owned();
                repeated.push((name.into_owned(), text));
            }
        }
        if sent.handling == Handling::Strict && !unknown.is_empty() {
            return Err(Error::unknown_parameters(&unknown));
        }
        let mut carried = Carried::default();
        let of_body = match sent.body {
            None => Simple::default(),
            Some(body) => carried.read(body, sent.fhir_base)?,
        };
        let view = carried.view.ok_or_else(|| {
            let problem = "is missing: POST the ViewDefinition, or a Parameters resource that holds it";
            Error::parameter(sent.view_name, IssueType::Required, problem)
        })?;
        let linked = pin.is_some();
        let page = |name, body: Option<usize>, query: Option<usize>| {
            if linked {
                Ok(query.or(body))
            } else {
                parameters::same(name, body, query)
            }
        };
        Ok(RunRequest {
            view,
            resources: carried.resources,
            patients: parameters::same(PATIENT, of_body.patients, of_query.patients)?.map(Vec::from_iter),
            groups: parameters::same(GROUP, of_body.groups, of_query.groups)?.map_or_else(Vec::new, Vec::from_iter),
            format: parameters::same("_format", of_body.format, of_query.format)?,
            limit: parameters::same("_limit", of_body.limit, of_query.limit)?,
            since: parameters::same("_since", of_body.since, of_query.since)?,
            header: parameters::same("header", of_body.header, of_query.header)?.unwrap_or(true),
            count: page("_count", of_body.count, of_query.count)?,
            offset: page("_offset", of_body.offset, of_query.offset)?.unwrap_or(0),
            pin,
            handling: sent.handling,
            repeated,
        })
    }
}

/// The parameters that only a body may have.
#[derive(Default)]
struct Carried {
    view: Option<Bytes>,
    resources: Option<Vec<Bytes>>,
}

impl Carried {
    /// Reads a body: the view itself, or a Parameters resource. Stores the view and the resources in `self`. Returns
    /// the other parameters.
    fn read(&mut self, body: &Bytes, fhir_base: &str) -> Result<Simple, Error> {
        let mut tape = Tape::new();
        let mut simple = Simple::default();
        let mut unknown = Vec::new();
        let root = parameters::json(body, &mut tape)?;
        parameters::refuse_duplicates(root)?;
        if is_view(root) {
            self.view = Some(body.clone());
            return Ok(simple);
        }
        for Parameter { name, value } in parameters::of_body(root)? {
            refuse_foreign(&name)?;
            match &*name {
                name if VIEW_NAMES.contains(&name) => {
                    let view = value.resource();
                    if let Some(view) = view {
                        runnable(name, view)?;
                    }
                    let view = view.map(|view| body.slice(view.span()));
                    value.once(&mut self.view, name, view, "a ViewDefinition, as resource")?;
                }
                "resource" => {
                    let resource = value.resource().map(|resource| body.slice(resource.span()));
                    let resource = resource.ok_or_else(|| value.wrong("resource", "a resource, as resource"))?;
                    self.resources.get_or_insert_default().push(resource);
                }
                "_tag" => unknown.push("_tag".to_owned()),
                _ if simple.take(&name, &value, fhir_base)? => {}
                _ => unknown.push(name.into_owned()),
            }
        }
        if unknown.is_empty() {
            Ok(simple)
        } else {
            Err(Error::unknown_parameters(&unknown))
        }
    }
}

impl Simple {
    /// Reads a parameter and stores its value. Returns `false` if there is no parameter with this name.
    fn take(&mut self, name: &str, given: &Given<'_>, fhir_base: &str) -> Result<bool, Error> {
        match name {
            PATIENT => {
                let id = id_of("Patient", given, fhir_base);
                let expected = "a reference Patient/id, as valueReference";
                let id = id.ok_or_else(|| given.wrong(PATIENT, expected))?;
                self.patients.get_or_insert_default().insert(id);
            }
            GROUP => {
                let id = id_of("Group", given, fhir_base);
                let id = id.ok_or_else(|| given.wrong(GROUP, "a reference Group/id, as valueReference"))?;
                self.groups.get_or_insert_default().insert(id);
            }
            "_format" => {
                let text = given.text(&["Code", "String"]);
                let format = text.and_then(|text| Format::parse(&text));
                let expected = "json, csv, ndjson, parquet or parquet-text, as valueCode";
                given.once(&mut self.format, "_format", format, expected)?;
            }
            "_limit" => {
                let limit = given.whole(&NUMBERS);
                given.once(&mut self.limit, "_limit", limit, "a whole number, as valueInteger")?;
            }
            "_since" => {
                let expected = "an instant like 2024-02-29T12:00:00Z, as valueInstant";
                given.once(&mut self.since, "_since", instant(given), expected)?;
            }
            "header" => {
                let header = given.boolean();
                given.once(&mut self.header, "header", header, "true or false, as valueBoolean")?;
            }
            "_count" => {
                let count = given.whole(&PAGE_NUMBERS).filter(|number| *number > 0);
                let expected = "a whole number above zero, as valueInteger";
                given.once(&mut self.count, "_count", count, expected)?;
            }
            "_offset" => {
                let offset = given.whole(&PAGE_NUMBERS);
                given.once(&mut self.offset, "_offset", offset, "a whole number, as valueInteger")?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Returns an error for a parameter of the ballot that this service does not support.
fn refuse_foreign(name: &str) -> Result<(), Error> {
    let problem = match name {
        name if LOOKED_UP.contains(&name) => {
            "is not supported: no views are kept here; send the ViewDefinition itself as viewResource"
        }
        "source" => "is not supported: views run over this service's records, or over those sent as resource",
        "parameters" => "is for SQL libraries, and a ViewDefinition has no parameters",
        "context" => "is for SQL libraries, and a ViewDefinition depends on nothing",
        _ => return Ok(()),
    };
    let code = match name {
        "parameters" | "context" => IssueType::Invalid,
        _ => IssueType::NotSupported,
    };
    Err(Error::parameter(name, code, problem))
}

/// Whether the body is the view itself, not a Parameters resource that contains it. Some views have no
/// `resourceType`.
fn is_view(root: Value<'_>) -> bool {
    match root.get_str("resourceType") {
        Some(name) => name.rsplit('/').next() == Some("ViewDefinition"),
        None => root.get("select").is_some() && root.get("resource").is_some(),
    }
}

fn is_resource(name: &str) -> bool {
    name == "resource" || VIEW_NAMES.contains(&name)
}

/// Returns an error for a SQL library, which the ballot permits in place of a view.
fn runnable(name: &str, view: Value<'_>) -> Result<(), Error> {
    match view.get_str("resourceType").as_deref() {
        Some("Library") => {
            let problem = "is a Library, and only ViewDefinitions are run here";
            Err(Error::parameter(name, IssueType::NotSupported, problem))
        }
        _ => Ok(()),
    }
}

/// Reads the id in a reference to a resource of this type. The reference is relative or has this service's base URL.
/// In a query it may be the id alone.
fn id_of(resource_type: &str, given: &Given<'_>, fhir_base: &str) -> Option<String> {
    let reference = given.reference()?;
    let relative = reference.strip_prefix(fhir_base).unwrap_or(&reference);
    let id = match (relative.split_once('/'), given) {
        (Some((named, id)), _) if named == resource_type => id,
        (None, Given::Text(_)) => relative,
        _ => return None,
    };
    let wildcard = resource_type == "Patient" && id == super::super::patient_wildcard::WILDCARD;
    (is_id(id) || wildcard).then(|| id.to_owned())
}

fn instant(given: &Given<'_>) -> Option<i64> {
    let text = given.text(&["Instant", "DateTime"])?;
    // A `+` in a query value is decoded as a space. So replace the space by a `+` again.
    let text = match given {
        Given::Text(_) => Cow::Owned(text.replace(' ', "+")),
        _ => text,
    };
    Temporal::instant(&text).ok().map(|instant| instant.start)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static LAKE: LazyLock<(tempfile::TempDir, Lake)> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open_or_create(folder.path()).unwrap();
        (folder, lake)
    });
    const VIEW: &str = r#"{"name":"viewResource","resource":{"resourceType":"ViewDefinition","x":1.50}}"#;

    fn parse_with(parameters: &str, query: &str, handling: Handling) -> Result<RunRequest, Error> {
        let body = Bytes::from(format!(r#"{{"resourceType":"Parameters","parameter":[{parameters}]}}"#));
        RunRequest::parse(&Sent {
            body: Some(&body),
            query: Some(query),
            handling,
            view_name: "viewResource",
            fhir_base: "http://here/fhir/",
            lake: &LAKE.1,
        })
    }

    fn parse(parameters: &str, query: &str) -> Result<RunRequest, Error> {
        parse_with(parameters, query, Handling::Lenient)
    }

    fn reason(parameters: &str, query: &str) -> String {
        parse(parameters, query).unwrap_err().to_string()
    }

    #[test]
    fn all_parameters_are_understood_in_the_body_and_in_the_query() {
        let body = format!(
            r#"{VIEW},{{"name":"patient","valueReference":{{"reference":"Patient/p1"}}}},
            {{"name":"group","valueReference":{{"reference":"Group/g2"}}}},
            {{"name":"group","valueReference":{{"reference":"http://here/fhir/Group/g1"}}}},
            {{"name":"_format","valueCode":"csv"}},{{"name":"_limit","valueInteger":5}},
            {{"name":"_since","valueInstant":"1970-01-01T01:00:01+01:00"}},{{"name":"header","valueBoolean":false}},
            {{"name":"_count","valueString":"7"}},{{"name":"_offset","valueInteger":14}}"#
        );
        let query = "patient=Patient/p1&group=g1&group=Group%2Fg2&_format=text/csv&_limit=5&\
            _since=1970-01-01T01:00:01+01:00&header=false&_count=7&_offset=14";
        for (body, query) in [(body.as_str(), ""), (VIEW, query), (body.as_str(), query)] {
            let request = parse(body, query).unwrap();
            assert!(
                std::str::from_utf8(&request.view).unwrap().contains("1.50"),
                "digits stay"
            );
            assert_eq!(request.patients.as_deref(), Some(&["p1".to_owned()][..]));
            assert_eq!(request.groups, ["g1", "g2"]);
            assert_eq!(
                (request.format, request.limit, request.since),
                (Some(Format::Csv { header: true }), Some(5), Some(1_000_000))
            );
            assert_eq!((request.header, request.count, request.offset), (false, Some(7), 14));
            let names: Vec<&str> = request.repeated.iter().map(|(name, _)| name.as_str()).collect();
            let expected: &[&str] = match query {
                "" => &[],
                _ => &["patient", "group", "group", "_format", "_limit", "_since", "header"],
            };
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_expected() {
        let with = |parameter: &str| reason(&format!("{VIEW},{parameter}"), "");
        for (parameter, expected) in [
            (VIEW, "the parameter viewResource comes more than once"),
            (
                r#"{"name":"_limit","valueInteger":-1}"#,
                "the parameter _limit must be a whole number, as valueInteger; it has another value",
            ),
            (
                r#"{"name":"_count","valueInteger":0}"#,
                "the parameter _count must be a whole number above zero, as valueInteger; it has another value",
            ),
            (
                r#"{"name":"_limit","valueString":"5"}"#,
                "the parameter _limit must be a whole number, as valueInteger; it came as valueString",
            ),
            (
                r#"{"name":"_format","valueCode":"xml"}"#,
                "the parameter _format must be json, csv, ndjson, parquet or parquet-text, as valueCode; it has another value",
            ),
            (
                r#"{"name":"_since","valueInstant":"2024-02-30T00:00:00Z"}"#,
                "the parameter _since must be an instant like 2024-02-29T12:00:00Z, as valueInstant; it has another value",
            ),
            (
                r#"{"name":"header","valueString":"false"}"#,
                "the parameter header must be true or false, as valueBoolean; it came as valueString",
            ),
            (
                r#"{"name":"header","valueBoolean":false},{"name":"header","valueBoolean":false}"#,
                "the parameter header comes more than once",
            ),
            (
                r#"{"name":"patient","valueReference":{"reference":"Group/g1"}}"#,
                "the parameter patient must be a reference Patient/id, as valueReference; it has another value",
            ),
            (
                r#"{"name":"patient","valueReference":{"reference":"http://elsewhere/fhir/Patient/p"}}"#,
                "the parameter patient must be a reference Patient/id, as valueReference; it has another value",
            ),
            (
                r#"{"name":"group","valueReference":{"display":"all"}}"#,
                "the parameter group must be a reference Group/id, as valueReference; it has another value",
            ),
            (
                r#"{"name":"resource","valueString":"{}"}"#,
                "the parameter resource must be a resource, as resource; it came as valueString",
            ),
            (
                r#"{"name":"colour","valueCode":"red"},{"name":"size","valueCode":"xl"}"#,
                "there are no parameters colour, size",
            ),
            (r#"{"name":"_tag","valueString":"x"}"#, "there is no parameter _tag"),
            (
                r#"{"name":"viewReference","valueReference":{"reference":"ViewDefinition/v"}}"#,
                "the parameter viewReference is not supported: no views are kept here; \
                 send the ViewDefinition itself as viewResource",
            ),
            (
                r#"{"name":"subjectResource","resource":{"resourceType":"Library"}}"#,
                "the parameter subjectResource is a Library, and only ViewDefinitions are run here",
            ),
            (
                r#"{"name":"context","resource":{}}"#,
                "the parameter context is for SQL libraries, and a ViewDefinition depends on nothing",
            ),
        ] {
            assert_eq!(with(parameter), expected);
        }
        assert_eq!(
            reason("", ""),
            "the parameter viewResource is missing: POST the ViewDefinition, or a Parameters resource that holds it"
        );
        assert!(reason(r#"{"name":"viewResource","valueString":"{}"}"#, "").ends_with("it came as valueString"));
    }

    #[test]
    fn a_query_is_checked_alike() {
        for (query, expected) in [
            ("_count=0", "the parameter _count must be a whole number above zero"),
            ("_count=%2B5", "the parameter _count must be a whole number above zero"),
            ("_count=1&_count=1", "the parameter _count comes more than once"),
            ("_offset=-1", "the parameter _offset must be a whole number"),
            ("_limit=99999999999999999999", "the parameter _limit must be"),
            ("header=yes", "the parameter header must be true or false"),
            ("patient=Group/g", "the parameter patient must be"),
            ("patient=", "the parameter patient must be"),
            (
                "_tag=x",
                "the parameter _tag must be what a link to the next page has there",
            ),
            (
                "viewResource=%7B%7D",
                "the parameter viewResource carries a resource: POST it",
            ),
            ("source=s3://a", "the parameter source is not supported"),
            (
                "subjectCanonical=http://a",
                "the parameter subjectCanonical is not supported",
            ),
        ] {
            assert!(
                reason(VIEW, query).starts_with(expected),
                "{query}: {}",
                reason(VIEW, query)
            );
        }
        assert_eq!(parse(VIEW, "colour=red&patient=$PATIENT_ID").unwrap().repeated.len(), 1);
        let strict = parse_with(VIEW, "colour=red", Handling::Strict)
            .unwrap_err()
            .to_string();
        assert_eq!(strict, "there is no parameter colour");
    }

    #[test]
    fn body_and_query_agree_or_a_link_decides() {
        let body = format!(r#"{VIEW},{{"name":"_count","valueInteger":3}},{{"name":"_limit","valueInteger":3}}"#);
        assert!(parse(&body, "_count=3&_limit=3").is_ok());
        assert_eq!(
            reason(&body, "_count=4"),
            "the parameter _count stands in the body and in the query, and differs"
        );
        let pin = SnapshotToken {
            snapshot: 7,
            erasures: 1,
        };
        let linked = format!("_count=4&_offset=8&_tag={}", pin.text(&LAKE.1));
        let request = parse(&body, &linked).unwrap();
        assert_eq!((request.count, request.offset, request.pin), (Some(4), 8, Some(pin)));
        assert!(reason(&body, &format!("{linked}&_limit=4")).contains("differs"));
    }
}
