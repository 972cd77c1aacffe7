//! `_filter`: tests of parameters combined with `and`, `or`, `not` and parentheses
//! (R4, <http://hl7.org/fhir/R4/search_filter.html>).
//!
//! A test is the same condition that a plain parameter would be; `eq` of strings is their equality but for case and marks, and
//! `ne` asks for one value that differs. The form `name[filter].path` is not understood.

use pest::Parser;
use pest::iterators::Pair;

use super::criterion::{Condition, Criterion, Test};
use super::matcher::Matcher;
use super::parameter::Reading;
use super::raw::RawParameter;
use super::resolve::{Resolver, refuse_modifier};
use super::result::invalid;
use super::value::{DateValue, Prefix, fold};
use super::{SearchError, chain};
use crate::fhir::search_parameter::{SearchParameter, SearchType};
use crate::fhir::{TypeId, facts};

/// The deepest nesting of parentheses: the grammar descends once for each.
const MAX_DEPTH: usize = 50;

mod grammar {
    /// The parser of `grammar/filter.pest`.
    #[derive(pest_derive::Parser)]
    #[grammar = "../grammar/filter.pest"]
    pub(super) struct Grammar;
}
use grammar::{Grammar, Rule};

/// The condition that a `_filter` puts on rows of `ty`.
pub(super) fn condition(resolver: &Resolver<'_>, ty: TypeId, raw: &RawParameter) -> Result<Condition, SearchError> {
    refuse_modifier(raw, "special")?;
    let malformed = || {
        invalid(
            "_filter",
            &raw.value,
            "a filter such as: name co \"pet\" and birthdate ge 1990",
        )
    };
    if depth(&raw.value) > MAX_DEPTH {
        return Err(malformed());
    }
    let mut parsed = Grammar::parse(Rule::filter, &raw.value).map_err(|_| malformed())?;
    let root = parsed.next().ok_or_else(malformed)?;
    Filter { resolver, ty, raw }.combined(root)
}

fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

struct Filter<'a> {
    resolver: &'a Resolver<'a>,
    ty: TypeId,
    raw: &'a RawParameter,
}

/// An operator and what it compares with.
struct Comparison<'t> {
    operator: &'t str,
    value: String,
    /// As it stands in the filter.
    text: &'t str,
}

