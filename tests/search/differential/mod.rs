//! Random searches over real records, compared with a plain reading of each resource. They run in all ways that a
//! search can run, over lakes of several layouts. The tests share no code with the engine: they read search parameters,
//! expressions and values themselves.

mod crooked;
mod definition;
mod draw;
mod expression;
mod filter;
mod lakes;
mod traveling;
mod values;
mod world;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tabularium::lake::{Lake, Scope};
use tabularium::search::Engine;

use self::draw::Draw;
use self::lakes::{Engines, Held};
use self::world::{Query, World};
use super::corpus::{BASE, Corpus, corpus, link, name, resources};
use crate::harness::records;

/// The default number of searches of each test, if `TABULARIUM_QUERIES` is not set.
const QUERIES: usize = 250;

fn queries() -> usize {
    std::env::var("TABULARIUM_QUERIES")
        .ok()
        .map_or(QUERIES, |count| count.parse().unwrap())
}

/// A seed, changed by `TABULARIUM_SEED` if set.
fn seeded(seed: u64) -> u64 {
    let other = std::env::var("TABULARIUM_SEED").ok();
    seed + other.map_or(0, |other| 1_000 * other.parse::<u64>().unwrap())
}

/// A way to run a search.
struct Way<'a> {
    label: String,
    engine: &'a Engine,
    scope: Arc<Scope>,
    seen: Option<&'a std::collections::HashSet<String>>,
}

/// The form of the request.
#[derive(Clone, Copy)]
enum Form {
    /// All pages, following their links.
    Walk(usize),
    /// One page by offset: the first match and the maximum number.
    Page(usize, usize),
    /// The number of matches.
    Count,
}

fn entries(page: &Value) -> Vec<String> {
    resources(page, "match").iter().map(name).collect()
}

/// The fault in the answers to a search, if there is one.
fn fault(corpus: &Corpus, world: &World<'_>, way: &Way<'_>, query: &Query, form: Form) -> Option<String> {
    let expected = world.matches(query, way.seen);
    let ask = |query: &str| corpus.page_of(way.engine, &way.scope, query);
    match form {
        Form::Count => match ask(&query.text("_summary=count")) {
            Err(error) => Some(error.to_string()),
            Ok(page) if page["total"] == expected.len() => None,
            Ok(page) => Some(format!("counts {} not {}", page["total"], expected.len())),
        },
        Form::Page(offset, count) => {
            let more = format!("_count={count}&_offset={offset}&_total=accurate&_elements=id");
            let page = match ask(&query.text(&more)) {
                Err(error) => return Some(error.to_string()),
                Ok(page) => page,
            };
            if page["total"] != expected.len() {
                return Some(format!("total {} not {}", page["total"], expected.len()));
            }
            let found = entries(&page);
            let of_page: Vec<&str> = expected.iter().skip(offset).take(count).copied().collect();
            if query.sort.is_empty() {
                let fits = found.len() == of_page.len() && found.iter().all(|name| expected.contains(&name.as_str()));
                return (!fits).then(|| differ(&expected, &found));
            }
            (found != of_page).then(|| differ(&of_page, &found))
        }
        Form::Walk(count) => {
            let mut found = Vec::new();
            let mut next = Some(query.text(&format!("_count={count}&_elements=id")));
            while let Some(text) = next {
                let page = match ask(&text) {
                    Err(error) => return Some(format!("{error} ({text})")),
                    Ok(page) => page,
                };
                found.extend(entries(&page));
                next = link(&page, "next").map(|url| url.strip_prefix(BASE.trim_end_matches('/')).unwrap().to_owned());
                next = next.map(|path| path.trim_start_matches('/').to_owned());
                if found.len() > expected.len() + count {
                    return Some(format!(
                        "goes on beyond {} matches: {}",
                        expected.len(),
                        differ(&expected, &found)
                    ));
                }
            }
            let same = if query.sort.is_empty() {
                let set: BTreeSet<&str> = found.iter().map(String::as_str).collect();
                found.len() == expected.len() && set == expected.iter().copied().collect()
            } else {
                found == expected
            };
            (!same).then(|| differ(&expected, &found))
        }
    }
}

