//! The CapabilityStatement: everything it lists works over real records, and everything else is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tabularium::fhir::search_parameter::{SearchParameter, SearchParameters};
use tabularium::fhir::{Kind, TypeId, facts};
use tabularium::ingest::{Options, import};
use tabularium::lake::Lake;

use super::drawn;
use crate::harness;
use crate::harness::server::{Answer, Server};

struct Walk {
    server: Server,
    bearer: String,
    statement: Value,
    /// Sample resources of each type.
    records: BTreeMap<String, Vec<Value>>,
}

/// A server over the real records with its CapabilityStatement.
fn walk() -> &'static Walk {
    static WALK: OnceLock<Walk> = OnceLock::new();
    let shared = harness::shared();
    WALK.get_or_init(|| {
        let folders = ["synthea", "synthea-2021", "uscore", "carin/ig-2.0.0", "pdex"];
        let paths: Vec<_> = folders.iter().map(|folder| shared.join("data").join(folder)).collect();
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open_or_create(folder.path()).unwrap();
        import(&mut lake.writer().unwrap(), Options::default(), &paths).unwrap();
        let server = Server::explaining(folder, lake);
        let bearer = format!("Bearer {}", server.application_token());
        let statement = server.send("GET", "/fhir/metadata", &[], "").json();
        let mut walk = Walk {
            server,
            bearer,
            statement,
            records: BTreeMap::new(),
        };
        for resource in walk.resources() {
            let name = resource["type"].as_str().unwrap();
            let page = walk.get(&format!("/fhir/{name}?_count=300"));
            let mut entries = page.json()["entry"].as_array().cloned().unwrap_or_default();
            let found: Vec<Value> = entries.iter_mut().map(|entry| entry["resource"].take()).collect();
            walk.records.insert(name.to_owned(), found);
        }
        walk
    })
}

impl Walk {
    fn resources(&self) -> Vec<Value> {
        self.statement["rest"][0]["resource"].as_array().unwrap().clone()
    }

    fn common(&self) -> Vec<Value> {
        self.statement["rest"][0]["searchParam"].as_array().unwrap().clone()
    }

    fn get(&self, path: &str) -> Answer {
        let headers = [("authorization", self.bearer.as_str()), ("prefer", "handling=strict")];
        self.server.send("GET", path, &headers, "")
    }

    /// Runs a strict search by POST.
    fn search(&self, place: &str, parameters: &[(&str, &str)]) -> Answer {
        let form = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        let headers = [
            ("authorization", self.bearer.as_str()),
            ("prefer", "handling=strict"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        self.server
            .send("POST", &format!("/fhir{place}/_search"), &headers, &form)
    }

    /// Whether a parameter name is refused as unknown, regardless of its value.
    fn is_unknown(&self, place: &str, name: &str) -> bool {
        let answer = self.search(place, &[(name, "x"), ("_count", "0")]);
        let refused = ["is not a search parameter of", "this server has none"];
        answer.status == 400 && refused.iter().any(|reason| answer.text.contains(reason))
    }
}

fn texts<'a>(value: &'a Value, name: &str) -> Vec<&'a str> {
    let items = value[name].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| item.as_str().unwrap()).collect()
}

