//! The search parameters: HL7's 1,375 and those of a folder of SearchParameter resources. This file decides which
//! parameter a code means for a resource type.
//!
//! If several parameters have the same code, a parameter that is defined for the type itself precedes one that the type
//! inherits from `DomainResource` or `Resource`. Of two parameters that are defined for the same type, the one that was
//! added last counts. This file does not parse expressions or compare values.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::super::facts::{TypeId, facts};
pub use super::definition::{Comparator, Component, Modifier, SearchParameter, SearchType, Usage};
use super::parameter_folder;
pub use super::parameter_folder::SearchParameterError;
use super::parameter_table;

/// The search parameters of a running engine. They are immutable and cheap to share.
#[derive(Clone, Debug)]
pub struct SearchParameters {
    /// All parameters, in the order in which they were added. Each URL occurs once.
    all: Vec<Arc<SearchParameter>>,
    urls: FxHashMap<Cow<'static, str>, usize>,
    /// The parameters by [`TypeId::index`], sorted by code. Each code of a type occurs once.
    types: Vec<Vec<Arc<SearchParameter>>>,
}

impl SearchParameters {
    /// Returns HL7's search parameters of R4.
    pub fn builtin() -> Arc<SearchParameters> {
        static BUILTIN: OnceLock<Arc<SearchParameters>> = OnceLock::new();
        BUILTIN
            .get_or_init(|| Arc::new(SearchParameters::new(parameter_table::read())))
            .clone()
    }

    /// Returns these parameters together with those of the JSON files in `folder`: SearchParameter resources, or
    /// Bundles of them. Subfolders and other resources are ignored, so an unpacked implementation guide works.
    pub fn with_folder(&self, folder: &Path) -> Result<SearchParameters, SearchParameterError> {
        self.with(parameter_folder::read(folder)?)
    }

    /// Returns the parameter with this code for resources of type `type_id`. The type may inherit the parameter.
    pub fn get(&self, type_id: TypeId, code: &str) -> Option<&Arc<SearchParameter>> {
        let of_type = &self.types[type_id.index()];
        of_type
            .binary_search_by(|parameter| parameter.code.as_ref().cmp(code))
            .ok()
            .map(|at| &of_type[at])
    }

    /// Returns the parameter with this URL. Finds it even if [`SearchParameters::get`] returns another parameter for
    /// its code.
    pub fn by_url(&self, url: &str) -> Option<&Arc<SearchParameter>> {
        self.urls.get(url).map(|at| &self.all[*at])
    }

    /// Returns the parameters of resources of type `type_id`, including inherited ones, sorted by code.
    pub fn of(&self, type_id: TypeId) -> impl ExactSizeIterator<Item = &Arc<SearchParameter>> {
        self.types[type_id.index()].iter()
    }

    /// Returns all parameters, including those whose code means another parameter for [`SearchParameters::get`].
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Arc<SearchParameter>> {
        self.all.iter()
    }

    fn new(all: Vec<Arc<SearchParameter>>) -> SearchParameters {
        let urls = all
            .iter()
            .enumerate()
            .map(|(at, parameter)| (parameter.url.clone(), at))
            .collect();
        let types = by_type(&all);
        SearchParameters { all, urls, types }
    }

    fn with(&self, added: Vec<parameter_folder::Added>) -> Result<SearchParameters, SearchParameterError> {
        let mut all = self.all.clone();
        all.retain(|parameter| !added.iter().any(|added| added.parameter.url == parameter.url));
        all.extend(added.iter().map(|added| added.parameter.clone()));
        let parameters = SearchParameters::new(all);
        for added in added {
            for component in &added.parameter.components {
                if parameters.by_url(&component.definition).is_none() {
                    return Err(added.component_unknown(&component.definition));
                }
            }
        }
        Ok(parameters)
    }
}

