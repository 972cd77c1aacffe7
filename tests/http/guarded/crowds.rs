//! Many and slow connections do not block other clients.
//!
//! Connections used to keep their places as long as their clients wanted, and requests that waited for their bodies
//! counted as active. So 1,100 idle sockets or 512 slow posts of one address blocked everybody else for half a minute.
//! Here clients have an hour, so others are only answered if the idle ones give way.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;
use tabularium::http::{Limits, Rates};

use crate::harness::process::{PROGRAM, Process};
use crate::harness::server::Server;

const PATIENCE: Duration = Duration::from_secs(120);
const HOUR: Duration = Duration::from_secs(3_600);

/// The maximum number of sockets of a test: 5,000, or what the system allows.
fn crowd() -> usize {
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap();
    usize::try_from(files / 4).unwrap().clamp(64, 5_000)
}

/// Limits that never close a slow client.
fn patient() -> Limits {
    Limits {
        connections: crowd() / 5,
        header_time: HOUR,
        body_time: HOUR,
        grace: Duration::from_millis(50),
        ..Limits::default()
    }
}

fn records() -> Vec<serde_json::Value> {
    vec![json!({"resourceType": "Patient", "id": "anna", "birthDate": "1970"})]
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// The response to a request, read until the connection ends.
fn answer(address: SocketAddr, request: &str) -> String {
    let mut stream = connected(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n")
}

/// The head of a post of this length to the token endpoint.
fn post(length: usize, headers: &str) -> String {
    format!(
        "POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: {length}\r\n{headers}\r\n"
    )
}

/// Checks that other clients' reads, searches and posts are answered.
fn others_are_answered(server: &Server) {
    let bearer = format!("authorization: Bearer {}\r\n", server.application_token());
    for path in ["/fhir/Patient/anna", "/fhir/Patient?birthdate=1970"] {
        let answer = answer(server.address, &get(path, &bearer));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let body = "grant_type=client_credentials";
    let request = post(body.len(), "connection: close\r\n") + body;
    let answer = answer(server.address, &request);
    assert!(
        answer.starts_with("HTTP/1.1 401") && answer.contains("invalid_client"),
        "{answer}"
    );
}

#[test]
fn idle_connections_keep_nobody_out() {
    let server = Server::limited(&records(), patient());
    let idle: Vec<TcpStream> = (0..crowd()).map(|_| connected(server.address)).collect();
    others_are_answered(&server);
    // Idle connections after a response do not block others either.
    let kept: Vec<TcpStream> = (0..crowd() / 2)
        .map(|_| {
            let mut stream = connected(server.address);
            stream
                .write_all(b"HEAD /endpoints HTTP/1.1\r\nhost: x\r\n\r\n")
                .unwrap();
            let mut status = [0u8; 12];
            stream.read_exact(&mut status).unwrap();
            assert_eq!(&status, b"HTTP/1.1 200");
            stream
        })
        .collect();
    others_are_answered(&server);
    drop((idle, kept));
}

#[test]
fn slow_heads_and_bodies_keep_nobody_out() {
    for begun in ["GET /endp".to_owned(), post(1_000, "") + "g"] {
        let server = Server::limited(&records(), patient());
        let slow: Vec<TcpStream> = (0..crowd())
            .map(|_| {
                let mut stream = connected(server.address);
                // The server may have closed it already.
                let _ = stream.write_all(begun.as_bytes());
                stream
            })
            .collect();
        others_are_answered(&server);
        drop(slow);
    }
}

/// A post whose body the server waits for.
fn awaited(address: SocketAddr, length: usize) -> TcpStream {
    let mut stream = connected(address);
    let head = post(length, "expect: 100-continue\r\nconnection: close\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut asked = [0u8; 25];
    stream.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

#[test]
fn requests_whose_bodies_are_on_their_way_take_no_turn_from_others() {
    let limits = Limits {
        connections: 1_000,
        requests: 2,
        ..patient()
    };
    let server = Server::limited(&records(), limits);
    let body = "grant_type=client_credentials";
    let mut slow: Vec<TcpStream> = (0..40).map(|_| awaited(server.address, body.len())).collect();
    others_are_answered(&server);
    for stream in &mut slow {
        stream.write_all(&body.as_bytes()[..4]).unwrap();
    }
    others_are_answered(&server);
    // The slow ones are answered once their bodies arrive.
    for mut stream in slow {
        stream.write_all(&body.as_bytes()[4..]).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("invalid_client"), "{answer}");
    }
}

#[test]
fn bodies_on_their_way_are_bounded_in_bytes() {
    let limits = Limits {
        bodies: 1_000,
        ..patient()
    };
    let server = Server::limited(&records(), limits);
    let body = "x=".to_owned() + &"y".repeat(598);
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let whole = || server.send("POST", "/oauth/token", &headers, &body).status;
    assert_eq!(whole(), 400);
    let mut slow = awaited(server.address, 900);
    slow.write_all(body.as_bytes()).unwrap();
    let end = Instant::now() + PATIENCE;
    while whole() != 429 {
        assert!(Instant::now() < end, "what the server holds is not counted");
    }
    slow.write_all("z".repeat(300).as_bytes()).unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(whole(), 400, "what has come as a whole is on its way no more");
}

/// Whether a response has begun.
fn is_answered(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0u8; 1]);
    stream.set_nonblocking(false).unwrap();
    match peeked {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

#[test]
fn one_address_has_half_of_the_requests_at_once() {
    // Searches wait for a turn that never comes.
    let limits = Limits {
        requests: 4,
        queries: 0,
        patience: HOUR,
        rates: Rates {
            behind_proxy: true,
            ..Rates::default()
        },
        ..patient()
    };
    let server = Server::limited(&records(), limits);
    let bearer = format!("authorization: Bearer {}\r\n", server.application_token());
    let from = |address: &str| format!("{bearer}x-forwarded-for: {address}\r\n");
    let greedy = from("198.51.100.7, 192.0.2.1");
    let searches: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut stream = connected(server.address);
            stream.write_all(get("/fhir/Patient", &greedy).as_bytes()).unwrap();
            stream
        })
        .collect();
    let end = Instant::now() + PATIENCE;
    while !searches.iter().any(is_answered) {
        assert!(Instant::now() < end, "one address may have all requests answered");
        std::thread::yield_now();
    }
    let read = |headers: &str| answer(server.address, &get("/fhir/Patient/anna", headers));
    let refused = read(&greedy);
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.contains("retry-after: 1\r\n"), "{refused}");
    assert!(read(&from("192.0.2.2")).starts_with("HTTP/1.1 200"));
    assert_eq!(searches.iter().filter(|stream| is_answered(stream)).count(), 1);
}

/// Shells and service managers limit a process to 1,024 open files, including sockets, and some to fewer.
#[test]
fn connections_leave_files_for_the_lake_and_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("lake");
    let data = data.to_str().unwrap();
    let records = folder.path().join("anna.ndjson");
    std::fs::write(&records, r#"{"resourceType": "Patient", "id": "anna"}"#).unwrap();
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(PROGRAM).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["import", "--data", data, records.to_str().unwrap()]);
    let server = Process::limited(
        "ulimit -n 256",
        &[
            "serve",
            "--data",
            data,
            "--listen",
            "127.0.0.1:0",
            "--address-rate-limit",
            "0",
        ],
    );
    let address: SocketAddr = server.base_url().strip_prefix("http://").unwrap().parse().unwrap();
    let idle: Vec<TcpStream> = (0..crowd().min(600)).map(|_| connected(address)).collect();
    let token = run(&["token", "--data", data]);
    let bearer = format!("authorization: Bearer {}\r\n", token.trim());
    for path in ["/fhir/Patient/anna", "/fhir/Patient?_count=5", "/endpoints"] {
        let answer = answer(address, &get(path, &bearer));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    drop(idle);
}
