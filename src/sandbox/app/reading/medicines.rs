//! Groups MedicationRequests and MedicationStatements into medicines, current and earlier. Each medicine appears once,
//! however often it was prescribed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::text::{concept, iso_day, list, moment, name_of, reference, said_day, shortened};

/// All prescriptions and statements of one medication, described as one medicine.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::sandbox::app) struct Medicine {
    pub(in crate::sandbox::app) title: String,
    /// Whether a request or a statement with the status `active` is among the records.
    pub(in crate::sandbox::app) is_current: bool,
    /// The dosage text of the newest record. If this record has none, the dosage text of an older record that came
    /// before it in the list.
    pub(in crate::sandbox::app) directions: Option<String>,
    /// The number of the medicine's MedicationRequests and MedicationStatements.
    pub(in crate::sandbox::app) orders: usize,
    /// The date of the first record, as FHIR writes it. `last` is the date of the last record.
    pub(in crate::sandbox::app) first: Option<String>,
    pub(in crate::sandbox::app) last: Option<String>,
    /// The prescriber in the newest record. If this record names none, the prescriber in an older record that came
    /// before it in the list.
    pub(in crate::sandbox::app) by: Option<String>,
    /// The date of the last dispense.
    pub(in crate::sandbox::app) fetched: Option<String>,
    /// Type and id of the newest record, such as `MedicationRequest/1`.
    pub(in crate::sandbox::app) name: String,
}

impl Medicine {
    /// Formats when the medicine was prescribed. For a current medicine, the text is `since` and the first day, such as
    /// `since 1 March 2026`. For an earlier medicine, the text has the first and the last day. `None` if no date is
    /// known.
    pub(in crate::sandbox::app) fn period(&self) -> Option<String> {
        let (first, last) = (self.first.as_deref()?, self.last.as_deref()?);
        let (first, last) = (said_day(first), said_day(last));
        Some(if self.is_current {
            format!("since {first}")
        } else if first == last {
            first
        } else {
            format!("{first} to {last}")
        })
    }

    /// Formats the day of the last dispense.
    pub(in crate::sandbox::app) fn fetched_on(&self) -> Option<String> {
        self.fetched.as_deref().map(said_day)
    }

    fn ordered(&mut self, order: &Value, at: Option<&str>) {
        self.orders += 1;
        self.is_current |= order["status"] == "active";
        let Some(at) = at else { return };
        if self.first.as_deref().is_none_or(|first| at < first) {
            self.first = Some(at.to_owned());
        }
        // The directions and the prescriber of the newest record are the current ones.
        if self.last.as_deref().is_none_or(|last| at >= last) {
            self.last = Some(at.to_owned());
            self.directions = directions(order).or(self.directions.take());
            self.by = reference(&order["requester"]).or(self.by.take());
            self.name = name_of(order);
        }
    }
}

/// Groups MedicationRequests and MedicationStatements by the name of the medication, and adds the date of the last
/// MedicationDispense. Current medicines come first, then earlier ones. Both groups begin with the newest medicine.
pub(in crate::sandbox::app) fn medicines(orders: &[Value], dispenses: &[Value]) -> Vec<Medicine> {
    let mut all: BTreeMap<String, Medicine> = BTreeMap::new();
    for order in orders {
        // Skips an order that was entered in error.
        let (Some(title), false) = (title_of(order), order["status"] == "entered-in-error") else {
            continue;
        };
        let medicine = all.entry(title.clone()).or_insert_with(|| Medicine {
            title,
            name: name_of(order),
            ..Medicine::default()
        });
        medicine.ordered(order, order["authoredOn"].as_str().or(moment(order, "effective")));
    }
    for dispense in dispenses {
        let at = dispense["whenHandedOver"]
            .as_str()
            .or(dispense["whenPrepared"].as_str());
        let medicine = title_of(dispense).and_then(|title| all.get_mut(&title));
        if let (Some(medicine), Some(at)) = (medicine, at)
            && medicine.fetched.as_deref().is_none_or(|known| at > known)
        {
            medicine.fetched = Some(at.to_owned());
        }
    }
    let mut all: Vec<Medicine> = all.into_values().collect();
    let newest = |one: &Medicine| one.last.as_deref().map(|at| iso_day(at).to_owned());
    all.sort_by_key(|one| std::cmp::Reverse((one.is_current, newest(one))));
    all
}

/// Returns the name of the medication. The name comes from the code. If there is none, it comes from the contained
/// Medication, and otherwise from the display of the reference.
pub(in crate::sandbox::app) fn title_of(resource: &Value) -> Option<String> {
    let referred = &resource["medicationReference"];
    let contained = referred["reference"].as_str().and_then(|name| name.strip_prefix('#'));
    let held = list(&resource["contained"]).find(|one| contained.is_some() && one["id"].as_str() == contained);
    let held = held.and_then(|one| concept(&one["code"]));
    concept(&resource["medicationCodeableConcept"])
        .or(held)
        .or(reference(referred))
}

fn directions(order: &Value) -> Option<String> {
    let dosages = list(&order["dosageInstruction"]).chain(list(&order["dosage"]));
    dosages.filter_map(|one| one["text"].as_str()).next().map(shortened)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order(id: &str, title: &str, status: &str, on: &str) -> Value {
        json!({"resourceType": "MedicationRequest", "id": id, "status": status, "authoredOn": on,
            "medicationCodeableConcept": {"text": title}, "requester": {"display": format!("Dr. {id}")},
            "dosageInstruction": [{"text": format!("take {id}")}]})
    }

    #[test]
    fn a_medicine_stands_once_with_its_newest_order_and_those_of_now_come_first() {
        let handed = |at: &str| json!({"medicationCodeableConcept": {"text": "Statin"}, "whenHandedOver": at});
        let all = medicines(
            &[
                order("a", "Cream", "completed", "2026-05-01"),
                order("b", "Statin", "active", "2026-02-01T08:00:00Z"),
                order("c", "Statin", "completed", "2025-02-01"),
                order("d", "Error", "entered-in-error", "2026-06-01"),
            ],
            &[handed("2026-02-03"), handed("2026-01-01")],
        );
        let titles: Vec<&str> = all.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["Statin", "Cream"]);
        let statin = &all[0];
        assert_eq!((statin.orders, statin.name.as_str()), (2, "MedicationRequest/b"));
        assert_eq!(
            (statin.directions.as_deref(), statin.by.as_deref()),
            (Some("take b"), Some("Dr. b"))
        );
        assert_eq!(statin.period().unwrap(), "since 1 February 2025");
        assert_eq!(statin.fetched_on().unwrap(), "3 February 2026");
        assert_eq!(all[1].period().unwrap(), "1 May 2026");
    }

    #[test]
    fn a_medicine_that_the_order_holds_itself_has_its_name() {
        let mut held = order("a", "x", "active", "2026-01-01");
        held["medicationCodeableConcept"] = Value::Null;
        held["medicationReference"] = json!({"reference": "#med"});
        held["contained"] = json!([{"resourceType": "Medication", "id": "med", "code": {"text": "Insulin"}}]);
        assert_eq!(title_of(&held).unwrap(), "Insulin");
        held["medicationReference"] = json!({"reference": "Medication/1", "display": "Aspirin"});
        assert_eq!(title_of(&held).unwrap(), "Aspirin");
        assert_eq!(medicines(&[json!({"status": "active"}), json!(null)], &[json!({})]), []);
    }
}
