//! Slow sources: what a patient sees meanwhile, and how the flow continues.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tabularium::consent::{Actor, AuthorizationType, ConsentState, EndpointStatus, NewEndpoint};
use tabularium::lake::Mode;

use super::browser::Browser;
use super::world::World;

/// A source whose token response waits for the test.
struct Slow {
    base: String,
    go: Sender<()>,
}

impl Slow {
    fn start() -> Slow {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (known, (go, may_go)) = (base.clone(), channel());
        let may_go = Arc::new(Mutex::new(may_go));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, known, may_go) = (stream.unwrap(), known.clone(), may_go.clone());
                std::thread::spawn(move || answer(&mut stream, &known, &may_go));
            }
        });
        Slow { base, go }
    }

    /// Lists the source in addition to the others.
    fn list(&self, world: &World) {
        let organization = world
            .store()
            .endpoints()
            .get("lakeshore")
            .unwrap()
            .unwrap()
            .organization
            .id;
        let base = format!("{}/fhir", self.base);
        let new = NewEndpoint {
            id: Some("slow"),
            organization: &organization,
            name: "slow",
            mode: Mode::Test,
            label: &["Slow Plan".to_owned()],
            authorization_type: AuthorizationType::Oauth,
            refreshable: false,
            refresh_valid_for: None,
            max_auth_period: None,
            status: EndpointStatus::Live,
            resources: &[],
            fhir_base: &base,
            configuration: None,
            client_id: "us",
            client_secret: None,
            scope: "launch/patient",
            identifier_system: "urn:slow",
        };
        world.store().endpoints().save(&new, Actor::Operator).unwrap();
    }
}