fn parameters(resource: &Value) -> &[Value] {
    resource["searchParam"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn definition(parameter: &Value) -> SearchParameter {
    let url = text(parameter, "definition");
    let found = SearchParameters::builtin();
    let found = found.by_url(url).unwrap_or_else(|| panic!("no definition {url:?}"));
    assert_eq!(
        (&*found.code, found.search_type.as_str()),
        (text(parameter, "name"), text(parameter, "type"))
    );
    (**found).clone()
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn every_parameter_finds_what_its_value_was_drawn_from() {
    let walk = walk();
    let (mut drawn_from, mut wrong) = (0, Vec::new());
    for resource in walk.resources() {
        let resource_type = text(&resource, "type").to_owned();
        for parameter in parameters(&resource) {
            let (name, definition) = (text(parameter, "name"), definition(parameter));
            match drawn::value(&definition, &resource_type, &walk.records[&resource_type]) {
                Some((value, id)) => {
                    drawn_from += 1;
                    let answer = walk.search(
                        &format!("/{resource_type}"),
                        &[(name, &value), ("_id", &id), ("_summary", "count")],
                    );
                    if answer.status != 200 || answer.json()["total"] != 1 {
                        wrong.push(format!(
                            "{resource_type}?{name}={value} does not find {id}: {}",
                            answer.text
                        ));
                    }
                }
                None => {
                    let value = drawn::plausible(&definition, SearchParameters::builtin().as_ref());
                    let answer = walk.search(&format!("/{resource_type}"), &[(name, &value), ("_summary", "count")]);
                    if answer.status != 200 {
                        wrong.push(format!("{resource_type}?{name}={value}: {}", answer.text));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    assert!(drawn_from > 250, "{drawn_from} values were found in the records");
}

/// All modifiers, and an invalid one.
const MODIFIERS: [&str; 13] = [
    "missing",
    "exact",
    "contains",
    "text",
    "not",
    "in",
    "not-in",
    "below",
    "above",
    "of-type",
    "identifier",
    "[type]",
    "nonsense",
];

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn every_modifier_that_is_listed_is_taken_and_no_other() {
    let walk = walk();
    // One parameter of each kind: its type, and the listed modifiers.
    let mut kinds = BTreeMap::new();
    for resource in walk.resources() {
        for parameter in parameters(&resource) {
            let kind = (
                text(parameter, "type").to_owned(),
                text(parameter, "documentation").to_owned(),
            );
            kinds
                .entry(kind)
                .or_insert((text(&resource, "type").to_owned(), parameter.clone()));
        }
    }
    assert!(kinds.len() >= 9, "{kinds:?}");
    for ((search_type, documentation), (resource, parameter)) in kinds {
        let listed: BTreeSet<&str> = documentation
            .split(' ')
            .filter_map(|word| word.strip_prefix(':'))
            .collect();
        let definition = definition(&parameter);
        for modifier in MODIFIERS {
            let (written, value) = match modifier {
                "missing" => ("missing".to_owned(), "true".to_owned()),
                "of-type" => ("of-type".to_owned(), "http://system|code|value".to_owned()),
                "[type]" => {
                    let target = definition
                        .targets
                        .first()
                        .map_or("Patient", |type_id| facts().get(*type_id).name);
                    (target.to_owned(), "an-id".to_owned())
                }
                // Only some types have hierarchies.
                "below" | "above"
                    if search_type == "reference" && definition.targets.is_empty() && listed.contains("identifier") =>
                {
                    (modifier.to_owned(), "Organization/an-id".to_owned())
                }
                "below" if search_type == "reference" && !listed.contains("identifier") => {
                    (modifier.to_owned(), "http://example.org/plan|1".to_owned())
                }
                "below" | "above" if search_type == "token" => (modifier.to_owned(), "http://system|code".to_owned()),
                other => (
                    other.to_owned(),
                    drawn::plausible(&definition, SearchParameters::builtin().as_ref()),
                ),
            };
            let name = format!("{}:{written}", text(&parameter, "name"));
            let answer = walk.search(&format!("/{resource}"), &[(&name, &value), ("_summary", "count")]);
            // The modifier works even if the value set or code system is unknown.
            let taken = answer.status == 200 || answer.text.contains("is not known here");
            assert_eq!(
                taken,
                listed.contains(modifier),
                "{resource}?{name}={value}: {}",
                answer.text
            );
            assert!(taken || answer.text.contains("modifier"), "{name}: {}", answer.text);
        }
        let prefixes: Vec<&str> = documentation.split(' ').filter(|word| word.len() == 2).collect();
        assert_eq!(
            prefixes.is_empty(),
            !["number", "date", "quantity"].contains(&search_type.as_str()),
            "{documentation}"
        );
        for prefix in prefixes {
            let value = format!("{prefix}2020");
            let answer = walk.search(
                &format!("/{resource}"),
                &[(text(&parameter, "name"), &value), ("_summary", "count")],
            );
            assert_eq!(answer.status, 200, "{resource}?{}={value}", text(&parameter, "name"));
        }
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn every_include_is_taken_and_no_other() {
    let walk = walk();
    let mut pairs: BTreeSet<String> = BTreeSet::new();
    for resource in walk.resources() {
        pairs.extend(texts(&resource, "searchInclude").into_iter().map(str::to_owned));
    }
    let pairs: Vec<String> = pairs.into_iter().collect();
    for (at, resource) in walk.resources().into_iter().enumerate() {
        let place = format!("/{}", text(&resource, "type"));
        for (name, element) in [("_include", "searchInclude"), ("_revinclude", "searchRevInclude")] {
            let listed = texts(&resource, element);
            assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len(), "each once");
            assert!(
                listed
                    .iter()
                    .all(|value| value.split_once(':').is_some_and(|(source, code)| {
                        !source.is_empty() && !code.is_empty() && !code.contains([':', '*'])
                    })),
                "[Resource]:[field] only: {listed:?}"
            );
            // A page without matches is enough to check that the values are accepted; the next test checks the
            // includes. All values together are accepted for any type, even one without references.
            let mut all: Vec<(&str, &str)> = listed.iter().map(|value| (name, *value)).collect();
            all.extend([(name, "*"), ("_id", "nobody")]);
            let answer = walk.search(&place, &all);
            assert_eq!(answer.status, 200, "{place} {name}: {}", answer.text);
            let strange = pairs
                .iter()
                .skip(at)
                .step_by(149)
                .filter(|pair| !listed.contains(&pair.as_str()));
            for pair in strange.take(3) {
                let answer = walk.search(&place, &[(name, pair), ("_id", "nobody")]);
                assert_eq!(answer.status, 400, "{place}?{name}={pair} is not listed");
            }
        }
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn includes_bring_along_what_is_referred_to() {
    let walk = walk();
    let stored = |reference: &str| {
        let (resource_type, id) = reference.split_once('/')?;
        walk.records
            .get(resource_type)?
            .iter()
            .find(|record| record["id"] == id)?;
        Some((resource_type.to_owned(), id.to_owned()))
    };
    let holds = |answer: &Answer, mode: &str, id: &str| {
        let bundle = answer.json();
        let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .any(|entry| entry["search"]["mode"] == mode && entry["resource"]["id"] == id)
    };
    let mut followed = 0;
    for resource in walk.resources() {
        let resource_type = text(&resource, "type");
        let reverse: BTreeMap<String, Vec<String>> = walk
            .resources()
            .iter()
            .map(|one| {
                let listed = texts(one, "searchRevInclude").into_iter().map(str::to_owned);
                (text(one, "type").to_owned(), listed.collect())
            })
            .collect();
        for parameter in parameters(&resource)
            .iter()
            .filter(|parameter| text(parameter, "type") == "reference")
        {
            let definition = definition(parameter);
            let pair = format!("{resource_type}:{}", definition.code);
            let listed = texts(&resource, "searchInclude").contains(&pair.as_str());
            // These parameters yield resources instead of references.
            let leads = !["Bundle:composition", "Bundle:message"].contains(&pair.as_str());
            assert_eq!(listed, leads, "{pair}");
            let mut targets = walk.records[resource_type].iter().flat_map(|record| {
                let references = drawn::references(&definition, resource_type, record);
                references.into_iter().map(move |reference| (record, reference))
            });
            let Some((record, (target, id))) =
                targets.find_map(|(record, reference)| Some((record, stored(&reference)?)))
            else {
                continue;
            };
            followed += 1;
            let from = record["id"].as_str().unwrap();
            let answer = walk.search(&format!("/{resource_type}"), &[("_id", from), ("_include", &pair)]);
            // A match is not included again.
            let mode = if id == from && target == resource_type {
                "match"
            } else {
                "include"
            };
            assert!(
                holds(&answer, mode, &id),
                "{resource_type}/{from} _include={pair} brings {target}/{id}: {}",
                answer.text
            );
            assert!(reverse[&target].contains(&pair), "{target} lists {pair}");
            let answer = walk.search(&format!("/{target}"), &[("_id", &id), ("_revinclude", &pair)]);
            let mode = if mode == "match" { "match" } else { "include" };
            assert!(
                holds(&answer, mode, from),
                "{target}/{id} _revinclude={pair} brings {resource_type}/{from}"
            );
        }
    }
    assert!(followed > 60, "{followed} references were followed");
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn what_is_not_listed_is_refused() {
    let walk = walk();
    let names = |parameters: &[Value]| -> BTreeSet<String> {
        parameters
            .iter()
            .map(|parameter| text(parameter, "name").to_owned())
            .collect()
    };
    let common = names(&walk.common());
    let every: BTreeSet<String> = SearchParameters::builtin()
        .all()
        .map(|parameter| parameter.code.to_string())
        .collect();
    let every: Vec<String> = every.into_iter().collect();
    for (at, resource) in walk.resources().into_iter().enumerate() {
        let (place, own) = (format!("/{}", text(&resource, "type")), names(parameters(&resource)));
        let mut strange = every
            .iter()
            .cycle()
            .skip(at * 7)
            .step_by(41)
            .filter(|name| !own.contains(*name) && !common.contains(*name));
        for name in strange.by_ref().take(4) {
            assert!(walk.is_unknown(&place, name), "{place}?{name} is not listed");
        }
    }
    // Parameters that R4 defines for all types, and names that R4 does not define.
    let patient = walk
        .resources()
        .into_iter()
        .find(|resource| resource["type"] == "Patient")
        .unwrap();
    let own = names(parameters(&patient));
    for name in [
        "_id",
        "_lastUpdated",
        "_tag",
        "_profile",
        "_security",
        "_source",
        "_text",
        "_content",
        "_list",
        "_filter",
        "_query",
        "_language",
        "_contained",
        "_containedType",
        "_score",
        "_count",
        "_offset",
        "_sort",
        "_total",
        "_summary",
        "_elements",
        "_include",
        "_revinclude",
        "_format",
        "_pretty",
        "_since",
        "_at",
        "_maxresults",
        "_graph",
        "_cursor",
        "_page",
        "colour",
        "phonetic",
        "PHONE",
    ] {
        let listed = own.contains(name) || common.contains(name);
        assert_eq!(walk.is_unknown("/Patient", name), !listed, "{name}");
    }
    for name in &common {
        assert!(!walk.is_unknown("", name), "{name} of a search over all types");
    }
    for modifier in [":exact", ":missing"] {
        for name in ["_count", "_sort", "_filter", "_list", "_include", "_summary"] {
            assert_eq!(
                walk.search("/Patient", &[(&format!("{name}{modifier}"), "true")])
                    .status,
                400,
                "{name}{modifier}"
            );
        }
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn interactions_are_those_that_are_listed() {
    let walk = walk();
    let rest = &walk.statement["rest"][0];
    assert_eq!(rest["interaction"], json!([{"code": "search-system"}]));
    assert!(rest.get("operation").is_none());
    assert_eq!(
        rest["compartment"],
        json!(["http://hl7.org/fhir/CompartmentDefinition/patient"])
    );
    assert_eq!(walk.get("/fhir/Patient/nobody/Observation").status, 200);
    let all: Vec<&str> = facts().resources().map(|type_id| facts().get(type_id).name).collect();
    let resources = walk.resources();
    let listed: Vec<&str> = resources.iter().map(|resource| text(resource, "type")).collect();
    assert_eq!(listed, all);
    for resource in &resources {
        let resource_type = text(resource, "type");
        assert_eq!(
            resource["interaction"],
            json!([{"code": "read"}, {"code": "search-type"}]),
            "{resource_type}"
        );
        assert_eq!(
            resource.get("operation").is_some(),
            resource_type == "Patient",
            "{resource_type}"
        );
        let issue = |method: &str, path: &str| {
            let answer = walk.server.send(method, path, &[("authorization", &walk.bearer)], "");
            (answer.status, answer.issue())
        };
        assert_eq!(
            issue("GET", &format!("/fhir/{resource_type}/nobody")),
            (404, "not-found".to_owned())
        );
        if let Some(record) = walk.records[resource_type].first() {
            let path = format!("/fhir/{resource_type}/{}", record["id"].as_str().unwrap());
            // A Binary is sent as its bytes, unless FHIR is requested.
            let wanted = [
                ("authorization", walk.bearer.as_str()),
                ("accept", "application/fhir+json"),
            ];
            let read = walk.server.send("GET", &path, &wanted, "");
            assert_eq!((read.status, read.json()), (200, record.clone()), "{path}");
            let held = [
                ("authorization", walk.bearer.as_str()),
                ("accept", "application/fhir+json"),
                ("if-none-match", read.header("etag")),
            ];
            assert_eq!(
                walk.server.send("GET", &path, &held, "").status,
                304,
                "a conditional read"
            );
        }
        for (method, path) in [
            ("PUT", format!("/fhir/{resource_type}/nobody")),
            ("DELETE", format!("/fhir/{resource_type}/nobody")),
            ("PATCH", format!("/fhir/{resource_type}/nobody")),
            ("POST", format!("/fhir/{resource_type}")),
            ("GET", format!("/fhir/{resource_type}/nobody/_history/1")),
            ("GET", format!("/fhir/{resource_type}/nobody/_history")),
            ("GET", format!("/fhir/{resource_type}/_history")),
            ("GET", format!("/fhir/{resource_type}/nobody/$everything")),
        ] {
            // The operation is only for Patients, and this is not a Patient.
            let code = if path.starts_with("/fhir/Patient/") && path.ends_with("$everything") {
                "not-found"
            } else {
                "not-supported"
            };
            assert_eq!(issue(method, &path), (404, code.to_owned()), "{method} {path}");
        }
    }
    let post = |path: &str| {
        walk.server
            .send("POST", path, &[("authorization", &walk.bearer)], "")
            .status
    };
    assert_eq!((post("/fhir"), post("/fhir/Patient/x/$summary")), (404, 404));
}

/// The faults of a JSON object by R4's definition of its type.
fn faults(type_id: TypeId, value: &Value, place: &str, found: &mut Vec<String>) {
    let def = facts().get(type_id);
    let Some(object) = value.as_object() else {
        let is_primitive = matches!(def.kind, Kind::Primitive(_)) && !value.is_array() && !value.is_null();
        if !is_primitive {
            found.push(format!("{place} is no {}", def.name));
        }
        return;
    };
    for (name, value) in object.iter().filter(|(name, _)| *name != "resourceType") {
        let place = format!("{place}.{name}");
        let Some(child) = facts().child(type_id, name) else {
            found.push(format!("{place} is not of R4"));
            continue;
        };
        match value {
            Value::Array(items) if child.element.many && !items.is_empty() => {
                items.iter().for_each(|item| faults(child.type_id, item, &place, found));
            }
            Value::Array(_) => found.push(format!("{place} is a list, or an empty one")),
            _ if child.element.many => found.push(format!("{place} is no list")),
            one => faults(child.type_id, one, &place, found),
        }
    }
    for element in def.elements.iter().filter(|element| element.min > 0 && !element.choice) {
        if !object.contains_key(element.name) {
            found.push(format!("{place}.{} is missing", element.name));
        }
    }
}

#[test]
fn the_statement_is_one_of_r4() {
    let server = Server::start(&[]);
    let statement = server.send("GET", "/fhir/metadata", &[], "").json();
    let mut found = Vec::new();
    faults(
        facts().lookup("CapabilityStatement").unwrap(),
        &statement,
        "CapabilityStatement",
        &mut found,
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
    for name in ["patchFormat", "messaging", "document", "instantiates"] {
        assert!(statement.get(name).is_none(), "{name}");
    }
    let security = &statement["rest"][0]["security"];
    assert_eq!(security["service"][0]["coding"][0]["code"], "SMART-on-FHIR");
    for resource in statement["rest"][0]["resource"].as_array().unwrap() {
        let names: Vec<&str> = parameters(resource)
            .iter()
            .map(|parameter| text(parameter, "name"))
            .collect();
        assert_eq!(
            names.iter().collect::<BTreeSet<_>>().len(),
            names.len(),
            "cpb-12: each name once"
        );
        for name in ["_id", "_lastUpdated", "_tag", "_profile", "_security"] {
            assert!(names.contains(&name), "{name} of {}", resource["type"]);
        }
    }
}

/// Canonicals lead to resources with a known URL. Includes that can find nothing are not listed.
#[test]
fn includes_that_can_bring_nothing_are_not_listed() {
    let server = Server::start(&[json!({"resourceType": "Patient", "id": "p"})]);
    let statement = server.send("GET", "/fhir/metadata", &[], "").json();
    let resources = statement["rest"][0]["resource"].as_array().unwrap();
    let of = |resource_type: &str| {
        resources
            .iter()
            .find(|resource| resource["type"] == resource_type)
            .unwrap()
    };
    let lists = |resource_type: &str, element: &str, pair: &str| texts(of(resource_type), element).contains(&pair);
    let group = "RequestGroup:instantiates-canonical";
    assert!(lists("RequestGroup", "searchInclude", group));
    assert!(lists("PlanDefinition", "searchRevInclude", group));
    assert!(lists(
        "Questionnaire",
        "searchRevInclude",
        "QuestionnaireResponse:questionnaire"
    ));
    assert!(!lists("Patient", "searchRevInclude", group) && !lists("Device", "searchRevInclude", group));
    assert!(!lists("Account", "searchRevInclude", "Library:depends-on"));
    assert!(!lists("Bundle", "searchInclude", "Bundle:composition"));
    let parameter = parameters(of("RequestGroup"))
        .iter()
        .find(|one| one["name"] == "instantiates-canonical");
    assert_eq!(text(parameter.unwrap(), "documentation"), ":missing :[type] :below");
}

/// Patients have operations, and each works under its listed name.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn operations_are_listed_where_they_are_answered() {
    let walk = walk();
    let patient = walk.records["Patient"][0]["id"].as_str().unwrap();
    for resource in walk.resources() {
        let resource_type = text(&resource, "type");
        let Some(operations) = resource.get("operation") else {
            assert_ne!(resource_type, "Patient");
            continue;
        };
        assert_eq!(resource_type, "Patient");
        let operations = operations.as_array().unwrap();
        assert!(operations.iter().any(|operation| {
            *operation
                == json!({"name": "$everything",
                    "definition": "http://hl7.org/fhir/OperationDefinition/Patient-everything"})
        }));
        for operation in operations {
            let answer = walk.get(&format!("/fhir/Patient/{patient}/{}", text(operation, "name")));
            assert_eq!(answer.status, 200, "{operation}: {}", answer.text);
        }
    }
}
