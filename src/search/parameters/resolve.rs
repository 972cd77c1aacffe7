//! Resolves one parameter of a search to a condition on rows. Checks the name against the search parameters of the
//! type, parses the values, and follows chains and `_has` to other types.

use std::sync::Arc;

use super::super::SearchError;
use super::super::criteria::criterion::{Condition, Criterion, Join, Test, TupleTest, Within};
use super::super::criteria::hierarchy;
use super::super::criteria::matcher;
use super::super::criteria::matcher::Matcher;
use super::super::criteria::origin::Origin;
use super::super::criteria::tuples::TupleSet;
use super::super::criteria::words::Words;
use super::super::joins::chain;
use super::filter_expression;
use super::modifier;
use super::parameter::{Compiled, Reading};
use super::raw::{RawParameter, refuse_modifier, written};
use super::repeated::alternatives;
use super::resolver::{Resolver, resource_type};
use super::result::{invalid, shortened};
use super::values::{ReferenceValue, escape};
use crate::fhir::TypeId;
use crate::fhir::search_parameter::{SearchParameter, SearchType};

/// The maximum number of alternatives of one parameter. Tokens do not count. Ids and relative references become sets,
/// and each set counts as one alternative.
const MAX_ALTERNATIVES: usize = 1_000;

/// The maximum number of Lists in one `_list`. Each of them is read.
const MAX_LISTS: usize = 100;

/// The maximum number of words of `_text` and `_content`.
const MAX_WORDS: usize = 100;

/// The code system of media types in R4's bindings.
const MEDIA_TYPES: &str = "urn:ietf:bcp:13";

