//! Builds a timeline of visits, results, medicines, vaccines and procedures, newest first.

use std::collections::BTreeMap;

use serde_json::Value;

use super::entry::visit;
use super::medicines::medicines;
use super::results::readings;
use super::text::{concept, iso_day, list, moment, name_of, said_day, said_month};

/// The maximum number of abnormal values that are listed for the results of a day. For a visit, at most `MAX_NAMED` + 1
/// texts are listed.
const MAX_NAMED: usize = 3;
/// The names of the facts that are shown below the title of a visit.
const VISIT_FACTS: [&str; 3] = ["With", "Reason", "Diagnosis"];

/// The kind of an event. Events of the same day are sorted in the order of these variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sandbox::app) enum Sort {
    Visit,
    Results,
    Medicine,
    Vaccine,
    Procedure,
}

impl Sort {
    /// Returns the name of the kind that the page shows.
    pub(in crate::sandbox::app) fn word(self) -> &'static str {
        match self {
            Sort::Visit => "Visit",
            Sort::Results => "Results",
            Sort::Medicine => "Medicine",
            Sort::Vaccine => "Vaccine",
            Sort::Procedure => "Procedure",
        }
    }

    /// Returns the CSS class for events of this kind.
    pub(in crate::sandbox::app) fn class(self) -> &'static str {
        match self {
            Sort::Visit => "visit",
            Sort::Results => "results",
            Sort::Medicine => "medicine",
            Sort::Vaccine => "vaccine",
            Sort::Procedure => "procedure",
        }
    }
}

/// An event of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox::app) struct Event {
    /// The day, such as `2026-03-01`.
    pub(in crate::sandbox::app) day: String,
    pub(in crate::sandbox::app) sort: Sort,
    pub(in crate::sandbox::app) title: String,
    pub(in crate::sandbox::app) about: Vec<String>,
    /// Whether the event has an abnormal value.
    pub(in crate::sandbox::app) is_marked: bool,
    /// Type and id of the event's resource. `None` for the results of a day, because they are several resources.
    pub(in crate::sandbox::app) name: Option<String>,
}

impl Event {
    /// Formats the day for people.
    pub(in crate::sandbox::app) fn when(&self) -> String {
        said_day(&self.day)
    }
}

/// The events of one month.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sandbox::app) struct Month {
    pub(in crate::sandbox::app) title: String,
    pub(in crate::sandbox::app) events: Vec<Event>,
}

/// The records that a timeline is built from.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sandbox::app) struct Records<'r> {
    pub(in crate::sandbox::app) visits: &'r [Value],
    /// Observations of laboratories.
    pub(in crate::sandbox::app) results: &'r [Value],
    /// DiagnosticReports of laboratories. The names of a day's reports are the title of that day's results.
    pub(in crate::sandbox::app) reports: &'r [Value],
    pub(in crate::sandbox::app) orders: &'r [Value],
    pub(in crate::sandbox::app) vaccines: &'r [Value],
    pub(in crate::sandbox::app) conditions: &'r [Value],
    pub(in crate::sandbox::app) procedures: &'r [Value],
}

/// Returns the events of all records, newest first.
pub(in crate::sandbox::app) fn timeline(records: &Records<'_>) -> Vec<Event> {
    let mut all: Vec<Event> = records.visits.iter().filter_map(|one| visited(one, records)).collect();
    all.extend(results(records));
    all.extend(started(records.orders));
    all.extend(records.vaccines.iter().filter_map(vaccine));
    all.extend(records.procedures.iter().filter_map(procedure));
    // Events of the same day are sorted by their kind, so that a visit comes before its results.
    all.sort_by(|one, other| other.day.cmp(&one.day).then(one.sort.cmp(&other.sort)));
    all
}