fn answer(stream: &mut TcpStream, base: &str, may_go: &Mutex<Receiver<()>>) {
    let body = if request(stream).starts_with("POST /token") {
        // If the test has ended, nothing waits.
        if may_go.lock().unwrap().recv().is_err() {
            return;
        }
        r#"{"access_token":"t","token_type":"bearer","expires_in":60,"patient":"p1"}"#.to_owned()
    } else {
        format!(r#"{{"authorization_endpoint":"{base}/authorize","token_endpoint":"{base}/token"}}"#)
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
}

/// A request with its body, up to its `Content-Length`.
fn request(stream: &mut TcpStream) -> String {
    let (mut text, mut piece) = (String::new(), [0u8; 8_192]);
    loop {
        let read = stream.read(&mut piece).unwrap();
        if read == 0 {
            return text;
        }
        text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_ascii_lowercase();
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return text;
        }
    }
}

/// A browser that is back from a slow source, and its callback address.
fn back(world: &World, slow: &Slow) -> (Browser, String) {
    slow.list(world);
    let mut browser = world.enter(&[("svc_endpoint_id", "slow")]);
    let there = browser.press("share", &[]).location();
    let state = there
        .query_pairs()
        .find(|(name, _)| name == "state")
        .unwrap()
        .1
        .into_owned();
    let address = format!("/connect/callback/slow?code=c&state={state}");
    browser.go(&address);
    (browser, address)
}

#[test]
fn a_source_that_takes_its_time_is_waited_for_on_a_page_that_goes_on_by_itself() {
    let (world, slow) = (World::hasty(), Slow::start());
    let (mut browser, _) = back(&world, &slow);
    assert_eq!(browser.page.heading(), "Connecting to Slow Plan");
    assert!(browser.page.is_waiting(), "{}", browser.page.text);
    assert_eq!(world.states(), ["slow OAUTH AUTHORIZING"]);
    // The page's script asks whether the session has moved on.
    let mark = browser.page.behind("data-mark=\"");
    assert_eq!(browser.go("/connect/progress").text, mark);
    assert_eq!(browser.go("/connect").heading(), "Connecting to Slow Plan");
    slow.go.send(()).unwrap();
    let page = browser.wait().clone();
    assert!(page.answer("code").is_some());
    assert_eq!(page.answer("state").as_deref(), Some("the state"));
    assert_eq!(world.states(), ["slow OAUTH AUTHORIZED"]);
    world.exchange(&page.answer("code").unwrap());
}

#[test]
fn loading_the_page_again_loses_nothing() {
    // A patient who reloaded during the exchange of the code got an error, and the exchange was aborted.
    let (world, slow) = (World::hasty(), Slow::start());
    let (mut browser, address) = back(&world, &slow);
    for _ in 0..2 {
        assert_eq!(browser.go(&address).heading(), "Connecting to Slow Plan");
    }
    // Another browser learns nothing from it.
    assert_eq!(world.browser().go(&address).status, 400);
    let mixed = address.replace("/callback/slow", "/callback/lakeshore");
    assert_eq!(browser.go(&mixed).status, 400);
    browser.go("/connect");
    slow.go.send(()).unwrap();
    assert!(browser.wait().answer("code").is_some());
}

#[test]
fn who_waits_may_cancel_and_what_comes_then_is_not_taken() {
    let (world, slow) = (World::hasty(), Slow::start());
    let (mut browser, _) = back(&world, &slow);
    let page = browser.press("cancel", &[]).clone();
    assert_eq!(page.answer("error").as_deref(), Some("access_denied"));
    slow.go.send(()).unwrap();
    assert_eq!(world.states(), ["slow OAUTH ABANDONED"]);
    assert_eq!(world.consent().state, ConsentState::Abandoned);
}

#[test]
fn who_waits_may_choose_another_organization() {
    let (world, slow) = (World::hasty(), Slow::start());
    slow.list(&world);
    let mut browser = world.enter(&[("svc_search_mode", "true")]);
    browser.send("choose", &[("endpoint", "slow")]);
    let there = browser.press("share", &[]).location();
    let state = there
        .query_pairs()
        .find(|(name, _)| name == "state")
        .unwrap()
        .1
        .into_owned();
    browser.go(&format!("/connect/callback/slow?code=c&state={state}"));
    assert!(browser.page.is_waiting());
    let csrf = browser.page.values("csrf")[0].clone();
    let other = [("csrf", csrf.as_str()), ("endpoint", "lakeshore")];
    browser.ask("POST", "/connect/choose", Some(&other));
    assert_eq!(
        browser.follow().heading(),
        "Share your records from Lakeshore Health Plan?"
    );
    slow.go.send(()).unwrap();
    world.connect(&mut browser);
    assert_eq!(browser.wait().heading(), "Your sources");
    assert_eq!(world.states(), ["slow OAUTH ABANDONED", "lakeshore OAUTH AUTHORIZED"]);
}

#[test]
fn nobody_waits_for_ever() {
    // If a server stops during the exchange, the session stays waiting.
    let (world, slow) = (World::hasty(), Slow::start());
    let (mut browser, _) = back(&world, &slow);
    let mark = browser.page.behind("data-mark=\"");
    world.store().clock().advance(90);
    assert_ne!(browser.go("/connect/progress").text, mark);
    assert_eq!(browser.go("/connect").heading(), "We can’t reach Slow Plan");
    let there = browser.press("share", &[]).location();
    assert!(there.as_str().starts_with(&slow.base), "{there}");
    assert_eq!(world.states(), ["slow OAUTH ABANDONED", "slow OAUTH AUTHORIZING"]);
}

#[test]
fn a_frame_shows_that_the_window_beside_it_is_done_and_waits() {
    let (world, slow) = (World::hasty(), Slow::start());
    slow.list(&world);
    let mut frame = world.browser();
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("publishable_key", world.client.as_str()),
            ("origin", super::world::ORIGIN),
            ("channel", "channel-1"),
            ("display", "iframe"),
            ("svc_endpoint_id", "slow"),
        ])
        .finish();
    frame.go(&format!("/link/start?{query}"));
    frame.send("share", &[]);
    let (ticket, mark) = (
        frame.page.values("ticket")[0].clone(),
        frame.page.behind("data-mark=\""),
    );
    let mut window = world.browser();
    let there = window
        .ask("POST", "/connect/window", Some(&[("ticket", &ticket)]))
        .location();
    let state = there
        .query_pairs()
        .find(|(name, _)| name == "state")
        .unwrap()
        .1
        .into_owned();
    for _ in 0..2 {
        let page = window.go(&format!("/connect/callback/slow?code=c&state={state}"));
        assert_eq!(page.heading(), "You can close this window");
    }
    assert_ne!(frame.go("/connect/progress").text, mark);
    assert_eq!(frame.go("/connect").heading(), "Connecting to Slow Plan");
    slow.go.send(()).unwrap();
    assert_eq!(frame.wait().heading(), "You’re connected");
    assert_eq!(frame.press("finish", &[]).behind("data-event=\""), "success");
}

#[test]
fn a_search_and_the_places_it_finds_are_waited_for() {
    let world = World::hasty();
    let person = world.payer.person(0);
    let mut browser = world.enter(&[("svc_search_mode", "true")]);
    browser.send("details", &[]);
    let fields = [
        ("given", person.given.as_str()),
        ("family", person.family.as_str()),
        ("birth_date", person.birth_date.as_str()),
    ];
    browser.send("search", &fields);
    assert_eq!(browser.wait().heading(), "These places may have records of yours");
    let found = browser.page.values("facility");
    browser.send("facilities", &[("facility", &found[0])]);
    assert_eq!(browser.wait().heading(), "Your sources");
    assert_eq!(world.states(), [format!("{} IAL1 AUTHORIZED", found[0])]);
    assert!(browser.press("finish", &[]).answer("code").is_some());
}

#[test]
fn an_identity_that_is_being_verified_is_waited_for() {
    let world = World::hasty();
    let mut browser = world.enter(&[("svc_ial2_mode", "true")]);
    let there = browser.press("identity", &[("provider", "truename")]).location();
    let back = world.payer.log_in(there.as_str(), &world.payer.person(0).user);
    browser.go(back.as_str());
    assert_eq!(browser.wait().heading(), "These places have records of yours");
    // The provider's answer counts once.
    assert_eq!(
        browser.go(back.as_str()).heading(),
        "These places have records of yours"
    );
}
