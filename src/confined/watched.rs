//! The starter's end of the connection. It waits with patience, not for ever: the process at the other end may be
//! stopped, starved, or a liar.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How often a waiting starter looks whether it should still wait.
const LOOK: Duration = Duration::from_millis(50);

/// Decides how long the starter waits for the process.
#[derive(Clone)]
pub struct Patience {
    /// When the starter gives up. It fails with [`io::ErrorKind::TimedOut`] then.
    pub until: Instant,
    /// Whether nobody wants the result any more. The starter fails with [`io::ErrorKind::ConnectionAborted`] then.
    pub is_over: std::sync::Arc<dyn Fn() -> bool + Send + Sync>,
}

impl std::fmt::Debug for Patience {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patience")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

/// A socket whose reads and writes end when the patience ends.
#[derive(Debug)]
pub struct Watched {
    socket: UnixStream,
    patience: Patience,
}

impl Watched {
    pub(super) fn new(socket: UnixStream, patience: Patience) -> io::Result<Watched> {
        socket.set_read_timeout(Some(LOOK))?;
        socket.set_write_timeout(Some(LOOK))?;
        Ok(Watched { socket, patience })
    }

    /// Sets the moment when the starter gives up.
    pub(super) fn wait_until(&mut self, until: Instant) {
        self.patience.until = until;
    }

    /// Repeats `attempt` while the socket is not ready.
    fn patiently<T>(&mut self, mut attempt: impl FnMut(&mut UnixStream) -> io::Result<T>) -> io::Result<T> {
        loop {
            // Look before each attempt, so that a process that sends a byte now and then cannot go on for ever.
            if (self.patience.is_over)() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            if Instant::now() >= self.patience.until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match attempt(&mut self.socket) {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                    ) => {}
                other => return other,
            }
        }
    }
}

impl Read for Watched {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.patiently(|socket| socket.read(bytes))
    }
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.patiently(|socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn watched(until: Instant, over: &Arc<AtomicBool>) -> (Watched, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        let over = over.clone();
        let patience = Patience {
            until,
            is_over: Arc::new(move || over.load(Ordering::Relaxed)),
        };
        (Watched::new(near, patience).unwrap(), far)
    }

    #[test]
    fn waiting_ends_with_the_patience() {
        let over = Arc::new(AtomicBool::new(false));
        let (mut near, _far) = watched(Instant::now() + Duration::from_millis(120), &over);
        assert_eq!(near.read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::TimedOut);
        // Nobody reads at the other end, so the socket's buffer fills up.
        let (mut near, _far) = watched(Instant::now() + Duration::from_millis(120), &over);
        assert_eq!(
            near.write_all(&[0; 8 << 20]).unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
        let (mut near, _far) = watched(Instant::now() + Duration::from_secs(3600), &over);
        over.store(true, Ordering::Relaxed);
        assert_eq!(
            near.read(&mut [0; 8]).unwrap_err().kind(),
            io::ErrorKind::ConnectionAborted
        );
    }
}
