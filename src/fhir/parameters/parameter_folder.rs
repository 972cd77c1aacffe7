//! Reads SearchParameter resources from a folder of JSON files. An unusable resource is an error that names the file
//! and the reason.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::super::facts::{Kind, TypeId, facts};
use super::definition::{Comparator, Component, Modifier, SearchParameter, SearchType, Usage};

/// Why a folder's search parameters are refused.
#[derive(Debug, thiserror::Error)]
pub enum SearchParameterError {
    /// The folder or a file in it cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file is not JSON, or a resource does not have the shape of a SearchParameter.
    #[error("{}: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// A file is JSON but no FHIR resource, because it has no `resourceType`.
    #[error("{}: no FHIR resource: it has no resourceType", path.display())]
    NoResource {
        /// The file.
        path: PathBuf,
    },
    /// A SearchParameter is unusable for searches.
    #[error("{}: SearchParameter {url}: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The parameter's URL, or `without url`.
        url: String,
        /// Why the parameter is unusable.
        reason: Unusable,
    },
    /// No file of the folder adds a parameter.
    #[error("{}: holds no SearchParameter", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
}

/// Why a SearchParameter is unusable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum Unusable {
    #[error("it has no {0}")]
    Lacks(&'static str),
    #[error("its {element} is {found:?}, which R4 does not define")]
    Unknown { element: &'static str, found: String },
    #[error("its code {0:?} has characters that a query cannot carry")]
    Code(String),
    #[error("its component {0} is defined neither by R4 nor in this folder")]
    Component(String),
}

/// A parameter and its file.
pub(in crate::fhir) struct Added {
    pub(in crate::fhir) parameter: Arc<SearchParameter>,
    path: PathBuf,
}

impl Added {
    pub(in crate::fhir) fn component_unknown(&self, definition: &str) -> SearchParameterError {
        SearchParameterError::Unusable {
            path: self.path.clone(),
            url: self.parameter.url.to_string(),
            reason: Unusable::Component(definition.to_owned()),
        }
    }
}

/// Reads the parameters of all JSON files in `folder`, in the order of the files' names. If several parameters have the
/// same URL, the last one counts. Fails if the folder has no parameters.
pub(in crate::fhir) fn read(folder: &Path) -> Result<Vec<Added>, SearchParameterError> {
    let unreadable = |source| SearchParameterError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_resource_file(&path) {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    let mut added: Vec<Added> = Vec::new();
    for path in paths {
        for parameter in read_file(&path)? {
            added.retain(|earlier| earlier.parameter.url != parameter.url);
            added.push(Added {
                parameter: Arc::new(parameter),
                path: path.clone(),
            });
        }
    }
    if added.is_empty() {
        return Err(SearchParameterError::Empty {
            path: folder.to_owned(),
        });
    }
    Ok(added)
}

/// Whether a file is a JSON file that should contain a resource. The description of a package (`package.json`) and
/// hidden files (`.index.json`) contain none.
fn is_resource_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
        && name != "package.json"
        && !name.starts_with('.')
        && path.is_file()
}

fn read_file(path: &Path) -> Result<Vec<SearchParameter>, SearchParameterError> {
    let malformed = |source| SearchParameterError::Malformed {
        path: path.to_owned(),
        source,
    };
    let bytes = std::fs::read(path).map_err(|source| SearchParameterError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let json: Value =
        serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).map_err(malformed)?;
    let resources = match resource_type(&json) {
        Some("Bundle") => bundle(json),
        Some(_) => vec![json],
        None => return Err(SearchParameterError::NoResource { path: path.to_owned() }),
    };
    let mut parameters = Vec::new();
    for resource in resources {
        if resource_type(&resource) == Some("SearchParameter") {
            let raw: Raw = serde_json::from_value(resource).map_err(malformed)?;
            let url = raw.url.clone().unwrap_or_else(|| "without url".to_owned());
            parameters.push(raw.resolve().map_err(|reason| SearchParameterError::Unusable {
                path: path.to_owned(),
                url,
                reason,
            })?);
        }
    }
    Ok(parameters)
}

fn resource_type(json: &Value) -> Option<&str> {
    json.get("resourceType").and_then(Value::as_str)
}

fn bundle(mut json: Value) -> Vec<Value> {
    let entries = json
        .get_mut("entry")
        .and_then(Value::as_array_mut)
        .map(std::mem::take)
        .unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|mut entry| entry.get_mut("resource").map(Value::take))
        .collect()
}

