//! A ViewDefinition as it was written: turns JSON into a raw type, with the place of each part for messages.
//!
//! Decides which properties a ViewDefinition has and what JSON types they are. `resolve` decides what names, types and
//! expressions mean. `metadata` checks the properties that do not affect rows.
//!
//! Two forms of ViewDefinition are in use, and both are accepted. Their `resource`, `constant`, `where` and `select`
//! are the same. SQL on FHIR 2.0 defines ViewDefinition as a logical model, and the ballot of 3.0 defines it as a
//! resource of R6. So these parts differ:
//!
//! | | 2.0.0 | 3.0.0-ballot |
//! |---|---|---|
//! | `resourceType` | `https://sql-on-fhir.org/ig/StructureDefinition/ViewDefinition` | `ViewDefinition` |
//! | `resourceDefinition` | | `http://hl7.org/fhir/StructureDefinition/ViewDefinition`, with or without a version |
//! | `identifier` | an object | a list of objects |
//! | canonical base of profiles | `https://sql-on-fhir.org/ig` | `http://hl7.org/fhir/uv/sql-on-fhir` |
//! | metadata | some | all of a MetadataResource of R6: `version`, `date`, `purpose`, `author`, ... |
//! | `profile` | | the profiles to which the resources should conform |
//! | `select.repeat`, `%rowIndex` | | recursive traversal; the number of the item in its iteration |
//! | in a `select` | `forEach` and `forEachOrNull` if they are equal | one of `forEach`, `forEachOrNull`, `repeat` |
//!
//! The specification's own text also writes `tags` for `tag`, so both are accepted. In both forms, this program reports
//! an error for a `select` with two iterations, and for a view without `resource`.

use super::constants::{self, RawConstant};
use super::element_path::ElementPath;
use super::finding::Findings;
use super::metadata;
use super::read::{flag, known, list, must_be, objects, optional_text, present, required_text, text};
use crate::columns::json::{Tape, Value};
use crate::fhir::outcome::IssueType;
use crate::fhirpath::Position;

/// A ViewDefinition as written. Parts that could not be read are left out.
#[derive(Clone, Debug)]
pub(in crate::views) struct Definition {
    pub(in crate::views) name: Option<String>,
    pub(in crate::views) resource: Option<String>,
    pub(in crate::views) profiles: Vec<Located>,
    pub(in crate::views) constants: Vec<RawConstant>,
    pub(in crate::views) wheres: Vec<Located>,
    pub(in crate::views) selects: Vec<RawSelect>,
    pub(in crate::views) claims: metadata::Claims,
}

/// An expression and its place.
#[derive(Clone, Debug)]
pub(in crate::views) struct Located {
    pub(in crate::views) at: String,
    pub(in crate::views) text: String,
}

/// The iteration of a `select`: its `forEach`, `forEachOrNull` or `repeat`.
#[derive(Clone, Debug)]
pub(in crate::views) enum RawIteration {
    Each(Located),
    EachOrNull(Located),
    Repeat(Vec<Located>),
    /// An iteration that could not be read.
    Unknown,
}

/// A `select`, or a branch of a `unionAll`.
#[derive(Clone, Debug)]
pub(in crate::views) struct RawSelect {
    pub(in crate::views) at: String,
    pub(in crate::views) iteration: Option<RawIteration>,
    pub(in crate::views) columns: Vec<RawColumn>,
    pub(in crate::views) selects: Vec<RawSelect>,
    pub(in crate::views) union: Vec<RawSelect>,
    /// Whether the whole select could be read without an error.
    pub(in crate::views) whole: bool,
}

/// A `column`.
#[derive(Clone, Debug)]
pub(in crate::views) struct RawColumn {
    pub(in crate::views) at: String,
    pub(in crate::views) name: String,
    pub(in crate::views) path: Located,
    pub(in crate::views) fhir_type: Option<String>,
    pub(in crate::views) collection: Option<bool>,
    pub(in crate::views) description: Option<String>,
    pub(in crate::views) tags: Vec<RawTag>,
}

/// A `tag` of a column.
#[derive(Clone, Debug)]
pub(in crate::views) struct RawTag {
    pub(in crate::views) at: String,
    pub(in crate::views) name: String,
    pub(in crate::views) value: String,
}

/// The maximum nesting of `select`s. No real view has so many levels, and recursion to this depth is safe.
const MAX_DEPTH: usize = 32;

const SELECT: [&str; 6] = ["column", "select", "forEach", "forEachOrNull", "repeat", "unionAll"];
const COLUMN: [&str; 7] = ["name", "path", "type", "collection", "description", "tag", "tags"];

