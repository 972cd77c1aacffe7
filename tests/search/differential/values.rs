//! What one value of a search says of one value of a resource: R4's search page, line by line, for each kind of parameter.
//!
//! `None` where a value or a modifier is none that the kind of parameter knows.

use chrono::{Datelike, Days, Months, NaiveDate, NaiveTime};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use super::expression::{Item, relative};
use crate::search::corpus::{BASE, NOW};

/// Code systems of elements that hold nothing but a code.
pub(super) const BOUND: [(&str, &str, &str); 7] = [
    ("Patient", "gender", "http://hl7.org/fhir/administrative-gender"),
    ("Practitioner", "gender", "http://hl7.org/fhir/administrative-gender"),
    ("Observation", "status", "http://hl7.org/fhir/observation-status"),
    ("Procedure", "status", "http://hl7.org/fhir/event-status"),
    ("Immunization", "status", "http://hl7.org/fhir/event-status"),
    ("CarePlan", "status", "http://hl7.org/fhir/request-status"),
    (
        "MedicationRequest",
        "status",
        "http://hl7.org/fhir/CodeSystem/medicationrequest-status",
    ),
];

/// One value of a search, as it stands between commas.
pub(super) struct Wanted<'t> {
    pub(super) kind: &'t str,
    pub(super) modifier: Option<&'t str>,
    pub(super) text: &'t str,
    /// The system that the parameter's codes are bound to.
    pub(super) bound: Option<&'t str>,
}

impl Wanted<'_> {
    /// Whether a value of a resource is meant.
    pub(super) fn holds(&self, item: &Item<'_>) -> Option<bool> {
        match (self.kind, self.modifier) {
            // A text that happens to look like a date is none.
            ("date", None) if item.ty == Some("String") => Some(false),
            ("date", None) => date(self.text, item.value),
            ("number", None) => number(self.text, item.value),
            ("quantity", None) => quantity(self.text, item.value),
            ("string", None) => Some(strings(item.value).any(|text| fold(text).starts_with(&fold(&plain(self.text))))),
            ("string", Some("contains")) => {
                Some(strings(item.value).any(|text| fold(text).contains(&fold(&plain(self.text)))))
            }
            ("string", Some("exact")) => Some(strings(item.value).any(|text| text == plain(self.text))),
            ("token", None | Some("not")) => token(self.text, item.value, self.bound),
            ("token", Some("text")) => Some(label(&plain(self.text), item.value)),
            ("token", Some("of-type")) => of_type(self.text, item.value),
            ("uri", None) => Some(item.value == plain(self.text).as_str()),
            ("uri", Some("below")) => Some(is_under(item.value.as_str()?, &plain(self.text))),
            ("uri", Some("above")) => Some(is_under(&plain(self.text), item.value.as_str()?)),
            ("reference", Some("identifier")) => token(self.text, item.value.get("identifier")?, None).or(Some(false)),
            ("reference", modifier) => reference(self.text, modifier, item.value),
            ("special", None) => near(self.text, item.value),
            _ => None,
        }
    }
}

/// Whether a value can be one of this kind of parameter at all, whatever the resource says.
pub(super) fn is_valid(kind: &str, modifier: Option<&str>, text: &str) -> bool {
    match (kind, modifier) {
        ("date", None) => span(split_prefix(text).1).is_some(),
        ("number", None) => Number::parse(split_prefix(text).1).is_some(),
        ("quantity", None) => {
            let parts = split(text, '|');
            [1, 3].contains(&parts.len()) && Number::parse(split_prefix(&parts[0]).1).is_some()
        }
        ("string", None | Some("contains" | "exact")) => !text.is_empty(),
        ("token", None | Some("not" | "text" | "of-type")) => !text.is_empty(),
        ("uri", None | Some("below" | "above")) => !text.is_empty(),
        ("special", None) => true,
        ("reference", Some("identifier")) => true,
        ("reference", modifier) => modifier.is_none_or(|name| name.starts_with(char::is_uppercase)),
        _ => false,
    }
}

