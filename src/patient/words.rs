//! Turns FHIR values into readable plain text, which callers escape. Units are not converted. Numbers keep their
//! digits, except computed numbers with implausibly many decimals (see `plain`).

use std::borrow::Cow;

use super::concept::{codings, says_something};
use crate::columns::json::Value;

/// UCUM codes whose printed form differs from the code.
const UNITS: &[(&str, &str)] = &[
    ("1", ""),
    ("mm[Hg]", "mmHg"),
    ("Cel", "°C"),
    ("[degF]", "°F"),
    ("[lb_av]", "lb"),
    ("[oz_av]", "oz"),
    ("[in_i]", "in"),
    ("[ft_i]", "ft"),
    ("[pH]", "pH"),
    ("[IU]", "IU"),
];

/// UCUM units of time, with their singular and plural names.
const PERIODS: &[(&str, &str, &str)] = &[
    ("s", "second", "seconds"),
    ("min", "minute", "minutes"),
    ("h", "hour", "hours"),
    ("d", "day", "days"),
    ("wk", "week", "weeks"),
    ("mo", "month", "months"),
    ("a", "year", "years"),
];

/// Returns the type and the value of a choice element. If `name` is `value` and the object has `valueQuantity`, the
/// type is `Quantity`.
pub(super) fn choice<'t>(object: Value<'t>, name: &str) -> Option<(&'t str, Value<'t>)> {
    object.entries().find_map(|(key, value)| {
        let type_name = key.raw().strip_prefix(name)?;
        type_name
            .starts_with(|first: char| first.is_ascii_uppercase())
            .then_some((type_name, value))
    })
}

/// Returns the text of a choice element.
pub(super) fn chosen(object: Value<'_>, name: &str) -> Option<String> {
    let (type_name, value) = choice(object, name)?;
    typed(type_name, value)
}

/// Returns the text of a value. `type_name` is the end of the choice element's name, such as `DateTime` in
/// `valueDateTime`.
pub(super) fn typed(type_name: &str, value: Value<'_>) -> Option<String> {
    match type_name {
        "CodeableConcept" => concept(value),
        "Coding" => coding(value),
        "Quantity" | "Age" | "Duration" | "Count" | "Distance" | "Money" => quantity(value),
        "Date" | "DateTime" | "Instant" => Some(date(&value.as_str()?).into_owned()),
        "Period" => period(value),
        "Range" => range(value),
        "Ratio" => ratio(value),
        "Timing" => timing(value),
        "Reference" => text(value.get("display")),
        "Attachment" => attachment(value),
        "Boolean" => Some(if value.as_bool()? { "Yes" } else { "No" }.to_owned()),
        _ => match value.number() {
            Some(number) => Some(plain(number).into_owned()),
            None => text(Some(value)),
        },
    }
}

/// Returns a string without surrounding white space. `None` if it is blank or the placeholder of the normalization.
pub(super) fn text(value: Option<Value<'_>>) -> Option<String> {
    let text = value?.as_str()?;
    says_something(&text).then(|| text.trim().to_owned())
}

/// Returns the text of a CodeableConcept: its `text`, or else the first display of a coding, or else the first code.
pub(super) fn concept(value: Value<'_>) -> Option<String> {
    text(value.get("text"))
        .or_else(|| codings(value).find_map(|coding| text(coding.get("display"))))
        .or_else(|| codings(value).find_map(|coding| text(coding.get("code"))))
}

/// Returns the text of a CodeableConcept, or of all CodeableConcepts in a list, separated by commas.
pub(super) fn concepts(value: Option<Value<'_>>) -> Option<String> {
    let value = value?;
    if value.is_object() {
        return concept(value);
    }
    join(value.items().filter_map(concept), ", ")
}

/// Returns the text of an Attachment: its title, or else its address, or else its media type.
fn attachment(value: Value<'_>) -> Option<String> {
    ["title", "url", "contentType"]
        .iter()
        .find_map(|name| text(value.get(name)))
}

fn coding(value: Value<'_>) -> Option<String> {
    text(value.get("display")).or_else(|| text(value.get("code")))
}

