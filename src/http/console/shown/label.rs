//! Describes a resource in one line: its subject matter, date, status and patient, or a person's birth date and gender.
//! Each type has other elements for these.

use serde_json::Value;

use super::json::local;

/// The elements with a resource's subject matter, the most specific first.
const WHAT: [&str; 14] = [
    "code",
    "medicationCodeableConcept",
    "vaccineCode",
    "name",
    "title",
    "description",
    "type",
    "serviceType",
    "category",
    "class",
    "summary",
    "specialty",
    "kind",
    "use",
];
/// The elements with a resource's date, clinical dates before administrative ones.
const WHEN: [&str; 21] = [
    "effectiveDateTime",
    "effectivePeriod",
    "effectiveInstant",
    "performedDateTime",
    "performedPeriod",
    "occurrenceDateTime",
    "occurrencePeriod",
    "onsetDateTime",
    "onsetPeriod",
    "period",
    "start",
    "billablePeriod",
    "authoredOn",
    "whenHandedOver",
    "recordedDate",
    "date",
    "dateTime",
    "created",
    "issued",
    "recorded",
    "sent",
];
const WHOSE: [&str; 3] = ["subject", "patient", "beneficiary"];
const LONGEST: usize = 120;

/// The description of a resource in one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::http::console) struct Label {
    pub(in crate::http::console) what: String,
    /// The date in FHIR's format. Sorting these strings sorts by day, but not exactly by time, because time zones may
    /// differ.
    pub(in crate::http::console) when: String,
    pub(in crate::http::console) status: String,
    /// `Patient/id`, if the resource refers to one.
    pub(in crate::http::console) whose: Option<String>,
    /// The value, if the resource is an Observation. Or the values of its components, each with its name.
    pub(in crate::http::console) value: String,
    /// The birth date and the gender, if the resource is a person.
    pub(in crate::http::console) born: String,
    pub(in crate::http::console) gender: String,
}

impl Label {
    /// Describes a resource.
    pub(in crate::http::console) fn of(resource: &Value) -> Label {
        let what = WHAT.iter().find_map(|name| words(&resource[*name]));
        let whose = WHOSE.iter().find_map(|name| resource[*name]["reference"].as_str());
        let whose = whose.and_then(local).filter(|target| target.starts_with("Patient/"));
        Label {
            what: what.unwrap_or_default(),
            when: WHEN.iter().find_map(|name| when(&resource[*name])).unwrap_or_default(),
            status: status(resource),
            whose: whose.map(str::to_owned),
            value: value(resource),
            born: text(&resource["birthDate"]),
            gender: text(&resource["gender"]),
        }
    }

    /// Returns the id of the Patient to whom the resource refers.
    pub(in crate::http::console) fn patient(&self) -> Option<&str> {
        self.whose.as_deref()?.strip_prefix("Patient/")
    }
}

fn text(value: &Value) -> String {
    value.as_str().map(shortened).unwrap_or_default()
}

/// Returns the first text in an element of any type.
fn words(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => all.iter().find_map(words),
        Value::Object(_) => concept(value).or_else(|| person(value)),
        _ => None,
    };
    text.filter(|text| !text.trim().is_empty()).map(|text| shortened(&text))
}

fn concept(value: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let coding = value["coding"].as_array().and_then(|codings| {
        let display = codings.iter().find_map(|coding| text(&coding["display"]));
        display.or_else(|| codings.iter().find_map(|coding| text(&coding["code"])))
    });
    text(&value["text"])
        .or(coding)
        .or_else(|| text(&value["display"]))
        .or_else(|| text(&value["code"]))
}

fn person(name: &Value) -> Option<String> {
    let given = name["given"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let parts: Vec<&str> = given.chain(name["family"].as_str()).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn when(value: &Value) -> Option<String> {
    let text = value
        .as_str()
        .or_else(|| value["start"].as_str())
        .or_else(|| value["end"].as_str());
    text.map(shortened)
}

fn status(resource: &Value) -> String {
    let coded = words(&resource["clinicalStatus"]).or_else(|| resource["status"].as_str().map(str::to_owned));
    coded.map(|text| shortened(&text)).unwrap_or_default()
}

/// Returns the value of an Observation. If it has none, returns those of its components: `Systolic 120 mmHg, Diastolic
/// 80 mmHg`.
fn value(resource: &Value) -> String {
    let component = |component: &Value| {
        let name = concept(&component["code"]).unwrap_or_default();
        Some(format!("{name} {}", measured(component)?).trim_start().to_owned())
    };
    let components = || {
        let components = resource["component"].as_array()?;
        let values: Vec<String> = components.iter().filter_map(component).collect();
        (!values.is_empty()).then(|| values.join(", "))
    };
    let text = measured(resource).or_else(components);
    text.map(|text| shortened(&text)).unwrap_or_default()
}

/// Returns the value of an Observation or of a component.
fn measured(element: &Value) -> Option<String> {
    let quantity = &element["valueQuantity"];
    match quantity["value"].as_number() {
        Some(number) => {
            let unit = quantity["unit"]
                .as_str()
                .or_else(|| quantity["code"].as_str())
                .unwrap_or_default();
            Some(format!("{number} {unit}").trim_end().to_owned())
        }
        None => words(&element["valueCodeableConcept"])
            .or_else(|| words(&element["valueString"]))
            .or_else(|| element["valueInteger"].as_i64().map(|number| number.to_string())),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resources_say_what_when_and_whose() {
        let label = Label::of(&json!({"resourceType": "Observation", "status": "final",
            "code": {"coding": [{"code": "8480-6", "display": "Systolic"}]}, "subject": {"reference": "Patient/p"},
            "effectivePeriod": {"start": "2024-01-02"}, "valueQuantity": {"value": 120, "unit": "mmHg"}}));
        assert_eq!((label.what.as_str(), label.when.as_str()), ("Systolic", "2024-01-02"));
        assert_eq!(
            (label.status.as_str(), label.whose.as_deref()),
            ("final", Some("Patient/p"))
        );
        assert_eq!(label.value, "120 mmHg");
        let label = Label::of(
            &json!({"resourceType": "Patient", "gender": "female", "birthDate": "1970",
            "name": [{"family": "Hill", "given": ["Ann", "B"]}]}),
        );
        assert_eq!(
            (label.what.as_str(), label.born.as_str(), label.gender.as_str()),
            ("Ann B Hill", "1970", "female")
        );
        assert_eq!((label.when.as_str(), label.status.as_str()), ("", ""));
        assert_eq!(Label::of(&json!({"code": 7, "status": []})), Label::default());
    }

    /// Blood pressure has its values in components only.
    #[test]
    fn components_are_shown_with_their_names() {
        let component =
            |name: &str, value: u32| json!({"code": {"text": name}, "valueQuantity": {"value": value, "unit": "mmHg"}});
        let mut pressure =
            json!({"component": [component("Systolic", 120), {"code": {"text": "Arm"}}, component("Diastolic", 80)]});
        assert_eq!(Label::of(&pressure).value, "Systolic 120 mmHg, Diastolic 80 mmHg");
        pressure["valueInteger"] = json!(7);
        assert_eq!(Label::of(&pressure).value, "7");
    }
}