// ---- texts

/// Splits where no backslash precedes.
pub(super) fn split(text: &str, at: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == at && !escaped {
            parts.push(String::new());
            continue;
        }
        escaped = c == '\\' && !escaped;
        parts.last_mut().unwrap().push(c);
    }
    parts
}

/// A value without its escapes.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut escaped = false;
    for c in text.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            out.push(c);
            escaped = false;
        }
    }
    out
}

/// A text as a value of a search has it.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if [',', '|', '$', '\\'].contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

pub(super) fn fold(text: &str) -> String {
    let marks = |c: &char| !unicode_normalization::char::is_combining_mark(*c);
    text.nfkd().filter(marks).collect::<String>().to_lowercase()
}

fn split_prefix(text: &str) -> (&str, &str) {
    match text.get(..2) {
        Some(prefix @ ("eq" | "ne" | "gt" | "lt" | "ge" | "le" | "sa" | "eb" | "ap")) => (prefix, &text[2..]),
        _ => ("eq", text),
    }
}

fn some_text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    let items = match value.get(name) {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(value) => vec![value],
        None => Vec::new(),
    };
    items.into_iter()
}

/// The texts of a string, a name, an address, a telephone number, a concept.
pub(super) fn strings(value: &Value) -> impl Iterator<Item = &str> {
    const PARTS: [&str; 13] = [
        "family",
        "given",
        "prefix",
        "suffix",
        "text",
        "line",
        "city",
        "district",
        "state",
        "postalCode",
        "country",
        "value",
        "display",
    ];
    let parts = PARTS.iter().flat_map(|part| list(value, part));
    let displays = list(value, "coding").flat_map(|coding| list(coding, "display"));
    parts.chain(displays).chain([value]).filter_map(Value::as_str)
}

// ---- tokens

pub(super) fn token(text: &str, value: &Value, bound: Option<&str>) -> Option<bool> {
    let parts: Vec<String> = split(text, '|').iter().map(|part| plain(part)).collect();
    let (system, code) = match parts.as_slice() {
        [code] => (None, code.as_str()),
        [system, code] => (Some(system.as_str()), code.as_str()),
        _ => return None,
    };
    if code.is_empty() && system.is_none_or(str::is_empty) {
        return None;
    }
    let pair = |item: &Value, name: &str| {
        let coded = code.is_empty() || some_text(item, name).is_some_and(|text| text.eq_ignore_ascii_case(code));
        coded
            && match system {
                None => true,
                Some("") => item.get("system").is_none(),
                Some(system) => some_text(item, "system") == Some(system),
            }
    };
    Some(match value {
        Value::String(text) => {
            let of_system = match (system, bound) {
                (None | Some(""), _) => true,
                (Some(system), Some(bound)) => system == bound,
                (Some(_), None) => false,
            };
            of_system && (code.is_empty() || text.eq_ignore_ascii_case(code))
        }
        Value::Bool(value) => {
            let of_system = system.is_none_or(|system| ["", "http://hl7.org/fhir/special-values"].contains(&system));
            of_system && code == value.to_string()
        }
        value if value.get("coding").is_some() => list(value, "coding").any(|coding| pair(coding, "code")),
        // Identifiers and telephone numbers have a value, and Codings have none.
        value if value.get("value").is_some() => pair(value, "value"),
        value => (value.get("code").is_some() || value.get("system").is_some()) && pair(value, "code"),
    })
}

fn label(text: &str, value: &Value) -> bool {
    let hit = |found: &str| fold(found).starts_with(&fold(text));
    let typed = list(value, "type").flat_map(|ty| list(ty, "text"));
    let codings = list(value, "coding").chain([value]);
    let displays = codings.flat_map(|coding| list(coding, "display"));
    let mut all = typed
        .chain(displays)
        .chain(list(value, "text"))
        .filter_map(Value::as_str);
    all.any(hit)
}

