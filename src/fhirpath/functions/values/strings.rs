//! Functions on strings.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::super::signature;
use super::super::signature::{Function, Need, Parameter, Signature};
use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::{Invocation, RowResult};
use crate::fhirpath::values::builder::{Builder, Computed};
use crate::fhirpath::values::items::Items;
use crate::fhirpath::values::scalar::Scalar;

type Run = fn(&Invocation<'_>) -> Result<Output, FhirPathError>;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    judging("startsWith", |call| judge(call, |text, part| text.starts_with(part))),
    judging("endsWith", |call| judge(call, |text, part| text.ends_with(part))),
    judging("contains", |call| judge(call, |text, part| text.contains(part))),
    Function {
        name: "indexOf",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Value,
        shape: signature::integer,
        run: |call| {
            with_text(call, |text, part| {
                let found = text.find(part).map(|at| text[..at].chars().count() as i32);
                Some(Computed::Integer(found.unwrap_or(-1)))
            })
        },
    },
    Function {
        name: "lastIndexOf",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Value,
        shape: signature::integer,
        run: |call| {
            with_text(call, |text, part| {
                let found = text.rfind(part).map(|at| text[..at].chars().count() as i32);
                Some(Computed::Integer(found.unwrap_or(-1)))
            })
        },
    },
    textual("substring", &[Parameter::Value, Parameter::Value], 1, substring),
    textual("upper", &[], 0, |call| change(call, |text| text.to_uppercase())),
    textual("lower", &[], 0, |call| change(call, |text| text.to_lowercase())),
    textual("trim", &[], 0, |call| change(call, |text| text.trim().to_string())),
    textual("replace", &[Parameter::Value, Parameter::Value], 2, replace),
    Function {
        name: "length",
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape: signature::integer,
        run: |call| call.map(|_, value| Ok(Some(Computed::Integer(text_of(value)?.chars().count() as i32)))),
    },
    Function {
        name: "toChars",
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape: strings,
        run: |call| pieces(call, |text, _| Box::new(text.chars().map(String::from))),
    },
    Function {
        name: "split",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Value,
        shape: strings,
        run: |call| {
            let separators = call.value(0)?;
            pieces(call, |text, row| match call.text(&separators, row) {
                Some("") => Box::new(text.chars().map(String::from)),
                Some(separator) => Box::new(text.split(separator).map(String::from)),
                None => Box::new(std::iter::empty()),
            })
        },
    },
    textual("join", &[Parameter::Value], 0, join),
    textual("encode", &[Parameter::Value], 1, encode),
    textual("decode", &[Parameter::Value], 1, decode),
    textual("escape", &[Parameter::Value], 1, |call| escaped(call, true)),
    textual("unescape", &[Parameter::Value], 1, |call| escaped(call, false)),
];

const fn judging(name: &'static str, run: Run) -> Function {
    let parameters = &[Parameter::Value];
    Function {
        name,
        parameters,
        required: 1,
        reads: Need::Value,
        shape: signature::boolean,
        run,
    }
}

const fn textual(name: &'static str, parameters: &'static [Parameter], required: usize, run: Run) -> Function {
    Function {
        name,
        parameters,
        required,
        reads: Need::Value,
        shape: signature::string,
        run,
    }
}

fn strings(_: &Signature<'_>) -> Shape {
    Shape::one(ItemType::System(System::String)).multiple()
}

/// The maximum length of a computed string in bytes.
const MAX_TEXT: usize = 1 << 20;

pub(in crate::fhirpath::functions) fn within_limit(bytes: usize) -> Result<(), String> {
    if bytes <= MAX_TEXT {
        Ok(())
    } else {
        Err(format!("a text of more than {MAX_TEXT} bytes"))
    }
}

/// Returns the text of a string, a date or a time. An error for any other value.
pub(in crate::fhirpath::functions) fn text_of(value: Scalar<'_>) -> Result<&str, String> {
    match value {
        Scalar::Text(text) | Scalar::Temporal(_, text) => Ok(text),
        other => Err(format!("expects a String, not a {}", other.kind())),
    }
}