/// Groups events by month. The events must be sorted by day, so that the events of a month are neighbours.
pub(in crate::sandbox::app) fn months(events: Vec<Event>) -> Vec<Month> {
    let mut months: Vec<Month> = Vec::new();
    for event in events {
        let title = said_month(&event.day);
        match months.last_mut().filter(|month| month.title == title) {
            Some(month) => month.events.push(event),
            None => months.push(Month {
                title,
                events: vec![event],
            }),
        }
    }
    months
}

fn visited(encounter: &Value, records: &Records<'_>) -> Option<Event> {
    let period = &encounter["period"];
    let day = period["start"].as_str().or(period["end"].as_str())?;
    // Procedures of the visit are left out, because each is an event of its own.
    let entry = visit(encounter, records.conditions, &[]);
    let mut about: Vec<String> = Vec::new();
    if encounter["status"] == "cancelled" {
        about.push("Cancelled".to_owned());
    }
    let facts = entry.facts.into_iter().filter(|(name, _)| VISIT_FACTS.contains(name));
    for text in facts.flat_map(|(_, texts)| texts) {
        if !about.contains(&text) {
            about.push(text);
        }
    }
    about.truncate(MAX_NAMED + 1);
    Some(Event {
        day: iso_day(day).to_owned(),
        sort: Sort::Visit,
        title: entry.title,
        about,
        is_marked: false,
        name: Some(entry.name),
    })
}

/// Returns one event for the laboratory results of each day.
fn results(records: &Records<'_>) -> Vec<Event> {
    let mut days: BTreeMap<String, (usize, Vec<String>, usize)> = BTreeMap::new();
    for observation in records.results {
        for (title, reading) in readings(observation) {
            let day = days.entry(iso_day(&reading.at).to_owned()).or_default();
            day.0 += 1;
            let Some(flag) = reading.flag else { continue };
            day.2 += 1;
            if day.1.len() < MAX_NAMED {
                day.1
                    .push(format!("{title}: {} ({})", reading.text, flag.to_lowercase()));
            }
        }
    }
    let names_of = |day: &str| -> Vec<String> {
        let of_day = records
            .reports
            .iter()
            .filter(|report| moment(report, "effective").map(iso_day) == Some(day));
        let mut names: Vec<String> = of_day.filter_map(|report| concept(&report["code"])).collect();
        names.sort();
        names.dedup();
        names
    };
    let events = days.into_iter().map(|(day, (values, mut about, marked))| {
        let names = names_of(&day);
        let outside = match marked {
            0 => "all usual".to_owned(),
            marked => format!("{marked} not usual"),
        };
        let noun = if values == 1 { "value" } else { "values" };
        about.insert(0, format!("{values} {noun}, {outside}"));
        if marked > MAX_NAMED {
            about.push(format!("and {} more", marked - MAX_NAMED));
        }
        Event {
            title: if names.is_empty() {
                "Laboratory results".to_owned()
            } else {
                names.join(", ")
            },
            day,
            sort: Sort::Results,
            about,
            is_marked: marked > 0,
            name: None,
        }
    });
    events.collect()
}

/// Returns one event for each medicine, on the day of its first prescription.
fn started(orders: &[Value]) -> impl Iterator<Item = Event> {
    medicines(orders, &[]).into_iter().filter_map(|medicine| {
        Some(Event {
            day: iso_day(medicine.first.as_deref()?).to_owned(),
            sort: Sort::Medicine,
            title: medicine.title,
            about: medicine.directions.into_iter().collect(),
            is_marked: false,
            name: Some(medicine.name),
        })
    })
}

fn vaccine(immunization: &Value) -> Option<Event> {
    let done = immunization["status"]
        .as_str()
        .is_none_or(|status| status == "completed");
    happened(immunization, "occurrence", &immunization["vaccineCode"], Sort::Vaccine).filter(|_| done)
}

fn procedure(procedure: &Value) -> Option<Event> {
    let done = !matches!(procedure["status"].as_str(), Some("not-done" | "entered-in-error"));
    happened(procedure, "performed", &procedure["code"], Sort::Procedure).filter(|_| done)
}

