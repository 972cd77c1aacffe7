//! Passcodes: the right one opens the file, and a link allows only ten wrong ones in its life.

use serde_json::json;

use super::{Link, audit, made, never, over, server};

#[test]
fn a_passcode_opens_and_a_missing_one_is_no_try() {
    let server = server();
    let made = made(&server, &json!({"passcode": "2468"}));
    assert_eq!((&made["flag"], &made["remainingAttempts"]), (&json!("P"), &json!(10)));
    let link = Link::of(&server, &made);
    assert_eq!(link.payload["flag"], "P");
    assert!(
        !made.to_string().contains("2468"),
        "the passcode travels by another way"
    );
    for _ in 0..3 {
        let missing = link.manifest(&server, &json!({}));
        assert_eq!(
            (missing.status, missing.json()),
            (401, json!({"remainingAttempts": 10}))
        );
    }
    let wrong = link.manifest(&server, &json!({"passcode": "2469"}));
    assert_eq!((wrong.status, wrong.json()), (401, json!({"remainingAttempts": 9})));
    assert_eq!(wrong.header("access-control-allow-origin"), "*");
    assert!(wrong.header("www-authenticate").starts_with("Passcode"));
    let right = link.manifest(&server, &json!({"passcode": "2468"}));
    assert_eq!(right.status, 200, "{}", right.text);
    link.document(right.json()["files"][0]["embedded"].as_str().unwrap());
    // A right passcode does not restore attempts.
    let wrong = link.manifest(&server, &json!({"passcode": ""}));
    assert_eq!(wrong.json(), json!({"remainingAttempts": 8}));
    assert_eq!(audit(&server, "health-link.used").len(), 1);
    assert_eq!(audit(&server, "health-link.refused").len(), 2);
}

#[test]
fn ten_wrong_passcodes_end_the_link_however_many_come_at_once() {
    let server = server();
    let made = made(&server, &json!({"passcode": "2468"}));
    let link = Link::of(&server, &made);
    let guess = |at: usize| {
        // Some of the concurrent attempts get 429 and must try again.
        loop {
            let answer = link.manifest(&server, &json!({"passcode": format!("guess {at}")}));
            if answer.status != 429 {
                return answer;
            }
        }
    };
    let (guess, server_ref) = (&guess, &server);
    let answers = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| scope.spawn(move || (0..4).map(|at| guess(thread * 4 + at)).collect::<Vec<_>>()))
            .collect();
        let answers = threads.into_iter().flat_map(|thread| thread.join().unwrap());
        answers.collect::<Vec<_>>()
    });
    let (refused, ended): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 401);
    let mut left: Vec<u64> = refused
        .iter()
        .map(|one| one.json()["remainingAttempts"].as_u64().unwrap())
        .collect();
    left.sort_unstable();
    assert_eq!(left, (0..10).collect::<Vec<_>>());
    assert_eq!(ended.len(), 6);
    for answer in ended {
        assert_eq!(over(answer), never(server_ref));
    }
    let right = link.manifest(&server, &json!({"passcode": "2468"}));
    assert_eq!(
        over(&right),
        never(&server),
        "the link is over for who knows the passcode, too"
    );
    assert_eq!(audit(&server, "health-link.guessed").len(), 1);
    let list = server.get("/rest/health-links", &server.patient_token("anna")).json();
    assert_eq!(list, json!({"healthLinks": []}));
}

#[test]
fn the_store_has_no_passcode_and_no_key() {
    let server = server();
    let made = made(&server, &json!({"passcode": "correct horse battery"}));
    let link = Link::of(&server, &made);
    let key = link.payload["key"].as_str().unwrap();
    let address = link.path.rsplit('/').next().unwrap();
    for secret in ["correct horse battery", key, address, "Asthma"] {
        for name in ["service.sqlite", "service.sqlite-wal"] {
            let bytes = std::fs::read(server.folder().join(name)).unwrap();
            assert!(
                memchr::memmem::find(&bytes, secret.as_bytes()).is_none(),
                "{name}: {secret}"
            );
        }
    }
}
