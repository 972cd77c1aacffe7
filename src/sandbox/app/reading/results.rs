//! Groups lab values and vital signs into series, each with its newest values and a chart.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use serde_json::Value;

use super::chart::{Chart, Point};
use super::text::{concept, iso_day, list, moment, said_day, said_number, said_unit, short_name, shortened};

/// The maximum number of values of a series that are listed and drawn. If there are more, the newest are used.
const MAX_READINGS: usize = 12;
/// Statuses of Observations whose values are not shown.
const UNSEEN: [&str; 3] = ["cancelled", "entered-in-error", "registered"];

/// A value that was measured.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::sandbox::app) struct Reading {
    /// The date or time as FHIR writes it, such as `2026-03-01T08:30:00Z`.
    pub(in crate::sandbox::app) at: String,
    /// The day as people write it, such as `1 March 2026`.
    pub(in crate::sandbox::app) when: String,
    pub(in crate::sandbox::app) text: String,
    pub(in crate::sandbox::app) number: Option<f64>,
    /// How the value differs from the normal range, such as `High`. `None` if the value is normal, or if this is
    /// unknown.
    pub(in crate::sandbox::app) flag: Option<&'static str>,
    /// Type and id of the Observation, such as `Observation/1`.
    pub(in crate::sandbox::app) name: String,
}

/// The values that have the same name and unit. `readings` has the newest of them, at most `MAX_READINGS`. The newest
/// value comes first.
#[derive(Debug, PartialEq)]
pub(in crate::sandbox::app) struct Series {
    /// The name of the values. A LOINC name is shortened, unless another series has the same short name.
    pub(in crate::sandbox::app) title: String,
    /// The normal range of the newest value in words, such as `4 to 5.6 %`. `None` if this value has no range.
    pub(in crate::sandbox::app) usual: Option<String>,
    pub(in crate::sandbox::app) readings: Vec<Reading>,
    /// The number of all values with this name and unit. `readings` has only the newest of them.
    pub(in crate::sandbox::app) total: usize,
    pub(in crate::sandbox::app) chart: Option<Chart>,
}

impl Series {
    /// Returns the newest value.
    pub(in crate::sandbox::app) fn newest(&self) -> Option<&Reading> {
        self.readings.first()
    }

    /// Returns a sentence about the chart for people who cannot see it.
    pub(in crate::sandbox::app) fn described(&self) -> String {
        let Some(Scale {
            from,
            to,
            lowest,
            highest,
        }) = self.scale()
        else {
            return String::new();
        };
        let count = self.readings.iter().filter(|one| one.number.is_some()).count();
        format!("{count} values from {from} to {to}, between {lowest} and {highest}")
    }

    /// Returns the scale of the chart, as people write it. `None` if no value is a number.
    pub(in crate::sandbox::app) fn scale(&self) -> Option<Scale> {
        let (newest, oldest) = (self.readings.first()?, self.readings.last()?);
        let numbers = || self.readings.iter().filter_map(|one| one.number);
        Some(Scale {
            from: oldest.when.clone(),
            to: newest.when.clone(),
            lowest: said_number(numbers().reduce(f64::min)?),
            highest: said_number(numbers().reduce(f64::max)?),
        })
    }
}

/// The scale of a chart: the days and the values between which its dots lie.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sandbox::app) struct Scale {
    pub(in crate::sandbox::app) from: String,
    pub(in crate::sandbox::app) to: String,
    pub(in crate::sandbox::app) lowest: String,
    pub(in crate::sandbox::app) highest: String,
}

/// A value with its title, unit and normal range.
struct Measured {
    title: String,
    unit: String,
    usual: (Option<f64>, Option<f64>),
    reading: Reading,
}

/// Groups the values of Observations into series. The series are sorted by the day of their newest value. The newest
/// day comes first.
pub(in crate::sandbox::app) fn series(observations: &[Value]) -> Vec<Series> {
    let mut kinds: BTreeMap<(String, String), Vec<Measured>> = BTreeMap::new();
    for one in observations.iter().flat_map(measured) {
        kinds
            .entry((one.title.clone(), one.unit.clone()))
            .or_default()
            .push(one);
    }
    let mut all: Vec<Series> = kinds.into_values().map(one_series).collect();
    let newest = |series: &Series| series.newest().map(|reading| iso_day(&reading.at).to_owned());
    // The sort is stable. So series whose newest values are from the same day stay in the order of their titles.
    all.sort_by_key(|series| std::cmp::Reverse(newest(series)));
    shorten_titles(&mut all);
    all
}

/// Shortens the titles. A short name that would stand for several names is not used: glucose is measured in blood and
/// in urine.
fn shorten_titles(all: &mut [Series]) {
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for series in all.iter() {
        let of_short = names.entry(short_name(&series.title).to_owned()).or_default();
        of_short.insert(series.title.clone());
    }
    for series in all {
        let short = short_name(&series.title).to_owned();
        if names.get(&short).is_some_and(|names| names.len() == 1) {
            series.title = short;
        }
    }
}