fn happened(resource: &Value, element: &str, code: &Value, sort: Sort) -> Option<Event> {
    Some(Event {
        day: iso_day(moment(resource, element)?).to_owned(),
        sort,
        title: concept(code)?,
        about: list(&resource["performer"])
            .find_map(|one| super::text::reference(&one["actor"]))
            .into_iter()
            .collect(),
        is_marked: false,
        name: Some(name_of(resource)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_happened_stands_by_day_with_a_visit_above_what_came_of_it() {
        let value = |title: &str, number: i64, code: &str| {
            json!({"status": "final", "code": {"text": title}, "effectiveDateTime": "2026-03-01T12:00:00Z",
                "valueQuantity": {"value": number, "unit": "g"}, "interpretation": [{"coding": [{"code": code}]}]})
        };
        let records = Records {
            visits: &[
                json!({"resourceType": "Encounter", "id": "v", "type": [{"text": "Check-up"}], "status": "finished",
                    "period": {"start": "2026-03-01T10:00:00Z"}, "reasonCode": [{"text": "Asthma"}],
                    "serviceProvider": {"display": "Clinic"}}),
                json!({"resourceType": "Encounter", "id": "w", "type": [{"text": "Call"}], "status": "cancelled",
                    "period": {"start": "2026-02-01"}}),
            ],
            results: &[value("Iron", 1, "L"), value("Zinc", 2, "N")],
            reports: &[json!({"code": {"text": "Minerals"}, "effectiveDateTime": "2026-03-01"})],
            conditions: &[json!({"encounter": {"reference": "Encounter/v"}, "code": {"text": "Asthma"}})],
            vaccines: &[
                json!({"status": "completed", "vaccineCode": {"text": "Flu"}, "occurrenceDateTime": "2026-02-02"}),
                json!({"status": "not-done", "vaccineCode": {"text": "MMR"}, "occurrenceDateTime": "2026-02-02"}),
            ],
            ..Records::default()
        };
        let months = months(timeline(&records));
        let told: Vec<(&str, Vec<&str>)> = months
            .iter()
            .map(|month| {
                (
                    month.title.as_str(),
                    month.events.iter().map(|one| one.title.as_str()).collect(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("March 2026", vec!["Check-up", "Minerals"]),
                ("February 2026", vec!["Flu", "Call"])
            ]
        );
        let march = &months[0].events;
        assert_eq!(march[0].about, ["Clinic", "Asthma"]);
        assert_eq!(march[1].about, ["2 values, 1 not usual", "Iron: 1 g (low)"]);
        assert_eq!((march[0].is_marked, march[1].is_marked), (false, true));
        assert_eq!(march[0].when(), "1 March 2026");
        assert_eq!(months[1].events[1].about, ["Cancelled"]);
    }

    #[test]
    fn a_medicine_begins_once_and_many_values_are_counted() {
        let order =
            |on: &str| json!({"status": "active", "authoredOn": on, "medicationCodeableConcept": {"text": "Statin"}});
        let high = json!({"status": "final", "code": {"text": "Iron"}, "effectiveDateTime": "2026-01-01",
            "valueQuantity": {"value": 9}, "interpretation": [{"coding": [{"code": "H"}]}]});
        let records = Records {
            orders: &[order("2026-02-01"), order("2025-12-01")],
            results: &vec![high; MAX_NAMED + 2],
            ..Records::default()
        };
        let all = timeline(&records);
        assert_eq!(all.len(), 2);
        assert_eq!(
            (all[0].title.as_str(), all[0].about.len()),
            ("Laboratory results", MAX_NAMED + 2)
        );
        assert_eq!(all[0].about.last().unwrap(), "and 2 more");
        assert_eq!((all[1].title.as_str(), all[1].day.as_str()), ("Statin", "2025-12-01"));
        assert_eq!(timeline(&Records::default()), []);
    }
}
