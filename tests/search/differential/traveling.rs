//! Plans of random searches, written as bytes and run in another process, give the same rows as here. They read one
//! snapshot with the scopes of applications and patients, with and without the scan's optimizations, on first pages and
//! on linked pages, of one type and of several.

use tabularium::fhir::facts;
use tabularium::search::{Engine, Handling, Request, SystemRequest, raw};

use super::super::corpus::{BASE, NOW};
use super::draw::Draw;
use super::lakes;
use super::lakes::Held;
use super::world::World;
use super::{corpus, link, seeded};
use crate::harness::plans::Traveling;
use crate::harness::records;

/// The number of searches whose plans travel. Searches of one person are drawn, too, and have no plan.
const SEARCHES: usize = 500;

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn plans_of_random_searches_give_the_same_rows_in_another_process() {
    let corpus = corpus();
    let shared = crate::harness::shared();
    let folder = tempfile::tempdir().unwrap();
    let (parameters, definitions) = lakes::parameters_in(&shared, folder.path());
    let lake = corpus.lake();
    let engine = |lake: &tabularium::lake::Lake| Engine::new(lake.clone(), parameters.clone());
    let (usual, plain) = (engine(&lake), engine(&lake).without_shortcuts());
    let held = Held::of(&lake);
    let world = World::new(&definitions, &held.resources);
    let mut draw = Draw::new(&world, seeded(17));
    let options = ["--search-parameters", folder.path().to_str().unwrap()];
    let mut traveling = Traveling::by(&lake, engine(&lake), &options);
    let patients: Vec<&String> = held.seen.keys().collect();
    let (mut searches, mut plans, mut pages, mut of_several) = (0, 0, 0, 0);
    for at in 0.. {
        if searches == SEARCHES {
            break;
        }
        assert!(at < 3 * SEARCHES, "only {searches} of {at} searches have plans");
        let (query, _) = draw.query();
        let (engine, scope) = match at % 4 {
            // Such a search has a plan only without optimizations.
            0 => (
                &plain,
                records::patient(&lake, "local", patients[draw.below(patients.len())]),
            ),
            1 => (&plain, corpus.application()),
            _ => (&usual, corpus.application()),
        };
        if query.resource_type.contains(',') {
            let text = query.text("_count=7&_elements=id");
            let request = SystemRequest {
                scope: &scope,
                compartment: None,
                parameters: &raw::parse(text.split_once('?').unwrap().1),
                handling: Handling::Strict,
                now: NOW,
                base: BASE,
            };
            let planned = corpus.system_plans(engine, &request);
            planned.iter().for_each(|plan| traveling.add_ran(&text, plan));
            plans += planned.len();
            of_several += usize::from(!planned.is_empty());
            searches += usize::from(!planned.is_empty());
            continue;
        }
        let mut next = Some(query.text(&format!("_count={}&_elements=id", 1 + draw.below(20))));
        // Few searches match more than a page, so each that does also gets its second page.
        for page in 0..2 {
            let Some(text) = next.take() else { break };
            let (name, parameters) = text.split_once('?').unwrap();
            let request = Request {
                scope: &scope,
                type_id: facts().lookup(name).unwrap(),
                parameters: &raw::parse(parameters),
                compartment: None,
                handling: Handling::Strict,
                now: NOW,
                base: BASE,
            };
            let planned = corpus.plans(engine, &request);
            plans += planned.len();
            searches += usize::from(page == 0 && !planned.is_empty());
            pages += usize::from(page > 0 && !planned.is_empty());
            for plan in &planned {
                traveling.add(&text, plan).unwrap();
            }
            if page == 0 {
                let first = corpus.page_of(engine, &scope, &text).unwrap();
                let url = link(&first, "next");
                next = url.map(|url| url.strip_prefix(BASE).unwrap().to_owned());
            }
        }
    }
    let with_rows = traveling.arrive();
    assert!(
        of_several > 20 && pages > 30 && with_rows * 2 > plans,
        "{plans} plans, {of_several} searches of several types, {pages} pages, {with_rows} with rows"
    );
}
