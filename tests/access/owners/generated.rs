//! Random requests by every token.

use proptest::prelude::*;

use super::answers::{links, shown, told, within};
use super::drawn::asks;
use super::request::Ask;
use super::servers::{Servers, servers};

#[test]
fn nobody_sees_or_learns_of_anothers_records() {
    let servers = servers();
    let Servers {
        whole,
        alone,
        tokens,
        anns_alone,
    } = &servers;
    let config = ProptestConfig {
        cases: 160,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..ProptestConfig::default()
    };
    let anns = &tokens["ann"];
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let all_asked = std::cell::RefCell::new((0, 0));
    let held = runner.run(&asks(), |ask| {
        for (who, (token, may_see)) in tokens {
            let answer = ask.of(whole, token);
            within(who, &ask, &answer, may_see);
            let mut counts = all_asked.borrow_mut();
            *counts = (counts.0 + 1, counts.1 + usize::from(!shown(&ask, &answer).is_empty()));
            drop(counts);
            if !["all", "ben", "others"].contains(who) {
                continue;
            }
            // Another token's links lead Ann no further than her own.
            for (relation, path) in links(&answer) {
                let followed = Ask::Get(path);
                let answer = followed.of(whole, &anns.0);
                within(
                    &format!("Ann, by {who}'s {relation} link,"),
                    &followed,
                    &answer,
                    &anns.1,
                );
            }
        }
        // Page by page, Ann gets the answers of a server without other people's records.
        let mut pages = Some((ask.clone(), ask.clone()));
        for _ in 0..6 {
            let Some((here, there)) = pages.take() else { break };
            let (answer, expected) = (here.of(whole, &anns.0), there.of(alone, anns_alone));
            let (is, should) = (told(&here, &answer), told(&there, &expected));
            prop_assert_eq!(is, should, "{:?}", here);
            let next = |answer| links(answer).remove("next");
            if let (Some(here), Some(there)) = (next(&answer), next(&expected)) {
                pages = Some((Ask::Get(here), Ask::Get(there)));
            }
        }
        Ok(())
    });
    if let Err(error) = held {
        panic!("{error}");
    }
    let (asked, with_rows) = all_asked.into_inner();
    assert!(with_rows * 4 > asked, "{with_rows} of {asked} show something");
}