/// Joins texts without duplicates. `None` if there are none.
pub(super) fn join(texts: impl Iterator<Item = String>, between: &str) -> Option<String> {
    let mut seen: Vec<String> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    (!seen.is_empty()).then(|| seen.join(between))
}

/// Returns the date of a date or time: its first ten characters.
pub(super) fn date(text: &str) -> Cow<'static, str> {
    Cow::Owned(text.get(..10).unwrap_or(text).to_owned())
}

/// Returns a Period as text, with dates only.
pub(super) fn period(value: Value<'_>) -> Option<String> {
    let side = |name| value.get_str(name).map(|text| date(&text));
    match (side("start"), side("end")) {
        (Some(start), Some(end)) if start == end => Some(start.into_owned()),
        (Some(start), Some(end)) => Some(format!("{start} to {end}")),
        (Some(start), None) => Some(format!("since {start}")),
        (None, Some(end)) => Some(format!("until {end}")),
        (None, None) => None,
    }
}

/// Returns a Quantity as text: comparator, number and unit.
pub(super) fn quantity(value: Value<'_>) -> Option<String> {
    let number = plain(value.get("value")?.number()?);
    let comparator = value.get_str("comparator").unwrap_or_default();
    let unit = unit(value);
    let gap = if unit.is_empty() || unit == "%" { "" } else { " " };
    Some(format!("{comparator}{number}{gap}{unit}"))
}

/// Returns the unit of a Quantity as people write it, or the currency of a Money.
pub(super) fn unit(value: Value<'_>) -> String {
    let own = ["unit", "code", "currency"]
        .iter()
        .find_map(|name| text(value.get(name)));
    let own = own.unwrap_or_default();
    let known = UNITS.iter().find(|(code, _)| *code == own);
    let unit = known.map_or(own.as_str(), |(_, plain)| plain);
    // UCUM annotations are in braces: {score}, 10*3/uL{cells}. Keep their text without the braces.
    unit.chars().filter(|letter| !matches!(letter, '{' | '}')).collect()
}

/// Returns a Range as text.
pub(super) fn range(value: Value<'_>) -> Option<String> {
    let side = |name| value.get(name).filter(Value::is_object);
    match (side("low"), side("high")) {
        (Some(low), Some(high)) if unit(low) == unit(high) => {
            let number = plain(low.get("value")?.number()?);
            Some(format!("{number} to {}", quantity(high)?))
        }
        (Some(low), Some(high)) => Some(format!("{} to {}", quantity(low)?, quantity(high)?)),
        (Some(low), None) => Some(format!("from {}", quantity(low)?)),
        (None, Some(high)) => Some(format!("up to {}", quantity(high)?)),
        (None, None) => None,
    }
}

fn ratio(value: Value<'_>) -> Option<String> {
    let (over, under) = (value.get("numerator")?, value.get("denominator")?);
    Some(format!("{} / {}", quantity(over)?, quantity(under)?))
}

/// Returns a number as people write it. A number with an exponent is written without it, if the exponent is between -40
/// and 40. Any other number with more than six decimals is rounded to three decimals, if its absolute value is at least
/// 0.1.
pub(super) fn plain(number: &str) -> Cow<'_, str> {
    let Some((mantissa, exponent)) = number.split_once(['e', 'E']) else {
        return rounded(number);
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let point = match exponent.parse::<i32>() {
        Ok(exponent) if exponent.abs() <= 40 => whole.len() as i32 + exponent,
        _ => return Cow::Borrowed(number),
    };
    let mut digits = format!("{whole}{fraction}");
    if point <= 0 {
        digits.insert_str(0, &"0".repeat((1 - point) as usize));
    } else if (digits.len() as i32) < point {
        digits.push_str(&"0".repeat(point as usize - digits.len()));
    }
    let point = point.max(1) as usize;
    let (whole, fraction) = digits.split_at(point);
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let gap = if fraction.is_empty() { "" } else { "." };
    Cow::Owned(format!("{sign}{whole}{gap}{fraction}"))
}

