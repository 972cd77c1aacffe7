//! From raw parameters to a checked query: every name resolved against the search parameters of the type, every value parsed.
//!
//! Nothing below scans parameter text again. What was understood is kept in a canonical order for the `self` link.

use std::sync::Arc;

use super::include::Include;
use super::matcher::{Matcher, Surroundings};
use super::parameter::{Compiled, Programs, Reading};
use super::raw::RawParameter;
use super::result::{self, Pin, Summary, Total};
use super::subset::Subset;
use super::value::{ReferenceValue, escape};
use super::{Handling, SearchError};
use crate::fhir::search_parameter::{SearchParameter, SearchType};
use crate::fhir::{TypeId, facts};

/// One condition on the rows; a query's conditions all hold of a match.
#[derive(Clone, Debug)]
pub(super) struct Criterion {
    /// The parameter, compiled for the type.
    pub(super) compiled: Arc<Compiled>,
    /// What is asked of its values.
    pub(super) test: Test,
    /// The criterion as text, for `explain`.
    pub(super) label: String,
}

/// What a criterion asks.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// `:missing`.
    Missing(bool),
    /// One of the alternatives holds; of none of them, where `not`.
    AnyOf {
        /// The alternatives.
        matchers: Vec<Matcher>,
        /// `:not`.
        not: bool,
    },
}

impl Test {
    /// The columns of the values that deciding it reads.
    fn reading(&self) -> Reading {
        let Test::AnyOf { matchers, .. } = self else {
            return Reading::Values;
        };
        let all = |is: fn(&Matcher) -> bool| matchers.iter().all(is);
        if all(|matcher| {
            matches!(
                matcher,
                Matcher::Reference(ReferenceValue::Relative { .. }) | Matcher::RefersTo(_)
            )
        }) {
            Reading::Targets
        } else if all(|matcher| matches!(matcher, Matcher::ReferenceIdentifier(_))) {
            Reading::Identifier
        } else {
            Reading::Values
        }
    }
}

/// One key of `_sort`.
#[derive(Clone, Debug)]
pub(super) struct SortKey {
    /// The parameter, compiled for the type.
    pub(super) compiled: Arc<Compiled>,
    /// `-`.
    pub(super) descending: bool,
}

/// A checked search.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) ty: TypeId,
    pub(super) criteria: Vec<Criterion>,
    pub(super) sort: Vec<SortKey>,
    pub(super) count: usize,
    pub(super) offset: usize,
    pub(super) total: Total,
    pub(super) subset: Subset,
    pub(super) includes: Vec<Include>,
    pub(super) pin: Option<Pin>,
    /// Understood parameters but for `_count`, `_offset` and the pin.
    pub(super) understood: Vec<(String, String)>,
}

impl Query {
    /// Resolves the parameters of a search of `ty`.
    pub(super) fn resolve(
        programs: &Programs,
        ty: TypeId,
        raw: &[RawParameter],
        handling: Handling,
        around: Surroundings<'_>,
    ) -> Result<Query, SearchError> {
        let mut query = Query {
            ty,
            criteria: Vec::new(),
            sort: Vec::new(),
            count: result::DEFAULT_COUNT,
            offset: 0,
            total: Total::default(),
            subset: Subset::default(),
            includes: Vec::new(),
            pin: None,
            understood: Vec::new(),
        };
        for parameter in raw {
            let understood = match query.result_parameter(programs, parameter)? {
                Some(understood) => understood,
                None => query.criterion(programs, parameter, around)?,
            };
            if !understood && handling == Handling::Strict {
                return Err(SearchError::Unknown {
                    parameter: written(parameter),
                    resource: facts().get(ty).name.to_owned(),
                });
            }
            if understood
                && !matches!(parameter.name.as_str(), "_count" | "_offset")
                && Pin::parse(&parameter.value).is_none()
            {
                query.understood.push((written(parameter), parameter.value.clone()));
            }
        }
        if query.count == 0 {
            query.subset.summary = Summary::Count;
        }
        Ok(query)
    }

