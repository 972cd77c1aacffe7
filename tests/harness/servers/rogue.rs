//! A source whose answers a test defines. It records its requests.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// The path with the query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    /// The value of a header; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(one, _)| one == name);
        found.map_or("", |(_, value)| value)
    }
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Said {
    pub(crate) fn status(status: u16) -> Said {
        Said {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn json(value: &Value) -> Said {
        Said::text("application/fhir+json", &value.to_string())
    }

    pub(crate) fn text(media: &str, text: &str) -> Said {
        Said {
            body: text.as_bytes().to_vec(),
            ..Said::status(200)
        }
        .with("content-type", media)
    }

    pub(crate) fn redirect(to: &str) -> Said {
        Said::status(302).with("location", to)
    }

    pub(crate) fn coded(self, status: u16) -> Said {
        Said { status, ..self }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Said {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A server on its own port. It ends when dropped.
pub(crate) struct Rogue {
    pub(crate) base: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Rogue {
    /// A server that answers by this function. The function gets the server's address.
    pub(crate) fn start(answer: impl Fn(&Asked, &str) -> Said + Send + Sync + 'static) -> Rogue {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let ended = Arc::new(AtomicBool::new(false));
        let (heard, over, own, answer) = (asked.clone(), ended.clone(), base.clone(), Arc::new(answer));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (heard, own, answer) = (heard.clone(), own.clone(), answer.clone());
                std::thread::spawn(move || {
                    let Some(asked) = read(&stream) else { return };
                    heard.lock().unwrap().push(asked.clone());
                    let _ = write(&stream, &answer(&asked, &own));
                });
            }
        });
        Rogue {
            base,
            asked,
            ended,
            thread: Some(thread),
        }
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The number of requests with this path prefix.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.asked().iter().filter(|asked| asked.path.starts_with(path)).count()
    }

    /// Its FHIR base.
    pub(crate) fn fhir(&self) -> String {
        format!("{}/fhir", self.base)
    }
}

impl Drop for Rogue {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.base.trim_start_matches("http://"));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(mut stream: &TcpStream) -> Option<Asked> {
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let (head, mut body) = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break (
                String::from_utf8_lossy(&bytes[..at]).into_owned(),
                bytes[at + 4..].to_vec(),
            );
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    };
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap_or(0));
    while body.len() < length {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => body.extend_from_slice(&buffer[..count]),
        }
    }
    Some(Asked {
        method,
        path,
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

fn write(mut stream: &TcpStream, said: &Said) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Said\r\nconnection: close\r\n", said.status);
    for (name, value) in &said.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", said.body.len()));
    stream.write_all(head.as_bytes())?;
    stream.write_all(&said.body)?;
    stream.flush()
}
