//! The service's outgoing requests and their contents, with a source that behaves as the test defines.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tabularium::sync::client::{Client, Error, Guard, HttpLimits, Realm};

/// A server that gives fixed answers, one per connection, and records the requests.
struct Canned {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
    _thread: JoinHandle<()>,
}

impl Canned {
    /// `{}` in an answer is replaced by the server's own address.
    fn new(answers: &'static [&'static str]) -> Canned {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (heard, own) = (asked.clone(), base.clone());
        let thread = std::thread::spawn(move || {
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept() else { return };
                let mut request = Vec::new();
                let mut buffer = [0; 4096];
                while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
                    match stream.read(&mut buffer) {
                        Ok(0) | Err(_) => break,
                        Ok(count) => request.extend_from_slice(&buffer[..count]),
                    }
                }
                heard
                    .lock()
                    .unwrap()
                    .push(String::from_utf8_lossy(&request).into_owned());
                let _ = stream.write_all(answer.replace("{}", &own).as_bytes());
            }
        });
        Canned {
            base,
            asked,
            _thread: thread,
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn client(guard: Guard, page: usize) -> Client {
    let limits = HttpLimits {
        connect: Duration::from_secs(60),
        idle: Duration::from_secs(60),
        whole: Duration::from_secs(120),
        page,
    };
    Client::new(guard, limits).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_goes_to_no_other_server() {
    let other = Canned::new(&["HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"]);
    let to: &'static str = Box::leak(
        format!(
            "HTTP/1.1 302 Found\r\nlocation: {}/elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            other.base
        )
        .into_boxed_str(),
    );
    let answers: &'static [&'static str] = Box::leak(Box::new([
        "HTTP/1.1 302 Found\r\nlocation: /fhir/next?x=1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        to,
    ]));
    let first = Canned::new(answers);
    let answer = client(Guard::Private, 1 << 20)
        .fetch(
            &format!("{}/fhir/Patient/1", first.base),
            "secret-token",
            &Realm::under([format!("{}/fhir", first.base).as_str()]),
        )
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
    let asked = first.asked();
    assert!(asked[0].starts_with("GET /fhir/Patient/1 ") && asked[0].contains("secret-token"));
    assert!(asked[1].starts_with("GET /fhir/next?x=1 ") && asked[1].contains("secret-token"));
    assert!(other.asked()[0].starts_with("GET /elsewhere ") && !other.asked()[0].contains("secret-token"));
    assert!(!other.asked()[0].to_lowercase().contains("referer"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirects_into_the_network_and_without_end_are_refused() {
    let metadata = Canned::new(&[
        "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/meta-data\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ]);
    let asked = client(Guard::Private, 1 << 20)
        .fetch(&metadata.base, "t", &Realm::default())
        .await;
    assert!(matches!(asked, Err(Error::Forbidden(_))), "{asked:?}");
    let file = Canned::new(&[
        "HTTP/1.1 302 Found\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ]);
    let asked = client(Guard::Private, 1 << 20)
        .fetch(&file.base, "t", &Realm::default())
        .await;
    assert!(matches!(asked, Err(Error::Forbidden(_))), "{asked:?}");
    let round =
        Canned::new(&["HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"; 6]);
    let asked = client(Guard::Private, 1 << 20)
        .fetch(&round.base, "t", &Realm::default())
        .await;
    assert!(matches!(asked, Err(Error::Malformed { .. })), "{asked:?}");
    assert_eq!(round.asked().len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_private_is_called_unless_it_is_allowed() {
    let source = Canned::new(&[]);
    let port = source.base.rsplit(':').next().unwrap();
    for address in [
        source.base.clone(),
        format!("https://127.0.0.1:{port}/"),
        format!("https://localhost:{port}/"),
        format!("https://[::1]:{port}/"),
    ] {
        let asked = client(Guard::Public, 1 << 20)
            .fetch(&address, "t", &Realm::default())
            .await;
        assert!(matches!(asked, Err(Error::Forbidden(_))), "{address}: {asked:?}");
    }
    assert!(source.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_bounded_and_errors_tell_no_paths() {
    let large = Canned::new(&[
        "HTTP/1.1 200 OK\r\ncontent-length: 5000\r\nconnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n5\r\n{\"a\":\r\n6\r\n\"bcde\"\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 500\r\nconnection: close\r\n\r\nhalf of it",
    ]);
    let client = client(Guard::Private, 8);
    let address = format!("{}/fhir/Patient/secret-id?name=secret-name", large.base);
    for expected in ["is too large", "is too large", "is too large"] {
        let error = client
            .fetch(&address, "secret-token", &Realm::under([large.base.as_str()]))
            .await
            .unwrap_err();
        assert!(error.to_string().ends_with(expected), "{error}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    }
    // The server is gone.
    drop(large);
    let error = client
        .fetch(
            "http://127.0.0.1:9/secret",
            "secret",
            &Realm::under(["http://127.0.0.1:9"]),
        )
        .await
        .unwrap_err();
    assert!(
        error.may_pass() && !format!("{error} {error:?}").contains("secret"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let limits = HttpLimits {
        connect: Duration::from_secs(60),
        idle: Duration::from_millis(50),
        whole: Duration::from_secs(120),
        page: 8,
    };
    let client = Client::new(Guard::Private, limits).unwrap();
    let error = client.fetch(&address, "t", &Realm::default()).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }) && error.may_pass(), "{error:?}");
}
