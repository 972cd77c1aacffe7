//! Formats parts of records for people: names, dates, numbers and units.

use serde_json::Value;

/// The text that the service writes into a required element that the source left out (docs/normalization.md).
const PLACEHOLDER: &str = "Undefined by source";
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// The maximum number of characters of a text. A longer text is cut.
const MAX_TEXT: usize = 160;

/// Returns the resources of a Bundle.
pub(in crate::sandbox::app) fn resources(mut bundle: Value) -> Vec<Value> {
    let entries = bundle["entry"].as_array_mut().into_iter().flatten();
    entries.map(|entry| entry["resource"].take()).collect()
}

/// Returns the items of an array. If `value` is not an array, there are none.
pub(in crate::sandbox::app) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns the name of a CodeableConcept: its text. If there is none, returns the first display of its codings, or
/// otherwise their first code. The service's placeholder is no name.
pub(in crate::sandbox::app) fn concept(concept: &Value) -> Option<String> {
    let codings = || list(&concept["coding"]);
    let display = || codings().find_map(|coding| stated(&coding["display"]));
    let code = || codings().find_map(|coding| coding["code"].as_str());
    let text = stated(&concept["text"]).or_else(display).or_else(code);
    text.map(shortened)
}

/// Returns the display text of a reference. The service's placeholder is no such text.
pub(in crate::sandbox::app) fn reference(reference: &Value) -> Option<String> {
    stated(&reference["display"]).map(shortened)
}

/// Returns a text that the source stated. `None` if the value is no text or the service's placeholder.
fn stated(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| *text != PLACEHOLDER)
}

/// Returns the short form of a LOINC name: the part before the measured property, which is in brackets. So
/// `Glucose [Mass/volume] in Blood` becomes `Glucose`. A name without brackets stays as it is.
pub(in crate::sandbox::app) fn short_name(name: &str) -> &str {
    match name.split_once(" [") {
        Some((short, rest)) if !short.trim().is_empty() && rest.contains(']') => short.trim_end(),
        _ => name,
    }
}

/// Returns a resource's type and id, such as `Encounter/1`.
pub(in crate::sandbox::app) fn name_of(resource: &Value) -> String {
    let part = |name: &str| resource[name].as_str().unwrap_or_default();
    format!("{}/{}", part("resourceType"), part("id"))
}

/// Cuts a text to `MAX_TEXT` characters, and adds `…` if something is left out.
pub(in crate::sandbox::app) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
    }
}

/// Returns the date or time of an element that may have several types. For example, the name `effective` finds
/// `effectiveDateTime`, `effectiveInstant` or `effectivePeriod`. For a Period, returns its start, or its end if it has
/// no start.
pub(in crate::sandbox::app) fn moment<'v>(resource: &'v Value, name: &str) -> Option<&'v str> {
    let of = |end: &str| &resource[format!("{name}{end}")];
    let period = of("Period");
    let given = [of("DateTime"), of("Instant"), &period["start"], &period["end"]];
    given.into_iter().find_map(Value::as_str)
}

/// Returns the day of a date or time, such as `2026-03-01`. A date without a day, such as `2026-03`, is returned as it
/// is.
pub(in crate::sandbox::app) fn iso_day(text: &str) -> &str {
    text.get(..10).unwrap_or(text)
}

/// Formats the day of a date or time for people: `1 March 2026`, or `March 2026` if the date has no day. Any other
/// text, such as `2026`, is returned, but cut if it is too long.
pub(in crate::sandbox::app) fn said_day(text: &str) -> String {
    let mut parts = iso_day(text).split('-');
    let (year, month, day) = (parts.next(), parts.next().and_then(month_name), parts.next());
    let day = day.and_then(|day| day.parse::<u8>().ok());
    match (year, month, day) {
        (Some(year), Some(month), Some(day)) => format!("{day} {month} {year}"),
        (Some(year), Some(month), None) => format!("{month} {year}"),
        _ => shortened(text),
    }
}

/// Formats the month of a date or time for people, such as `March 2026`. A date that is only a year gives the year.
pub(in crate::sandbox::app) fn said_month(text: &str) -> String {
    said_day(text.get(..7).unwrap_or(text))
}

fn month_name(number: &str) -> Option<&'static str> {
    let number: usize = number.parse().ok()?;
    MONTHS.get(number.checked_sub(1)?).copied()
}

/// Formats the start and the end of a period as days. `None` if it has neither a start nor an end.
pub(in crate::sandbox::app) fn said_period(period: &Value) -> Option<String> {
    let day = |name: &str| period[name].as_str().map(said_day);
    match (day("start"), day("end")) {
        (Some(start), Some(end)) if start != end => Some(format!("{start} to {end}")),
        (start, end) => start.or(end),
    }
}

