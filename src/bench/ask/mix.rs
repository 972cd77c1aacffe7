//! Mix files: families of queries. This module decides the format of mix files, and the meaning of the names in them.
//! The module `plan` decides which values are drawn for the queries.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::error::BenchError;
use super::builtin;
use super::row::Field;
use super::template::{Template, resource_type};
use crate::fhir::{TypeId, facts};

/// The maximum number of clients with which a family runs.
pub(in crate::bench) const MAX_CLIENTS: usize = 10_000;

/// Families of queries.
#[derive(Clone, Debug)]
pub struct Mix {
    pub(in crate::bench) name: String,
    pub(in crate::bench) families: Vec<Family>,
}

/// Queries that are timed together.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Family {
    pub(in crate::bench) name: String,
    /// The built-in mix to which this family belongs, one of `builtin::NAMES`. Empty if there is none.
    mix: String,
    pub(in crate::bench) kind: Kind,
    /// The numbers of clients with which the family is measured. `None` means the numbers in the bench's settings.
    pub(in crate::bench) clients: Option<Vec<usize>>,
    /// Whether the report shows how many rows of the searched table are read per second.
    pub(in crate::bench) scans: bool,
    pub(in crate::bench) queries: Vec<Query>,
}

/// How the clients send a family's queries, and when they stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::bench) enum Kind {
    /// Each client sends queries of the family, drawn at random by weight, until the time is over.
    #[default]
    Timed,
    /// Each client sends one request for each person, to a server that was just started and has empty caches.
    Once,
    /// Each client reads all pages of one query, by the `next` links. It is the query whose number of matches is
    /// closest to 100,000.
    Pages,
    /// Like `Timed`, but other processes import and erase at the same time.
    Soak,
}

/// The rows from which a query's values are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::bench) enum Draw {
    /// All rows, each equally likely.
    #[default]
    Rows,
    /// A thousand of the rows. They are drawn one time and used by all requests of the query.
    WorkingSet,
    /// The rows of some people, each person equally likely. If the query has the placeholder `{code}`, only rows whose
    /// code the person has in 100 to 400 rows are used. If nobody has such rows, all rows of these people are used.
    People,
    /// Rows with a code that at least 1% of the rows have, each code equally likely. If there is no such code, rows
    /// with the most frequent code.
    Common,
    /// Rows with a code that at most 0.1% of the rows have, each code equally likely. If there is no such code, rows
    /// with the rarest code.
    Rare,
    /// Rows with a code that at least 1,000 rows have, each code equally likely. If there is no such code, rows with
    /// the most frequent code.
    Large,
    /// Rows with the code whose number of rows is closest to 100,000.
    HundredThousand,
}

/// The token that a request carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::bench) enum Who {
    /// The application's token.
    #[default]
    Application,
    /// The token of the Patient whose row was drawn.
    Patient,
}

/// One query.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Query {
    /// The query as the report shows it. For a `GET` it is the path with its parameters, before placeholders are
    /// replaced.
    pub(in crate::bench) text: String,
    pub(in crate::bench) request: Request,
    pub(in crate::bench) subject: Subject,
    pub(in crate::bench) draw: Draw,
    pub(in crate::bench) token: Who,
    pub(in crate::bench) weight: u32,
}

/// The request of a query.
#[derive(Clone, Debug)]
pub(in crate::bench) enum Request {
    /// A `GET` of this path.
    Get(Template),
    /// A `POST` to this path, with this form as its body.
    Form(Template, Template),
    /// A `POST` of this body to `ViewDefinition/$run`, with CSV as the answer.
    View(Arc<[u8]>),
}

