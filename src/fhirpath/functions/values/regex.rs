//! Functions with regular expressions. The time of a search is linear in the length of the text. A pattern is
//! compiled again only if it differs from the pattern of the previous row.

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::super::signature;
use super::super::signature::{Function, Need, Parameter};
use super::strings::{text_of, within_limit};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::values::builder::Computed;
use crate::fhirpath::values::collection::Collection;

/// The maximum size of a compiled pattern in bytes. A pattern that needs more is refused.
const SIZE_LIMIT: usize = 1 << 20;
/// The maximum length of a pattern in bytes. The parsed form of one byte may take thousands of bytes of memory: a
/// class such as `\w` has hundreds of ranges.
const MAX_PATTERN: usize = 8 << 10;
/// The work of compiling a pattern: `COMPILING`, plus `COMPILING_BYTE` for each byte, plus `COMPILING_RANGE` for each
/// letter and each range of letters. Letters and ranges are counted after repetitions are expanded.
const COMPILING: usize = 1_024;
const COMPILING_BYTE: usize = 16;
const COMPILING_RANGE: usize = 100;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    Function {
        name: "matches",
        parameters: &[Parameter::Value, Parameter::Value],
        required: 1,
        reads: Need::Value,
        shape: signature::boolean,
        run: |call| matches(call, str::to_string),
    },
    Function {
        name: "matchesFull",
        parameters: &[Parameter::Value, Parameter::Value],
        required: 1,
        reads: Need::Value,
        shape: signature::boolean,
        run: |call| matches(call, |pattern| format!("\\A(?:{pattern})\\z")),
    },
    Function {
        name: "replaceMatches",
        parameters: &[Parameter::Value, Parameter::Value, Parameter::Value],
        required: 2,
        reads: Need::Value,
        shape: signature::string,
        run: replace_matches,
    },
];

/// The flags of FHIRPath 3.0 (ballot), which say how to read a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    /// `i`: letters match without regard to case.
    folded: bool,
    /// `m`: `^` and `$` match at the start and end of each line.
    lines: bool,
}

impl Flags {
    fn parse(text: &str) -> Result<Flags, String> {
        let mut flags = Flags::default();
        for letter in text.chars() {
            match letter {
                'i' => flags.folded = true,
                'm' => flags.lines = true,
                _ => return Err("its flags may be i and m".to_string()),
            }
        }
        Ok(flags)
    }
}

/// The pattern that was compiled last, which the next row may use again. `None` before the first row.
#[derive(Default)]
struct Compiled(Option<Pattern>);

struct Pattern {
    text: String,
    flags: Flags,
    regex: Regex,
    /// The maximum number of positions in the pattern that a search tracks at the same time. The work of each letter of
    /// the text grows with this number.
    places: usize,
}

impl Compiled {
    fn get(&mut self, call: &Invocation<'_>, text: &str, flags: Flags) -> Result<&Pattern, String> {
        let is_known = |known: &Pattern| known.text == text && known.flags == flags;
        if !self.0.as_ref().is_some_and(is_known) {
            // The pattern may come from a record, so the message does not repeat it.
            let wrong = || "its pattern is no regular expression that can be run".to_string();
            if text.len() > MAX_PATTERN {
                return Err(format!("its pattern is longer than {MAX_PATTERN} bytes"));
            }
            // If the patterns come from the data, each row may have a different one. So each compilation counts as
            // work.
            call.charge(COMPILING + text.len() * COMPILING_BYTE)?;
            let parsed = ParserBuilder::new()
                .dot_matches_new_line(true)
                .case_insensitive(flags.folded)
                .multi_line(flags.lines)
                .build()
                .parse(text)
                .map_err(|_| wrong())?;
            call.charge(ranges(&parsed).saturating_mul(COMPILING_RANGE))?;
            let built = RegexBuilder::new(text)
                .dot_matches_new_line(true)
                .case_insensitive(flags.folded)
                .multi_line(flags.lines)
                .size_limit(SIZE_LIMIT)
                .build();
            let regex = built.map_err(|_| wrong())?;
            self.0 = Some(Pattern {
                text: text.to_string(),
                flags,
                regex,
                places: places(&parsed),
            });
        }
        self.0.as_ref().ok_or_else(|| "no pattern".to_string())
    }
}