fn of_type(text: &str, value: &Value) -> Option<bool> {
    let parts: Vec<String> = split(text, '|').iter().map(|part| plain(part)).collect();
    let [system, code, wanted] = parts.as_slice() else {
        return None;
    };
    let typed = list(value, "type").flat_map(|ty| list(ty, "coding")).any(|coding| {
        some_text(coding, "system") == Some(system)
            && some_text(coding, "code").is_some_and(|found| found.eq_ignore_ascii_case(code))
    });
    Some(typed && some_text(value, "value").is_some_and(|found| fold(found) == fold(wanted)))
}

// ---- URIs and references

/// Whether a URI is another one or continues it at a new part of its path.
fn is_under(long: &str, short: &str) -> bool {
    let Some(rest) = long.strip_prefix(short) else {
        return false;
    };
    let path = !short.starts_with("urn:");
    rest.is_empty() || path && (short.ends_with('/') || ["/", "?", "#", "|"].iter().any(|mark| rest.starts_with(mark)))
}

fn reference(text: &str, modifier: Option<&str>, value: &Value) -> Option<bool> {
    let text = plain(text);
    let text = text.strip_prefix(BASE).unwrap_or(&text);
    let is_id = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
    let local = |text: &str| match text.split_once('/') {
        Some((ty, id)) if is_id(id) && ty.starts_with(char::is_uppercase) => Some((ty.to_owned(), id.to_owned())),
        _ => None,
    };
    let Some(found) = value.get("reference") else {
        // A canonical or a URI; without a version it is any version's.
        let Some(found) = value.as_str() else {
            return Some(false);
        };
        let any_version = !text.contains('|') && found.split('|').next() == Some(text);
        return Some(found == text || any_version);
    };
    let target = relative(value).and_then(|name| local(&name));
    Some(match (is_id(text), local(text)) {
        (true, _) => target.is_some_and(|(ty, id)| id == text && modifier.is_none_or(|wanted| wanted == ty)),
        (false, Some(wanted)) => {
            if modifier.is_some_and(|modifier| modifier != wanted.0) {
                return None;
            }
            target == Some(wanted)
        }
        (false, None) => found == text,
    })
}

// ---- times

/// From the first microsecond to the one after the last.
pub(super) type Span = (i64, i64);
const OPEN: Span = (i64::MIN, i64::MAX);
const DAY: i64 = 86_400_000_000;

/// What the text of a date or dateTime stands for.
pub(super) fn span(text: &str) -> Option<Span> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| digits.parse::<u32>().ok())?
    };
    let mark = |at: usize, mark: &str| text.get(at..=at) == Some(mark);
    let date = |year: u32, month: u32, day: u32| NaiveDate::from_ymd_opt(year as i32, month, day);
    let days = |date: NaiveDate| i64::from(date.num_days_from_ce() - 719_163) * DAY;
    let year = number(0, 4)?;
    if text.len() == 4 {
        return Some((days(date(year, 1, 1)?), days(date(year + 1, 1, 1)?)));
    }
    let month = number(5, 7).filter(|_| mark(4, "-"))?;
    if text.len() == 7 {
        let first = date(year, month, 1)?;
        return Some((days(first), days(first.checked_add_months(Months::new(1))?)));
    }
    let day = date(year, month, number(8, 10).filter(|_| mark(7, "-"))?)?;
    if text.len() == 10 {
        return Some((days(day), days(day.checked_add_days(Days::new(1))?)));
    }
    let time = text.get(11..).filter(|_| mark(10, "T"))?;
    let zone = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (time, zone) = time.split_at(zone);
    let minutes = match zone {
        "" | "Z" => 0,
        zone => {
            let (hours, minutes) = zone[1..].split_once(':')?;
            let all = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            if zone.starts_with('-') { -all } else { all }
        }
    };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let (parsed, length) = match clock.len() {
        5 => (NaiveTime::parse_from_str(clock, "%H:%M").ok()?, 60_000_000),
        8 => (NaiveTime::parse_from_str(clock, "%H:%M:%S").ok()?, 1_000_000),
        _ => return None,
    };
    let of_day = parsed.signed_duration_since(NaiveTime::MIN).num_microseconds()?;
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let micros = digits.parse::<i64>().ok()?;
    let length = if fraction.is_empty() {
        length
    } else {
        10i64.pow(6 - fraction.len().min(6) as u32)
    };
    let start = days(day) + of_day + micros - minutes * 60_000_000;
    Some((start, start + length))
}