/// The resources that a query is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Subject {
    /// Resources of a type.
    Type(TypeId),
    /// Resources of any type. The path begins with the placeholder `{type}`.
    Lake,
    /// The server itself, such as its CapabilityStatement, or resources of all types, as in `_search`.
    Server,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMix {
    families: Vec<RawFamily>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFamily {
    name: Option<String>,
    mix: Option<String>,
    #[serde(rename = "use")]
    used: Option<String>,
    clients: Option<Vec<usize>>,
    kind: Option<Kind>,
    scans: Option<bool>,
    #[serde(default)]
    queries: Vec<RawQuery>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawQuery {
    query: Option<String>,
    post: Option<String>,
    view: Option<String>,
    #[serde(rename = "use")]
    used: Option<String>,
    draw: Option<Draw>,
    token: Option<Who>,
    weight: Option<u32>,
}

impl Mix {
    /// Returns the program's own mix with this name, or reads the mix file at this path.
    pub fn load(name: &str) -> Result<Mix, BenchError> {
        if builtin::NAMES.contains(&name) {
            let mut mix = Mix::builtin()?;
            mix.families.retain(|family| family.is_named(name));
            mix.name = name.to_owned();
            return Ok(mix);
        }
        let path = Path::new(name);
        if !path.exists() {
            return Err(bad(
                name,
                format!(
                    "there is no such file, nor a mix of that name; mixes are {}",
                    builtin::NAMES.join(", ")
                ),
            ));
        }
        let text = std::fs::read_to_string(path).map_err(|source| BenchError::Read {
            path: path.to_owned(),
            source,
        })?;
        let mix = Mix::parse(name, &text, path.parent(), &Mix::builtin()?.families)?;
        if mix.families.is_empty() {
            Err(bad(name, "it has no families".to_owned()))
        } else {
            Ok(mix)
        }
    }

    /// Whether the mix changes the server's lake. The caller must then give the bench a copy of the lake.
    pub fn changes_lake(&self) -> bool {
        self.families.iter().any(|family| family.kind == Kind::Soak)
    }

    fn builtin() -> Result<Mix, BenchError> {
        Mix::parse("all", builtin::FAMILIES, None, &[])
    }

    /// Parses a mix file. `folder` is the folder of its view files. A `use` in the mix file can refer to the families
    /// in `known`.
    fn parse(name: &str, text: &str, folder: Option<&Path>, known: &[Family]) -> Result<Mix, BenchError> {
        let raw: RawMix = serde_json::from_str(text).map_err(|error| bad(name, error.to_string()))?;
        let mut families: Vec<Family> = Vec::new();
        for (place, family) in raw.families.into_iter().enumerate() {
            let at = family.name.clone().unwrap_or_else(|| format!("number {}", place + 1));
            let read = families_of(family, folder, known);
            families.extend(read.map_err(|reason| bad(name, format!("family {at}: {reason}")))?);
        }
        for (place, family) in families.iter().enumerate() {
            if families[..place].iter().any(|other| other.name == family.name) {
                return Err(bad(name, format!("there are two families {}", family.name)));
            }
        }
        Ok(Mix {
            name: name.to_owned(),
            families,
        })
    }
}

fn bad(name: &str, reason: String) -> BenchError {
    BenchError::Mix {
        name: name.to_owned(),
        reason,
    }
}

/// Returns the families of one entry of a mix file: a new family, or the known families that its `use` names.
fn families_of(raw: RawFamily, folder: Option<&Path>, known: &[Family]) -> Result<Vec<Family>, String> {
    let clients = match raw.clients {
        Some(clients) if clients.is_empty() || clients.iter().any(|many| !(1..=MAX_CLIENTS).contains(many)) => {
            return Err(format!("\"clients\" are numbers from 1 to {MAX_CLIENTS}"));
        }
        clients => clients,
    };
    if let Some(used) = raw.used {
        if !raw.queries.is_empty() || raw.kind.is_some() || raw.scans.is_some() {
            return Err("\"use\" takes \"name\" and \"clients\" beside it, nothing else".to_owned());
        }
        let mut families = named(&used, known)?;
        for family in &mut families {
            family.clients = clients.clone().or(family.clients.take());
        }
        return match (raw.name, families.as_mut_slice()) {
            (None, _) => Ok(families),
            (Some(name), [family]) => {
                family.name = name;
                Ok(families)
            }
            (Some(_), _) => Err(format!("{used:?} is several families, which keep their names")),
        };
    }
    let name = raw.name.ok_or("it has neither a \"name\" nor \"use\"")?;
    let kind = raw.kind.unwrap_or_default();
    let mut queries = Vec::new();
    for query in raw.queries {
        queries.extend(queries_of(query, folder, known)?);
    }
    if queries.is_empty() {
        return Err("it has no \"queries\"".to_owned());
    }
    for query in &queries {
        let fits = match kind {
            Kind::Timed | Kind::Soak => true,
            Kind::Once => query.draw == Draw::People,
            Kind::Pages => matches!(query.request, Request::Get(_)),
        };
        if !fits {
            return Err(format!("{:?} is no query for its \"kind\"", query.text));
        }
    }
    Ok(vec![Family {
        name,
        mix: raw.mix.unwrap_or_default(),
        kind,
        clients,
        scans: raw.scans.unwrap_or_default(),
        queries,
    }])
}

/// Returns the known family with this name, or the families of the mix with this name. Fails if there are none.
fn named(name: &str, known: &[Family]) -> Result<Vec<Family>, String> {
    let found: Vec<Family> = known
        .iter()
        .filter(|family| family.name == name || family.is_named(name))
        .cloned()
        .collect();
    if found.is_empty() {
        Err(format!("there is no family or mix {name:?} to use"))
    } else {
        Ok(found)
    }
}

/// Returns the queries of one entry of a family: a new query, or all queries of the known families that its `use`
/// names.
fn queries_of(raw: RawQuery, folder: Option<&Path>, known: &[Family]) -> Result<Vec<Query>, String> {
    let weight = raw.weight.unwrap_or(1);
    if !(1..=1_000_000).contains(&weight) {
        return Err("a \"weight\" is a number from 1 to 1000000".to_owned());
    }
    let (draw, token) = (raw.draw.unwrap_or_default(), raw.token.unwrap_or_default());
    let made = |text: String, request, subject| Query {
        text,
        request,
        subject,
        draw,
        token,
        weight,
    };
    match (raw.query, raw.post, raw.view, raw.used) {
        (Some(path), None, None, None) => {
            let template = Template::parse(&path)?;
            let subject = subject(&template, &path)?;
            let query = made(path, Request::Get(template), subject);
            checked(query).map(|query| vec![query])
        }
        (Some(path), Some(form), None, None) => {
            let (template, body) = (Template::parse(&path)?, Template::parse(&form)?);
            let subject = subject(&template, &path)?;
            let query = made(format!("POST {path} {form}"), Request::Form(template, body), subject);
            checked(query).map(|query| vec![query])
        }
        (None, None, Some(view), None) => {
            let (body, type_id) = view_body(&view, folder)?;
            let text = format!("ViewDefinition/$run?_format=csv of {view}");
            Ok(vec![made(text, Request::View(body.into()), Subject::Type(type_id))])
        }
        (None, None, None, Some(used)) => {
            let families = named(&used, known)?;
            let weighed = families
                .into_iter()
                .flat_map(|family| family.queries)
                .map(|query| Query {
                    weight: query.weight.saturating_mul(weight),
                    ..query
                });
            Ok(weighed.collect())
        }
        _ => Err("a query has one of \"query\" (with or without \"post\"), \"view\" and \"use\"".to_owned()),
    }
}

/// Returns the subject of a query. `template` is the parsed `path`. Returns an error if `path` does not begin with a
/// resource type, `{type}/`, `_search`, `metadata` or `?`.
fn subject(template: &Template, path: &str) -> Result<Subject, String> {
    if path.starts_with("{type}/") {
        return Ok(Subject::Lake);
    }
    if path.starts_with('/') {
        return Err(format!(
            "{path:?} is to be a path below the FHIR base, such as Patient?_count=5, without a slash before it"
        ));
    }
    let end = path.find(['?', '/']).unwrap_or(path.len());
    match template.start().get(..end) {
        Some("" | "_search" | "metadata") => Ok(Subject::Server),
        Some(name) => resource_type(name)
            .map(Subject::Type)
            .ok_or_else(|| format!("{path:?} begins with no R4 resource type")),
        None => Err(format!(
            "{path:?} begins with no resource type; only {{type}}/{{id}} may be drawn"
        )),
    }
}

/// Refuses a query with a placeholder that can have no value, such as `{id}` in a query for `metadata`.
fn checked(query: Query) -> Result<Query, String> {
    let own = query.own();
    match query.subject {
        Subject::Server if !own.is_empty() => Err(format!(
            "{:?} names no type; write {{Patient.id}} in place of {{id}}",
            query.text
        )),
        Subject::Type(_) if own.contains(&Field::Type) => Err(format!("{:?} has {{type}} behind a type", query.text)),
        Subject::Lake if own.iter().any(|field| !matches!(field, Field::Type | Field::Id)) => {
            Err(format!("{:?} has {{type}}, with which only {{id}} goes", query.text))
        }
        _ => Ok(query),
    }
}

/// Returns the body that runs a view, and the view's resource type. The view is the program's own or a file in
/// `folder`.
fn view_body(name: &str, folder: Option<&Path>) -> Result<(Vec<u8>, TypeId), String> {
    let text = match builtin::view(name) {
        Some(text) => text.to_owned(),
        None => {
            let path = folder.unwrap_or(Path::new("")).join(name);
            std::fs::read_to_string(&path)
                .map_err(|error| format!("cannot read the view {}: {error}", path.display()))?
        }
    };
    let view: Value = serde_json::from_str(&text).map_err(|error| format!("the view {name}: {error}"))?;
    let type_id = view["resource"].as_str().and_then(resource_type);
    let type_id = type_id.ok_or_else(|| format!("the view {name}: its \"resource\" is no R4 resource type"))?;
    let body = json!({"resourceType": "Parameters", "parameter": [{"name": "viewResource", "resource": view}]});
    Ok((body.to_string().into_bytes(), type_id))
}

impl Family {
    /// Whether the family belongs to the program's mix of this name. A soak is measured alone, not as a part of `all`.
    fn is_named(&self, mix: &str) -> bool {
        self.mix == mix || mix == "all" && self.kind != Kind::Soak
    }
}

impl Query {
    fn templates(&self) -> Vec<&Template> {
        match &self.request {
            Request::Get(path) => vec![path],
            Request::Form(path, body) => vec![path, body],
            Request::View(_) => Vec::new(),
        }
    }

    /// Returns the fields that the drawn row must have: those of the placeholders, and the Patient if the query carries
    /// the Patient's token.
    pub(in crate::bench) fn own(&self) -> Vec<Field> {
        let mut fields: Vec<Field> = self.templates().into_iter().flat_map(Template::own).collect();
        if self.token == Who::Patient && !fields.contains(&Field::Patient) {
            fields.push(Field::Patient);
        }
        fields
    }

    /// Returns the type and field of each placeholder such as `{Patient.id}`. Its value comes from a row of that type.
    pub(in crate::bench) fn others(&self) -> Vec<(TypeId, Field)> {
        self.templates().into_iter().flat_map(Template::others).collect()
    }

    /// Whether the query has the placeholder `{patients}`.
    pub(in crate::bench) fn names_people(&self) -> bool {
        self.templates().into_iter().any(Template::names_people)
    }

    /// Returns the resource type that a good answer must have. `None` if any type is accepted.
    pub(in crate::bench) fn expects(&self) -> Option<&'static str> {
        match (&self.request, self.subject) {
            (Request::View(_), _) | (_, Subject::Lake) => None,
            (Request::Form(..), _) => Some("Bundle"),
            (Request::Get(_), subject) => {
                let path = self.text.split('?').next().unwrap_or_default();
                match (path.split('/').collect::<Vec<_>>().as_slice(), subject) {
                    (["metadata"], _) => Some("CapabilityStatement"),
                    ([_] | ["Patient", _, "$everything" | "$summary"], _) => Some("Bundle"),
                    ([_, id], Subject::Type(type_id)) if !id.starts_with('$') => Some(facts().get(type_id).name),
                    _ => None,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(families: &str) -> Result<Mix, BenchError> {
        let text = format!(r#"{{"families": [{families}]}}"#);
        Mix::parse("test", &text, None, &Mix::builtin().unwrap().families)
    }

    #[test]
    fn every_family_of_the_program_is_of_a_mix_that_can_be_named() {
        let all = Mix::load("all").unwrap();
        for family in &all.families {
            assert!(builtin::NAMES.contains(&family.mix.as_str()), "{}", family.name);
        }
        for name in builtin::NAMES {
            assert!(!Mix::load(name).unwrap().families.is_empty(), "{name}");
        }
    }

    #[test]
    fn families_are_used_renamed_and_mixed() {
        let mix = parsed(
            r#"{"use": "read", "clients": [2]}, {"use": "has", "name": "mine"},
               {"name": "both", "queries": [{"use": "read-hot", "weight": 7}, {"query": "Patient/{id}", "weight": 3}]}"#,
        )
        .unwrap();
        let names: Vec<&str> = mix.families.iter().map(|family| family.name.as_str()).collect();
        assert_eq!(names, ["read-hot", "read-uniform", "mine", "both"]);
        assert_eq!(mix.families[0].clients.as_deref(), Some(&[2][..]));
        let weights: Vec<u32> = mix.families[3].queries.iter().map(|query| query.weight).collect();
        assert_eq!(weights, [7, 3]);
        assert_eq!(mix.families[3].queries[1].expects(), Some("Patient"));
    }

    #[test]
    fn what_is_wrong_with_a_mix_is_said_with_its_place() {
        for (family, word) in [
            (r#"{"name": "x"}"#, "family x: it has no \"queries\""),
            (r#"{"queries": [{"query": "Patient"}]}"#, "number 1: it has neither"),
            (r#"{"use": "nothing"}"#, "no family or mix \"nothing\""),
            (r#"{"use": "read", "name": "x"}"#, "several families"),
            (r#"{"use": "has", "scans": true}"#, "nothing else"),
            (r#"{"use": "has"}, {"use": "has"}"#, "two families has"),
            (
                r#"{"name": "x", "clients": [0], "queries": [{"query": "Patient"}]}"#,
                "\"clients\"",
            ),
            (r#"{"name": "x", "colour": 1}"#, "unknown field `colour`"),
            (
                r#"{"name": "x", "queries": [{"query": "Patients?a=b"}]}"#,
                "no R4 resource type",
            ),
            (r#"{"name": "x", "queries": [{"query": "{id}"}]}"#, "no resource type"),
            (
                r#"{"name": "x", "queries": [{"query": "?_type=Patient&_id={id}"}]}"#,
                "{Patient.id}",
            ),
            (
                r#"{"name": "x", "queries": [{"query": "Patient/{type}"}]}"#,
                "behind a type",
            ),
            (r#"{"name": "x", "queries": [{"query": "{type}/{date}"}]}"#, "only {id}"),
            (
                r#"{"name": "x", "queries": [{"query": "Patient", "view": "patients"}]}"#,
                "one of",
            ),
            (
                r#"{"name": "x", "queries": [{"query": "Patient", "weight": 0}]}"#,
                "weight",
            ),
            (r#"{"name": "x", "queries": [{"view": "absent.json"}]}"#, "absent.json"),
            (
                r#"{"name": "x", "queries": [{"query": "Patient", "draw": "lots"}]}"#,
                "lots",
            ),
            (
                r#"{"name": "x", "kind": "once", "queries": [{"query": "Patient"}]}"#,
                "no query for its \"kind\"",
            ),
            (
                r#"{"name": "x", "kind": "pages", "queries": [{"view": "patients"}]}"#,
                "no query for its \"kind\"",
            ),
        ] {
            let error = parsed(family).unwrap_err().to_string();
            assert!(error.contains(word), "{family}: {error}");
        }
    }

    #[test]
    fn good_answers_are_told_by_the_query() {
        for (path, expected) in [
            ("Patient", Some("Bundle")),
            ("Patient?x=a/b", Some("Bundle")),
            ("Patient/{id}", Some("Patient")),
            ("Patient/$everything", None),
            ("Patient/{id}/$everything?_count=5", Some("Bundle")),
            ("Patient/{id}/$summary", Some("Bundle")),
            ("Patient/{id}/$pdf", None),
            ("Patient/{id}/Observation", None),
            ("?_type=Patient", Some("Bundle")),
            ("metadata", Some("CapabilityStatement")),
            ("{type}/{id}", None),
        ] {
            let mix = parsed(&format!(r#"{{"name": "x", "queries": [{{"query": "{path}"}}]}}"#)).unwrap();
            assert_eq!(mix.families[0].queries[0].expects(), expected, "{path}");
        }
    }
}