impl Resolver<'_> {
    /// Returns the condition that a parameter puts on rows of `type_id`. Returns `None` if the type has no parameter of
    /// this name.
    pub(in crate::search) fn criterion(
        &self,
        type_id: TypeId,
        raw: &RawParameter,
    ) -> Result<Option<Criterion>, SearchError> {
        self.spend(raw)?;
        self.deeper(&written(raw), || self.criterion_here(type_id, raw))
    }

    fn criterion_here(&self, type_id: TypeId, raw: &RawParameter) -> Result<Option<Criterion>, SearchError> {
        let chained = raw.name.contains('.') || raw.modifier.as_deref().is_some_and(|rest| rest.contains('.'));
        let condition = match raw.name.as_str() {
            "_has" => chain::has(self, type_id, raw)?,
            _ if chained => chain::chain(self, type_id, raw)?,
            "_filter" => Some(filter_expression::condition(self, type_id, raw)?),
            code @ ("_text" | "_content") if self.programs.has_words(type_id, code) => Some(words(raw)?),
            "_list" => self.list(type_id, raw)?,
            _ => self.condition(type_id, raw)?,
        };
        let label = || format!("{}={}", written(raw), raw.value);
        Ok(condition.map(|condition| {
            let mut criterion = Criterion {
                condition,
                label: label(),
                origin: None,
            };
            criterion.come_from(Origin::of(self, type_id, raw));
            criterion
        }))
    }

    fn condition(&self, type_id: TypeId, raw: &RawParameter) -> Result<Option<Condition>, SearchError> {
        let Some(parameter) = self.programs.parameter(type_id, &raw.name) else {
            return Ok(None);
        };
        check_escapes(raw)?;
        if parameter.search_type == SearchType::Composite {
            return self.tuples(type_id, parameter, raw);
        }
        if let Some(modifier) = raw.modifier.as_deref()
            && let Some(compiled) = self.programs.get(type_id, &raw.name, Reading::Values)?
            && let Some(parameter_type) = modifier::misfit(&compiled, modifier)
        {
            return Err(SearchError::Modifier {
                parameter: raw.name.clone(),
                modifier: modifier.to_owned(),
                parameter_type,
            });
        }
        if parameter.search_type == SearchType::Reference
            && let Some(direction @ ("below" | "above")) = raw.modifier.as_deref()
        {
            let values = self.programs.get(type_id, &raw.name, Reading::Values)?;
            let of_canonicals = values.is_some_and(|values| values.yields_canonicals());
            return if direction == "below" && of_canonicals && is_canonical(raw, self.around.base) {
                self.any_of(type_id, raw, Matcher::versions_of)
            } else {
                hierarchy::condition(self, type_id, parameter, raw, direction == "below")
            };
        }
        if parameter.search_type == SearchType::Token && raw.modifier.as_deref() == Some("below") {
            let values = self.programs.get(type_id, &raw.name, Reading::Values)?;
            if values.is_some_and(|values| values.code_system == Some(MEDIA_TYPES)) {
                return self.any_of(type_id, raw, Matcher::media_type);
            }
        }
        if parameter.search_type == SearchType::Uri
            && raw.modifier.is_none()
            && raw.name == "url"
            && let Some(versioned) = self.versioned(type_id, raw)?
        {
            return Ok(Some(versioned));
        }
        let mut test = self.test(parameter, raw)?;
        let Some(compiled) = self.programs.get(type_id, &raw.name, test.reading())? else {
            return Ok(None);
        };
        if let Some(system) = compiled.code_system {
            test.bind(system);
        }
        test.fit(&compiled, raw)?;
        if let (Test::AnyOf { matchers, .. }, Some(target)) = (&mut test, compiled.sole_target()) {
            matchers.iter_mut().for_each(|matcher| matcher.aim(target));
        }
        Ok(Some(Condition::Values { compiled, test }))
    }

    fn any_of(
        &self,
        type_id: TypeId,
        raw: &RawParameter,
        matcher: fn(&str) -> Matcher,
    ) -> Result<Option<Condition>, SearchError> {
        let alternatives = alternatives(&raw.value);
        at_most(raw, "values", alternatives.len(), MAX_ALTERNATIVES)?;
        let mut matchers = alternatives.into_iter().map(matcher).collect();
        matcher::gather_values(&mut matchers);
        let compiled = self.programs.get(type_id, &raw.name, Reading::Values)?;
        let test = Test::AnyOf { matchers, not: false };
        Ok(compiled.map(|compiled| Condition::Values { compiled, test }))
    }

    /// Resolves `url=canonical|version` for a type whose resources have versions, to a condition that both the URL and
    /// the version match. Returns `None` if the value has no version, or the type has no parameter `version`.
    fn versioned(&self, type_id: TypeId, raw: &RawParameter) -> Result<Option<Condition>, SearchError> {
        let version = self.programs.parameter(type_id, "version");
        if version.is_none_or(|version| version.search_type != SearchType::Token)
            || !raw.value.contains('|')
            || raw.value.contains("\\|")
        {
            return Ok(None);
        }
        let alternatives = alternatives(&raw.value);
        at_most(raw, "values", alternatives.len(), MAX_ALTERNATIVES)?;
        let mut any = Vec::with_capacity(alternatives.len());
        for alternative in alternatives {
            let mut all = Vec::new();
            let names = ["url", "version"].into_iter();
            for (name, value) in names.zip(alternative.splitn(2, '|')) {
                let alone = RawParameter::named(name, value);
                all.extend(self.criterion(type_id, &alone)?);
            }
            any.push(Criterion {
                condition: Condition::All(all),
                label: format!("url={alternative}"),
                origin: None,
            });
        }
        Ok(Some(Condition::Any(any)))
    }

    fn test(&self, parameter: &SearchParameter, raw: &RawParameter) -> Result<Test, SearchError> {
        if raw.modifier.as_deref() == Some("missing") {
            return missing(raw).map(Test::Missing);
        }
        let negated = matches!(raw.modifier.as_deref(), Some("not" | "not-in"));
        let not = negated && parameter.search_type == SearchType::Token;
        let alternatives = alternatives(&raw.value);
        if matches!(raw.modifier.as_deref(), Some("in" | "not-in" | "below" | "above")) {
            // Each of these values may name a code system or a value set. So count them before any of them is read.
            at_most(raw, "values", alternatives.len(), MAX_ALTERNATIVES)?;
        }
        let matchers = alternatives
            .into_iter()
            .map(|alternative| Matcher::parse(parameter, raw, alternative, self.around))
            .collect::<Result<Vec<_>, _>>()?;
        let matchers = matcher::gather(matchers);
        let compared = matchers.iter().filter(|matcher| !matches!(matcher, Matcher::Token(_)));
        at_most(raw, "values", compared.count(), MAX_ALTERNATIVES)?;
        Ok(Test::AnyOf { matchers, not })
    }

    /// Resolves a composite parameter: values joined by `$`, one for each component (R4 search, 3.1.1.4.14).
    fn tuples(
        &self,
        type_id: TypeId,
        parameter: &SearchParameter,
        raw: &RawParameter,
    ) -> Result<Option<Condition>, SearchError> {
        let Some(compiled) = self.programs.get(type_id, &raw.name, Reading::Values)? else {
            return Ok(None);
        };
        let test = match raw.modifier.as_deref() {
            Some("missing") => TupleTest::Missing(missing(raw)?),
            Some(modifier) => {
                return Err(SearchError::Modifier {
                    parameter: raw.name.clone(),
                    modifier: modifier.to_owned(),
                    parameter_type: parameter.search_type.as_str(),
                });
            }
            None => {
                let alternatives = alternatives(&raw.value);
                at_most(raw, "values", alternatives.len(), MAX_ALTERNATIVES)?;
                let alternatives = alternatives
                    .into_iter()
                    .map(|alternative| self.tuple(&compiled, raw, alternative))
                    .collect::<Result<Vec<_>, _>>()?;
                match TupleSet::of(&compiled, alternatives) {
                    Ok(set) => TupleTest::OneOf(Arc::new(set)),
                    Err(alternatives) => TupleTest::AnyOf(alternatives),
                }
            }
        };
        Ok(Some(Condition::Tuples { compiled, test }))
    }

    fn tuple(&self, compiled: &Compiled, raw: &RawParameter, text: &str) -> Result<Vec<Matcher>, SearchError> {
        let values = escape::split(text, '$');
        if values.len() != compiled.components.len() {
            return Err(invalid(
                &raw.name,
                text,
                "one value for each of the parameter's components, joined by '$'",
            ));
        }
        let parsed = compiled.components.iter().zip(values).map(|(component, value)| {
            let mut matcher = Matcher::parse(&component.parameter, raw, value, self.around)?;
            if let Some(system) = component.code_system {
                matcher.bind(system);
            }
            Ok(matcher)
        });
        parsed.collect()
    }

    /// Resolves `_list`, whose values are ids of Lists.
    fn list(&self, type_id: TypeId, raw: &RawParameter) -> Result<Option<Condition>, SearchError> {
        refuse_modifier(raw, "special")?;
        let list = resource_type("List");
        let named = alternatives(&raw.value);
        at_most(raw, "Lists", named.len(), MAX_LISTS)?;
        let ids = named
            .into_iter()
            .map(|text| match ReferenceValue::parse(text, list, self.around.base) {
                Some(ReferenceValue::Relative { id, .. }) => Ok(id),
                _ => Err(invalid("_list", text, "the id of a List")),
            });
        let lists = ids.collect::<Result<Vec<_>, _>>()?;
        self.join("_list")?;
        Ok(self
            .ids(type_id)?
            .map(|ids| Condition::Join(Box::new(Join::List { lists, ids }))))
    }
}