/// Returns the maximum number of positions in a pattern that a search tracks at the same time, after repetitions are
/// expanded.
fn places(hir: &Hir) -> usize {
    sum(hir, |_| 1)
}

/// Returns the number of letters and ranges of letters in a pattern, after repetitions are expanded.
fn ranges(hir: &Hir) -> usize {
    sum(hir, |class| match class {
        Class::Unicode(class) => class.ranges().len(),
        Class::Bytes(class) => class.ranges().len(),
    })
}

/// Counts the parts of a pattern after repetitions are expanded. Each literal byte counts as 1, and each class as many
/// as `of_class` returns.
fn sum(hir: &Hir, of_class: fn(&Class) -> usize) -> usize {
    let sum = |hir: &Hir| sum(hir, of_class);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(class) => of_class(class),
        HirKind::Capture(capture) => sum(&capture.sub),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1);
            sum(&repetition.sub).saturating_mul(times as usize)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(sum).fold(0, usize::saturating_add),
    }
}

impl Pattern {
    /// Returns the maximum work of searching a text, from its length and `places`.
    fn cost(&self, text: &str) -> usize {
        text.len().saturating_mul(self.places.saturating_add(4)) / 4
    }
}

/// The call's argument for flags, evaluated for each row. `None` if the call lacks the argument.
struct FlagsOf(Option<Collection>);

impl FlagsOf {
    fn argument(call: &Invocation<'_>, argument: usize) -> Result<FlagsOf, FhirPathError> {
        call.has(argument)
            .then(|| call.value(argument))
            .transpose()
            .map(FlagsOf)
    }

    fn get(&self, call: &Invocation<'_>, row: usize) -> Result<Flags, String> {
        let text = self.0.as_ref().and_then(|flags| call.text(flags, row));
        text.map_or(Ok(Flags::default()), Flags::parse)
    }
}

fn matches(call: &Invocation<'_>, of: impl Fn(&str) -> String) -> Result<Output, FhirPathError> {
    let (patterns, flags) = (call.value(0)?, FlagsOf::argument(call, 1)?);
    let mut compiled = Compiled::default();
    call.judge(|row, value| {
        let text = text_of(value)?;
        match call.text(&patterns, row) {
            Some(pattern) => {
                let pattern = compiled.get(call, &of(pattern), flags.get(call, row)?)?;
                call.charge(pattern.cost(text))?;
                Ok(Some(pattern.regex.is_match(text)))
            }
            None => Ok(None),
        }
    })
}

fn replace_matches(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let (patterns, substitutes) = (call.value(0)?, call.value(1)?);
    let flags = FlagsOf::argument(call, 2)?;
    let mut compiled = Compiled::default();
    call.map(|row, value| {
        let text = text_of(value)?;
        match call.text(&patterns, row).zip(call.text(&substitutes, row)) {
            Some(("", _)) => Ok(Some(Computed::String(text.to_string()))),
            Some((pattern, substitute)) => {
                let pattern = compiled.get(call, pattern, flags.get(call, row)?)?;
                call.charge(pattern.cost(text).saturating_mul(3))?;
                let count = pattern.regex.find_iter(text).count();
                let groups = substitute.matches('$').count().saturating_mul(text.len());
                let each = substitute.len().saturating_add(groups);
                within_limit(text.len().saturating_add(count.saturating_mul(each)))?;
                let replaced = pattern
                    .regex
                    .replace_all(text, braced(substitute).as_str())
                    .into_owned();
                Ok(Some(Computed::String(replaced)))
            }
            None => Ok(None),
        }
    })
}

/// Rewrites group references to the form `${1}`. In FHIRPath, `$1a` means group 1 and then an `a`. The regex library
/// would read it as the group with the name `1a`.
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
