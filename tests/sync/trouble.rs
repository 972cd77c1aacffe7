//! Failing sources: temporary failures are retried, permanent ones are reported, and stored records are complete.

use std::time::Duration;

use serde_json::json;
use tabularium::consent::{AuthorizationState, JobState};
use tabularium::lake::Mode;
use tabularium::sync::Settings;

use super::world::{World, pace};

#[test]
fn rate_limits_failures_and_slowness_are_got_over() {
    let world = World::working(2);
    for knobs in [
        json!({"throttle_every": 3, "retry_after": 0}),
        json!({"throttle_every": 9, "retry_after": 1}),
        json!({"fail_every": 3, "fail_status": 503}),
        json!({"fail_every": 4, "fail_status": 500, "page": 5}),
        json!({"slow": 20}),
    ] {
        let undisturbed = world.synced("cedarway", 0);
        world.payer.turn("lakeshore", &knobs);
        let disturbed = world.synced("lakeshore", 0);
        world.payer.turn(
            "lakeshore",
            &json!({"throttle_every": 0, "fail_every": 0, "slow": 0, "page": 50}),
        );
        let source = world.record_of("lakeshore", &disturbed);
        assert_eq!(
            world.rows(&disturbed).len(),
            source.len(),
            "{knobs}: {:?}",
            world.audit(&disturbed)
        );
        assert!(!world.rows(&undisturbed).is_empty());
    }
}

#[test]
fn a_page_that_cannot_be_read_is_asked_for_once_more() {
    let world = World::new(1, Mode::Live);
    // With several concurrent requests a page may meet the same failure twice.
    world.work_at(Settings {
        pace: pace(),
        jobs: 1,
        requests: 1,
        ..Settings::default()
    });
    for knobs in [
        json!({"malformed_every": 4, "page": 5}),
        json!({"malformed_every": 5, "malformed": "html"}),
    ] {
        world.payer.turn("lakeshore", &knobs);
        let connected = world.synced("lakeshore", 0);
        world
            .payer
            .turn("lakeshore", &json!({"malformed_every": 0, "page": 50}));
        let source = world.record_of("lakeshore", &connected);
        let audit = world.audit(&connected);
        assert_eq!(world.rows(&connected).len(), source.len(), "{knobs}: {audit:?}");
        assert!(!audit.iter().any(|line| line.starts_with("sync.put-off")), "{audit:?}");
    }
}