/// The elements of a SearchParameter as they are in the file, not yet checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    url: Option<String>,
    code: Option<String>,
    #[serde(rename = "type")]
    search_type: Option<String>,
    #[serde(default)]
    base: Vec<String>,
    #[serde(default)]
    target: Vec<String>,
    expression: Option<String>,
    #[serde(default)]
    component: Vec<RawComponent>,
    multiple_or: Option<bool>,
    multiple_and: Option<bool>,
    #[serde(default)]
    comparator: Vec<String>,
    #[serde(default)]
    modifier: Vec<String>,
    xpath_usage: Option<String>,
}

#[derive(Deserialize)]
struct RawComponent {
    definition: Option<String>,
    expression: Option<String>,
}

impl Raw {
    fn resolve(self) -> Result<SearchParameter, Unusable> {
        let url = present("url", self.url)?;
        let code = present("code", self.code)?;
        if code.contains(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')) {
            return Err(Unusable::Code(code));
        }
        let search_type = one("type", present("type", self.search_type)?, SearchType::parse)?;
        if self.base.is_empty() {
            return Err(Unusable::Lacks("base"));
        }
        let expression = self
            .expression
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty());
        if expression.is_none() && search_type != SearchType::Special {
            return Err(Unusable::Lacks("expression"));
        }
        if self.component.is_empty() && search_type == SearchType::Composite {
            return Err(Unusable::Lacks("component"));
        }
        let mut targets = many("target", self.target, resource)?;
        // An abstract target such as `Resource` allows all types, as an empty list of targets does.
        if targets.iter().any(|target| facts().get(*target).is_abstract) {
            targets.clear();
        }
        Ok(SearchParameter {
            url: url.into(),
            code: code.into(),
            search_type,
            bases: many("base", self.base, resource)?,
            targets,
            expression: expression.map(Cow::Owned),
            components: self
                .component
                .into_iter()
                .map(RawComponent::resolve)
                .collect::<Result<_, _>>()?,
            multiple_or: self.multiple_or,
            multiple_and: self.multiple_and,
            comparators: many("comparator", self.comparator, Comparator::parse)?,
            modifiers: many("modifier", self.modifier, Modifier::parse)?,
            usage: self
                .xpath_usage
                .map_or(Ok(Usage::Normal), |usage| one("xpathUsage", usage, Usage::parse))?,
        })
    }
}

impl RawComponent {
    fn resolve(self) -> Result<Component, Unusable> {
        let definition = present("component.definition", self.definition)?;
        // Drop the version of the canonical, because the URL alone identifies the definition.
        let url = definition.split('|').next().unwrap_or_default().to_owned();
        Ok(Component {
            definition: url.into(),
            expression: present("component.expression", self.expression)?.into(),
        })
    }
}

fn present(element: &'static str, value: Option<String>) -> Result<String, Unusable> {
    value
        .filter(|value| !value.trim().is_empty())
        .ok_or(Unusable::Lacks(element))
}

fn one<T>(element: &'static str, value: String, parse: fn(&str) -> Option<T>) -> Result<T, Unusable> {
    parse(&value).ok_or(Unusable::Unknown { element, found: value })
}

fn many<T>(element: &'static str, values: Vec<String>, parse: fn(&str) -> Option<T>) -> Result<Vec<T>, Unusable> {
    values.into_iter().map(|value| one(element, value, parse)).collect()
}

