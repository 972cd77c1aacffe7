//! Parameters that occur several times, and lists of values: takes equal ones once, and bounds the number of different
//! ones.
//!
//! A search by POST has megabytes of parameters. Without these bounds, a short text such as `_revinclude=*` could be
//! repeated until the search takes hours.

use std::collections::{HashMap, HashSet};

use super::super::SearchError;
use super::raw::{Handling, RawParameter};
use super::result::shortened;
use super::values::escape;

/// The maximum number of different parameters of one name in a search, such as `code` with different values.
const MAX_OF_NAME: usize = 100;

/// The same maximum for `_include` and for `_revinclude`. The CapabilityStatement lists some hundred values of a type,
/// and a client may send all of them.
const MAX_INCLUDES: usize = 1_000;

/// The maximum number of different parameters in a search, without includes.
const MAX_ALL: usize = 500;

/// With fewer parameters or values than this, each one is compared with the others, because that needs no preparation.
const FEW: usize = 8;

/// Returns the parameters that are evaluated, in order. Of equal parameters, only one is returned: the last one, if the
/// last value of a repeated parameter decides, and otherwise the first one. Returns an error if there are too many
/// different ones.
pub(in crate::search) fn each_once(
    parameters: &[RawParameter],
    handling: Handling,
) -> Result<Vec<&RawParameter>, SearchError> {
    let counted = parameters.iter().filter(|parameter| parameter.counts(handling));
    if parameters.len() <= FEW {
        return Ok(few_once(counted.collect()));
    }
    let mut once: Vec<Option<&RawParameter>> = Vec::new();
    // These are not the faster hashes of other tables, because a client who knows the hash could send parameters that
    // all have the same one.
    let mut places: HashMap<&RawParameter, usize> = HashMap::new();
    let mut of_names: HashMap<&str, usize> = HashMap::new();
    let mut all = 0;
    for parameter in counted {
        if let Some(place) = places.get_mut(parameter) {
            if is_decided_by_last(parameter) {
                once[*place] = None;
                *place = once.len();
                once.push(Some(parameter));
            }
            continue;
        }
        let of_name = of_names.entry(&parameter.name).or_default();
        *of_name += 1;
        let is_include = matches!(parameter.name.as_str(), "_include" | "_revinclude");
        let max = if is_include { MAX_INCLUDES } else { MAX_OF_NAME };
        if *of_name > max {
            return Err(SearchError::Many {
                parameter: shortened(&parameter.name),
                what: "different values in one search",
                max,
            });
        }
        all += usize::from(!is_include);
        if all > MAX_ALL {
            return Err(SearchError::Many {
                parameter: shortened(&parameter.name),
                what: "different parameters in one search",
                max: MAX_ALL,
            });
        }
        places.insert(parameter, once.len());
        once.push(Some(parameter));
        // A parameter that is repeated very often leaves many empty places.
        if once.len() > 2 * (MAX_ALL + 2 * MAX_INCLUDES) {
            once.retain(Option::is_some);
            places = once
                .iter()
                .flatten()
                .enumerate()
                .map(|(at, kept)| (*kept, at))
                .collect();
        }
    }
    Ok(once.into_iter().flatten().collect())
}

/// Returns each of a few parameters once, as [`each_once`] does.
fn few_once(all: Vec<&RawParameter>) -> Vec<&RawParameter> {
    let is_kept = |at: usize| {
        let same = |other: &&RawParameter| *other == all[at];
        if is_decided_by_last(all[at]) {
            !all[at + 1..].iter().any(same)
        } else {
            !all[..at].iter().any(same)
        }
    };
    (0..all.len()).filter(|at| is_kept(*at)).map(|at| all[at]).collect()
}

/// Returns the parameters that a search evaluates, each once.
pub fn distinct(parameters: &[RawParameter], handling: Handling) -> Result<Vec<RawParameter>, SearchError> {
    Ok(each_once(parameters, handling)?.into_iter().cloned().collect())
}

