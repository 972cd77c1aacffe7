//! Regular expressions. They run in time linear in the text; a pattern is compiled once as long as it stays the same from row to
//! row.

use regex::{Regex, RegexBuilder};

use super::signature::{self, Function, Need, Parameter};
use super::strings::{text_of, within_limit};
use crate::fhirpath::builder::Computed;
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::eval::Output;
use crate::fhirpath::invocation::Invocation;

/// Greatest size of a compiled pattern in bytes.
const SIZE_LIMIT: usize = 1 << 20;

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "matches",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Value,
        shape: signature::boolean,
        run: |call| matches(call, str::to_string),
    },
    Function {
        name: "matchesFull",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Value,
        shape: signature::boolean,
        run: |call| matches(call, |pattern| format!("^(?:{pattern})$")),
    },
    Function {
        name: "replaceMatches",
        parameters: &[Parameter::Value, Parameter::Value],
        required: 2,
        reads: Need::Value,
        shape: signature::string,
        run: replace_matches,
    },
];

/// The pattern last seen, compiled.
#[derive(Default)]
struct Compiled(Option<(String, Regex)>);

impl Compiled {
    fn get(&mut self, pattern: &str) -> Result<&Regex, String> {
        if self.0.as_ref().is_none_or(|(known, _)| known != pattern) {
            let built = RegexBuilder::new(pattern)
                .dot_matches_new_line(true)
                .size_limit(SIZE_LIMIT)
                .build();
            // The pattern may be a record's, and so is not repeated.
            let regex = built.map_err(|_| "its pattern is no regular expression that can be run".to_string())?;
            self.0 = Some((pattern.to_string(), regex));
        }
        match &self.0 {
            Some((_, regex)) => Ok(regex),
            None => Err("no pattern".to_string()),
        }
    }
}

fn matches(call: &Invocation<'_>, of: impl Fn(&str) -> String) -> Result<Output, FhirPathError> {
    let patterns = call.value(0)?;
    let mut compiled = Compiled::default();
    call.judge(|row, value| {
        let text = text_of(value)?;
        match call.text(&patterns, row) {
            Some(pattern) => Ok(Some(compiled.get(&of(pattern))?.is_match(text))),
            None => Ok(None),
        }
    })
}

fn replace_matches(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let (patterns, substitutes) = (call.value(0)?, call.value(1)?);
    let mut compiled = Compiled::default();
    call.map(|row, value| {
        let text = text_of(value)?;
        match call.text(&patterns, row).zip(call.text(&substitutes, row)) {
            Some(("", _)) => Ok(Some(Computed::String(text.to_string()))),
            Some((pattern, substitute)) => {
                let count = compiled.get(pattern)?.find_iter(text).count();
                let groups = substitute.matches('$').count().saturating_mul(text.len());
                let each = substitute.len().saturating_add(groups);
                within_limit(text.len().saturating_add(count.saturating_mul(each)))?;
                let replaced = compiled
                    .get(pattern)?
                    .replace_all(text, braced(substitute).as_str())
                    .into_owned();
                Ok(Some(Computed::String(replaced)))
            }
            None => Ok(None),
        }
    })
}

/// Group references as `${1}`: `$1a` means group 1 and an `a`, not a group called `1a`.
fn braced(substitute: &str) -> String {
    let mut out = String::with_capacity(substitute.len() + 4);
    let mut rest = substitute;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        match (digits, rest.starts_with(['{', '$'])) {
            (0, true) => out.push('$'),
            (0, false) => out.push_str("$$"),
            _ => {
                out.push_str(&format!("${{{}}}", &rest[..digits]));
                rest = &rest[digits..];
            }
        }
    }
    out + rest
}