/// What a date, a Period or a Timing stands for in time.
pub(super) fn time_of(value: &Value) -> Option<Span> {
    if let Some(text) = value.as_str() {
        return span(text);
    }
    let start = |value: &Value| span(some_text(value, "start")?).map(|span| span.0);
    let end = |value: &Value| span(some_text(value, "end")?).map(|span| span.1);
    if value.get("event").is_none() && value.get("repeat").is_none() {
        let (start, end) = (start(value), end(value));
        return (start.is_some() || end.is_some()).then(|| (start.unwrap_or(OPEN.0), end.unwrap_or(OPEN.1)));
    }
    let events = list(value, "event").filter_map(|event| span(event.as_str()?));
    let bounds = list(value, "repeat").flat_map(|repeat| list(repeat, "boundsPeriod"));
    let bounds = bounds.map(|period| (start(period).unwrap_or(OPEN.0), end(period).unwrap_or(OPEN.1)));
    let limits = events.chain(bounds).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    limits.filter(|limits| *limits != OPEN)
}

fn date(text: &str, value: &Value) -> Option<bool> {
    let (prefix, text) = split_prefix(text);
    let (start, end) = span(text)?;
    let Some(target) = time_of(value) else {
        return Some(false);
    };
    let within = target.0 >= start && target.1 <= end;
    Some(match prefix {
        "eq" => within,
        "ne" => !within,
        "gt" => target.1 > end,
        "lt" => target.0 < start,
        "ge" => within || target.1 > end,
        "le" => within || target.0 < start,
        "sa" => target.0 >= end,
        "eb" => target.1 <= start,
        "ap" => {
            // A tenth of the time between then and now, either way.
            let gap = (NOW - start).abs() / 10;
            target.0 < end + gap && target.1 > start - gap
        }
        other => panic!("{other}"),
    })
}

// ---- numbers

const PLACES: i32 = 18;

/// A decimal, times 10^18, and what its last digit is worth.
#[derive(Clone, Copy)]
struct Number {
    value: i128,
    step: i128,
}

impl Number {
    fn parse(text: &str) -> Option<Number> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || digits.len() > 18 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut last = exponent - fraction.len() as i32;
        let value = digits.parse::<i128>().ok()? * 10i128.checked_pow(u32::try_from(last + PLACES).ok()?)?;
        // The specification's own example: 1e2 is everything from 95 to 105.
        if text.contains(['e', 'E']) && digits.len() == 1 {
            last -= 1;
        }
        Some(Number {
            value: if negative { -value } else { value },
            step: 10i128.checked_pow(u32::try_from(last + PLACES).ok()?)?,
        })
    }

    fn of(value: &Value) -> Option<Number> {
        let number = value.as_number()?.to_string();
        Number::parse(&number).or_else(|| {
            // More digits than a search has: what is beyond them decides nothing here.
            let cut: String = number.chars().take(18).collect();
            Number::parse(&cut)
        })
    }
}

