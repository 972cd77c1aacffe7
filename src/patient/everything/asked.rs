//! Checks the parameters of `$everything` and turns them into conditions on records.

use std::sync::Arc;

use super::dates;
use crate::fhir::temporal::Temporal;
use crate::fhir::{TypeId, facts};
use crate::lake::Scope;
use crate::patient::PatientError;
use crate::patient::members::{self, REFERRED};
use crate::search::raw::RawParameter;
use crate::search::{Engine, Extent, Handling, Member, RecordPage, RecordRequest, shortened};

/// The parameters of the operation itself. A request may also have the parameters of a search that choose a page. They
/// are not in this list.
pub const PARAMETERS: [&str; 4] = ["start", "end", "_since", "_type"];

/// A checked request: the conditions on a patient's records, and the page.
#[derive(Clone, Debug)]
pub struct Asked {
    members: Vec<Member>,
    only: Option<Vec<TypeId>>,
    since: Option<RawParameter>,
    /// The parameters that choose the page and its form.
    page: Vec<RawParameter>,
    /// The operation's own parameters, which the links of a page repeat.
    repeated: Vec<(String, String)>,
    handling: Handling,
}

/// The patients whose records are requested, and the caller.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The caller's scope.
    pub scope: &'a Arc<Scope>,
    /// The ids of the Patients, at least one.
    pub patients: &'a [String],
    /// The current time, in microseconds since 1970.
    pub now: i64,
    /// The base URL of the service's resources. It ends with `/fhir/`.
    pub base: &'a str,
}

/// The operation's own parameters as they were sent.
#[derive(Default)]
struct Own {
    start: Option<String>,
    end: Option<String>,
    since: Option<String>,
    types: Option<Vec<TypeId>>,
}

impl Asked {
    /// Checks the parameters. Unknown ones are ignored if `handling` is lenient, and refused if it is strict.
    pub fn parse(parameters: &[RawParameter], handling: Handling) -> Result<Asked, PatientError> {
        let mut own = Own::default();
        let mut page = Vec::new();
        for parameter in parameters {
            if handling == Handling::Lenient && parameter.value.is_empty() {
                continue;
            }
            if own.take(parameter)? {
                continue;
            }
            if RecordRequest::is_of_page(parameter) {
                page.push(parameter.clone());
            } else if handling == Handling::Strict {
                let modifier = parameter.modifier.iter().flat_map(|modifier| [":", modifier]);
                let written: String = [parameter.name.as_str()].into_iter().chain(modifier).collect();
                return Err(PatientError::Unknown(shortened(&written)));
            }
        }
        Ok(Asked {
            members: own.members(),
            repeated: own.repeated(),
            since: own
                .since
                .map(|since| RawParameter::named("_lastUpdated", &format!("ge{since}"))),
            only: own.types,
            page,
            handling,
        })
    }

    /// Begins the requested page, which is an iterator over the JSON of its Bundle. `path` is the operation's path
    /// below the base, for the page's links.
    pub async fn page(&self, engine: &Engine, subject: Subject<'_>, path: &str) -> Result<RecordPage, PatientError> {
        let extent = Extent::Page {
            path,
            parameters: &self.page,
            repeated: &self.repeated,
            handling: self.handling,
        };
        self.begin(engine, subject, extent).await
    }

    /// Begins a Bundle with all requested records.
    pub async fn whole(&self, engine: &Engine, subject: Subject<'_>) -> Result<RecordPage, PatientError> {
        self.begin(engine, subject, Extent::Whole).await
    }

    async fn begin(
        &self,
        engine: &Engine,
        subject: Subject<'_>,
        extent: Extent<'_>,
    ) -> Result<RecordPage, PatientError> {
        let Subject {
            scope,
            patients,
            now,
            base,
        } = subject;
        let request = RecordRequest {
            scope,
            patients,
            members: &self.members,
            referred: members::referred(),
            only: self.only.as_deref(),
            since: self.since.as_ref(),
            extent,
            now,
            base,
        };
        let page = engine.record(&request).await?;
        page.ok_or_else(|| PatientError::NoPatient(patients.first().cloned().unwrap_or_default()))
    }
}