    /// Whether only the number of matches is asked for.
    pub(super) fn counts_only(&self) -> bool {
        self.subset.summary == Summary::Count
    }

    /// Takes up a parameter that shapes the result. `None` where it is not one; `Some(false)` where it is, but is left out.
    fn result_parameter(&mut self, programs: &Programs, raw: &RawParameter) -> Result<Option<bool>, SearchError> {
        let value = raw.value.as_str();
        match raw.name.as_str() {
            "_count" => self.count = result::count(value)?,
            "_offset" => self.offset = result::offset(value)?,
            "_total" => self.total = Total::parse(value)?,
            "_summary" => self.subset.summary = Summary::parse(value)?,
            "_elements" => self.elements(value)?,
            "_sort" => return self.sort_keys(programs, value).map(Some),
            "_include" | "_revinclude" => match Include::parse(programs, self.ty, raw)? {
                Some(include) => self.includes.push(include),
                None => return Ok(Some(false)),
            },
            // The representation is negotiated before the search begins.
            "_format" | "_pretty" => {}
            "_tag" if raw.modifier.is_none() && Pin::is_meant(value) => {
                let broken = || result::invalid("_tag", value, "the tag of a page link as it was given out");
                self.pin = Some(Pin::parse(value).ok_or_else(broken)?);
            }
            _ => return Ok(None),
        }
        Ok(Some(true))
    }

    fn elements(&mut self, value: &str) -> Result<(), SearchError> {
        for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if facts().element(self.ty, name).is_none() {
                return Err(result::invalid("_elements", name, "a top-level element of the type"));
            }
            self.subset.elements.push(name.to_owned());
        }
        Ok(())
    }

    fn sort_keys(&mut self, programs: &Programs, value: &str) -> Result<bool, SearchError> {
        for key in value.split(',').filter(|key| !key.is_empty()) {
            let (descending, code) = match key.strip_prefix('-') {
                Some(code) => (true, code),
                None => (false, key),
            };
            match programs.get(self.ty, code, Reading::Values)? {
                Some(compiled) => self.sort.push(SortKey { compiled, descending }),
                None => {
                    return Err(result::invalid(
                        "_sort",
                        code,
                        "a search parameter that can be sorted by",
                    ));
                }
            }
        }
        Ok(true)
    }

    /// Takes up a parameter that selects rows; `false` where the type has none of this name.
    fn criterion(
        &mut self,
        programs: &Programs,
        raw: &RawParameter,
        around: Surroundings<'_>,
    ) -> Result<bool, SearchError> {
        let Some(parameter) = programs.parameter(self.ty, &raw.name) else {
            return Ok(false);
        };
        let mut test = test(parameter, raw, around)?;
        let Some(compiled) = programs.get(self.ty, &raw.name, test.reading())? else {
            return Ok(false);
        };
        if let (Test::AnyOf { matchers, .. }, Some(system)) = (&mut test, compiled.code_system) {
            matchers.iter_mut().for_each(|matcher| matcher.bind(system));
        }
        let label = format!("{}={}", written(raw), raw.value);
        self.criteria.push(Criterion { compiled, test, label });
        Ok(true)
    }
}

/// The parameter's name with its modifier, as the client wrote it.
pub(super) fn written(raw: &RawParameter) -> String {
    match &raw.modifier {
        Some(modifier) => format!("{}:{modifier}", raw.name),
        None => raw.name.clone(),
    }
}

fn test(parameter: &SearchParameter, raw: &RawParameter, around: Surroundings<'_>) -> Result<Test, SearchError> {
    if raw.modifier.as_deref() == Some("missing") {
        return match raw.value.as_str() {
            "true" => Ok(Test::Missing(true)),
            "false" => Ok(Test::Missing(false)),
            other => Err(result::invalid(&written(raw), other, "true or false")),
        };
    }
    let not = raw.modifier.as_deref() == Some("not") && parameter.ty == SearchType::Token;
    let matchers = escape::split(&raw.value, ',')
        .into_iter()
        .map(|alternative| Matcher::parse(parameter, raw, alternative, around))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Test::AnyOf { matchers, not })
}