impl Filter<'_> {
    fn combined(&self, pair: Pair<'_, Rule>) -> Result<Condition, SearchError> {
        let rule = pair.as_rule();
        if rule == Rule::test {
            return self.test(pair);
        }
        let label = |pair: &Pair<'_, Rule>| pair.as_str().trim().to_owned();
        let parts = pair.into_inner().map(|pair| {
            let label = label(&pair);
            Ok(Criterion {
                condition: self.combined(pair)?,
                label,
            })
        });
        let mut parts = parts.collect::<Result<Vec<_>, SearchError>>()?;
        Ok(match (rule, parts.len()) {
            (Rule::negated, _) => Condition::Not(Box::new(parts.remove(0))),
            (_, 1) => parts.remove(0).condition,
            (Rule::any, _) => Condition::Any(parts),
            _ => Condition::All(parts),
        })
    }

    fn test(&self, pair: Pair<'_, Rule>) -> Result<Condition, SearchError> {
        let mut parts = pair.into_inner();
        let mut next = || parts.next().map(|part| (part.as_rule(), part.as_str()));
        let (Some((_, path)), Some((_, operator)), Some((rule, text))) = (next(), next(), next()) else {
            return Err(invalid("_filter", &self.raw.value, "a test: parameter operator value"));
        };
        let value = match rule {
            Rule::string => {
                serde_json::from_str(text).map_err(|_| invalid("_filter", text, "a string with JSON's escapes"))?
            }
            _ => text.to_owned(),
        };
        let comparison = Comparison { operator, value, text };
        let criterion = self.at(self.ty, path, &comparison)?;
        let criterion = criterion.ok_or_else(|| SearchError::Unknown {
            parameter: path.to_owned(),
            resource: facts().get(self.ty).name.to_owned(),
        })?;
        Ok(criterion.condition)
    }

    /// The test of a parameter of `ty`, or of what its chain leads to; `None` where a name is unknown.
    fn at(&self, ty: TypeId, path: &str, comparison: &Comparison<'_>) -> Result<Option<Criterion>, SearchError> {
        let condition = if path.contains('.') {
            chain::along(self.resolver, ty, path, &|target, rest| {
                self.at(target, rest, comparison)
            })?
        } else {
            self.plain(ty, path, comparison)?
        };
        Ok(condition.map(|condition| Criterion {
            condition,
            label: format!("{path} {} {}", comparison.operator, comparison.text),
        }))
    }

    fn plain(&self, ty: TypeId, code: &str, comparison: &Comparison<'_>) -> Result<Option<Condition>, SearchError> {
        let Some(parameter) = self.resolver.programs.parameter(ty, code) else {
            return Ok(None);
        };
        let (operator, value) = (comparison.operator, comparison.value.as_str());
        if operator == "pr" {
            let missing = match value {
                "true" => "false",
                "false" => "true",
                _ => return Err(invalid("_filter", comparison.text, "true or false")),
            };
            return self.as_parameter(ty, &format!("{code}:missing"), missing.to_owned());
        }
        let escaped = || escape(value);
        match (parameter.ty, operator) {
            (
                SearchType::Number | SearchType::Quantity | SearchType::Date,
                "eq" | "ne" | "gt" | "lt" | "ge" | "le" | "ap" | "sa" | "eb",
            ) => self.as_parameter(ty, code, format!("{operator}{}", value.replace(',', "\\,"))),
            (SearchType::Date, "po") => {
                let date = DateValue::parse(value, 0).filter(|date| date.prefix == Prefix::Eq);
                let date = date.ok_or_else(|| invalid("_filter", comparison.text, "a date"))?;
                let overlaps = DateValue {
                    prefix: Prefix::Ap,
                    ..date
                };
                self.matching(ty, code, Matcher::Date(overlaps))
            }
            (SearchType::String, "eq") => self.matching(ty, code, Matcher::Same(fold(value))),
            (SearchType::String, "ne") => self.differing(ty, code, Matcher::Same(fold(value))),
            (SearchType::String, "sw") => self.as_parameter(ty, code, escaped()),
            (SearchType::String, "co") => self.as_parameter(ty, &format!("{code}:contains"), escaped()),
            (SearchType::String, "ew") => self.matching(ty, code, Matcher::Ends(fold(value))),
            (SearchType::Token | SearchType::Uri, "eq") | (SearchType::Reference, "eq" | "re") => {
                self.as_parameter(ty, code, value.replace(',', "\\,"))
            }
            (SearchType::Token | SearchType::Uri | SearchType::Reference, "ne") => {
                let raw = RawParameter::named(code, value);
                let matcher = Matcher::parse(parameter, &raw, value, self.resolver.around)?;
                self.differing(ty, code, matcher)
            }
            (SearchType::Token | SearchType::Uri, "sb") => {
                self.as_parameter(ty, &format!("{code}:below"), value.to_owned())
            }
            (SearchType::Token | SearchType::Uri, "ss") => {
                self.as_parameter(ty, &format!("{code}:above"), value.to_owned())
            }
            (SearchType::Token, "in") => self.as_parameter(ty, &format!("{code}:in"), value.to_owned()),
            (SearchType::Token, "ni") => self.as_parameter(ty, &format!("{code}:not-in"), value.to_owned()),
            _ => Err(refused(parameter, operator)),
        }
    }

    fn as_parameter(&self, ty: TypeId, written: &str, value: String) -> Result<Option<Condition>, SearchError> {
        let raw = RawParameter::named(written, &value);
        Ok(self.resolver.criterion(ty, &raw)?.map(|criterion| criterion.condition))
    }

    fn matching(&self, ty: TypeId, code: &str, matcher: Matcher) -> Result<Option<Condition>, SearchError> {
        let matchers = vec![matcher];
        self.values(ty, code, Test::AnyOf { matchers, not: false })
    }

    fn differing(&self, ty: TypeId, code: &str, matcher: Matcher) -> Result<Option<Condition>, SearchError> {
        self.values(ty, code, Test::Differs(matcher))
    }

    fn values(&self, ty: TypeId, code: &str, test: Test) -> Result<Option<Condition>, SearchError> {
        let compiled = self.resolver.programs.get(ty, code, Reading::Values)?;
        Ok(compiled.map(|compiled| Condition::Values { compiled, test }))
    }
}

fn refused(parameter: &SearchParameter, operator: &str) -> SearchError {
    SearchError::Operator {
        parameter: parameter.code.to_string(),
        operator: operator.to_owned(),
        ty: parameter.ty.as_str(),
    }
}

/// A text as it stands in a parameter's value.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | ',' | '$' | '|') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
