//! Turns raw parameters into a checked query: resolves every name against the search parameters of the type, and parses
//! every value.
//!
//! No later code scans the text of parameters again. The query keeps the understood parameters in order, for the `self`
//! link.

use std::sync::Arc;

use super::super::SearchError;
use super::super::bundle::subset::Subset;
use super::super::criteria::criterion::Criterion;
use super::super::includes::include::{self, Include};
use super::super::joins::binding::Filed;
use super::super::paging::page_token;
use super::super::paging::page_token::{PagePosition, Side};
use super::super::run::explain::trace::Trace;
use super::contained::{Contained, Which};
use super::parameter::{Compiled, Programs, Reading};
use super::raw::{Handling, RawParameter, refuse_modifier, written};
use super::repeated;
use super::resolver::Resolver;
use super::result::{self, Summary, Total};
use super::suggestion;
use crate::fhir::outcome::Issue;
use crate::fhir::search_parameter::{SearchParameter, SearchType};
use crate::fhir::storage::EVERYTHING;
use crate::fhir::{TypeId, facts};
use crate::plan::On;

/// The parameter of a link that tells how many included resources earlier answers had for the page's first match.
pub(in crate::search) const INCLUDED: &str = "_included";

/// The parameters that shape the answer and take no modifier. With a modifier, they are refused.
const SHAPING: [&str; 12] = [
    "_count",
    "_offset",
    "_total",
    "_summary",
    "_elements",
    "_sort",
    "_contained",
    "_containedType",
    "_query",
    INCLUDED,
    "_format",
    "_pretty",
];

/// The maximum number of different keys of `_sort`.
const MAX_SORT_KEYS: usize = 16;

/// One key of `_sort`.
#[derive(Clone, Debug)]
pub(in crate::search) struct SortKey {
    /// The parameter, compiled for the type.
    pub(in crate::search) compiled: Arc<Compiled>,
    /// Whether the key has a `-`, which means descending order.
    pub(in crate::search) descending: bool,
}

impl SortKey {
    /// Whether the key may depend on a column of the table.
    pub(in crate::search) fn reads(&self, column: &str) -> bool {
        let mut leaves = self.compiled.program.leaves().iter();
        leaves.any(|leaf| leaf == EVERYTHING || leaf.split('.').next() == Some(column))
    }
}

/// A checked search.
#[derive(Clone, Debug)]
pub(in crate::search) struct Query {
    pub(in crate::search) type_id: TypeId,
    pub(in crate::search) criteria: Vec<Criterion>,
    pub(in crate::search) sort: Vec<SortKey>,
    pub(in crate::search) count: usize,
    pub(in crate::search) offset: usize,
    pub(in crate::search) total: Total,
    pub(in crate::search) subset: Subset,
    pub(in crate::search) includes: Vec<Include>,
    /// The number of included resources that earlier answers had for the page's first match.
    pub(in crate::search) included: usize,
    /// Which resources are searched, and how contained ones are shown.
    pub(in crate::search) contained: Contained,
    /// The token of a page link, as the client sent it.
    pub(in crate::search) tag: Option<String>,
    /// The position of the page, if the token has one. The search then finds the page without counting the matches
    /// before it.
    pub(in crate::search) place: Option<PagePosition>,
    /// Whether an erasure has happened since the token was issued. If so, `offset` may count erased matches.
    pub(in crate::search) erased_since: bool,
    /// Remarks for the answer on how the query was understood.
    pub(in crate::search) remarks: Vec<Issue>,
    /// The Patients whose compartments are searched. `None` if the search is not limited to compartments.
    pub(in crate::search) filed: Option<Filed>,
    /// The semi-joins for conditions on other resources. The plans of the search show them, and run those that have not
    /// run yet.
    pub(in crate::search) joins: Vec<On>,
    /// The trace of the search. It records nothing unless the caller requested an explanation.
    pub(in crate::search) trace: Trace,
    /// The understood parameters without `_count`, `_offset`, `_included` and the token.
    pub(in crate::search) understood: Vec<(String, String)>,
}

