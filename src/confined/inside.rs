//! What a confined process gives up before it reads anything.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::channel::Channel;

/// The process's end of the connection.
pub type Inside = Channel<File>;

/// Confines this process and returns its connection to the starter, and the bytes of address space that it has taken so
/// far. Call it before any other work. Threads that were started before are confined, too, and files that are open
/// cannot be used any more.
pub fn enter() -> io::Result<(Inside, u64)> {
    let connection = io::stdin().as_fd().try_clone_to_owned()?;
    // The starter may be unable to read this number: the process cannot be looked into once it is confined.
    let size = size()?;
    confine(connection.as_fd())?;
    Ok((Channel::new(File::from(connection)), size))
}

#[cfg(target_os = "linux")]
fn size() -> io::Result<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let pages = pages
        .split_ascii_whitespace()
        .next()
        .and_then(|pages| pages.parse::<u64>().ok());
    let pages = pages.ok_or(io::ErrorKind::InvalidData)?;
    Ok(pages * rustix::param::page_size() as u64)
}

/// The starter limits no memory here.
#[cfg(not(target_os = "linux"))]
fn size() -> io::Result<u64> {
    Ok(0)
}

#[cfg(target_os = "linux")]
fn confine(connection: BorrowedFd<'_>) -> io::Result<()> {
    use rustix::process::{DumpableBehavior, Signal};

    // If memory runs out, the system should end this process before any other. It need not, so an error does not count.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // No core file, and no debugger of another process of the same user.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    rustix::process::nice(PRIORITY)?;
    for (resource, limit) in [(rlimit::Resource::CORE, 0), (rlimit::Resource::FSIZE, 0)] {
        resource.set(limit, limit)?;
    }
    super::filter::install(connection)
}

#[cfg(not(target_os = "linux"))]
fn confine(_: BorrowedFd<'_>) -> io::Result<()> {
    /// What the starter limits on Linux, in seconds and bytes.
    const PROCESSOR_TIME: u64 = 60;
    const MEMORY: u64 = 2 << 30;
    rustix::process::nice(PRIORITY)?;
    let limits = [
        (rlimit::Resource::CORE, 0),
        (rlimit::Resource::FSIZE, 0),
        (rlimit::Resource::NOFILE, 0),
        (rlimit::Resource::CPU, PROCESSOR_TIME),
        (rlimit::Resource::AS, MEMORY),
    ];
    // A system need not have all of them.
    for (resource, limit) in limits {
        let _ = resource.set(limit, limit);
    }
    Ok(())
}

/// How much lower the priority of the process is (`nice`).
const PRIORITY: i32 = 10;
