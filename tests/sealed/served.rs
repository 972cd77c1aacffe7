//! A server answers while its lake is sealed and unsealed, and afterwards.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Scene, people};
use crate::harness::process::Process;

struct Client {
    agent: ureq::Agent,
    base: String,
    token: String,
}

impl Client {
    fn get(&self, path: &str) -> (u16, Value) {
        let url = format!("{}/fhir/{path}", self.base);
        let request = self
            .agent
            .get(&url)
            .header("authorization", format!("Bearer {}", self.token));
        let answer = request.call().unwrap();
        let status = answer.status().as_u16();
        let text = answer.into_body().read_to_string().unwrap();
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// Checks the answers over the lake of [`people`] by several requests.
    fn assert_answers(&self, when: &str) {
        let (status, person) = self.get("Patient/person-0003");
        assert_eq!(
            (status, &person["birthDate"]),
            (200, &json!("1933-07-13")),
            "{when}: {person}"
        );
        let (status, found) = self.get("Observation?patient=person-0011&_total=accurate");
        assert_eq!((status, &found["total"]), (200, &json!(1)), "{when}: {found}");
        let (status, found) = self.get("Patient?_summary=count");
        assert_eq!((status, &found["total"]), (200, &json!(300)), "{when}: {found}");
        let (status, found) = self.get("Observation?code=85354-9&_count=200");
        let entries = found["entry"].as_array().map_or(0, Vec::len);
        assert_eq!((status, entries), (200, 200), "{when}");
    }
}

#[test]
fn a_server_goes_on_while_its_lake_is_sealed_and_unsealed() {
    let scene = Scene::new();
    for some in people(300).chunks(60) {
        scene.import(some, &[]);
    }
    let (data, kek) = (scene.data(), scene.kek());
    let tabularium::lake::KekSource::File(kek) = kek else {
        panic!("a file")
    };
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        data.to_str().unwrap(),
        "--key-file",
    ];
    let server = Process::start(&[&serve[..], &[kek.to_str().unwrap()]].concat());
    let client = Client {
        agent: ureq::Agent::config_builder().http_status_as_error(false).build().into(),
        base: server.base_url(),
        token: scene.done("token", &[]).trim().to_owned(),
    };
    client.assert_answers("before");
    for command in ["seal", "unseal", "seal"] {
        let done = std::thread::scope(|scope| {
            let turning = scope.spawn(|| scene.done(command, &[]));
            let mut asked = 0;
            while !turning.is_finished() || asked < 3 {
                client.assert_answers(command);
                asked += 1;
            }
            turning.join().unwrap()
        });
        assert!(done.contains("written anew"), "{done}");
        // Continues until the server has noticed the lake's new kind.
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(3) {
            client.assert_answers(command);
        }
    }
    assert_eq!(scene.kinds().1, 0);
    assert_eq!(server.terminate(), Some(0));
    scene.done("check", &["--rows"]);
}