/// Whether a range of numbers, open where a bound is missing, stands in the relation that a value asks for.
fn compare(text: &str, low: Option<i128>, high: Option<i128>) -> Option<bool> {
    let (prefix, text) = split_prefix(text);
    let wanted = Number::parse(text)?;
    if low.is_none() && high.is_none() {
        return Some(false);
    }
    let (least, greatest) = (low.unwrap_or(i128::MIN), high.unwrap_or(i128::MAX));
    let half = wanted.step / 2;
    let equal = least >= wanted.value - half && greatest < wanted.value + half;
    Some(match prefix {
        "eq" => equal,
        "ne" => !equal,
        "gt" => greatest > wanted.value,
        "lt" => least < wanted.value,
        "ge" => greatest >= wanted.value,
        "le" => least <= wanted.value,
        "sa" => least > wanted.value,
        "eb" => greatest < wanted.value,
        "ap" => {
            let tenth = wanted.value.abs() / 10;
            greatest >= wanted.value - tenth && least <= wanted.value + tenth
        }
        other => panic!("{other}"),
    })
}

fn number(text: &str, value: &Value) -> Option<bool> {
    let of = |value: &Value| Number::of(value).map(|number| number.value);
    match value {
        Value::Number(_) => compare(text, of(value), of(value)),
        _ => compare(text, bound(value, "low"), bound(value, "high")),
    }
}

fn bound(range: &Value, name: &str) -> Option<i128> {
    Number::of(range.get(name)?.get("value")?).map(|number| number.value)
}

fn quantity(text: &str, value: &Value) -> Option<bool> {
    let parts: Vec<String> = split(text, '|').iter().map(|part| plain(part)).collect();
    let (number, system, code) = match parts.as_slice() {
        [number] => (number, "", ""),
        [number, system, code] => (number, system.as_str(), code.as_str()),
        _ => return None,
    };
    let unit = |quantity: &Value| {
        let (of, coded) = match some_text(quantity, "currency") {
            Some(currency) => (Some("urn:iso:std:iso:4217"), Some(currency)),
            None => (some_text(quantity, "system"), some_text(quantity, "code")),
        };
        match (system, code) {
            ("", "") => true,
            ("", code) => coded == Some(code) || some_text(quantity, "unit") == Some(code),
            (system, code) => of == Some(system) && (code.is_empty() || coded == Some(code)),
        }
    };
    let of = |quantity: &Value| quantity.get("value").and_then(Number::of).map(|number| number.value);
    let range = value.get("low").is_some() || value.get("high").is_some();
    if !range {
        return Some(compare(number, of(value), of(value))? && unit(value));
    }
    let mut bounds = [value.get("low"), value.get("high")].into_iter().flatten();
    Some(compare(number, bound(value, "low"), bound(value, "high"))? && bounds.all(unit))
}

/// A number to sort by.
pub(super) fn amount(value: &Value, upper: bool) -> Option<i128> {
    let of = |value: &Value| Number::of(value).map(|number| number.value);
    match value {
        Value::Number(_) => of(value),
        value if value.get("value").is_some() => of(&value["value"]),
        range if upper => bound(range, "high").or_else(|| bound(range, "low")),
        range => bound(range, "low").or_else(|| bound(range, "high")),
    }
}

// ---- places

fn near(text: &str, value: &Value) -> Option<bool> {
    let parts = split(text, '|');
    let at = |at: usize| parts.get(at).and_then(|part| part.parse::<f64>().ok());
    let (latitude, longitude) = (at(0)?.to_radians(), at(1)?.to_radians());
    let unit = match parts.get(3).map_or("km", String::as_str) {
        "km" => 1.0,
        "m" => 0.001,
        "[mi_us]" => 1.609_347_218_694_4,
        _ => return None,
    };
    let distance = at(2).map_or(50.0, |distance| distance * unit);
    let (Some(lat), Some(lon)) = (value["latitude"].as_f64(), value["longitude"].as_f64()) else {
        return Some(false);
    };
    // The spherical law of cosines: another formula than the engine's.
    let lat = lat.to_radians();
    let cosine = latitude.sin() * lat.sin() + latitude.cos() * lat.cos() * (lon.to_radians() - longitude).cos();
    Some(cosine.clamp(-1.0, 1.0).acos() * 6371.0088 <= distance)
}