/// Returns the pairs of a query string or form, in order. Of pairs with equal texts, only one is returned, as
/// [`each_once`] does with parameters. This is much faster than decoding all of them.
pub(in crate::search) fn pairs_once(query: &str) -> Vec<&str> {
    let all: Vec<&str> = query.split('&').collect();
    if all.len() <= FEW {
        return all;
    }
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, pair) in all.iter().enumerate() {
        let place = places.entry(pair).or_insert(at);
        let name = pair.split(['=', ':']).next().unwrap_or_default();
        // An encoded name is decoded later. Then the last value decides, too, so keep the last one.
        if last_decides(name) || name.contains('%') {
            *place = at;
        }
    }
    let mut once: Vec<usize> = places.into_values().collect();
    once.sort_unstable();
    once.into_iter().map(|at| all[at]).collect()
}

/// Returns the alternatives of a value, which commas separate, in order. Equal ones are returned once. They keep their
/// escapes.
pub(in crate::search) fn alternatives(value: &str) -> Vec<&str> {
    let mut all = escape::split(value, ',');
    if all.len() < FEW {
        let mut at = 0;
        while at < all.len() {
            if all[..at].contains(&all[at]) {
                all.remove(at);
            } else {
                at += 1;
            }
        }
    } else {
        let mut met = HashSet::with_capacity(all.len());
        all.retain(|alternative| met.insert(*alternative));
    }
    all
}

/// Whether the last value decides if a parameter is repeated. The values of other parameters are all evaluated.
fn is_decided_by_last(parameter: &RawParameter) -> bool {
    last_decides(&parameter.name)
}

/// Whether the last value of the parameter of this name decides if it is repeated.
fn last_decides(name: &str) -> bool {
    matches!(
        name,
        "_count"
            | "_offset"
            | "_total"
            | "_summary"
            | "_contained"
            | "_containedType"
            | "_included"
            | "_format"
            | "_pretty"
            | "_tag"
    )
}

#[cfg(test)]
mod tests {
    use super::super::raw::parse;
    use super::*;

    fn kept(query: &str) -> Result<String, String> {
        let parsed = parse(query);
        let once = each_once(&parsed, Handling::Lenient).map_err(|error| error.to_string())?;
        let written = once
            .iter()
            .map(|raw| format!("{}={}", super::super::raw::written(raw), raw.value));
        Ok(written.collect::<Vec<_>>().join("&"))
    }

    #[test]
    fn equal_parameters_are_taken_once() {
        for (query, expected) in [
            ("code=a&code=a&code=b", "code=a&code=b"),
            ("code:not=a&code=a&code:not=a", "code:not=a&code=a"),
            ("_count=5&_count=9&_count=5", "_count=9&_count=5"),
            ("_sort=date&_sort=code&_sort=date", "_sort=date&_sort=code"),
            ("code=&code=a&code=", "code=a"),
        ] {
            assert_eq!(kept(query).unwrap(), expected, "{query}");
        }
        assert_eq!(kept(&"_revinclude=*&".repeat(70_000)).unwrap(), "_revinclude=*");
        let turns = kept(&"_count=1&_count=2&".repeat(70_000)).unwrap();
        assert_eq!(turns, "_count=1&_count=2");
    }

    #[test]
    fn pairs_of_equal_text_are_taken_once() {
        let query = "a=1&_count=1&a=2&_count=2&a=1&b=3&_count=1&&a=1&c";
        assert_eq!(
            pairs_once(query),
            ["a=1", "a=2", "_count=2", "b=3", "_count=1", "", "c"]
        );
        assert_eq!(pairs_once("a=1&a=1"), ["a=1", "a=1"]);
    }

    #[test]
    fn different_parameters_are_bounded() {
        let of = |name: &str, count: usize| (0..count).map(|at| format!("{name}={at}&")).collect::<String>();
        assert!(kept(&of("code", 100)).is_ok());
        assert!(kept(&(of("_include", 1_000) + &of("_revinclude", 1_000))).is_ok());
        assert_eq!(
            kept(&of("code", 101)).unwrap_err(),
            "code: there may be 100 different values in one search at most"
        );
        let all: String = (0..6).map(|name| of(&format!("p{name}"), 90)).collect();
        assert_eq!(
            kept(&all).unwrap_err(),
            "p5: there may be 500 different parameters in one search at most"
        );
    }

    #[test]
    fn equal_values_of_a_list_are_taken_once() {
        assert_eq!(alternatives(r"b,a,b,a\,b,a"), ["b", "a", r"a\,b"]);
        assert_eq!(alternatives(""), [""]);
        let many = "x,y,".repeat(100_000);
        assert_eq!(alternatives(&many), ["x", "y", ""]);
    }
}
