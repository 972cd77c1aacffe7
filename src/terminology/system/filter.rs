//! The filters of a value set, evaluated for the concepts of a loaded code system.

use regex::RegexBuilder;
use rustc_hash::FxHashSet;

use super::super::codes::truth::all;
use super::super::sets::raw;
use super::code_system::CodeSystem;

/// The maximum size of a compiled pattern in bytes. A filter with a larger pattern is not evaluated, so its result is
/// unknown.
const SIZE_LIMIT: usize = 1 << 20;

/// Which concepts of a system pass all filters, with two bits for each concept.
#[derive(Debug)]
pub(in crate::terminology) struct Passing {
    yes: Bits,
    /// The concepts for which it is unknown whether they pass.
    open: Bits,
}

impl Passing {
    pub(in crate::terminology) fn new(system: &CodeSystem, filters: &[raw::Filter]) -> Passing {
        let filters: Vec<Test<'_>> = filters.iter().map(|filter| Test::new(system, filter)).collect();
        let (mut yes, mut open) = (Bits::new(system.len()), Bits::new(system.len()));
        for place in 0..system.len() as u32 {
            match all(filters.iter().map(|filter| filter.passes(system, place))) {
                Some(true) => yes.set(place),
                None => open.set(place),
                Some(false) => {}
            }
        }
        Passing { yes, open }
    }

    pub(in crate::terminology) fn passes(&self, place: u32) -> Option<bool> {
        if self.yes.get(place) {
            Some(true)
        } else {
            (!self.open.get(place)).then_some(false)
        }
    }
}

/// A set of concepts, by their indexes.
#[derive(Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(64)])
    }

    fn set(&mut self, place: u32) {
        self.0[place as usize / 64] |= 1 << (place % 64);
    }

    fn get(&self, place: u32) -> bool {
        self.0[place as usize / 64] & 1 << (place % 64) != 0
    }
}

/// One compiled filter.
enum Test<'f> {
    /// A condition on the hierarchy: the concept must be in `places` or, if `wanted` is false, must not be. In an
    /// incomplete system it is unknown whether a concept outside `places` belongs there.
    Among {
        places: FxHashSet<u32>,
        wanted: bool,
    },
    /// The property must have one of these values or, if `wanted` is false, none of them.
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
    /// A filter that cannot be evaluated, for example because its operator is not known here. Its result is unknown.
    Open,
}

impl<'f> Test<'f> {
    fn new(system: &CodeSystem, filter: &'f raw::Filter) -> Test<'f> {
        let (property, value) = (filter.property.as_str(), filter.value.as_str());
        let around = |down: bool, itself: bool, wanted: bool| {
            if !matches!(property, "concept" | "code") {
                return Test::Open;
            }
            let Some(place) = system.place(value) else {
                return if system.is_complete() {
                    Test::Among {
                        places: FxHashSet::default(),
                        wanted,
                    }
                } else {
                    Test::Open
                };
            };
            let mut places = if down {
                system.closure(place, |place| system.children_of(place))
            } else {
                system.closure(place, |place| system.parents_of(place))
            };
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
            "is-a" => around(true, true, true),
            "descendent-of" => around(true, false, true),
            "is-not-a" => around(true, true, false),
            "generalizes" => around(false, true, true),
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

    fn passes(&self, system: &CodeSystem, place: u32) -> Option<bool> {
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
                let of_concept = of(system, place, property);
                let same = |one: &str, other: &str| match *property {
                    "concept" | "code" | "parent" | "child" => system.same(one, other),
                    _ => one == other,
                };
                let has = of_concept.iter().any(|one| values.iter().any(|value| same(one, value)));
                let told = has || system.is_complete() || !*wanted && !of_concept.is_empty();
                told.then_some(has == *wanted)
            }
            Test::Pattern { property, pattern } => {
                known(of(system, place, property).iter().any(|value| pattern.is_match(value)))
            }
            Test::Exists { property, wanted } => {
                let exists = !of(system, place, property).is_empty();
                (exists || system.is_complete()).then_some(exists == *wanted)
            }
            Test::Open => None,
        }
    }
}

/// Returns the values of a concept's property. The code, display, parents and children of a concept count as
/// properties, too.
fn of<'a>(system: &'a CodeSystem, place: u32, property: &str) -> Vec<&'a str> {
    let codes = |places: &[u32]| places.iter().map(|place| system.code(*place)).collect();
    match property {
        "concept" | "code" => vec![system.code(place)],
        "display" => system.display_at(place).into_iter().collect(),
        "parent" => codes(system.parents_of(place)),
        "child" => codes(system.children_of(place)),
        _ => system.values(place, property),
    }
}
