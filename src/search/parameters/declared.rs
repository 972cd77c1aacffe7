//! The declared capabilities of searches: the common parameters, and the modifiers and prefixes of each parameter. This
//! file only describes them. Other files decide what a request may contain. A test checks that the description is
//! right.

use super::super::engine::Engine;
use super::modifier;
use crate::fhir::search_parameter::{SearchParameter, SearchType};
use crate::fhir::{TypeId, facts};

/// A parameter that every search accepts and that no SearchParameter of R4 defines.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// The parameter's name.
    pub name: &'static str,
    /// The parameter's search type in R4, such as `number`.
    pub search_type: &'static str,
    /// A description of the possible values.
    pub documentation: &'static str,
}

const fn common(name: &'static str, search_type: &'static str, documentation: &'static str) -> Common {
    Common {
        name,
        search_type,
        documentation,
    }
}

/// The parameters that all searches accept.
pub const COMMON: [Common; 16] = [
    common("_has", "special", "_has:Type:reference:parameter=value, to any depth"),
    common("_list", "special", "ids of Lists"),
    common("_filter", "special", "R4's filter expressions"),
    common("_type", "special", "of searches over several types: which"),
    common(
        "_include",
        "special",
        "Type:parameter, Type:parameter:Target, Type:*, *; :iterate",
    ),
    common(
        "_revinclude",
        "special",
        "Type:parameter, Type:parameter:Target, Type:*, *; :iterate",
    ),
    common("_sort", "special", "parameters of the type, - before those descending"),
    common(
        "_count",
        "number",
        "matches on a page: 20 unless said, 1000 at most, 0 for their number alone",
    ),
    common("_offset", "number", "matches before the page"),
    common("_total", "special", "none, accurate, estimate (which is exact too)"),
    common("_summary", "special", "true, text, data, count, false"),
    common("_elements", "special", "elements of the type"),
    common(
        "_format",
        "special",
        "json, application/fhir+json, application/json, text/json",
    ),
    common("_contained", "special", "false, true, both"),
    common("_containedType", "special", "container, contained"),
    common("_pretty", "special", "true, false"),
];

/// The prefixes of numbers, dates and quantities.
pub const PREFIXES: [&str; 9] = ["eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"];

impl Engine {
    /// Returns the modifiers that searches of `type_id` accept for a parameter. `[type]` stands for the name of any
    /// resource type.
    pub fn modifiers(&self, type_id: TypeId, parameter: &SearchParameter) -> Vec<&'static str> {
        let of_type = self.modifiers_by_type(parameter);
        if !matches!(parameter.search_type, SearchType::Token | SearchType::Reference) {
            return of_type.to_vec();
        }
        let compiled = self.programs().unkept(type_id, &parameter.code);
        let misfits = |modifier: &str| modifier::misfit(compiled.as_ref()?, modifier);
        let fitting = of_type.iter().filter(|modifier| misfits(modifier).is_none());
        let mut fitting: Vec<&'static str> = fitting.copied().collect();
        // For canonicals, `below` selects versions, so it needs no hierarchy of resources. So it is added if the list
        // does not have it yet.
        let has_canonicals = compiled.as_ref().is_some_and(|compiled| compiled.yields_canonicals());
        if parameter.search_type == SearchType::Reference && has_canonicals && !fitting.contains(&"below") {
            fitting.push("below");
        }
        fitting
    }

    fn modifiers_by_type(&self, parameter: &SearchParameter) -> &'static [&'static str] {
        match parameter.search_type {
            _ if parameter.expression.is_none() => &[],
            SearchType::String => &["missing", "exact", "contains"],
            SearchType::Token => &["missing", "text", "not", "in", "not-in", "below", "above", "of-type"],
            SearchType::Uri => &["missing", "below", "above"],
            SearchType::Reference if self.leads_into_hierarchy(parameter) => {
                &["missing", "identifier", "[type]", "below", "above"]
            }
            SearchType::Reference => &["missing", "identifier", "[type]"],
            SearchType::Number
            | SearchType::Date
            | SearchType::Quantity
            | SearchType::Composite
            | SearchType::Special => &["missing"],
        }
    }

    /// Returns the resource types to which the values of a reference parameter may point, for includes and chains.
    /// Empty for a parameter that is not a reference.
    pub fn led_to(&self, type_id: TypeId, parameter: &SearchParameter) -> Vec<TypeId> {
        if parameter.search_type != SearchType::Reference {
            return Vec::new();
        }
        let compiled = self.programs().unkept(type_id, &parameter.code);
        let leads = |target: &TypeId| compiled.as_ref().is_some_and(|compiled| compiled.leads_to(*target));
        facts().resources().filter(leads).collect()
    }

    /// Whether the values of a parameter may have prefixes.
    pub fn takes_prefixes(&self, parameter: &SearchParameter) -> bool {
        matches!(
            parameter.search_type,
            SearchType::Number | SearchType::Date | SearchType::Quantity
        )
    }

    fn leads_into_hierarchy(&self, parameter: &SearchParameter) -> bool {
        let has_parent = |target: &_| {
            let mut parents = super::super::criteria::hierarchy::PARENTS
                .into_iter()
                .filter_map(|code| {
                    let mut supported = self.supported(*target);
                    supported.find(|parameter| parameter.code == code).cloned()
                });
            parents.any(|parent| parent.search_type == SearchType::Reference && parent.targets.contains(target))
        };
        parameter.targets.is_empty() || parameter.targets.iter().any(has_parent)
    }
}
