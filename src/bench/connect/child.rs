//! The server that a bench starts: a process of this same program. It stops when its standard input is closed, so it
//! always ends with the bench.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::super::error::BenchError;

/// How long a server may take to stop by itself.
const GRACE: Duration = Duration::from_secs(10);
/// How many of the last bytes of the server's standard error are kept.
const TAIL: usize = 4 * 1024;

/// A running server.
#[derive(Debug)]
pub struct Child {
    process: Process,
    /// The server's standard input. The server stops when it is closed.
    input: Option<ChildStdin>,
    log: Option<JoinHandle<()>>,
    base_url: String,
}

impl Child {
    /// Starts `program serve` over a lake, on a port that the system chooses, and waits until it listens.
    pub fn start(program: &Path, data: &Path) -> Result<Child, BenchError> {
        let mut process = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--until-stdin-ends"])
            // The bench measures the server, so the server must not limit the rate of requests.
            .args(["--rate-limit", "0", "--address-rate-limit", "0", "--data"])
            .arg(data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take();
        let output = process.stdout.take();
        // The server writes a log line for every request. A thread must read them, so that the pipe does not fill.
        let tail = Arc::new(Mutex::new(Vec::new()));
        let log = process.stderr.take().map(|mut errors| {
            let tail = tail.clone();
            std::thread::spawn(move || {
                let mut piece = vec![0; 64 * 1024];
                while let Ok(read @ 1..) = errors.read(&mut piece) {
                    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                    tail.extend_from_slice(&piece[..read]);
                    let surplus = tail.len().saturating_sub(TAIL);
                    tail.drain(..surplus);
                }
            })
        });
        let mut child = Child {
            process,
            input,
            log,
            base_url: String::new(),
        };
        let mut line = String::new();
        if let Some(output) = output {
            BufReader::new(output).read_line(&mut line)?;
        }
        match address(&line) {
            Some(base_url) => base_url.clone_into(&mut child.base_url),
            None => {
                child.end();
                let tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                let said = String::from_utf8_lossy(&tail);
                let said = said.lines().last().unwrap_or("it ended without a word").trim();
                return Err(BenchError::Server(said.trim_start_matches("tabularium: ").to_owned()));
            }
        }
        Ok(child)
    }

    /// Returns the server's base URL.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the server's process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Tells the server to stop, and waits. Kills the server if it does not stop within [`GRACE`].
    fn end(&mut self) {
        self.input = None;
        let begun = Instant::now();
        while let Ok(None) = self.process.try_wait() {
            if begun.elapsed() > GRACE {
                let _ = self.process.kill();
                let _ = self.process.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if let Some(log) = self.log.take() {
            let _ = log.join();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns the base URL in the line that `serve` prints when it listens, without the `/fhir` at its end.
fn address(line: &str) -> Option<&str> {
    let (_, url) = line.trim_end().rsplit_once(" at ")?;
    url.strip_suffix("/fhir").filter(|url| url.starts_with("http"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_end_of_the_line() {
        assert_eq!(
            address("Serving at at home at http://127.0.0.1:1/fhir\n"),
            Some("http://127.0.0.1:1")
        );
        for other in ["", "Serving x", "Serving x at home", "Serving x at http://127.0.0.1:1"] {
            assert_eq!(address(other), None, "{other}");
        }
    }
}
