//! A person's records, their summary, and the checks that apply to every summary.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tabularium::fhir::{facts, narrative};
use tabularium::patient::summary::{Directory, Record, Rendering, Request, Sections, summarize};

/// The service's address.
pub(super) const BASE: &str = "https://records.example";
/// 2026-05-04T03:02:01Z.
pub(super) const MOMENT: i64 = 1_777_863_721_000_000;

/// The sections in order: alias and code.
pub(super) const SECTIONS: [(&str, &str); 14] = [
    ("allergies", "48765-2"),
    ("medications", "10160-0"),
    ("problems", "11450-4"),
    ("immunizations", "11369-6"),
    ("procedures", "47519-4"),
    ("results", "30954-2"),
    ("vitalsigns", "8716-3"),
    ("socialhistory", "29762-2"),
    ("devices", "46264-8"),
    ("planofcare", "18776-5"),
    ("functionalstatus", "47420-5"),
    ("pastillness", "11348-0"),
    ("pregnancy", "10162-6"),
    ("advancedirectives", "42348-3"),
];

/// The records of Patient `p`.
#[derive(Clone, Debug)]
pub(super) struct Person {
    /// Each text, and whether it is in the patient's compartment.
    pub(super) records: Vec<(String, bool)>,
    pub(super) patients: Vec<String>,
    pub(super) sections: Vec<String>,
    pub(super) names: Names,
    pub(super) rendering: Option<Rendering>,
}

impl Person {
    pub(super) fn new() -> Person {
        let patient = json!({
            "resourceType": "Patient", "id": "p", "name": [{"family": "Roe", "given": ["Jane"]}], "birthDate": "1970-01-02",
        });
        Person {
            records: vec![(patient.to_string(), true)],
            patients: vec!["p".to_owned()],
            sections: Vec::new(),
            names: Names::default(),
            rendering: None,
        }
    }

    /// Adds a record of the patient's own.
    pub(super) fn with(mut self, record: Value) -> Person {
        self.records.push((record.to_string(), true));
        self
    }

    /// Adds a record that another one refers to.
    pub(super) fn beside(mut self, record: Value) -> Person {
        self.records.push((record.to_string(), false));
        self
    }

    /// Requests some sections.
    pub(super) fn asking(mut self, sections: &[&str]) -> Person {
        self.sections = sections.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// The bytes of the document.
    pub(super) fn bytes(&self) -> String {
        let heads: Vec<(&str, String)> = self
            .records
            .iter()
            .map(|(text, _)| {
                let json: Value = serde_json::from_str(text).unwrap();
                let resource_type = json["resourceType"].as_str().unwrap();
                let name = facts().get(facts().lookup(resource_type).unwrap()).name;
                (name, json["id"].as_str().unwrap().to_owned())
            })
            .collect();
        let records: Vec<Record<'_>> = heads
            .iter()
            .zip(&self.records)
            .map(|((resource_type, id), (text, is_own))| Record {
                resource_type: facts().lookup(resource_type).unwrap(),
                id,
                text,
                is_own: *is_own,
            })
            .collect();
        let patients: Vec<&str> = self.patients.iter().map(String::as_str).collect();
        let request = Request {
            base_url: BASE,
            moment: MOMENT,
            patients: &patients,
            sections: Sections::parse(self.sections.iter().map(String::as_str)).unwrap(),
            directory: &self.names,
        };
        let bundle = summarize(&request, &records).unwrap().bundle(self.rendering.as_ref());
        String::from_utf8(bundle).unwrap()
    }

    /// The document, after the checks that apply to every summary.
    pub(super) fn summary(&self) -> Document {
        let document = Document(serde_json::from_str(&self.bytes()).unwrap());
        document.check();
        document
    }
}

/// The names of endpoints.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(pub(super) BTreeMap<String, String>);

impl Directory for Names {
    fn name(&self, endpoint: &str) -> Option<String> {
        self.0.get(endpoint).cloned()
    }
}

/// A CodeableConcept.
pub(super) fn concept(system: &str, code: &str, text: &str) -> Value {
    json!({"coding": [{"system": system, "code": code}], "text": text})
}

/// A LOINC code.
pub(super) fn loinc(code: &str, text: &str) -> Value {
    concept("http://loinc.org", code, text)
}

/// A record about the patient with these elements.
pub(super) fn record(resource_type: &str, id: &str, more: Value) -> Value {
    let subject = match resource_type {
        "AllergyIntolerance" | "Immunization" | "Consent" | "Device" => "patient",
        _ => "subject",
    };
    let mut record = json!({"resourceType": resource_type, "id": id, subject: {"reference": "Patient/p"}});
    for (name, value) in more.as_object().unwrap() {
        record[name] = value.clone();
    }
    record
}

/// A document.
#[derive(Clone, Debug)]
pub(super) struct Document(pub(super) Value);

impl Document {
    /// A section by its alias.
    fn section(&self, alias: &str) -> &Value {
        let (_, code) = SECTIONS.iter().find(|(name, _)| *name == alias).unwrap();
        let sections = self.composition()["section"].as_array().unwrap();
        sections
            .iter()
            .find(|section| section["code"]["coding"][0]["code"] == *code)
            .unwrap()
    }