/// The differences of two lists of ids.
fn differ(expected: &[&str], found: &[String]) -> String {
    let (of, is): (BTreeSet<&str>, BTreeSet<&str>) = (
        expected.iter().copied().collect(),
        found.iter().map(String::as_str).collect(),
    );
    let some = |names: Vec<&&str>| names.iter().take(3).map(|name| (**name).to_owned()).collect::<Vec<_>>();
    let (missing, extra) = (some(of.difference(&is).collect()), some(is.difference(&of).collect()));
    let at = expected.iter().zip(found).position(|(one, other)| one != other);
    let order = match at {
        Some(at) if of == is => format!(", in another order from {at}: {} not {}", found[at], expected[at]),
        _ => String::new(),
    };
    format!(
        "{} not {} matches, missing {missing:?}, extra {extra:?}{order}",
        found.len(),
        expected.len()
    )
}

/// Removes parts from a faulty search as long as it stays faulty.
fn shrink(query: &Query, faulty: impl Fn(&Query) -> bool) -> Query {
    let mut least = query.clone();
    let mut tried = 0;
    while let Some(smaller) = smaller(&least).into_iter().find(|query| faulty(query)) {
        least = smaller;
        tried += 1;
        if tried > 20 {
            break;
        }
    }
    least
}

fn smaller(query: &Query) -> Vec<Query> {
    let mut all = Vec::new();
    for at in 0..query.sort.len() {
        let mut less = query.clone();
        less.sort.remove(at);
        all.push(less);
    }
    for at in 0..query.conditions.len() {
        let mut less = query.clone();
        less.conditions.remove(at);
        all.push(less);
        if query.conditions[at].0 == "_filter" {
            continue;
        }
        let alternatives = values::split(&query.conditions[at].1, ',');
        for left_out in 0..alternatives.len().min(4) {
            let mut others = alternatives.clone();
            others.remove(left_out);
            if !others.is_empty() {
                let mut less = query.clone();
                less.conditions[at].1 = others.join(",");
                all.push(less);
            }
        }
    }
    all
}

/// The results of a series of searches.
#[derive(Default)]
struct Outcome {
    wrong: Vec<String>,
    with_matches: usize,
    names: BTreeSet<String>,
}

/// A lake, its contents, and the engines over it.
struct Trial<'a> {
    corpus: &'a Corpus,
    lake: &'a Lake,
    engines: &'a Engines,
    held: &'a Held,
    world: &'a World<'a>,
}

/// Generates searches and runs each in some of the ways.
fn run(trial: &Trial<'_>, seed: u64, count: usize, out: &mut Outcome) {
    run_drawn(trial, seed, count, out, |draw, _| draw.query());
}