fn judge(call: &Invocation<'_>, holds: impl Fn(&str, &str) -> bool) -> Result<Output, FhirPathError> {
    let argument = call.value(0)?;
    call.judge(|row, value| {
        let text = text_of(value)?;
        Ok(call.text(&argument, row).map(|part| holds(text, part)))
    })
}

fn with_text(call: &Invocation<'_>, of: impl Fn(&str, &str) -> Option<Computed>) -> Result<Output, FhirPathError> {
    let argument = call.value(0)?;
    call.map(|row, value| {
        let text = text_of(value)?;
        Ok(call.text(&argument, row).and_then(|part| of(text, part)))
    })
}

fn change(call: &Invocation<'_>, of: impl Fn(&str) -> String) -> Result<Output, FhirPathError> {
    call.map(|_, value| Ok(Some(Computed::String(of(text_of(value)?)))))
}

/// Yields several strings for each row. `of` computes them from the single string of a row and the row's number.
fn pieces<'p>(
    call: &'p Invocation<'_>,
    of: impl Fn(&'p str, usize) -> Box<dyn Iterator<Item = String> + 'p>,
) -> Result<Output, FhirPathError> {
    /// How many strings are made at most before their work is counted.
    const STEP: usize = 1_024;
    let mut builder = Builder::new(call.input.rows());
    for row in 0..call.input.rows() {
        if let Some(text) = call.text(&call.input, row) {
            let mut uncounted = 0;
            for piece in of(text, row) {
                builder.push(Computed::String(piece));
                uncounted += 1;
                if uncounted == STEP {
                    call.frame.spend(8 * STEP)?;
                    uncounted = 0;
                }
            }
            call.frame.spend(8 * uncounted)?;
        }
        builder.end_row();
    }
    Ok(Output::Items(builder.finish()?))
}

fn substring(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let starts = call.integers(0)?;
    let lengths = if call.has(1) { Some(call.integers(1)?) } else { None };
    call.map(|row, value| {
        let text = text_of(value)?;
        let Some(start) = starts[row].and_then(|start| usize::try_from(start).ok()) else {
            return Ok(None);
        };
        if start >= text.chars().count() {
            return Ok(None);
        }
        let rest = text.chars().skip(start);
        let length = lengths.as_ref().and_then(|lengths| lengths[row]);
        Ok(Some(Computed::String(match length {
            Some(length) => rest.take(usize::try_from(length).unwrap_or(0)).collect(),
            None => rest.collect(),
        })))
    })
}

fn replace(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let (patterns, substitutes) = (call.value(0)?, call.value(1)?);
    call.map(|row, value| {
        let text = text_of(value)?;
        let Some((pattern, substitute)) = call.text(&patterns, row).zip(call.text(&substitutes, row)) else {
            return Ok(None);
        };
        let grown = text.matches(pattern).count().saturating_mul(substitute.len());
        within_limit(text.len().saturating_add(grown))?;
        Ok(Some(Computed::String(text.replace(pattern, substitute))))
    })
}

/// Joins all items of a row. This is the only string function that accepts several items. It skips items without a
/// value. FHIRPath defines `join` for strings only. Real views also join numbers and booleans, so this function joins
/// them as written.
fn join(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let separators = if call.has(0) { Some(call.value(0)?) } else { None };
    let mut builder = Builder::new(call.input.rows());
    for row in 0..call.input.rows() {
        let separator = match &separators {
            Some(separators) => call.text(separators, row).unwrap_or_default(),
            None => "",
        };
        let mut joined: Option<String> = None;
        for place in call.input.range(row) {
            let (items, item) = call.input.item(place);
            let Some(value) = items.scalar(item) else { continue };
            let text = match written(items, item) {
                Some(text) => Ok(text),
                None => text_of(value).map(Cow::Borrowed),
            };
            match text {
                Ok(text) if joined.as_ref().map_or(0, String::len) + separator.len() + text.len() > MAX_TEXT => {
                    call.problem(row, format!("a text of more than {MAX_TEXT} bytes"));
                    break;
                }
                Ok(text) => match &mut joined {
                    Some(joined) => {
                        joined.push_str(separator);
                        joined.push_str(&text);
                    }
                    None => joined = Some(text.into_owned()),
                },
                Err(problem) => call.problem(row, problem),
            }
        }
        if let Some(joined) = joined {
            builder.push(Computed::String(joined));
        }
        builder.end_row();
    }
    Ok(Output::Items(builder.finish()?))
}