impl Query {
    /// Creates a search of `type_id` for rows that meet these criteria.
    pub(in crate::search) fn of_criteria(type_id: TypeId, criteria: Vec<Criterion>) -> Query {
        Query {
            type_id,
            criteria,
            sort: Vec::new(),
            count: result::DEFAULT_COUNT,
            offset: 0,
            total: Total::default(),
            subset: Subset::default(),
            includes: Vec::new(),
            included: 0,
            contained: Contained::default(),
            tag: None,
            place: None,
            erased_since: false,
            remarks: Vec::new(),
            filed: None,
            joins: Vec::new(),
            trace: Trace::default(),
            understood: Vec::new(),
        }
    }

    /// Sets the trace of the search.
    pub(in crate::search) fn traced(self, trace: &Trace) -> Query {
        let trace = trace.clone();
        Query { trace, ..self }
    }

    /// Resolves the parameters of a search of `type_id`.
    pub(in crate::search) fn resolve(
        resolver: &Resolver<'_>,
        type_id: TypeId,
        raw: &[RawParameter],
        handling: Handling,
    ) -> Result<Query, SearchError> {
        let mut query = Query::of_criteria(type_id, Vec::new());
        resolver.begin_query();
        let raw = repeated::each_once(raw, handling)?;
        // Read `_contained` first, because `_include` and `_revinclude` depend on it.
        for parameter in raw.iter().filter(|parameter| parameter.name == "_contained") {
            query.result_parameter(resolver, parameter)?;
        }
        for parameter in raw {
            resolver.spend(parameter)?;
            let understood = match query.result_parameter(resolver, parameter)? {
                Some(understood) => understood,
                None => match resolver.criterion(type_id, parameter)? {
                    Some(criterion) => {
                        query.criteria.push(criterion);
                        true
                    }
                    None => false,
                },
            };
            if !understood && handling == Handling::Strict {
                return Err(suggestion::unknown(resolver.programs, type_id, unknown(parameter)));
            }
            if understood && !is_of_page(parameter) {
                query.understood.push((written(parameter), parameter.value.clone()));
            }
        }
        query.includes = include::each_once(query.includes);
        if query.subset.summary == Summary::Text && !query.includes.is_empty() {
            return Err(result::invalid(
                "_summary",
                "text",
                "a summary that goes with _include and _revinclude; true, data and false do",
            ));
        }
        if query.count == 0 {
            query.subset.summary = Summary::Count;
        }
        Ok(query)
    }

    /// Whether the page has the matches before a position. The search then goes backwards from this position.
    pub(in crate::search) fn is_backwards(&self) -> bool {
        self.place.is_some_and(|place| place.side == Side::Before)
    }

    /// Whether only the number of matches is requested.
    pub(in crate::search) fn counts_only(&self) -> bool {
        self.subset.summary == Summary::Count
    }