#[test]
fn a_source_that_stays_down_fails_the_job_and_the_authorization() {
    let world = World::new(1, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    world.payer.turn("lakeshore", &json!({"fail_every": 1}));
    world.work_at(Settings {
        pace: tabularium::sync::Pace {
            first: Duration::from_millis(1),
            tries: 2,
            attempts: 3,
            ..pace()
        },
        ..Settings::default()
    });
    assert_eq!(world.end_of(&connected), JobState::Failed);
    let job = &world.store().jobs().of_authorization(&connected.authorization).unwrap()[0];
    assert_eq!(job.attempts, 3);
    assert_eq!(job.failure.as_deref(), Some("the source answered with status 503"));
    let authorization = world
        .store()
        .authorizations()
        .get(&connected.authorization)
        .unwrap()
        .unwrap();
    assert_eq!(authorization.state, AuthorizationState::Errored);
    // The credential is kept, so that the application may retry.
    assert!(
        world
            .store()
            .credentials()
            .get(&connected.authorization)
            .unwrap()
            .is_some()
    );
    assert!(world.rows(&connected).is_empty());
    let answer = world.get("/fhir/Patient", &connected.token);
    // The source's own message takes the place of ours.
    let codes: Vec<String> = answer.json()["issue"]
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| issue["code"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!((answer.status, codes), (422, vec!["exception".to_owned()]));
}

#[test]
fn a_source_without_records_of_the_person_is_an_error() {
    let world = World::new(1, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    world.payer.turn("lakeshore", &json!({"no_records": true}));
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Failed);
    // The source has answered 404 with an OperationOutcome, which is passed on.
    assert_eq!(world.get("/fhir/Patient", &connected.token).status, 404);
}

#[test]
fn what_comes_before_a_page_that_cannot_be_read_is_kept_and_the_rest_is_told() {
    for (malformed, told, kept) in [
        (
            "loop",
            "ExplanationOfBenefit incomplete: the source's pages lead in a circle",
            3,
        ),
        (
            "foreign",
            "ExplanationOfBenefit incomplete: the source's next page is outside",
            3,
        ),
        ("entry", "ExplanationOfBenefit not taken: ", 1),
    ] {
        let world = World::new(1, Mode::Live);
        let connected = world.connect("lakeshore", 0);
        let records = world.record_of("lakeshore", &connected);
        let claims = records
            .iter()
            .filter(|one| one["resourceType"] == "ExplanationOfBenefit");
        let at_source = claims.count() as u64;
        world.payer.turn(
            "lakeshore",
            &json!({"malformed_every": 1, "malformed": malformed, "page": 3}),
        );
        world.work();
        assert_eq!(world.end_of(&connected), JobState::Completed, "{malformed}");
        let total = world.total("ExplanationOfBenefit", &connected.token);
        assert!(
            total >= kept && total < at_source,
            "{malformed}: {total} of {at_source}"
        );
        assert_eq!(world.total("Patient", &connected.token), 1);
        let audit = world.audit(&connected).join("\n");
        assert!(audit.contains(told), "{malformed}: {audit}");
    }
}

#[test]
fn access_that_ends_in_the_middle_is_renewed() {
    let world = World::new(1, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    let before = world
        .store()
        .credentials()
        .get(&connected.authorization)
        .unwrap()
        .unwrap();
    // The service learns of it only by a 401.
    world.payer.expire("lakeshore");
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let after = world
        .store()
        .credentials()
        .get(&connected.authorization)
        .unwrap()
        .unwrap();
    assert_ne!(after.access_token, before.access_token);
    assert!(after.refresh_token.is_some());
}

#[test]
fn access_that_is_known_to_end_is_renewed_before() {
    let world = World::new(1, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    let before = world
        .store()
        .credentials()
        .get(&connected.authorization)
        .unwrap()
        .unwrap();
    world.store().clock().advance(3_590);
    let asked = world.payer.requests("lakeshore")["token"].as_u64().unwrap();
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let after = world
        .store()
        .credentials()
        .get(&connected.authorization)
        .unwrap()
        .unwrap();
    assert_ne!(after.access_token, before.access_token);
    assert_eq!(
        world.payer.requests("lakeshore")["token"],
        json!(asked + 1),
        "one renewal for all requests"
    );
}

#[test]
fn access_that_cannot_be_renewed_fails_the_job() {
    let world = World::new(1, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    world.payer.turn("lakeshore", &json!({"refuse_refresh": true}));
    world.payer.expire("lakeshore");
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Failed);
    let job = &world.store().jobs().of_authorization(&connected.authorization).unwrap()[0];
    assert_eq!(job.attempts, 1);
    let failure = job.failure.clone().unwrap();
    assert!(
        failure.starts_with("access could not be renewed") && failure.ends_with("invalid_grant"),
        "{failure}"
    );
}

#[test]
fn a_source_is_sent_no_more_requests_at_once_than_it_is_to_be() {
    let world = World::new(6, Mode::Live);
    let people: Vec<_> = (0..6).map(|person| world.connect("lakeshore", person)).collect();
    world.payer.turn("lakeshore", &json!({"slow": 3}));
    world.work_at(Settings {
        jobs: 6,
        requests: 2,
        pace: pace(),
        ..Settings::default()
    });
    for connected in &people {
        assert_eq!(world.end_of(connected), JobState::Completed);
    }
    let most = world.payer.requests("lakeshore")["max_at_once"].as_u64().unwrap();
    assert!(most <= 2, "{most} at once");
}