/// Returns a boolean, a number, a string or a date as written, or a whole resource as JSON. `None` for other values.
fn written(items: &Items, item: usize) -> Option<Cow<'_, str>> {
    if let Some(boolean) = items.boolean(item) {
        return Some(Cow::Borrowed(if boolean { "true" } else { "false" }));
    }
    match items.integer(item) {
        Some(integer) => Some(Cow::Owned(integer.to_string())),
        None => items.text(item).map(Cow::Borrowed),
    }
}

fn encode(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    coded(call, |text, coding| {
        Ok(Some(match coding {
            "hex" => text
                .bytes()
                .flat_map(|byte| [byte >> 4, byte & 15])
                .map(hex_digit)
                .collect(),
            "base64" => STANDARD.encode(text),
            "urlbase64" => URL_SAFE.encode(text),
            _ => return Ok(None),
        }))
    })
}

fn decode(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    coded(call, |text, coding| {
        let bytes = match coding {
            "hex" => from_hex(text),
            "base64" => STANDARD.decode(text).ok(),
            "urlbase64" => URL_SAFE.decode(text).ok(),
            _ => return Ok(None),
        };
        match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(text) => Ok(Some(text)),
            None => Err(format!("the text is no {coding}")),
        }
    })
}

fn hex_digit(value: u8) -> char {
    char::from_digit(value.into(), 16).unwrap_or('0')
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    bytes
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

fn coded(call: &Invocation<'_>, of: impl Fn(&str, &str) -> RowResult<String>) -> Result<Output, FhirPathError> {
    let codings = call.value(0)?;
    call.map(|row, value| {
        let text = text_of(value)?;
        match call.text(&codings, row) {
            Some(coding) => Ok(of(text, coding)?.map(Computed::String)),
            None => Ok(None),
        }
    })
}

/// The escapes of HTML in the order in which `unescape` replaces them. `&amp;` must be last, so that `&amp;lt;` becomes
/// `&lt;` and not `<`. `escape` uses the reverse order.
const HTML: [(&str, &str); 5] = [
    ("<", "&lt;"),
    (">", "&gt;"),
    ("\"", "&quot;"),
    ("'", "&#39;"),
    ("&", "&amp;"),
];
fn escaped(call: &Invocation<'_>, escape: bool) -> Result<Output, FhirPathError> {
    coded(call, |text, target| {
        let changed = match (target, escape) {
            ("html", true) => HTML
                .iter()
                .rev()
                .fold(text.to_string(), |text, (plain, escape)| text.replace(plain, escape)),
            ("html", false) => HTML
                .iter()
                .fold(text.to_string(), |text, (plain, escape)| text.replace(escape, plain)),
            ("json", true) => {
                let quoted = serde_json::Value::from(text).to_string();
                quoted[1..quoted.len() - 1].to_string()
            }
            ("json", false) => without_escapes(text),
            _ => return Ok(None),
        };
        within_limit(changed.len())?;
        Ok(Some(changed))
    })
}

/// Replaces JSON's escapes by their characters. Leaves invalid escapes, and quotes without a backslash, as they are.
fn without_escapes(text: &str) -> String {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        units.extend(rest[..at].encode_utf16());
        let after = &rest[at + 1..];
        let coded = after
            .strip_prefix('u')
            .and_then(|digits| digits.get(..4))
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let plain = match after.chars().next() {
            Some(same @ ('"' | '\\' | '/')) => Some(same),
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some('b') => Some('\u{8}'),
            Some('f') => Some('\u{c}'),
            _ => None,
        };
        rest = match (coded.and_then(|digits| u16::from_str_radix(digits, 16).ok()), plain) {
            (Some(unit), _) => {
                units.push(unit);
                &after[5..]
            }
            (None, Some(plain)) => {
                units.push(plain as u16);
                &after[1..]
            }
            (None, None) => {
                units.push('\\' as u16);
                after
            }
        };
    }
    units.extend(rest.encode_utf16());
    String::from_utf16_lossy(&units)
}