    /// The first entry's resource.
    pub(super) fn composition(&self) -> &Value {
        &self.0["entry"][0]["resource"]
    }

    /// The cells of a section's table.
    pub(super) fn rows(&self, alias: &str) -> Vec<Vec<String>> {
        let div = self.section(alias)["text"]["div"].as_str().unwrap();
        let rows = div.split("<tr id=").skip(1);
        rows.map(|row| {
            let cells = row.split("<td>").skip(1);
            cells.map(|cell| plain(cell.split("</td>").next().unwrap())).collect()
        })
        .collect()
    }

    /// The first cell of each row.
    pub(super) fn names(&self, alias: &str) -> Vec<String> {
        self.rows(alias).into_iter().map(|row| row[0].clone()).collect()
    }

    /// The resources that a section refers to.
    pub(super) fn entries(&self, alias: &str) -> Vec<&Value> {
        let entries = self.section(alias)["entry"].as_array();
        let entries = entries.into_iter().flatten();
        entries
            .map(|entry| self.resource(entry["reference"].as_str().unwrap()))
            .collect()
    }

    /// The reason why a section is empty.
    pub(super) fn empty(&self, alias: &str) -> Option<&str> {
        self.section(alias)["emptyReason"]["coding"][0]["code"].as_str()
    }

    /// The resource at an address.
    pub(super) fn resource(&self, address: &str) -> &Value {
        let mut entries = self.0["entry"].as_array().unwrap().iter();
        &entries
            .find(|entry| entry["fullUrl"] == address)
            .unwrap_or_else(|| panic!("{address} is there"))["resource"]
    }

    /// The resource of a type and id.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let address = format!("{BASE}/fhir/{name}");
        let mut entries = self.0["entry"].as_array().unwrap().iter();
        entries
            .find(|entry| entry["fullUrl"] == address)
            .map(|entry| &entry["resource"])
    }

    /// All resources of a type.
    pub(super) fn of(&self, resource_type: &str) -> Vec<&Value> {
        let entries = self.0["entry"].as_array().unwrap().iter();
        entries
            .map(|entry| &entry["resource"])
            .filter(|resource| resource["resourceType"] == resource_type)
            .collect()
    }

    /// The document's PDF, from its DocumentReference that refers to the Composition.
    pub(super) fn pdf(&self) -> Vec<u8> {
        let composition = self.0["entry"][0]["fullUrl"].as_str().unwrap();
        let drawn: Vec<&Value> = self
            .of("DocumentReference")
            .into_iter()
            .filter(|one| one["type"]["coding"][0]["code"] == "60591-5")
            .collect();
        assert_eq!(drawn.len(), 1);
        assert_eq!(drawn[0]["status"], "current");
        assert_eq!(drawn[0]["context"]["related"], json!([{"reference": composition}]));
        let attachment = &drawn[0]["content"][0]["attachment"];
        assert_eq!(attachment["contentType"], "application/pdf");
        let file = STANDARD.decode(attachment["data"].as_str().unwrap()).unwrap();
        assert_eq!(attachment["size"], file.len());
        file
    }