/// Runs searches that `next` draws. It gets the number of the search.
fn run_drawn<'w, 'a>(
    trial: &Trial<'w>,
    seed: u64,
    count: usize,
    out: &mut Outcome,
    next: impl Fn(&mut Draw<'w, 'w>, usize) -> (Query, &'w str),
) {
    let Trial {
        corpus,
        lake,
        engines,
        held,
        world,
    } = *trial;
    let mut draw = Draw::new(world, seeded(seed));
    let patients: Vec<&String> = held.seen.keys().collect();
    for at in 0..count {
        let (mut query, meant) = next(&mut draw, at);
        // A patient whose token sees the target, if there is one.
        let first = draw.below(patients.len());
        let mut from_first = patients[first..].iter().chain(&patients[..first]);
        let patient = from_first.find(|patient| held.seen[**patient].contains(meant));
        let patient = *patient.unwrap_or(&patients[first]);
        let scope = match at % 4 {
            // A patient token, or a patient in the search.
            1 => Some(records::patient(lake, "local", patient)),
            3 if world.definitions.get(&query.resource_type, "patient").is_some() => {
                let form = *draw.pick(&["", "Patient/"]);
                query
                    .conditions
                    .push(("patient".to_owned(), format!("{form}{patient}")));
                None
            }
            _ => None,
        };
        let way = |engine, label: &str| Way {
            label: format!(
                "{label}{}",
                if scope.is_some() {
                    format!(" for {patient}")
                } else {
                    String::new()
                }
            ),
            engine,
            scope: scope.clone().unwrap_or_else(|| corpus.application()),
            seen: scope.is_some().then(|| &held.seen[patient]),
        };
        let ways = [
            way(&engines.usual, "as usual"),
            way(&engines.plain, "without shortcuts"),
        ];
        let matches = world.matches(&query, ways[0].seen).len();
        out.with_matches += usize::from(matches > 0);
        out.names.extend(query.conditions.iter().map(|(name, _)| name.clone()));
        let form = match draw.below(10) {
            0..3 => Form::Count,
            3..6 => Form::Page(draw.below(matches + 2), 1 + draw.below(30)),
            _ => Form::Walk((matches / 3).max(1 + draw.below(40))),
        };
        for way in &ways {
            let is_faulty = |query: &Query| fault(corpus, world, way, query, form).is_some();
            if let Some(found) = fault(corpus, world, way, &query, form) {
                let least = shrink(&query, is_faulty);
                let of_least = fault(corpus, world, way, &least, form).unwrap_or_default();
                out.wrong.push(format!(
                    "{} {}:\n   {found}\n   least: {}: {of_least}",
                    query.text(""),
                    way.label,
                    least.text("")
                ));
            }
        }
    }
}

/// The prefixes of dates, numbers and quantities.
const PREFIXES: [&str; 9] = ["eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"];

/// Runs `check` over the corpus in one file, and then over the same resources in many files.
fn over_two_lakes(check: impl Fn(&Trial<'_>)) {
    let corpus = corpus();
    let shared = crate::harness::shared();
    let (parameters, definitions) = lakes::parameters(&shared);
    let (_folder, crowded) = lakes::crowded(&shared);
    for lake in [&corpus.lake(), &crowded] {
        let held = Held::of(lake);
        check(&Trial {
            corpus,
            lake,
            engines: &lakes::engines(lake, &parameters),
            held: &held,
            world: &World::new(&definitions, &held.resources),
        });
    }
}

/// A date with `ne` used to be lost beside another date: nothing was known of it for statistics, and they were taken to
/// decide all conditions.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn every_pair_of_prefixes_holds_together() {
    over_two_lakes(|trial| {
        let mut out = Outcome::default();
        let pairs = PREFIXES.len() * PREFIXES.len();
        let count = pairs * 2 * queries().div_ceil(QUERIES);
        run_drawn(trial, 6, count, &mut out, |draw, at| {
            draw.with_prefixes(&[PREFIXES[at % 9], PREFIXES[at / 9 % 9]])
        });
        report(out, count, 20);
    });
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn triples_of_prefixes_hold_together() {
    over_two_lakes(|trial| {
        let mut out = Outcome::default();
        run_drawn(trial, 7, queries(), &mut out, |draw, at| {
            let others = [draw.below(9), draw.below(9)].map(|other| PREFIXES[other]);
            draw.with_prefixes(&[PREFIXES[at % 9], others[0], others[1]])
        });
        report(out, queries(), 15);
    });
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn pairs_and_triples_of_all_parameters_and_modifiers_hold_together() {
    over_two_lakes(|trial| {
        let mut out = Outcome::default();
        run_drawn(trial, 8, queries(), &mut out, |draw, _| draw.together());
        report(out, queries(), 20);
    });
}

fn one_file(seed: u64) {
    let corpus = corpus();
    let shared = crate::harness::shared();
    let (parameters, definitions) = lakes::parameters(&shared);
    let lake = corpus.lake();
    let held = Held::of(&lake);
    let trial = Trial {
        corpus,
        lake: &lake,
        engines: &lakes::engines(&lake, &parameters),
        held: &held,
        world: &World::new(&definitions, &held.resources),
    };
    let mut out = Outcome::default();
    run(&trial, seed, queries(), &mut out);
    report(out, queries(), 40);
}

/// Fails if there was a fault, or if less than this percentage of the searches found anything.
fn report(out: Outcome, count: usize, least: usize) {
    if std::env::var_os("TABULARIUM_QUERIES").is_some() {
        println!(
            "{} of {count} with matches; {} wrong; {:?}",
            out.with_matches,
            out.wrong.len(),
            out.names
        );
    }
    assert!(
        out.wrong.is_empty(),
        "{} of {count} wrong:\n{}",
        out.wrong.len(),
        out.wrong.join("\n")
    );
    assert!(
        out.with_matches * 100 > count * least,
        "{} of {count} have matches",
        out.with_matches
    );
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn random_searches_over_one_file() {
    one_file(1);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn more_random_searches_over_one_file() {
    one_file(2);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn random_searches_over_many_files_and_what_becomes_of_them() {
    let corpus = corpus();
    let shared = crate::harness::shared();
    let (parameters, definitions) = lakes::parameters(&shared);
    let (_folder, lake) = lakes::crowded(&shared);
    let held = Held::of(&lake);
    let trial = Trial {
        corpus,
        lake: &lake,
        engines: &lakes::engines(&lake, &parameters),
        held: &held,
        world: &World::new(&definitions, &held.resources),
    };
    let count = queries() / 3;
    let mut out = Outcome::default();
    run(&trial, 3, count, &mut out);
    lakes::compact(&lake);
    run(&trial, 4, count, &mut out);
    report(out, count * 2, 40);
}

/// Few real records have these forms, so real records are altered.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn random_searches_over_crooked_records() {
    let corpus = corpus();
    let shared = crate::harness::shared();
    let (parameters, definitions) = lakes::parameters(&shared);
    let (_folder, lake) = crooked::lake(&shared, seeded(5));
    let held = Held::of(&lake);
    let trial = Trial {
        corpus,
        lake: &lake,
        engines: &lakes::engines(&lake, &parameters),
        held: &held,
        world: &World::new(&definitions, &held.resources),
    };
    let mut out = Outcome::default();
    run(&trial, 5, queries(), &mut out);
    report(out, queries(), 25);
}

/// Published parameters name choices as JSON does (`servicedDate`), and used to find nothing.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn parameters_of_packages_find_what_they_mean() {
    let corpus = corpus();
    let shared = crate::harness::shared();
    let (parameters, definitions) = lakes::parameters(&shared);
    let lake = corpus.lake();
    let held = Held::of(&lake);
    let world = World::new(&definitions, &held.resources);
    let engines = lakes::engines(&lake, &parameters);
    let way = Way {
        label: String::new(),
        engine: &engines.usual,
        scope: corpus.application(),
        seen: None,
    };
    for (resource_type, name, value) in [
        ("ExplanationOfBenefit", "service-start-date", "ge2021"),
        ("ExplanationOfBenefit", "service-date", "2019"),
        ("Condition", "asserted-date:missing", "false"),
        ("Patient", "race", "2106-3"),
        ("Patient", "gender-identity:missing", "true"),
        ("Encounter", "discharge-disposition:missing", "true"),
    ] {
        let query = Query {
            resource_type: resource_type.to_owned(),
            conditions: vec![(name.to_owned(), value.to_owned())],
            sort: Vec::new(),
        };
        assert!(!world.matches(&query, None).is_empty(), "{name}");
        assert_eq!(fault(corpus, &world, &way, &query, Form::Walk(500)), None, "{name}");
    }
}
