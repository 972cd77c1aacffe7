//! `_filter`: tests of parameters, combined with `and`, `or`, `not` and parentheses (R4,
//! <http://hl7.org/fhir/R4/search_filter.html>).
//!
//! Decides to which parameter the name in a test refers: a parameter of the searched type, of a chain's target, or of
//! an item of an element (`characteristic[code eq gender].value eq mixed`). `filter_operator` decides what an operator
//! means for the parameter's values.

use std::sync::Arc;

use pest::Parser;
use pest::error::InputLocation;
use pest::iterators::Pair;

use super::super::SearchError;
use super::super::criteria::criterion::{Condition, Criterion};
use super::super::joins::chain;
use super::filter_operator::{Comparison, condition_of};
use super::parameter::{Compiled, Reading};
use super::raw::{RawParameter, refuse_modifier};
use super::resolver::Resolver;
use super::result::invalid;
use super::suggestion;
use crate::fhir::TypeId;
use crate::fhir::search_parameter::{SearchParameter, SearchType};

/// The maximum number of tests in all filters of a search.
const MAX_TESTS: usize = 200;

/// The maximum length of a filter, in bytes.
const MAX_LENGTH: usize = 65_536;

/// The maximum nesting of parentheses and brackets. The grammar recurses at each level.
const MAX_DEPTH: usize = 50;

mod grammar {
    /// The parser of `grammar/filter.pest`.
    #[derive(pest_derive::Parser)]
    #[grammar = "../grammar/filter.pest"]
    pub(super) struct Grammar;
}
use grammar::{Grammar, Rule};

/// Resolves a `_filter` to a condition on rows of `type_id`.
pub(in crate::search) fn condition(
    resolver: &Resolver<'_>,
    type_id: TypeId,
    raw: &RawParameter,
) -> Result<Condition, SearchError> {
    refuse_modifier(raw, "special")?;
    if raw.value.len() > MAX_LENGTH {
        return Err(SearchError::Many {
            parameter: "_filter".to_owned(),
            what: "bytes in a filter",
            max: MAX_LENGTH,
        });
    }
    let root = parse(&raw.value).ok_or_else(|| malformed(&raw.value))?;
    let tests = root.clone().into_inner().flatten();
    let tests = tests.filter(|pair| pair.as_rule() == Rule::test).count();
    if resolver.count_tests(tests) > MAX_TESTS {
        return Err(SearchError::Many {
            parameter: "_filter".to_owned(),
            what: "tests",
            max: MAX_TESTS,
        });
    }
    Filter { resolver, raw }.combined(&TestedNames::Type(type_id), root)
}

/// Replaces the placeholder in a filter by several values. A test that contains the placeholder becomes one test per
/// value. These tests are joined by `or`, or by `and` if the operator is `ne` or `ni`. Returns `None` if the text is
/// not a filter, or if it has more tests than a search accepts.
pub fn with_alternatives(filter: &str, placeholder: &str, values: &[String]) -> Option<String> {
    let tests: Vec<Pair<'_, Rule>> = parse(filter)?
        .into_inner()
        .flatten()
        .filter(|pair| pair.as_rule() == Rule::test && pair.as_str().contains(placeholder))
        .collect();
    if tests.len() > MAX_TESTS {
        return None;
    }
    let mut out = filter.to_owned();
    for test in tests.iter().rev() {
        let span = test.as_span();
        let holds_another = |other: &Pair<'_, Rule>| {
            let inner = other.as_span();
            inner != span && inner.start() >= span.start() && inner.end() <= span.end()
        };
        if tests.iter().any(holds_another) {
            continue;
        }
        let operator = test
            .clone()
            .into_inner()
            .find(|pair| pair.as_rule() == Rule::operator)?;
        let between = if matches!(operator.as_str(), "ne" | "ni") {
            " and "
        } else {
            " or "
        };
        let each: Vec<String> = values
            .iter()
            .map(|value| test.as_str().replace(placeholder, value))
            .collect();
        out.replace_range(span.start()..span.end(), &format!("({})", each.join(between)));
    }
    Some(out)
}

fn parse(text: &str) -> Option<Pair<'_, Rule>> {
    (text.len() <= MAX_LENGTH && depth(text) <= MAX_DEPTH).then_some(())?;
    Grammar::parse(Rule::filter, text).ok()?.next()
}

/// Returns the error for a text that is not a filter. The error has the word at which parsing failed.
fn malformed(text: &str) -> SearchError {
    let failed = Grammar::parse(Rule::filter, text).err();
    let at = failed.map_or(0, |error| match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    });
    match text.get(at..).and_then(|rest| rest.split_whitespace().next()) {
        Some(word) if at > 0 => {
            let expected = "what may stand there in a filter such as: name co \"pet\" and birthdate ge 1990";
            invalid("_filter", word, expected)
        }
        _ => invalid(
            "_filter",
            text,
            "a filter such as: name co \"pet\" and birthdate ge 1990",
        ),
    }
}

fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

struct Filter<'a> {
    resolver: &'a Resolver<'a>,
    raw: &'a RawParameter,
}

/// The parameters to which the names in a test can refer.
enum TestedNames {
    /// The parameters of a type.
    Type(TypeId),
    /// The components of the element's composite parameters. They are evaluated on one item of the element, which
    /// belongs to this type.
    Item(TypeId, Element),
}

/// An element, and the composite parameters that have its items as their tuples.
struct Element {
    name: String,
    composites: Vec<Arc<Compiled>>,
}

/// One name in the path of a test, and the filter in brackets after the name.
struct Step<'t> {
    name: &'t str,
    inside: Option<Pair<'t, Rule>>,
}

/// A parameter to which a name can refer.
struct Meant {
    parameter: Arc<SearchParameter>,
    /// For a component of a composite parameter: this composite parameter, and the index of the component in it. `None`
    /// for a parameter of the type itself.
    within: Option<(Arc<Compiled>, usize)>,
}

impl TestedNames {
    fn type_id(&self) -> TypeId {
        match self {
            TestedNames::Type(type_id) | TestedNames::Item(type_id, _) => *type_id,
        }
    }
}

impl Filter<'_> {
    fn combined(&self, place: &TestedNames, pair: Pair<'_, Rule>) -> Result<Condition, SearchError> {
        match pair.as_rule() {
            Rule::test => self.test(place, pair),
            Rule::negated => {
                let label = pair.as_str().trim().to_owned();
                let inner = pair.into_inner().next().ok_or_else(|| self.malformed())?;
                let condition = self.combined(place, inner)?;
                Ok(Condition::Not(Box::new(made(condition, label))))
            }
            _ => self.sequence(place, pair),
        }
    }

    /// Resolves parts joined by `and` and `or`, from left to right.
    fn sequence(&self, place: &TestedNames, pair: Pair<'_, Rule>) -> Result<Condition, SearchError> {
        let mut all: Option<(Condition, String)> = None;
        let mut is_or = false;
        for part in pair.into_inner() {
            if part.as_rule() == Rule::word_of {
                is_or = part.as_str().eq_ignore_ascii_case("or");
                continue;
            }
            let label = part.as_str().trim().to_owned();
            let condition = self.combined(place, part)?;
            all = Some(match all {
                None => (condition, label),
                Some((before, before_label)) => {
                    let joined = format!("({before_label} {} {label})", if is_or { "or" } else { "and" });
                    let this = made(condition, label);
                    (join(before, before_label, is_or, this), joined)
                }
            });
        }
        all.map(|(condition, _)| condition).ok_or_else(|| self.malformed())
    }

    fn malformed(&self) -> SearchError {
        invalid("_filter", &self.raw.value, "a test: parameter operator value")
    }

    fn test(&self, place: &TestedNames, pair: Pair<'_, Rule>) -> Result<Condition, SearchError> {
        let mut parts = pair.into_inner();
        let (Some(path), Some(operator), Some(written)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(self.malformed());
        };
        let text = written.as_str();
        let value = match written.as_rule() {
            Rule::string => {
                serde_json::from_str(text).map_err(|_| invalid("_filter", text, "a string with JSON's escapes"))?
            }
            _ => text.to_owned(),
        };
        let comparison = Comparison {
            operator: operator.as_str(),
            value,
            text,
        };
        let name = path.as_str();
        let steps: Vec<Step<'_>> = path.into_inner().filter_map(step).collect();
        let criterion = self.at(place, &steps, &comparison)?;
        let unknown = || suggestion::unknown(self.resolver.programs, place.type_id(), name.to_owned());
        let criterion = criterion.ok_or_else(unknown)?;
        Ok(criterion.condition)
    }

    /// Resolves the test at the end of a path. Returns `None` if a name is unknown.
    fn at(
        &self,
        place: &TestedNames,
        steps: &[Step<'_>],
        comparison: &Comparison<'_>,
    ) -> Result<Option<Criterion>, SearchError> {
        let Some((first, rest)) = steps.split_first() else {
            return Ok(None);
        };
        self.resolver
            .deeper("_filter", || self.at_step(place, (first, rest), comparison))
    }

    fn at_step(
        &self,
        place: &TestedNames,
        (first, rest): (&Step<'_>, &[Step<'_>]),
        comparison: &Comparison<'_>,
    ) -> Result<Option<Criterion>, SearchError> {
        let condition = match (&first.inside, rest.is_empty()) {
            (None, true) => self.plain(place, first.name, comparison)?,
            (Some(_), true) => {
                let expected = "followed by .path, as in: characteristic[code eq gender].value eq mixed";
                return Err(invalid("_filter", first.name, expected));
            }
            _ => match self.chained(place, first, rest, comparison)? {
                Some(condition) => Some(condition),
                None => self.item(place, first, rest, comparison)?,
            },
        };
        let names: Vec<&str> = [first].into_iter().chain(rest).map(|step| step.name).collect();
        let label = || format!("{} {} {}", names.join("."), comparison.operator, comparison.text);
        Ok(condition.map(|condition| made(condition, label())))
    }

    /// Resolves a path through a reference. The filter in brackets and the rest of the path apply to the same target.
    fn chained(
        &self,
        place: &TestedNames,
        first: &Step<'_>,
        rest: &[Step<'_>],
        comparison: &Comparison<'_>,
    ) -> Result<Option<Condition>, SearchError> {
        let (code, only) = match first.name.split_once(':') {
            Some((code, resource_type)) => (code, Some(resource_type)),
            None => (first.name, None),
        };
        let mut meant = self.meant(place, code)?;
        let reference = meant
            .iter()
            .position(|meant| meant.parameter.search_type == SearchType::Reference);
        let Some(reference) = reference.map(|at| meant.swap_remove(at)) else {
            return match (meant.first(), &first.inside) {
                (Some(other), None) => Err(SearchError::Chain {
                    parameter: code.to_owned(),
                    parameter_type: other.parameter.search_type.as_str(),
                }),
                _ => Ok(None),
            };
        };
        let Some(compiled) = self.compiled(place, &reference, Reading::Targets)? else {
            return Ok(None);
        };
        chain::follow(self.resolver, compiled, only, first.name, &|target| {
            let there = TestedNames::Type(target);
            let Some(criterion) = self.at(&there, rest, comparison)? else {
                return Ok(None);
            };
            let Some(inside) = &first.inside else {
                return Ok(Some(criterion));
            };
            let narrowed = match self.bracketed(&there, inside) {
                Ok(narrowed) => narrowed,
                // The path names no target type, so several types are tried. If one of them has no parameter of a name
                // in the brackets, it is left out.
                Err(SearchError::Unknown { .. }) if only.is_none() => return Ok(None),
                Err(error) => return Err(error),
            };
            let label = format!("[{}] {}", narrowed.label, criterion.label);
            Ok(Some(made(Condition::All(vec![narrowed, criterion]), label)))
        })
    }

    /// Resolves a path through an element. The filter in brackets and the rest of the path apply to the same item.
    fn item(
        &self,
        place: &TestedNames,
        first: &Step<'_>,
        rest: &[Step<'_>],
        comparison: &Comparison<'_>,
    ) -> Result<Option<Condition>, SearchError> {
        let (TestedNames::Type(type_id), Some(inside)) = (place, &first.inside) else {
            return Ok(None);
        };
        let Some(element) = self.element(*type_id, first.name)? else {
            return Ok(None);
        };
        let items = element.composites[0].clone();
        let there = TestedNames::Item(*type_id, element);
        let narrowed = self.bracketed(&there, inside)?;
        let Some(criterion) = self.at(&there, rest, comparison)? else {
            return Ok(None);
        };
        let label = format!("{}[{}].{}", first.name, narrowed.label, criterion.label);
        let both = made(Condition::All(vec![narrowed, criterion]), label);
        Ok(Some(Condition::Item {
            items,
            holds: Box::new(both),
        }))
    }

    fn bracketed(&self, place: &TestedNames, inside: &Pair<'_, Rule>) -> Result<Criterion, SearchError> {
        let condition = self.combined(place, inside.clone())?;
        Ok(made(condition, inside.as_str().trim().to_owned()))
    }

    /// Returns the element of this name, if composite parameters of the type yield its items. Returns `None` otherwise.
    fn element(&self, type_id: TypeId, name: &str) -> Result<Option<Element>, SearchError> {
        let mut composites = Vec::new();
        for parameter in self.resolver.programs.supported(type_id) {
            if parameter.search_type != SearchType::Composite {
                continue;
            }
            let Some(compiled) = self.resolver.programs.get(type_id, &parameter.code, Reading::Values)? else {
                continue;
            };
            let mut origins = compiled.program.origins();
            if let (Some(origin), None) = (origins.next(), origins.next())
                && origin.path == Some(name)
            {
                drop(origins);
                composites.push(compiled);
            }
        }
        let name = name.to_owned();
        Ok((!composites.is_empty()).then_some(Element { name, composites }))
    }

    /// Returns the parameters to which a name can refer. In an item of an element, a component may be named by its
    /// code, by the code without the element's name, or by the first name of its expression.
    fn meant(&self, place: &TestedNames, name: &str) -> Result<Vec<Meant>, SearchError> {
        let element = match place {
            TestedNames::Type(type_id) => {
                let parameter = self.resolver.programs.parameter(*type_id, name);
                let of_type = |parameter: &Arc<SearchParameter>| Meant {
                    parameter: parameter.clone(),
                    within: None,
                };
                return Ok(parameter.map(of_type).into_iter().collect());
            }
            TestedNames::Item(_, element) => element,
        };
        let mut meant: Vec<Meant> = Vec::new();
        for composite in &element.composites {
            for (at, component) in composite.components.iter().enumerate() {
                let code = &*component.parameter.code;
                let short = code
                    .strip_prefix(element.name.as_str())
                    .and_then(|rest| rest.strip_prefix('-'));
                let expression = &*composite.parameter.components[at].expression;
                let first = expression.split(|c: char| !c.is_ascii_alphanumeric()).next();
                let is_meant = code == name || short == Some(name) || first == Some(name);
                let is_new = meant.iter().all(|known| known.parameter.url != component.parameter.url);
                if is_meant && is_new {
                    meant.push(Meant {
                        parameter: component.parameter.clone(),
                        within: Some((composite.clone(), at)),
                    });
                }
            }
        }
        Ok(meant)
    }

    fn compiled(
        &self,
        place: &TestedNames,
        meant: &Meant,
        reading: Reading,
    ) -> Result<Option<Arc<Compiled>>, SearchError> {
        match &meant.within {
            None => self
                .resolver
                .programs
                .get(place.type_id(), &meant.parameter.code, reading),
            Some((composite, at)) => self.resolver.programs.component(composite, *at, reading).map(Some),
        }
    }

    /// Resolves the test of a parameter without a path. The name may refer to several parameters. Those that do not fit
    /// the value or the operator are ignored, and at least one of the remaining parameters must pass the test.
    fn plain(
        &self,
        place: &TestedNames,
        name: &str,
        comparison: &Comparison<'_>,
    ) -> Result<Option<Condition>, SearchError> {
        let (mut found, mut failed) = (Vec::new(), None);
        for meant in self.meant(place, name)? {
            let compile = |reading| self.compiled(place, &meant, reading);
            match condition_of(self.resolver, place.type_id(), &meant.parameter, comparison, &compile) {
                Ok(Some(condition)) => found.push(made(condition, meant.parameter.code.to_string())),
                Ok(None) => {}
                Err(error) => failed = Some(error),
            }
        }
        match (found.len(), failed) {
            (0, Some(error)) => Err(error),
            (0, None) => Ok(None),
            (1, _) => Ok(found.pop().map(|only| only.condition)),
            _ => Ok(Some(Condition::Any(found))),
        }
    }
}

/// Creates a criterion for a part of the filter. `label` is the text of the part.
fn made(condition: Condition, label: String) -> Criterion {
    Criterion {
        condition,
        label,
        origin: None,
    }
}

fn join(before: Condition, label: String, is_or: bool, this: Criterion) -> Condition {
    match (before, is_or) {
        (Condition::Any(mut parts), true) => {
            parts.push(this);
            Condition::Any(parts)
        }
        (Condition::All(mut parts), false) => {
            parts.push(this);
            Condition::All(parts)
        }
        (condition, true) => Condition::Any(vec![made(condition, label), this]),
        (condition, false) => Condition::All(vec![made(condition, label), this]),
    }
}

fn step(pair: Pair<'_, Rule>) -> Option<Step<'_>> {
    let mut parts = pair.into_inner();
    let name = parts.next()?.as_str();
    let inside = parts.next().and_then(|inside| inside.into_inner().next());
    Some(Step { name, inside })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_becomes_one_test_for_each_value() {
        let two = ["p1".to_owned(), "p2".to_owned()];
        let with = |filter: &str| with_alternatives(filter, "$ID", &two);
        assert_eq!(
            with("patient eq $ID and code eq a,b").as_deref(),
            Some("(patient eq p1 or patient eq p2) and code eq a,b")
        );
        assert_eq!(
            with("not (patient eq $ID) or subject ne Patient/$ID").as_deref(),
            Some("not ((patient eq p1 or patient eq p2)) or (subject ne Patient/p1 and subject ne Patient/p2)")
        );
        assert_eq!(
            with("relatesTo[target eq $ID].code eq x").as_deref(),
            Some("relatesTo[(target eq p1 or target eq p2)].code eq x")
        );
        assert_eq!(with("code eq x").as_deref(), Some("code eq x"));
        assert_eq!(with("patient $ID"), None);
    }
}