/// Formats a number without trailing zeros.
pub(in crate::sandbox::app) fn said_number(number: f64) -> String {
    format!("{number}")
}

/// Formats a UCUM unit for people. It removes the braces of annotations. So `mL/min/{1.73_m2}` becomes
/// `mL/min/1.73 m²`.
pub(in crate::sandbox::app) fn said_unit(unit: &str) -> String {
    match unit {
        "Cel" => return "°C".to_owned(),
        "mm[Hg]" => return "mmHg".to_owned(),
        _ => {}
    }
    let bare: String = unit.chars().filter(|letter| !matches!(letter, '{' | '}')).collect();
    let spaced = bare.replace('_', " ");
    match spaced.strip_suffix("m2") {
        Some(before) => format!("{before}m²"),
        None => spaced,
    }
}

/// Returns the text of a HumanName. If there is none, returns its given names and its family name.
pub(in crate::sandbox::app) fn named(name: &Value) -> Option<String> {
    text(&name["text"]).or_else(|| {
        let given = name["given"].as_array().into_iter().flatten().filter_map(text);
        let parts: Vec<String> = given.chain(text(&name["family"])).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    })
}

/// Returns the string of a JSON value. `None` if it is no string.
pub(in crate::sandbox::app) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_said_as_people_write_them() {
        for (unit, said) in [
            ("Cel", "°C"),
            ("mL/min/{1.73_m2}", "mL/min/1.73 m²"),
            ("kg/m2", "kg/m²"),
            ("{score}", "score"),
            ("mg/dL", "mg/dL"),
            ("", ""),
        ] {
            assert_eq!(said_unit(unit), said);
        }
    }
    use serde_json::json;

    #[test]
    fn dates_are_said_as_people_write_them() {
        for (given, said) in [
            ("2026-03-01T10:00:00Z", "1 March 2026"),
            ("2026-03-01", "1 March 2026"),
            ("2026-03", "March 2026"),
            ("2026", "2026"),
            ("2026-13-01", "2026-13-01"),
            ("yesterday", "yesterday"),
            ("é", "é"),
        ] {
            assert_eq!(said_day(given), said);
        }
        assert_eq!(["2026-03-01T10:00:00Z", "2026"].map(said_month), ["March 2026", "2026"]);
        let stay = json!({"start": "2026-03-01T23:00:00Z", "end": "2026-03-02"});
        assert_eq!(said_period(&stay).unwrap(), "1 March 2026 to 2 March 2026");
        assert_eq!(said_period(&json!({"end": "2026-03-02"})).unwrap(), "2 March 2026");
        assert_eq!(said_period(&json!({})), None);
        assert_eq!([5.0, 36.80, 0.25].map(said_number), ["5", "36.8", "0.25"]);
    }

    #[test]
    fn the_placeholder_of_the_service_is_not_shown() {
        let absent = "Undefined by source";
        assert_eq!(reference(&json!({"display": absent})), None);
        assert_eq!(reference(&json!({"display": "Dr. Low"})).unwrap(), "Dr. Low");
        assert_eq!(concept(&json!({"text": absent})), None);
        let coded = json!({"text": absent, "coding": [{"display": absent}, {"code": "x", "display": "Gout"}]});
        assert_eq!(concept(&coded).unwrap(), "Gout");
    }

    #[test]
    fn a_laboratory_name_is_cut_before_its_property() {
        for (name, short) in [
            ("Cholesterol [Mass/volume] in Serum or Plasma", "Cholesterol"),
            ("Body mass index (BMI) [Ratio]", "Body mass index (BMI)"),
            ("Heart rate", "Heart rate"),
            (" [x]", " [x]"),
            ("Odd [name", "Odd [name"),
        ] {
            assert_eq!(short_name(name), short);
        }
    }

    #[test]
    fn long_texts_are_cut_between_letters() {
        let text = "ä".repeat(MAX_TEXT + 1);
        let said = concept(&json!({"text": text})).unwrap();
        assert_eq!(said.chars().count(), MAX_TEXT + 1);
        assert!(said.ends_with('…'));
        assert_eq!(
            concept(&json!({"coding": [{"code": "x"}, {"display": "Gout"}]})).unwrap(),
            "Gout"
        );
        assert_eq!(
            moment(&json!({"effectivePeriod": {"start": "2026"}}), "effective"),
            Some("2026")
        );
    }
}
