//! The system's limit of open files and sockets. Connections may use a quarter of it, so that files of the lake (a
//! server keeps hundreds open) and of the store can always be opened.

/// Raises the limit as far as the system permits. Shells and service managers often start with 1,024, which is no more
/// than the default number of connections.
pub fn raise_file_limit() -> std::io::Result<()> {
    rlimit::increase_nofile_limit(u64::MAX).map(drop)
}

/// The number of connections, reduced to what the limit permits.
pub(in crate::http) fn connections(wanted: usize) -> usize {
    // The current limit. Systems without a limit return zero.
    let limit = rlimit::increase_nofile_limit(0).unwrap_or_default();
    match usize::try_from(limit / 4) {
        Ok(quarter) if quarter > 0 => wanted.min(quarter),
        _ => wanted,
    }
}