fn by_type(all: &[Arc<SearchParameter>]) -> Vec<Vec<Arc<SearchParameter>>> {
    let facts = facts();
    let mut own: Vec<FxHashMap<&str, &Arc<SearchParameter>>> = vec![FxHashMap::default(); facts.len()];
    for parameter in all {
        for base in &parameter.bases {
            own[base.index()].insert(&parameter.code, parameter);
        }
    }
    facts
        .types()
        .map(|type_id| {
            let mut codes: FxHashMap<&str, &Arc<SearchParameter>> = FxHashMap::default();
            let mut level = Some(type_id);
            while let Some(type_id) = level {
                for (code, parameter) in &own[type_id.index()] {
                    codes.entry(code).or_insert(parameter);
                }
                level = facts.get(type_id).base;
            }
            let mut of_type: Vec<_> = codes.into_values().cloned().collect();
            of_type.sort_unstable_by(|one, other| one.code.cmp(&other.code));
            of_type
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_named(name: &str) -> TypeId {
        facts().lookup(name).unwrap_or_else(|| panic!("no type {name}"))
    }

    #[test]
    fn hl7s_set_is_whole() {
        let builtin = SearchParameters::builtin();
        assert_eq!(builtin.all().len(), 1375);
        let count = |search_type| {
            builtin
                .all()
                .filter(|parameter| parameter.search_type == search_type)
                .count()
        };
        assert_eq!(count(SearchType::Composite), 46);
        assert_eq!(count(SearchType::Reference), 472);
        assert_eq!(count(SearchType::Special), 1);
        for parameter in builtin.all() {
            assert!(
                Arc::ptr_eq(builtin.by_url(&parameter.url).unwrap(), parameter),
                "{} is there twice",
                parameter.url
            );
            assert_eq!(
                parameter.search_type == SearchType::Composite,
                !parameter.components.is_empty(),
                "{}",
                parameter.url
            );
            for base in &parameter.bases {
                assert_eq!(
                    &builtin.get(*base, &parameter.code).unwrap().url,
                    &parameter.url,
                    "two share a code"
                );
            }
            for component in &parameter.components {
                assert!(
                    builtin.by_url(&component.definition).is_some(),
                    "{}",
                    component.definition
                );
            }
        }
        for absent in [
            "DetectedIssue-status",
            "DeviceDefinition-classification",
            "ServiceRequest-order-detail",
        ] {
            assert!(
                builtin
                    .by_url(&format!("http://hl7.org/fhir/SearchParameter/{absent}"))
                    .is_none()
            );
        }
    }

    #[test]
    fn a_code_is_looked_up_along_the_bases() {
        let builtin = SearchParameters::builtin();
        let url = |name: &str, code: &str| {
            builtin
                .get(type_named(name), code)
                .map(|parameter| parameter.url.to_string())
        };
        let hl7 = |id: &str| Some(format!("http://hl7.org/fhir/SearchParameter/{id}"));
        assert_eq!(url("Patient", "_id"), hl7("Resource-id"));
        assert_eq!(url("Patient", "_text"), hl7("DomainResource-text"));
        assert_eq!(url("Bundle", "_text"), None);
        assert_eq!(url("Patient", "birthdate"), hl7("individual-birthdate"));
        assert_eq!(url("Observation", "code"), hl7("clinical-code"));
        assert_eq!(url("Patient", "Birthdate"), None);
        assert_eq!(url("HumanName", "family"), None);
        assert!(
            builtin
                .of(type_named("Observation"))
                .is_sorted_by_key(|parameter| &parameter.code)
        );
    }

    #[test]
    fn a_parameter_carries_its_definition() {
        let builtin = SearchParameters::builtin();
        let composite = builtin.get(type_named("Observation"), "code-value-quantity").unwrap();
        assert_eq!(composite.expression.as_deref(), Some("Observation"));
        assert_eq!(composite.multiple_or, Some(false));
        assert_eq!(
            composite.components[0].definition,
            "http://hl7.org/fhir/SearchParameter/clinical-code"
        );
        assert_eq!(composite.components[1].expression, "value.as(Quantity)");
        let date = builtin.get(type_named("Observation"), "date").unwrap();
        assert_eq!((date.search_type, date.comparators.len()), (SearchType::Date, 9));
        let text = builtin.get(type_named("Patient"), "_text").unwrap();
        assert_eq!((text.search_type, &text.expression), (SearchType::String, &None));
        let near = builtin.get(type_named("Location"), "near").unwrap();
        assert_eq!((near.search_type, near.usage), (SearchType::Special, Usage::Nearby));
        let subject = builtin.get(type_named("Observation"), "subject").unwrap();
        assert_eq!(
            subject.targets,
            ["Group", "Device", "Patient", "Location"].map(type_named)
        );
    }
}