/// Whether all values are canonicals, and none is a reference to a resource on this server.
fn is_canonical(raw: &RawParameter, base: &str) -> bool {
    let alternatives = alternatives(&raw.value).into_iter();
    let mut parsed = alternatives.map(|text| ReferenceValue::parse(text, None, base));
    parsed.all(|value| matches!(value, Some(ReferenceValue::Text(_))))
}

/// Refuses a backslash before any character except `,`, `|`, `$` and another backslash (R4 search, "Escaping Search
/// Parameters").
fn check_escapes(raw: &RawParameter) -> Result<(), SearchError> {
    if escape::is_legal(&raw.value) {
        Ok(())
    } else {
        let expected = "a value in which a backslash stands before ',', '|', '$' or another backslash";
        Err(invalid(&written(raw), &raw.value, expected))
    }
}

fn missing(raw: &RawParameter) -> Result<bool, SearchError> {
    match raw.value.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(invalid(&written(raw), other, "true or false")),
    }
}

/// Returns an error if `count` is greater than `max`. `what` names the counted things in the error.
fn at_most(raw: &RawParameter, what: &'static str, count: usize, max: usize) -> Result<(), SearchError> {
    if count > max {
        Err(SearchError::Many {
            parameter: shortened(&written(raw)),
            what,
            max,
        })
    } else {
        Ok(())
    }
}

fn words(raw: &RawParameter) -> Result<Condition, SearchError> {
    refuse_modifier(raw, "special")?;
    let within = match raw.name.as_str() {
        "_text" => Within::Narrative,
        _ => Within::Resource,
    };
    let words = Words::parse(&raw.value);
    let words = words.ok_or_else(|| {
        let expected = "words, which and, or, not, parentheses and quotation marks may combine";
        invalid(&raw.name, &raw.value, expected)
    })?;
    at_most(raw, "words", words.count(), MAX_WORDS)?;
    Ok(Condition::Words {
        within,
        words: Arc::new(words),
    })
}