/// Returns the value of an Observation and the values of its components, each with its short name.
pub(in crate::sandbox::app) fn readings(observation: &Value) -> Vec<(String, Reading)> {
    let all = measured(observation).into_iter();
    all.map(|one| (short_name(&one.title).to_owned(), one.reading))
        .collect()
}

fn measured(observation: &Value) -> Vec<Measured> {
    let status = observation["status"].as_str().unwrap_or_default();
    let (Some(at), Some(title)) = (moment(observation, "effective"), concept(&observation["code"])) else {
        return Vec::new();
    };
    if UNSEEN.contains(&status) {
        return Vec::new();
    }
    let own = value_of(observation, title, at, observation);
    let parts = list(&observation["component"]).filter_map(|part| {
        let title = concept(&part["code"])?;
        value_of(part, title, at, observation)
    });
    own.into_iter().chain(parts).collect()
}

fn value_of(part: &Value, title: String, at: &str, observation: &Value) -> Option<Measured> {
    let quantity = &part["valueQuantity"];
    let number = quantity["value"].as_f64().or(part["valueInteger"].as_f64());
    let unit = quantity["unit"]
        .as_str()
        .or(quantity["code"].as_str())
        .map(said_unit)
        .unwrap_or_default();
    let text = match number {
        Some(number) => {
            let comparator = quantity["comparator"].as_str().unwrap_or_default();
            shortened(format!("{comparator}{} {unit}", said_number(number)).trim_end())
        }
        None => {
            let words = part["valueString"].as_str().map(shortened);
            let said = concept(&part["valueCodeableConcept"]).or(words);
            let yes = part["valueBoolean"].as_bool().map(|yes| if yes { "Yes" } else { "No" });
            said.or(yes.map(str::to_owned))?
        }
    };
    let range = &part["referenceRange"][0];
    let usual = (range["low"]["value"].as_f64(), range["high"]["value"].as_f64());
    Some(Measured {
        title,
        unit,
        usual,
        reading: Reading {
            at: at.to_owned(),
            when: said_day(at),
            text,
            number,
            flag: interpreted(part).unwrap_or_else(|| compared(number?, usual)),
            name: super::text::name_of(observation),
        },
    })
}

/// Returns how the laboratory interpreted a value. `Some(None)` means that the value is normal. `None` means that the
/// interpretation is missing or unknown.
fn interpreted(part: &Value) -> Option<Option<&'static str>> {
    let codings = list(&part["interpretation"]).flat_map(|one| list(&one["coding"]));
    codings
        .filter_map(|coding| coding["code"].as_str())
        .find_map(|code| match code {
            "H" | "HH" | "HU" => Some(Some("High")),
            "L" | "LL" | "LU" => Some(Some("Low")),
            "A" | "AA" => Some(Some("Not usual")),
            "N" => Some(None),
            _ => None,
        })
}

fn compared(number: f64, usual: (Option<f64>, Option<f64>)) -> Option<&'static str> {
    match usual {
        (Some(low), _) if number < low => Some("Low"),
        (_, Some(high)) if number > high => Some("High"),
        _ => None,
    }
}