fn rounded(number: &str) -> Cow<'_, str> {
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    match number.parse::<f64>() {
        // Do not round smaller numbers, because three decimals are not enough for them.
        Ok(value) if decimals > 6 && value.abs() >= 0.1 => Cow::Owned(format!("{value:.3}")),
        _ => Cow::Borrowed(number),
    }
}

/// Returns the directions for a medicine, for each dosage in a list: the prescriber's text or, without one, dose,
/// timing and instruction.
pub(super) fn dosage(list: Option<Value<'_>>) -> Option<String> {
    let each = list.into_iter().flat_map(|list| list.items());
    join(each.filter_map(one_dosage), "; ")
}

fn one_dosage(value: Value<'_>) -> Option<String> {
    if let Some(text) = text(value.get("text")) {
        return Some(text);
    }
    let dose = value.get("doseAndRate").and_then(|list| list.items().next());
    let dose = dose.and_then(|dose| chosen(dose, "dose").or_else(|| chosen(dose, "rate")));
    let needed = match choice(value, "asNeeded") {
        Some(("Boolean", value)) => (value.as_bool() == Some(true)).then(|| "as needed".to_owned()),
        Some((_, reason)) => Some(concept(reason).map_or("as needed".to_owned(), |why| format!("as needed for {why}"))),
        None => None,
    };
    let timing = value.get("timing").and_then(timing);
    let instruction = text(value.get("patientInstruction"));
    join([dose, timing, needed, instruction].into_iter().flatten(), ", ")
}

/// Returns the routes of all dosages in a list.
pub(super) fn route(list: Option<Value<'_>>) -> Option<String> {
    let each = list.into_iter().flat_map(|list| list.items());
    join(each.filter_map(|dosage| concept(dosage.get("route")?)), ", ")
}

fn timing(value: Value<'_>) -> Option<String> {
    let code = value.get("code").and_then(concept);
    code.or_else(|| {
        let repeat = value.get("repeat")?;
        let number = |name: &str| Some(bare(repeat.get(name)?.number()?).to_owned());
        let unit = repeat.get_str("periodUnit")?;
        let (_, once, several) = PERIODS.iter().find(|(code, ..)| *code == unit)?;
        let (frequency, period) = (number("frequency").unwrap_or("1".to_owned()), number("period")?);
        Some(match (frequency.as_str(), period.as_str()) {
            ("1", "1") => format!("once a {once}"),
            ("1", period) => format!("every {period} {several}"),
            (frequency, "1") => format!("{frequency} times a {once}"),
            (frequency, period) => format!("{frequency} times every {period} {several}"),
        })
    })
}