fn resource(name: &str) -> Option<TypeId> {
    facts()
        .lookup(name)
        .filter(|type_id| facts().get(*type_id).kind == Kind::Resource)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::search_parameter::SearchParameters;
    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new(files: &[(&str, Value)]) -> Folder {
            let folder = tempfile::tempdir().unwrap();
            for (name, json) in files {
                std::fs::write(folder.path().join(name), json.to_string()).unwrap();
            }
            Folder(folder)
        }

        fn load(&self) -> Result<SearchParameters, SearchParameterError> {
            SearchParameters::builtin().with_folder(self.0.path())
        }

        fn reason(&self) -> String {
            let error = self.load().unwrap_err().to_string();
            error
                .strip_prefix(&format!("{}", self.0.path().display()))
                .unwrap()
                .to_owned()
        }
    }

    fn parameter(url: &str, code: &str, base: &str) -> Value {
        json!({"resourceType": "SearchParameter", "url": url, "code": code, "base": [base], "type": "token",
               "expression": format!("{base}.extension"), "status": "active"})
    }

    fn patient() -> TypeId {
        facts().lookup("Patient").unwrap()
    }

    #[test]
    fn files_and_bundles_add_parameters() {
        let folder = Folder::new(&[
            ("race.json", parameter("urn:race", "race", "Patient")),
            (
                "all.json",
                json!({"resourceType": "Bundle", "entry": [
                    {"resource": parameter("urn:sex", "sex", "Patient")},
                    {"resource": {"resourceType": "Patient"}},
                    {"fullUrl": "urn:none"},
                ]}),
            ),
            ("profile.json", json!({"resourceType": "StructureDefinition"})),
            ("package.json", json!({"name": "guide"})),
            (".index.json", json!({"files": []})),
            ("notes.txt", json!("no JSON resource")),
        ]);
        let parameters = folder.load().unwrap();
        assert_eq!(parameters.all().len(), 1377);
        assert_eq!(parameters.get(patient(), "race").unwrap().url, "urn:race");
        assert_eq!(
            parameters.get(patient(), "sex").unwrap().expression.as_deref(),
            Some("Patient.extension")
        );
        assert!(SearchParameters::builtin().get(patient(), "race").is_none());
    }

    #[test]
    fn an_added_parameter_goes_before_a_built_in_one() {
        const BIRTHDATE: &str = "http://hl7.org/fhir/SearchParameter/individual-birthdate";
        let folder = Folder::new(&[
            ("1.json", parameter(BIRTHDATE, "birthdate", "Patient")),
            ("2.json", parameter("urn:name", "name", "Patient")),
            ("3.json", parameter("urn:id", "_id", "Patient")),
            ("4.json", parameter("urn:family", "family", "Resource")),
        ]);
        let parameters = folder.load().unwrap();
        let get = |resource_type: &str, code| {
            parameters
                .get(facts().lookup(resource_type).unwrap(), code)
                .map(|found| found.url.to_string())
        };
        // An added parameter with the same URL replaces the built-in one, even for bases that only the built-in one
        // has.
        assert_eq!(get("Patient", "birthdate").unwrap(), BIRTHDATE);
        assert_eq!(get("Person", "birthdate"), None);
        // An added parameter with the same code precedes the built-in one only for the type that it names.
        assert_eq!(get("Patient", "name").unwrap(), "urn:name");
        assert_eq!(
            get("RelatedPerson", "name").unwrap(),
            "http://hl7.org/fhir/SearchParameter/RelatedPerson-name"
        );
        assert_eq!(get("Patient", "_id").unwrap(), "urn:id");
        assert_eq!(
            get("Person", "_id").unwrap(),
            "http://hl7.org/fhir/SearchParameter/Resource-id"
        );
        // A definition for the type itself precedes an inherited one, whether it is added or built-in.
        assert_eq!(
            get("Patient", "family").unwrap(),
            "http://hl7.org/fhir/SearchParameter/individual-family"
        );
        assert_eq!(get("Observation", "family").unwrap(), "urn:family");
        assert!(
            parameters
                .by_url("http://hl7.org/fhir/SearchParameter/Patient-name")
                .is_some()
        );
    }

    #[test]
    fn what_cannot_be_searched_by_is_refused_with_file_and_reason() {
        let changed = |element: &str, value: Value| {
            let mut json = parameter("urn:a", "a", "Patient");
            json[element] = value;
            Folder::new(&[("a.json", json)]).reason()
        };
        let of = |reason: &str| format!("/a.json: SearchParameter urn:a: {reason}");
        assert_eq!(
            changed("url", Value::Null),
            "/a.json: SearchParameter without url: it has no url"
        );
        assert_eq!(changed("code", json!("")), of("it has no code"));
        assert_eq!(
            changed("code", json!("a:b")),
            of("its code \"a:b\" has characters that a query cannot carry")
        );
        assert_eq!(
            changed("type", json!("fuzzy")),
            of("its type is \"fuzzy\", which R4 does not define")
        );
        assert_eq!(changed("base", json!([])), of("it has no base"));
        assert_eq!(
            changed("base", json!(["Actor"])),
            of("its base is \"Actor\", which R4 does not define")
        );
        assert_eq!(
            changed("base", json!(["HumanName"])),
            of("its base is \"HumanName\", which R4 does not define")
        );
        assert_eq!(
            changed("target", json!(["Actor"])),
            of("its target is \"Actor\", which R4 does not define")
        );
        assert_eq!(changed("expression", json!(" ")), of("it has no expression"));
        assert_eq!(changed("type", json!("composite")), of("it has no component"));
        assert_eq!(
            changed("component", json!([{"definition": "urn:b", "expression": "c"}])),
            of("its component urn:b is defined neither by R4 nor in this folder")
        );
        assert!(changed("base", json!("Patient")).starts_with("/a.json: invalid type: string"));
        assert_eq!(
            changed("resourceType", Value::Null),
            "/a.json: no FHIR resource: it has no resourceType"
        );
        assert_eq!(changed("resourceType", json!("Patient")), ": holds no SearchParameter");
        let folder = Folder::new(&[]);
        std::fs::write(folder.0.path().join("b.json"), "{").unwrap();
        assert!(folder.reason().starts_with("/b.json: EOF while parsing"));
        assert!(
            SearchParameters::builtin()
                .with_folder(Path::new("/no/such/folder"))
                .is_err()
        );
    }
}