    /// The checks that apply to every document.
    pub(super) fn check(&self) {
        let bundle = &self.0;
        assert_eq!(bundle["type"], "document");
        assert!(bundle["timestamp"].is_string() && bundle["identifier"]["value"].is_string());
        assert!(bundle["meta"]["security"][0]["code"].is_string());
        let entries = bundle["entry"].as_array().unwrap();
        let addresses: BTreeSet<&str> = entries.iter().map(|entry| entry["fullUrl"].as_str().unwrap()).collect();
        assert_eq!(addresses.len(), entries.len(), "each entry has an address of its own");
        assert_eq!(entries[0]["resource"]["resourceType"], "Composition");
        assert_eq!(self.of("Composition").len(), 1);
        assert_eq!(self.of("Patient").len(), 1);
        for entry in entries {
            let id = entry["resource"]["id"].as_str().unwrap();
            assert!(entry["fullUrl"].as_str().unwrap().ends_with(id), "{entry}");
            if let Some(div) = entry["resource"]["text"]["div"].as_str() {
                assert_eq!(narrative::check(div), Ok(()), "{div}");
            }
        }
        self.check_references(&addresses);
        self.check_sections(&addresses);
    }

    /// Checks that no reference leads out of the document. Each entry must be reachable from the Composition or refer
    /// to it.
    fn check_references(&self, addresses: &BTreeSet<&str>) {
        let composition = self.0["entry"][0]["fullUrl"].as_str().unwrap();
        let mut reached = BTreeSet::from([composition]);
        let mut open = vec![composition];
        while let Some(address) = open.pop() {
            let mut found = Vec::new();
            references(self.resource(address), &mut found);
            for target in found {
                assert!(
                    addresses.contains(target),
                    "{address} refers to {target}, which is not there"
                );
                if reached.insert(target) {
                    open.push(target);
                }
            }
        }
        for entry in self.0["entry"].as_array().unwrap() {
            let mut found = Vec::new();
            references(&entry["resource"], &mut found);
            let address = entry["fullUrl"].as_str().unwrap();
            assert!(
                reached.contains(address) || found.contains(&composition),
                "{address} is an orphan"
            );
        }
    }

    /// Checks that each section occurs once, with a title, a code, a narrative, and entries or a reason.
    fn check_sections(&self, addresses: &BTreeSet<&str>) {
        let sections = self.composition()["section"].as_array().unwrap();
        let codes: Vec<&str> = sections
            .iter()
            .map(|section| section["code"]["coding"][0]["code"].as_str().unwrap())
            .collect();
        assert_eq!(codes, SECTIONS.map(|(_, code)| code));
        for section in sections {
            assert!(section["title"].is_string() && section["code"]["coding"][0]["display"].is_string());
            assert_eq!(section["text"]["status"], "generated");
            let div = section["text"]["div"].as_str().unwrap();
            assert_eq!(narrative::check(div), Ok(()), "{div}");
            let entries = section["entry"].as_array();
            assert_eq!(entries.is_some(), section["emptyReason"].is_null(), "{section}");
            assert!(entries.is_none_or(|entries| !entries.is_empty()));
            let links = section["text"]["extension"].as_array().map_or(&[][..], Vec::as_slice);
            assert_eq!(
                links.len(),
                div.matches("<tr id=").count(),
                "each row is joined to its resource"
            );
            for link in links {
                let id = link["extension"][0]["valueString"].as_str().unwrap();
                assert!(div.contains(&format!("<tr id=\"{id}\">")), "{id}");
                assert!(addresses.contains(link["extension"][1]["valueUri"].as_str().unwrap()));
            }
        }
    }
}

/// The texts of all references of a resource, except references to its contained resources.
fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(object) => {
            let text = object.get("reference").and_then(Value::as_str);
            found.extend(text.filter(|text| !text.starts_with('#')));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

fn plain(xml: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(xml.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
}