/// Returns a number without trailing zeros after the decimal point.
fn bare(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

/// Returns the name of a person, an organization or a device. For any other resource, returns its title, or the text of
/// its code, type or description.
pub(super) fn name(resource: Value<'_>) -> Option<String> {
    let own = resource.get("name").or_else(|| resource.get("title"));
    if let Some(own) = own {
        if own.is_array() {
            return own.items().find_map(human);
        }
        return text(Some(own));
    }
    let devices = resource.get("deviceName").into_iter().flat_map(|list| list.items());
    let device = devices.filter_map(|each| text(each.get("name"))).next();
    let coded = [
        "code",
        "vaccineCode",
        "medicationCodeableConcept",
        "type",
        "description",
    ];
    device
        .or_else(|| coded.iter().find_map(|name| concepts(resource.get(name))))
        .or_else(|| text(resource.get("description")))
}

/// Returns a HumanName as text: its `text` or, without one, its parts.
pub(super) fn human(name: Value<'_>) -> Option<String> {
    text(name.get("text")).or_else(|| {
        let mut words = Vec::new();
        for element in ["prefix", "given", "family", "suffix"] {
            let value = name.get(element);
            let each = value.into_iter().flat_map(|value| value.items().chain(Some(value)));
            words.extend(each.filter_map(|word| text(Some(word))));
        }
        (!words.is_empty()).then(|| words.join(" "))
    })
}

/// Returns a Patient's name and birth date: "Ann Ash, born 1980-01-02".
pub(super) fn person(patient: Value<'_>) -> Option<String> {
    let name = patient.get("name").and_then(|names| names.items().find_map(human));
    let born = patient.get_str("birthDate").map(|date| format!("born {date}"));
    join([name, born].into_iter().flatten(), ", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;

    fn read<T>(json: &str, read: impl Fn(Value<'_>) -> T) -> T {
        read(Tape::new().parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn quantities_keep_their_digits() {
        let written = |json: &str| read(json, quantity);
        assert_eq!(
            written(r#"{"value":6.10,"unit":"mmol/L"}"#).as_deref(),
            Some("6.10 mmol/L")
        );
        assert_eq!(written(r#"{"value":7.5,"unit":"%"}"#).as_deref(), Some("7.5%"));
        assert_eq!(
            written(r#"{"value":5,"comparator":"<","code":"mm[Hg]"}"#).as_deref(),
            Some("<5 mmHg")
        );
        assert_eq!(written(r#"{"value":3,"unit":"{score}"}"#).as_deref(), Some("3 score"));
        assert_eq!(written(r#"{"value":1.50e3,"code":"1"}"#).as_deref(), Some("1500"));
        assert_eq!(
            written(r#"{"value":84.74548816597073,"unit":"mg"}"#).as_deref(),
            Some("84.745 mg")
        );
        assert_eq!(written(r#"{"value":0.00001234567}"#).as_deref(), Some("0.00001234567"));
        assert_eq!(written(r#"{"unit":"mg"}"#), None);
    }

    #[test]
    fn exponents_are_written_out() {
        let cases = [
            ("1e2", "100"),
            ("-1.5e-3", "-0.0015"),
            ("12.34e1", "123.4"),
            ("0.5E2", "50"),
            ("1.0e0", "1.0"),
            ("1e999", "1e999"),
        ];
        for (number, text) in cases {
            assert_eq!(plain(number), text, "{number}");
        }
    }

    #[test]
    fn a_dosage_is_what_the_prescriber_wrote_or_what_the_parts_say() {
        let written = |json: &str| read(json, |value| dosage(Some(value)));
        assert_eq!(
            written(r#"[{"text":"one at night","timing":{}}]"#).as_deref(),
            Some("one at night")
        );
        let parts = r#"[{"timing":{"repeat":{"frequency":2,"period":1.0,"periodUnit":"d"}},"asNeededBoolean":true,
            "doseAndRate":[{"doseQuantity":{"value":10,"unit":"mg"}}]}]"#;
        assert_eq!(written(parts).as_deref(), Some("10 mg, 2 times a day, as needed"));
        let every = r#"[{"timing":{"repeat":{"frequency":1,"period":8,"periodUnit":"h"}}}]"#;
        assert_eq!(written(every).as_deref(), Some("every 8 hours"));
        assert_eq!(written("[{\"asNeededBoolean\":false}]"), None);
    }

    #[test]
    fn periods_and_ranges_say_what_is_known_of_them() {
        let said = |json: &str| read(json, period);
        assert_eq!(
            said(r#"{"start":"2020-01-02T03:04:05Z","end":"2021"}"#).as_deref(),
            Some("2020-01-02 to 2021")
        );
        assert_eq!(said(r#"{"start":"2020-01"}"#).as_deref(), Some("since 2020-01"));
        assert_eq!(said("{}"), None);
        let said = |json: &str| read(json, range);
        assert_eq!(
            said(r#"{"low":{"value":4.0,"unit":"%"},"high":{"value":5.6,"unit":"%"}}"#).as_deref(),
            Some("4.0 to 5.6%")
        );
        assert_eq!(
            said(r#"{"high":{"value":9,"unit":"mg"}}"#).as_deref(),
            Some("up to 9 mg")
        );
    }

    #[test]
    fn placeholders_are_no_text() {
        assert_eq!(read(r#"{"text":"Undefined by source"}"#, concept), None);
        let coded = r#"{"text":" ","coding":[{"code":"1"},{"display":"Asthma"}]}"#;
        assert_eq!(read(coded, concept).as_deref(), Some("Asthma"));
    }
}
