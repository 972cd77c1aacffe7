//! A confined process, as its starter sees it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::channel::{Channel, Frame};
use super::watched::{Patience, Watched};

/// Why a process ended, as far as the system knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It used up its processor time.
    ProcessorTime,
    /// It ended by itself, was killed, or was still running and was ended.
    Other,
}

/// A running process. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    channel: Channel<Watched>,
    began: Instant,
    /// The limit of processor time that was set last.
    processor_time: Duration,
}

/// The signal of a process that has used up its processor time.
const SIGXCPU: i32 = 24;

impl Process {
    /// Starts `program` with the one argument `command`. That command must call [`super::enter`] first.
    pub fn start(program: &Path, command: &str, patience: Patience) -> io::Result<Process> {
        let (near, far) = UnixStream::pair()?;
        let mut starting = Command::new(program);
        starting
            .arg0("tabularium")
            .arg(command)
            .env_clear()
            // Address space that is only reserved counts against the limit. So reserve little at a time, and give large
            // pieces back to the system. Without any reserve, the allocator asks the system for each page.
            .env("MIMALLOC_ARENA_RESERVE", "32MiB")
            .env("MIMALLOC_ARENA_MAX_OBJECT_SIZE", "4MiB")
            .current_dir("/")
            .process_group(0)
            .stdin(OwnedFd::from(far))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = starting.spawn()?;
        // Without this, the starter's copy of the other end would keep the connection open when the process ends.
        drop(starting);
        Ok(Process {
            child,
            channel: Channel::new(Watched::new(near, patience)?),
            began: Instant::now(),
            processor_time: Duration::MAX,
        })
    }

    /// Sends a frame.
    pub fn send<P: AsRef<[u8]>>(
        &mut self,
        tag: u8,
        pieces: impl IntoIterator<Item = P, IntoIter: Clone>,
    ) -> io::Result<()> {
        self.channel.send(tag, pieces)
    }

    /// Receives a frame of at most `max` bytes.
    pub fn receive(&mut self, max: u64) -> io::Result<Frame> {
        self.channel.receive(max)
    }

    /// Sets the moment when sending and receiving give up.
    pub fn wait_until(&mut self, until: Instant) {
        self.channel.stream_mut().wait_until(until);
    }

    /// Ends the process and says why it ended.
    pub fn end(mut self) -> End {
        let used = self.processor_time();
        let _ = self.child.kill();
        match self.child.wait() {
            Ok(status) if status.signal() == Some(SIGXCPU) => End::ProcessorTime,
            // The hard limit kills.
            Ok(_) if used >= self.processor_time => End::ProcessorTime,
            _ => End::Other,
        }
    }
}

#[cfg(target_os = "linux")]
impl Process {
    /// The processor time that the process has used, in the clock ticks of the system.
    pub fn processor_time(&self) -> Duration {
        let ticks = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))
            .ok()
            .and_then(|stat| {
                // The name of the program stands in parentheses. It may have any characters.
                let fields = stat.rsplit_once(')')?.1;
                let mut fields = fields.split_ascii_whitespace().skip(USER_TIME);
                let (user, system) = (fields.next()?.parse::<u64>().ok()?, fields.next()?.parse::<u64>().ok()?);
                Some(user + system)
            });
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        // A process of which nothing is known counts as one that has run since it was started.
        ticks.map_or_else(
            || self.began.elapsed(),
            |ticks| Duration::from_millis(ticks * 1000 / per_second),
        )
    }

    /// Lets the process use `more` processor time from now on, rounded down to whole seconds, but at least a part of
    /// one.
    pub fn limit_processor_time(&mut self, more: Duration) -> io::Result<()> {
        let seconds = (self.processor_time() + more).as_secs().max(1);
        self.processor_time = Duration::from_secs(seconds);
        self.limit(rlimit::Resource::CPU, seconds)
    }

    /// Lets the process use at most `most` processor time from now on, however often it is limited anew. This can be
    /// called only once. The process cannot ignore this limit, but it can ignore the other one if its signal was
    /// ignored when the process was started.
    pub fn bound_processor_time(&mut self, most: Duration) -> io::Result<()> {
        let seconds = (self.processor_time() + most).as_secs() + 1;
        let id = self.child.id() as i32;
        let (mut soft, mut hard) = (0, 0);
        rlimit::prlimit(id, rlimit::Resource::CPU, None, Some((&mut soft, &mut hard)))?;
        let hard = hard.min(seconds);
        rlimit::prlimit(id, rlimit::Resource::CPU, Some((soft.min(hard), hard)), None)
    }

    /// Lets the process take so many bytes of address space.
    pub fn limit_memory(&mut self, bytes: u64) -> io::Result<()> {
        self.limit(rlimit::Resource::AS, bytes)
    }

    fn limit(&self, resource: rlimit::Resource, limit: u64) -> io::Result<()> {
        // Only the first number binds. The second one stays, because it could not be raised again.
        let (mut soft, mut hard) = (0, 0);
        let id = self.child.id() as i32;
        rlimit::prlimit(id, resource, None, Some((&mut soft, &mut hard)))?;
        rlimit::prlimit(id, resource, Some((limit.min(hard), hard)), None)
    }
}

/// The place of the user time among the fields of `/proc/PID/stat` after the name of the program.
#[cfg(target_os = "linux")]
const USER_TIME: usize = 11;

#[cfg(not(target_os = "linux"))]
impl Process {
    /// The time since the process was started. This system does not tell its processor time.
    pub fn processor_time(&self) -> Duration {
        self.began.elapsed()
    }

    /// Does nothing here: the process limits itself.
    pub fn limit_processor_time(&mut self, _more: Duration) -> io::Result<()> {
        Ok(())
    }

    /// Does nothing here: the process limits itself.
    pub fn bound_processor_time(&mut self, _most: Duration) -> io::Result<()> {
        Ok(())
    }

    /// Does nothing here: the process limits itself.
    pub fn limit_memory(&mut self, _bytes: u64) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
