//! Collects log lines, which a thread writes to standard error. So a request makes no system call to log. If standard
//! error is too slow, lines are dropped and counted.

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// The maximum size in bytes of the lines that wait to be written, 1 MiB.
const MAX_BYTES: usize = 1 << 20;
/// The interval at which the thread writes the waiting lines.
const DELAY: Duration = Duration::from_millis(50);

static GATHERED: Mutex<Gathered> = Mutex::new(Gathered {
    lines: Vec::new(),
    dropped: 0,
});

struct Gathered {
    lines: Vec<u8>,
    dropped: u64,
}

/// A writer that collects log lines.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct LogWriter;

impl LogWriter {
    /// Starts the thread that writes the collected lines.
    pub(in crate::cli) fn start() -> LogWriter {
        let writing = std::thread::Builder::new().name("log".to_owned()).spawn(|| {
            loop {
                std::thread::sleep(DELAY);
                flush();
            }
        });
        if let Err(error) = writing {
            // Without the thread, lines are written only when the server stops, if they fit into the buffer.
            eprintln!("log lines are delayed: {error}");
        }
        LogWriter
    }
}

/// Writes the collected lines, and the number of dropped ones.
pub(in crate::cli) fn flush() {
    // Allows only one flush at a time, so that lines keep their order.
    static WRITING: Mutex<()> = Mutex::new(());
    let _turn = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let (lines, dropped) = {
        let mut gathered = gathered();
        (
            std::mem::take(&mut gathered.lines),
            std::mem::take(&mut gathered.dropped),
        )
    };
    let mut stderr = std::io::stderr().lock();
    // Ignore errors. If standard error is closed, there is no place to report them.
    let _ = stderr.write_all(&lines);
    if dropped > 0 {
        let _ = writeln!(stderr, "{dropped} log lines were dropped");
    }
}

fn gathered() -> MutexGuard<'static, Gathered> {
    GATHERED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = LogWriter;

    fn make_writer(&'a self) -> LogWriter {
        *self
    }
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let mut gathered = gathered();
        if gathered.lines.len() + line.len() > MAX_BYTES {
            gathered.dropped += 1;
        } else {
            gathered.lines.extend_from_slice(line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
