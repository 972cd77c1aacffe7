//! The filters of a value set, decided for the concepts of a code system that is given.

use regex::RegexBuilder;
use rustc_hash::FxHashSet;

use super::code_system::{CodeSystem, Concept};
use super::{all, raw};

/// Greatest size of a compiled pattern in bytes.
const SIZE_LIMIT: usize = 1 << 20;

/// Which concepts of a system pass all filters.
#[derive(Debug)]
pub(super) struct Passing {
    yes: FxHashSet<u32>,
    /// Those of which the file does not tell.
    open: FxHashSet<u32>,
}

impl Passing {
    pub(super) fn new(system: &CodeSystem, filters: &[raw::Filter]) -> Passing {
        let filters: Vec<Test<'_>> = filters.iter().map(|filter| Test::new(system, filter)).collect();
        let (mut yes, mut open) = (FxHashSet::default(), FxHashSet::default());
        for (place, concept) in (0..).zip(system.concepts()) {
            match all(filters.iter().map(|filter| filter.passes(system, place, concept))) {
                Some(true) => yes.insert(place),
                None => open.insert(place),
                Some(false) => false,
            };
        }
        Passing { yes, open }
    }

    pub(super) fn passes(&self, place: u32) -> Option<bool> {
        match self.yes.contains(&place) {
            true => Some(true),
            false => (!self.open.contains(&place)).then_some(false),
        }
    }
}

/// One filter made ready.
enum Test<'f> {
    /// In the hierarchy: those of these concepts, or those but these. What a part of a system says no to is open.
    Among {
        places: FxHashSet<u32>,
        wanted: bool,
    },
    /// A property with one of these values, or with none of them.
    Values {
        property: &'f str,
        values: Vec<&'f str>,
        wanted: bool,
    },
    Pattern {
        property: &'f str,
        pattern: regex::Regex,
    },
    Exists {
        property: &'f str,
        wanted: bool,
    },
    /// What cannot be decided here.
    Open,
}

impl<'f> Test<'f> {
    fn new(system: &CodeSystem, filter: &'f raw::Filter) -> Test<'f> {
        let (property, value) = (filter.property.as_str(), filter.value.as_str());
        let around = |of: fn(&Concept) -> &[u32], itself: bool, wanted: bool| {
            if !matches!(property, "concept" | "code") {
                return Test::Open;
            }
            let Some(place) = system.place(value) else {
                return match system.is_complete() {
                    true => Test::Among {
                        places: FxHashSet::default(),
                        wanted,
                    },
                    false => Test::Open,
                };
            };
            let mut places = system.closure(place, of);
            if !itself {
                places.remove(&place);
            }
            Test::Among { places, wanted }
        };
        let values = |values: Vec<&'f str>, wanted: bool| Test::Values {
            property,
            values,
            wanted,
        };
        match filter.op.as_str() {
            "is-a" => around(|concept| &concept.children, true, true),
            "descendent-of" => around(|concept| &concept.children, false, true),
            "is-not-a" => around(|concept| &concept.children, true, false),
            "generalizes" => around(|concept| &concept.parents, true, true),
            "=" => values(vec![value], true),
            "in" => values(value.split(',').map(str::trim).collect(), true),
            "not-in" => values(value.split(',').map(str::trim).collect(), false),
            "regex" => {
                let pattern = RegexBuilder::new(&format!("^(?:{value})$"))
                    .size_limit(SIZE_LIMIT)
                    .build();
                pattern.map_or(Test::Open, |pattern| Test::Pattern { property, pattern })
            }
            "exists" => match value {
                "true" | "false" => Test::Exists {
                    property,
                    wanted: value == "true",
                },
                _ => Test::Open,
            },
            _ => Test::Open,
        }
    }

    fn passes(&self, system: &CodeSystem, place: u32, concept: &Concept) -> Option<bool> {
        let known = |passes: bool| (passes || system.is_complete()).then_some(passes);
        match self {
            Test::Among { places, wanted } => {
                let among = places.contains(&place);
                (among || system.is_complete()).then_some(among == *wanted)
            }
            Test::Values {
                property,
                values,
                wanted,
            } => {
                let of_concept = of(system, concept, property);
                let same = |one: &str, other: &str| match *property {
                    "concept" | "code" | "parent" | "child" => system.same(one, other),
                    _ => one == other,
                };
                let has = of_concept.iter().any(|one| values.iter().any(|value| same(one, value)));
                let told = has || system.is_complete() || !*wanted && !of_concept.is_empty();
                told.then_some(has == *wanted)
            }
            Test::Pattern { property, pattern } => known(
                of(system, concept, property)
                    .iter()
                    .any(|value| pattern.is_match(value)),
            ),
            Test::Exists { property, wanted } => {
                let exists = !of(system, concept, property).is_empty();
                (exists || system.is_complete()).then_some(exists == *wanted)
            }
            Test::Open => None,
        }
    }
}

/// The values of a concept's property. Some are no properties in the file, but what the concept itself says.
fn of<'a>(system: &'a CodeSystem, concept: &'a Concept, property: &str) -> Vec<&'a str> {
    let code = |place: &u32| system.concepts()[*place as usize].code.as_str();
    match property {
        "concept" | "code" => vec![&concept.code],
        "display" => concept.display.iter().map(String::as_str).collect(),
        "parent" => concept.parents.iter().map(code).collect(),
        "child" => concept.children.iter().map(code).collect(),
        _ => {
            let named = concept.properties.iter().filter(|(code, _)| code == property);
            named.map(|(_, value)| value.as_str()).collect()
        }
    }
}
