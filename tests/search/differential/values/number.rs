//! Numbers and quantities with the precision of the search value.

use serde_json::Value;

use super::{plain, some_text, split, split_prefix};

const PLACES: i32 = 18;

/// A decimal times 10^18, and the value of its last digit.
#[derive(Clone, Copy)]
pub(super) struct Number {
    value: i128,
    step: i128,
}

impl Number {
    pub(super) fn parse(text: &str) -> Option<Number> {
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
        // The specification's own example: 1e2 means 95 to 105.
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
            // Longer than any search value, so further digits do not matter.
            let cut: String = number.chars().take(18).collect();
            Number::parse(&cut)
        })
    }
}

/// Whether a range of numbers, with open bounds if `None`, has the relation that a value requests. A range without
/// bounds stands for a value without a number, and has no relation.
fn compare(text: &str, low: Option<i128>, high: Option<i128>) -> Option<bool> {
    if low.is_none() && high.is_none() {
        return Number::parse(split_prefix(text).1).map(|_| false);
    }
    relate(text, low, high)
}

/// Whether a range of numbers has the relation that a value requests. A range without bounds contains all numbers.
fn relate(text: &str, low: Option<i128>, high: Option<i128>) -> Option<bool> {
    let (prefix, text) = split_prefix(text);
    let wanted = Number::parse(text)?;
    let (least, greatest) = (low.unwrap_or(i128::MIN), high.unwrap_or(i128::MAX));
    let half = wanted.step / 2;
    let bounded = low.is_some() && high.is_some();
    let equal = bounded && least >= wanted.value - half && greatest < wanted.value + half;
    Some(match prefix {
        "eq" => equal,
        "ne" => !equal,
        "gt" => greatest > wanted.value,
        "lt" => least < wanted.value,
        "ge" => greatest >= wanted.value,
        "le" => least <= wanted.value,
        "sa" => low.is_some() && least > wanted.value,
        "eb" => high.is_some() && greatest < wanted.value,
        "ap" => {
            let tenth = wanted.value.abs() / 10;
            greatest >= wanted.value - tenth && least <= wanted.value + tenth
        }
        other => panic!("{other}"),
    })
}

pub(super) fn number(text: &str, value: &Value) -> Option<bool> {
    let of = |value: &Value| Number::of(value).map(|number| number.value);
    match value {
        Value::Number(_) => compare(text, of(value), of(value)),
        _ => compare(text, bound(value, "low"), bound(value, "high")),
    }
}

fn bound(range: &Value, name: &str) -> Option<i128> {
    Number::of(range.get(name)?.get("value")?).map(|number| number.value)
}

pub(super) fn quantity(text: &str, value: &Value) -> Option<bool> {
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
    if value.get("data").is_some() {
        let Some((low, high)) = sampled(value) else {
            // The number must still be valid.
            return compare(number, None, None);
        };
        return Some(relate(number, low, high)? && value.get("origin").map_or_else(|| unit(&Value::Null), unit));
    }
    let range = value.get("low").is_some() || value.get("high").is_some();
    if !range {
        let Some(amount) = of(value) else {
            return compare(number, None, None);
        };
        // A comparator means all numbers on that side. An excluded bound is replaced by its neighbour.
        let (low, high) = match some_text(value, "comparator") {
            Some("<") => (None, Some(amount - 1)),
            Some("<=") => (None, Some(amount)),
            Some(">") => (Some(amount + 1), None),
            Some(">=") => (Some(amount), None),
            _ => (Some(amount), Some(amount)),
        };
        return Some(compare(number, low, high)? && unit(value));
    }
    let mut bounds = [value.get("low"), value.get("high")].into_iter().flatten();
    Some(compare(number, bound(value, "low"), bound(value, "high"))? && bounds.all(unit))
}

/// The minimum and the maximum of sampled data; `None` for values beyond the measured range. Nothing if the data has no
/// number.
fn sampled(value: &Value) -> Option<(Option<i128>, Option<i128>)> {
    let one = 10i128.pow(PLACES as u32);
    let of = |value: &Value| Number::of(value).map(|number| number.value);
    let (origin, factor) = (
        of(&value["origin"]["value"]).unwrap_or(0),
        of(&value["factor"]).unwrap_or(one),
    );
    // The tests' numbers are small and have few decimals.
    let corrected = |raw: i128| origin + raw / 1_000_000_000 * (factor / 1_000_000_000);
    let (mut least, mut greatest) = (Vec::new(), Vec::new());
    let (mut below, mut above) = (false, false);
    for point in value["data"].as_str()?.split(' ') {
        let number = match point {
            "L" => of(&value["lowerLimit"]),
            "U" => of(&value["upperLimit"]),
            number => Number::parse(number).map(|number| number.value),
        };
        below |= point == "L";
        above |= point == "U";
        least.extend(number);
        greatest.extend(number);
    }
    if least.is_empty() {
        return None;
    }
    let (low, high) = (
        least.into_iter().min().map(corrected),
        greatest.into_iter().max().map(corrected),
    );
    let (low, high) = (low.filter(|_| !below), high.filter(|_| !above));
    Some(if factor < 0 { (high, low) } else { (low, high) })
}

/// The sort key of a number.
pub(in crate::search::differential) fn amount(value: &Value, upper: bool) -> Option<i128> {
    let of = |value: &Value| Number::of(value).map(|number| number.value);
    match value {
        Value::Number(_) => of(value),
        value if value.get("data").is_some() => {
            let (low, high) = sampled(value)?;
            if upper { high.or(low) } else { low.or(high) }
        }
        value if value.get("value").is_some() => of(&value["value"]),
        range if upper => bound(range, "high").or_else(|| bound(range, "low")),
        range => bound(range, "low").or_else(|| bound(range, "high")),
    }
}