impl Own {
    /// Stores the value of a parameter and returns `true`, if it is one of the operation's own. If not, returns
    /// `false`.
    fn take(&mut self, parameter: &RawParameter) -> Result<bool, PatientError> {
        if parameter.modifier.is_some() {
            return Ok(false);
        }
        let value = parameter.value.as_str();
        match parameter.name.as_str() {
            "start" => once(&mut self.start, "start", date("start", value)?)?,
            "end" => once(&mut self.end, "end", date("end", value)?)?,
            "_since" => once(&mut self.since, "_since", instant(value)?)?,
            "_type" => {
                let types = self.types.get_or_insert_default();
                for name in value.split(',') {
                    let type_id = listed(name)?;
                    if !types.contains(&type_id) {
                        types.push(type_id);
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the types of the compartment with their conditions. Only a type with a clinical date has conditions:
    /// those for `start` and `end`.
    fn members(&self) -> Vec<Member> {
        let bounds = [("ge", &self.start), ("le", &self.end)];
        let member = |type_id: &TypeId| {
            let code = dates::code(facts().get(*type_id).name);
            let asked = bounds
                .iter()
                .filter_map(|(prefix, bound)| Some((code?, prefix, bound.as_ref()?)));
            let parameters = asked.map(|(code, prefix, bound)| RawParameter::named(code, &format!("{prefix}{bound}")));
            Member {
                type_id: *type_id,
                parameters: parameters.collect(),
            }
        };
        members::types().iter().map(member).collect()
    }

    /// Returns the names and values of the operation's own parameters, for the links of a page.
    fn repeated(&self) -> Vec<(String, String)> {
        let types = self.types.as_ref().map(|types| {
            let names: Vec<&str> = types.iter().map(|type_id| facts().get(*type_id).name).collect();
            names.join(",")
        });
        let values = [self.start.clone(), self.end.clone(), self.since.clone(), types];
        let pairs = PARAMETERS.iter().zip(values);
        pairs
            .filter_map(|(name, value)| Some(((*name).to_owned(), value?)))
            .collect()
    }
}

/// Returns the type with a name in `_type`, if a record can have that type.
fn listed(name: &str) -> Result<TypeId, PatientError> {
    let type_id = facts()
        .lookup(name)
        .filter(|type_id| members::types().contains(type_id) || REFERRED.contains(&facts().get(*type_id).name));
    let expected = "a type of the Patient compartment, or Location, Medication, Organization or Practitioner";
    type_id.ok_or_else(|| wrong("_type", name, expected))
}

/// Checks a year, month, day or instant. A space counts as a plus sign, because an unescaped plus in a URL is decoded
/// as a space.
fn date(parameter: &'static str, value: &str) -> Result<String, PatientError> {
    let text = value.replace(' ', "+");
    match Temporal::date(&text).or_else(|_| Temporal::instant(&text)) {
        Ok(_) => Ok(text),
        Err(_) => Err(wrong(parameter, value, "a date like 2024, 2024-02 or 2024-02-29")),
    }
}

/// Checks an instant or a date. A date stands for its first instant. A space counts as a plus sign.
fn instant(value: &str) -> Result<String, PatientError> {
    let text = value.replace(' ', "+");
    match Temporal::instant(&text).or_else(|_| Temporal::date(&text)) {
        Ok(_) => Ok(text),
        Err(_) => Err(wrong("_since", value, "an instant like 2024-02-29T12:00:00Z")),
    }
}

fn wrong(parameter: &'static str, value: &str, expected: &'static str) -> PatientError {
    PatientError::Value {
        parameter,
        value: shortened(value),
        expected,
    }
}

fn once(place: &mut Option<String>, name: &'static str, value: String) -> Result<(), PatientError> {
    match place.replace(value) {
        Some(before) if place.as_ref() != Some(&before) => Err(PatientError::Repeated(name)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::raw;

    fn parsed(query: &str, handling: Handling) -> Result<Asked, String> {
        Asked::parse(&raw::parse(query), handling).map_err(|error| error.to_string())
    }

    #[test]
    fn parameters_are_taken_apart() {
        let query = "_type=Condition,Patient&start=2020&_count=5&_type=Condition,Location&_since=2024-01-01T00:00:00+01:00\
                     &end=2021-03&_total=accurate&start=2020";
        let asked = parsed(query, Handling::Strict).unwrap();
        let repeated: Vec<String> = asked
            .repeated
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            repeated,
            [
                "start=2020",
                "end=2021-03",
                "_since=2024-01-01T00:00:00+01:00",
                "_type=Condition,Patient,Location"
            ]
        );
        let condition = asked
            .members
            .iter()
            .find(|member| facts().get(member.type_id).name == "Condition");
        let expected = [
            RawParameter::named("onset-date", "ge2020"),
            RawParameter::named("onset-date", "le2021-03"),
        ];
        assert_eq!(condition.unwrap().parameters, expected);
        let coverage = asked
            .members
            .iter()
            .find(|member| facts().get(member.type_id).name == "Coverage");
        assert!(coverage.unwrap().parameters.is_empty());
        assert_eq!(asked.page.len(), 2);
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        let error = |query: &str| parsed(query, Handling::Lenient).unwrap_err();
        assert_eq!(
            error("_type=Patient,Device"),
            "the parameter _type must be a type of the Patient compartment, or Location, Medication, Organization or \
             Practitioner; it is 'Device'"
        );
        assert!(error("_type=Resource").contains("'Resource'"));
        assert!(error("_type=Patient,,Goal").ends_with("it is ''"));
        for query in ["start=ge2020", "end=soon", "start=2024-02-30", "start=2020-01-01T12"] {
            assert!(error(query).contains("a date like"), "{query}");
        }
        assert!(error("_since=2024-01-01T00:00").contains("an instant like"));
        assert_eq!(error("end=2020&end=2021"), "the parameter end comes more than once");
    }

    #[test]
    fn unknown_parameters_are_left_out_or_refused() {
        for (query, name) in [
            ("_sort=date", "_sort"),
            ("start:exact=2020", "start:exact"),
            ("_summary=true", "_summary"),
            ("_included=5", "_included"),
        ] {
            assert!(parsed(query, Handling::Lenient).unwrap().repeated.is_empty());
            let error = parsed(query, Handling::Strict).unwrap_err();
            assert_eq!(error, format!("there is no parameter {name}"));
        }
        assert!(parsed("start=&_type=", Handling::Lenient).unwrap().only.is_none());
        assert!(parsed("start=", Handling::Strict).is_err());
    }
}
