//! The system calls of a confined process (seccomp). All others fail with `EPERM`.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// The calls that any arguments may have: those of memory, threads that exist, time, random numbers, and of files that
/// are open. The process has only its connection open.
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
    libc::SYS_read,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_write,
];

/// The calls that make or change mappings, with the place of the protection among their arguments. No mapping may be
/// executable.
const MAPPING: &[(libc::c_long, u8)] = &[(libc::SYS_mmap, 2), (libc::SYS_mprotect, 2)];

/// Installs the filter for all threads of the process. It cannot be removed.
pub(super) fn install() -> io::Result<()> {
    let program = program().map_err(io::Error::other)?;
    seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    for (call, place) in MAPPING {
        let executable = SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64);
        let without = SeccompCondition::new(*place, SeccompCmpArgLen::Dword, executable, 0)?;
        rules.insert(*call, vec![SeccompRule::new(vec![without])?]);
    }
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
    filter.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread has a filter of its own, so the test does not confine the other tests.
    #[test]
    fn a_filtered_thread_opens_no_file_and_no_connection() {
        let program = program().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_owned();
        let thread = std::thread::spawn(move || {
            seccompiler::apply_filter(&program).unwrap();
            let kinds = [
                std::fs::read(&path).unwrap_err().kind(),
                std::fs::write(&path, "x").unwrap_err().kind(),
                std::net::TcpListener::bind("127.0.0.1:0").unwrap_err().kind(),
                std::process::Command::new("true").status().unwrap_err().kind(),
                std::thread::Builder::new().spawn(|| ()).unwrap_err().kind(),
            ];
            // Work in memory goes on.
            let sum: u64 = vec![1_u64; 1 << 20].iter().sum();
            (kinds, sum)
        });
        assert_eq!(thread.join().unwrap(), ([io::ErrorKind::PermissionDenied; 5], 1 << 20));
    }
}