impl Definition {
    /// Reads a definition. `None` if the text is not a JSON object or not a ViewDefinition.
    pub(in crate::views) fn parse(text: &[u8], findings: &mut Findings) -> Option<Definition> {
        let mut tape = Tape::new();
        let at = ElementPath::Root;
        let root = match tape.parse(text) {
            Ok(root) => root,
            Err(error) => {
                let before = String::from_utf8_lossy(text.get(..error.offset).unwrap_or(text));
                let place = Position::of(&before, before.len());
                let problem = format!("is not JSON: {} at {place}", error.reason);
                findings.error(at, IssueType::Structure, problem);
                return None;
            }
        };
        if !root.is_object() {
            findings.error(at, IssueType::Structure, must_be("an object", root));
            return None;
        }
        let claims = metadata::check(findings, root, &at)?;
        let profiles = list(findings, root, &at, "profile", |findings, value, at| {
            located(findings, value, at)
        });
        let resource = required_text(findings, root, &at, "resource");
        let constants = objects(findings, root, &at, "constant", constants::constant);
        let wheres = objects(findings, root, &at, "where", |findings, value, at| {
            known(findings, value, at, "a where", &["path", "description"]);
            optional_text(findings, value, at, "description");
            required(findings, value, at, "path")
        });
        if present(root, "select").is_none_or(|select| select.is_array() && select.items().next().is_none()) {
            findings.error(
                at.property("select"),
                IssueType::Required,
                "must have at least one entry",
            );
        }
        let selects = objects(findings, root, &at, "select", |findings, value, at| {
            RawSelect::parse(findings, value, at, 0)
        });
        Some(Definition {
            name: metadata::name(findings, root, &at),
            resource,
            profiles,
            constants,
            wheres,
            selects,
            claims,
        })
    }
}

impl RawSelect {
    fn parse(findings: &mut Findings, value: Value<'_>, at: &ElementPath<'_>, depth: usize) -> Option<RawSelect> {
        if depth >= MAX_DEPTH {
            let problem = format!("nests deeper than {MAX_DEPTH} levels");
            findings.error(at, IssueType::TooCostly, problem);
            return None;
        }
        let errors = findings.errors();
        known(findings, value, at, "a select", &SELECT);
        if ["column", "select", "unionAll"]
            .into_iter()
            .all(|name| present(value, name).is_none_or(|list| list.is_array() && list.items().next().is_none()))
        {
            findings.error(at, IssueType::Required, "needs a column, a select or a unionAll");
        }
        let nested = |findings: &mut Findings, value: Value<'_>, at: &ElementPath<'_>| {
            RawSelect::parse(findings, value, at, depth + 1)
        };
        let mut select = RawSelect {
            at: at.to_string(),
            iteration: iteration(findings, value, at),
            columns: objects(findings, value, at, "column", column),
            selects: objects(findings, value, at, "select", nested),
            union: objects(findings, value, at, "unionAll", nested),
            whole: true,
        };
        select.whole = findings.errors() == errors;
        Some(select)
    }
}

fn iteration(findings: &mut Findings, value: Value<'_>, at: &ElementPath<'_>) -> Option<RawIteration> {
    let mut found = None;
    for name in ["forEach", "forEachOrNull", "repeat"] {
        if present(value, name).is_none() {
            continue;
        }
        if found.is_some() {
            let problem = "may have only one of forEach, forEachOrNull and repeat";
            findings.error(at, IssueType::Invariant, problem);
            return Some(RawIteration::Unknown);
        }
        let single = |findings: &mut Findings| required(findings, value, at, name);
        found = Some(match name {
            "forEach" => single(findings).map_or(RawIteration::Unknown, RawIteration::Each),
            "forEachOrNull" => single(findings).map_or(RawIteration::Unknown, RawIteration::EachOrNull),
            _ => repeat(findings, value, at),
        });
    }
    found
}

fn repeat(findings: &mut Findings, value: Value<'_>, at: &ElementPath<'_>) -> RawIteration {
    let errors = findings.errors();
    let paths = list(findings, value, at, "repeat", |findings, value, at| {
        located(findings, value, at)
    });
    if paths.is_empty() && findings.errors() == errors {
        let place = at.property("repeat");
        findings.error(place, IssueType::Required, "must have at least one entry");
    }
    if findings.errors() == errors {
        RawIteration::Repeat(paths)
    } else {
        RawIteration::Unknown
    }
}

fn column(findings: &mut Findings, value: Value<'_>, at: &ElementPath<'_>) -> Option<RawColumn> {
    known(findings, value, at, "a column", &COLUMN);
    let name = required_text(findings, value, at, "name");
    let path = required(findings, value, at, "path");
    let fhir_type = optional_text(findings, value, at, "type");
    let collection = flag(findings, value, at, "collection");
    let description = optional_text(findings, value, at, "description");
    let tags = tags(findings, value, at, name.as_deref());
    Some(RawColumn {
        at: at.to_string(),
        name: name?,
        path: path?,
        fhir_type,
        collection,
        description,
        tags,
    })
}