fn one_series(mut all: Vec<Measured>) -> Series {
    all.sort_by(|one, other| other.reading.at.cmp(&one.reading.at));
    let total = all.len();
    all.truncate(MAX_READINGS);
    let newest = all.first();
    let (title, unit, bounds) =
        newest.map_or_else(Default::default, |one| (one.title.clone(), one.unit.clone(), one.usual));
    let usual = match bounds {
        (Some(low), Some(high)) => Some(format!("{} to {} {unit}", said_number(low), said_number(high))),
        (Some(low), None) => Some(format!("{} {unit} or more", said_number(low))),
        (None, Some(high)) => Some(format!("{} {unit} or less", said_number(high))),
        (None, None) => None,
    };
    let readings: Vec<Reading> = all.into_iter().map(|one| one.reading).collect();
    let drawn = readings.iter().rev().filter_map(|reading| {
        Some(Point {
            day: NaiveDate::parse_from_str(iso_day(&reading.at), "%Y-%m-%d").ok()?,
            value: reading.number?,
            is_out: reading.flag.is_some(),
        })
    });
    let points: Vec<Point> = drawn.collect();
    Series {
        title,
        usual: usual.map(|text| text.trim_end().to_owned()),
        // If a value is not a number or has no day, it cannot be drawn. Then there is no chart, because a chart without
        // this value would mislead.
        chart: (points.len() == readings.len())
            .then(|| Chart::of(&points, bounds))
            .flatten(),
        readings,
        total,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn glucose(at: &str, value: f64) -> Value {
        json!({"resourceType": "Observation", "id": at, "status": "final", "code": {"text": "Glucose"},
            "effectiveDateTime": at, "valueQuantity": {"value": value, "unit": "mg/dL"},
            "referenceRange": [{"low": {"value": 70.0}, "high": {"value": 99}}]})
    }

    #[test]
    fn values_of_one_kind_are_a_series_with_the_newest_first() {
        let other = json!({"status": "final", "code": {"text": "Nitrite"}, "effectiveDateTime": "2026-05-01",
            "valueCodeableConcept": {"text": "Negative"}});
        let all = series(&[
            glucose("2026-01-01", 90.0),
            glucose("2026-03-02T10:00:00Z", 130.50),
            other,
        ]);
        let titles: Vec<&str> = all.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["Nitrite", "Glucose"]);
        assert!(all[0].chart.is_none() && all[0].usual.is_none());
        let glucose = &all[1];
        let newest = glucose.newest().unwrap();
        assert_eq!((newest.text.as_str(), newest.flag), ("130.5 mg/dL", Some("High")));
        assert_eq!((newest.when.as_str(), glucose.readings[1].flag), ("2 March 2026", None));
        assert_eq!(glucose.usual.as_deref(), Some("70 to 99 mg/dL"));
        assert_eq!(glucose.chart.as_ref().unwrap().dots.len(), 2);
        assert_eq!(
            glucose.described(),
            "2 values from 1 January 2026 to 2 March 2026, between 90 and 130.5"
        );
        let scale = glucose.scale().unwrap();
        assert_eq!(
            (scale.from.as_str(), scale.to.as_str()),
            ("1 January 2026", "2 March 2026")
        );
        assert_eq!((scale.lowest.as_str(), scale.highest.as_str()), ("90", "130.5"));
        assert_eq!(all[0].scale(), None);
    }

    #[test]
    fn a_long_name_is_shortened_unless_two_would_be_the_same() {
        let named = |name: &str| json!({"status": "final", "code": {"text": name}, "effectiveDateTime": "2026-01-01", "valueInteger": 5});
        let titles = |names: &[&str]| -> Vec<String> {
            let observations: Vec<Value> = names.iter().map(|name| named(name)).collect();
            series(&observations).into_iter().map(|one| one.title).collect()
        };
        let blood = "Glucose [Mass/volume] in Blood";
        let urine = "Glucose [Mass/volume] in Urine";
        let iron = "Iron [Mass/volume] in Serum or Plasma";
        assert_eq!(titles(&[blood, iron]), ["Glucose", "Iron"]);
        assert_eq!(titles(&[blood, urine, iron]), [blood, urine, "Iron"]);
        assert_eq!(readings(&named(iron))[0].0, "Iron");
    }

    #[test]
    fn a_series_is_as_long_as_a_page_can_show() {
        let many: Vec<Value> = (1..=28)
            .map(|day| glucose(&format!("2026-02-{day:02}"), 80.0))
            .collect();
        let all = series(&many);
        assert_eq!((all.len(), all[0].total, all[0].readings.len()), (1, 28, MAX_READINGS));
        assert_eq!(all[0].newest().unwrap().at, "2026-02-28");
    }

    #[test]
    fn the_parts_of_a_measurement_are_series_of_their_own() {
        let part = |title: &str, value: i64, code: &str| {
            json!({"code": {"text": title}, "valueQuantity": {"value": value, "unit": "mmHg"},
                "interpretation": [{"coding": [{"code": code}]}]})
        };
        let pressure = json!({"status": "final", "code": {"text": "Blood pressure"}, "effectiveDateTime": "2026-01-01",
            "component": [part("Systolic", 140, "H"), part("Diastolic", 80, "N")]});
        let said: Vec<(String, Option<&str>)> = readings(&pressure)
            .into_iter()
            .map(|(_, one)| (one.text, one.flag))
            .collect();
        assert_eq!(
            said,
            [("140 mmHg".to_owned(), Some("High")), ("80 mmHg".to_owned(), None)]
        );
    }

    #[test]
    fn the_laboratory_decides_what_is_normal() {
        let mut value = json!({"status": "final", "code": {"text": "Potassium"}, "effectiveDateTime": "2026-01-01",
            "valueQuantity": {"value": 5.3, "unit": "mmol/L"}, "referenceRange": [{"high": {"value": 5.1}}]});
        assert_eq!(readings(&value)[0].1.flag, Some("High"));
        value["interpretation"] = json!([{"coding": [{"code": "N"}]}]);
        assert_eq!(readings(&value)[0].1.flag, None);
    }

    #[test]
    fn what_was_not_measured_is_no_value() {
        let mut wrong = glucose("2026-01-01", 9.0);
        wrong["status"] = "entered-in-error".into();
        let absent = json!({"status": "final", "code": {"text": "Glucose"}, "effectiveDateTime": "2026-01-01",
            "dataAbsentReason": {"text": "Error"}});
        let timeless = json!({"status": "final", "code": {"text": "Glucose"}, "valueInteger": 5});
        assert_eq!(series(&[wrong, absent, timeless, json!({}), json!(null)]), []);
    }
}