    /// Reads a parameter that shapes the result. Returns `Some(true)` if it is understood, `Some(false)` if it is not
    /// understood, and `None` if the parameter does not shape the result.
    fn result_parameter(&mut self, resolver: &Resolver<'_>, raw: &RawParameter) -> Result<Option<bool>, SearchError> {
        let (programs, value) = (resolver.programs, raw.value.as_str());
        if SHAPING.contains(&raw.name.as_str()) {
            refuse_modifier(raw, "special")?;
        }
        match raw.name.as_str() {
            "_count" => {
                let (count, remark) = result::count(value)?;
                self.count = count;
                // If the parameter is repeated, the last value counts.
                self.remarks = remark.into_iter().collect();
            }
            "_offset" => self.offset = result::offset(value)?,
            "_total" => self.total = Total::parse(value)?,
            "_summary" => self.subset.summary = Summary::parse(value)?,
            "_elements" => self.subset.take_elements(self.type_id, value, resolver.among_others)?,
            "_sort" => return self.sort_keys(programs, value).map(Some),
            "_contained" => {
                self.contained.which = match value {
                    "false" => Which::Outer,
                    "true" => Which::Inner,
                    "both" => Which::Both,
                    _ => return Err(result::invalid("_contained", value, "one of false, true, both")),
                }
            }
            "_containedType" => {
                self.contained.alone = match value {
                    "container" => false,
                    "contained" => true,
                    _ => return Err(result::invalid("_containedType", value, "one of container, contained")),
                }
            }
            // An unknown named query must be refused, even with lenient handling (R4 search, 3.1.1.7), and no named
            // query is known here.
            "_query" => {
                return Err(suggestion::unknown(programs, self.type_id, "_query".to_owned()));
            }
            "_include" | "_revinclude" => {
                // With `_contained`, the matches may be containers of any type.
                let of_any = self.contained.which != Which::Outer;
                let includes = Include::parse(programs, self.type_id, raw, of_any)?;
                if includes.is_empty() {
                    // It is no error to ask for all references (`*`) of a type that has none, or to use `:iterate`.
                    // Nothing is included then. Any other parameter that includes nothing counts as not understood.
                    let all = value == "*" || value.strip_suffix(":*") == Some(facts().get(self.type_id).name);
                    return Ok(Some(all || raw.modifier.is_some()));
                }
                self.includes.extend(includes);
            }
            // Only links have this parameter. If the included resources of a match exceed one answer, the link leads to
            // the next ones.
            INCLUDED => self.included = result::offset(value)?,
            // The format is negotiated before the search begins.
            "_format" | "_pretty" => {}
            "_tag" if is_tag(raw) => self.tag = Some(value.to_owned()),
            _ => return Ok(None),
        }
        Ok(Some(true))
    }

    /// Reads the keys of `_sort`. Returns `false` if the value has none.
    fn sort_keys(&mut self, programs: &Programs, value: &str) -> Result<bool, SearchError> {
        for key in value.split(',').filter(|key| !key.is_empty()) {
            let (descending, code) = match key.strip_prefix('-') {
                Some(code) => (true, code),
                None => (false, key),
            };
            match programs.get(self.type_id, code, Reading::Values)? {
                // A repeated key changes nothing, because its first occurrence decides the order.
                Some(compiled) if self.sort.iter().any(|key| Arc::ptr_eq(&key.compiled, &compiled)) => {}
                Some(compiled) if is_ordered(&compiled.parameter) => self.sort.push(SortKey { compiled, descending }),
                _ => {
                    let meant = suggestion::sort_key(programs, self.type_id, code, is_ordered);
                    return Err(result::invalid_name(
                        "_sort",
                        key,
                        "a search parameter that can be sorted by",
                        meant,
                    ));
                }
            }
            if self.sort.len() > MAX_SORT_KEYS {
                return Err(SearchError::Many {
                    parameter: "_sort".to_owned(),
                    what: "different keys",
                    max: MAX_SORT_KEYS,
                });
            }
        }
        Ok(value.split(',').any(|key| !key.is_empty()))
    }
}

/// Whether a parameter selects one page of the matches.
pub(in crate::search) fn is_of_page(raw: &RawParameter) -> bool {
    matches!(raw.name.as_str(), "_count" | "_offset" | INCLUDED) || is_tag(raw)
}

/// Whether a parameter is the token of a page link.
fn is_tag(raw: &RawParameter) -> bool {
    raw.name == "_tag" && raw.modifier.is_none() && page_token::is_meant(&raw.value)
}

/// Whether the parameter has values, and these have an order.
fn is_ordered(parameter: &SearchParameter) -> bool {
    let is_unordered = matches!(parameter.search_type, SearchType::Composite | SearchType::Special);
    !is_unordered && parameter.expression.is_some()
}

/// Returns the name of an unknown parameter for the error. It includes the value if the name alone is unclear.
fn unknown(raw: &RawParameter) -> String {
    match raw.name.as_str() {
        "" | "_sort" => format!("{}={}", written(raw), result::shortened(&raw.value)),
        _ => written(raw),
    }
}