/// Reads the tags of a column: `tag`, and `tags` as in the specification's example of a type hint.
fn tags(findings: &mut Findings, value: Value<'_>, at: &ElementPath<'_>, column: Option<&str>) -> Vec<RawTag> {
    let mut tags = Vec::new();
    for name in ["tag", "tags"] {
        if name == "tags" && present(value, name).is_some() {
            let place = at.property(name);
            let finding = super::finding::Finding::warning(place, IssueType::Structure, "is taken as 'tag'");
            findings.add(match column {
                Some(column) => finding.of_column(column),
                None => finding,
            });
        }
        tags.extend(objects(findings, value, at, name, |findings, value, at| {
            known(findings, value, at, "a tag", &["name", "value"]);
            let name = required_text(findings, value, at, "name");
            let value = required_text(findings, value, at, "value");
            Some(RawTag {
                at: at.to_string(),
                name: name?,
                value: value?,
            })
        }));
    }
    tags
}

/// Reads a string together with its place.
fn located(findings: &mut Findings, value: Value<'_>, at: &ElementPath<'_>) -> Option<Located> {
    Some(Located {
        text: text(findings, value, at)?,
        at: at.to_string(),
    })
}

/// Reads a required property that is a string, together with its place.
fn required(findings: &mut Findings, value: Value<'_>, at: &ElementPath<'_>, name: &str) -> Option<Located> {
    Some(Located {
        text: required_text(findings, value, at, name)?,
        at: at.property(name).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let mut findings = Findings::default();
        Definition::parse(text.as_bytes(), &mut findings);
        let mut errors = findings.into_vec().into_iter().filter(|finding| finding.is_error());
        errors.next().unwrap().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_by_its_place() {
        for (view, expected) in [
            ("[]", "ViewDefinition: must be an object, not an array"),
            (
                "{",
                "ViewDefinition: is not JSON: the text ends too early at line 1, column 2",
            ),
            (
                "{\"é\": 1,\n \"a\" 2}",
                "ViewDefinition: is not JSON: expected ':' after the property name at line 2, column 6",
            ),
            (
                r#"{"resourceType":"Patient"}"#,
                "ViewDefinition.resourceType: is 'Patient', not 'ViewDefinition'",
            ),
            (
                r#"{"resource":"Patient"}"#,
                "ViewDefinition.select: must have at least one entry",
            ),
            (
                r#"{"select":[{"column":[{"name":"a","path":"id"}]}]}"#,
                "ViewDefinition: has no resource",
            ),
            (
                r#"{"resource":"X","select":[{"column":{}}]}"#,
                "ViewDefinition.select[0].column: must be an array, not an object",
            ),
            (
                r#"{"resource":"X","select":[{"column":[1]}]}"#,
                "ViewDefinition.select[0].column[0]: must be an object, not a number",
            ),
            (
                r#"{"resource":"X","select":[{"column":[{"name":"a"}]}]}"#,
                "ViewDefinition.select[0].column[0]: has no path",
            ),
            (
                r#"{"resource":"X","select":[{"column":[{"name":"a","path":"b","tag":[{"name":"c"}]}]}]}"#,
                "ViewDefinition.select[0].column[0].tag[0]: has no value",
            ),
            (
                r#"{"resource":"X","select":[{"column":[{"name":"a","path":"b","collection":"true"}]}]}"#,
                "ViewDefinition.select[0].column[0].collection: must be true or false, not a string",
            ),
            (
                r#"{"resource":"X","select":[{}]}"#,
                "ViewDefinition.select[0]: needs a column, a select or a unionAll",
            ),
            (
                r#"{"resource":"X","select":[{"select":[{"forEach":1,"column":[]}]}]}"#,
                "ViewDefinition.select[0].select[0]: needs a column, a select or a unionAll",
            ),
            (
                r#"{"resource":"X","select":[{"forEach":1,"column":[{"name":"a","path":"b"}]}]}"#,
                "ViewDefinition.select[0].forEach: must be a string, not a number",
            ),
            (
                r#"{"resource":"X","select":[{"repeat":[],"column":[{"name":"a","path":"b"}]}]}"#,
                "ViewDefinition.select[0].repeat: must have at least one entry",
            ),
            (
                r#"{"resource":"X","select":[{"repeat":"item","column":[{"name":"a","path":"b"}]}]}"#,
                "ViewDefinition.select[0].repeat: must be an array, not a string",
            ),
            (
                r#"{"resource":"X","select":[{"forEach":"a","forEachOrNull":"a","column":[{"name":"a","path":"b"}]}]}"#,
                "ViewDefinition.select[0]: may have only one of forEach, forEachOrNull and repeat",
            ),
        ] {
            assert_eq!(problem(view), expected, "{view}");
        }
        let deep = format!(
            r#"{{"resource":"X","select":[{}{}]}}"#,
            r#"{"select":["#.repeat(40),
            "]}".repeat(40)
        );
        assert!(problem(&deep).contains("nests deeper than 32 levels"));
    }
}
