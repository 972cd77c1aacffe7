//! The system calls of a confined process (seccomp). All others fail with `EPERM`.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// The calls that may have any arguments: those of memory, threads that exist, time and random numbers. Calls that
/// handle, block or ignore signals are none of them, because a signal ends a process at its limit of processor time.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_restart_syscall,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
];

/// The calls that read or write, with an open file as their first argument. Only the connection may be one: the process
/// may have inherited other open files.
const TRANSFERS: &[libc::c_long] = &[libc::SYS_read, libc::SYS_write];

/// Installs the filter for all threads of the process. It cannot be removed. `connection` is the one open file that the
/// process may use.
pub(super) fn install(connection: BorrowedFd<'_>) -> io::Result<()> {
    let program = program(connection).map_err(io::Error::other)?;
    seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)
}

fn program(connection: BorrowedFd<'_>) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let connection = u64::from(connection.as_raw_fd().cast_unsigned());
    for call in TRANSFERS {
        rules.insert(*call, vec![SeccompRule::new(vec![is(0, connection)?])?]);
    }
    // No mapping is executable, and none shows an open file.
    let protection = SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64);
    let data = || SeccompCondition::new(2, SeccompCmpArgLen::Dword, protection.clone(), 0);
    let no_file = is(4, u64::from(u32::MAX))?;
    rules.insert(libc::SYS_mmap, vec![SeccompRule::new(vec![data()?, no_file])?]);
    rules.insert(libc::SYS_mprotect, vec![SeccompRule::new(vec![data()?])?]);
    // A process that aborts sends itself a signal. Without that, it would fault again and again.
    let to_itself = is(0, u64::from(std::process::id()))?;
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![to_itself])?]);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
    filter.try_into()
}

/// The condition that an argument of 32 bits has this value.
fn is(place: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(place, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// A thread has a filter of its own, so the test does not confine the other tests.
    #[test]
    fn a_filtered_thread_uses_its_connection_and_no_other_file() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut near = File::from(OwnedFd::from(near));
        let program = program(near.as_fd()).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"x").unwrap();
        let path = file.path().to_owned();
        far.write_all(b"asked").unwrap();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.unwrap();
            let _entered = runtime.enter();
            let handled_signal = || {
                let kind = tokio::signal::unix::SignalKind::user_defined2();
                tokio::signal::unix::signal(kind).map(|_| ())
            };
            seccompiler::apply_filter(&program).unwrap();
            let kinds = [
                file.as_file().read(&mut [0; 8]).unwrap_err().kind(),
                file.as_file().write(b"x").unwrap_err().kind(),
                std::fs::read(&path).unwrap_err().kind(),
                std::fs::write(&path, "x").unwrap_err().kind(),
                std::net::TcpListener::bind("127.0.0.1:0").unwrap_err().kind(),
                std::process::Command::new("true").status().unwrap_err().kind(),
                std::thread::Builder::new().spawn(|| ()).unwrap_err().kind(),
                handled_signal().unwrap_err().kind(),
            ];
            // Work in memory goes on, and so does the connection.
            let sum: u64 = vec![1_u64; 1 << 20].iter().sum();
            let mut asked = [0; 5];
            near.read_exact(&mut asked).unwrap();
            near.write_all(b"told").unwrap();
            (kinds, sum, asked)
        });
        let expected = ([io::ErrorKind::PermissionDenied; 8], 1 << 20, *b"asked");
        assert_eq!(thread.join().unwrap(), expected);
        let mut told = String::new();
        far.read_to_string(&mut told).unwrap();
        assert_eq!(told, "told");
    }
}
