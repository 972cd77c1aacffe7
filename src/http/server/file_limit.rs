//! The system's limit of open files and sockets. Connections may use a quarter of it, so that the lake (a server
//! keeps hundreds of its files open) and the store can always open files.

/// Raises the limit as far as the system permits. Shells and service managers often start processes with a limit of
/// 1,024, which the default number of connections alone would use up.
pub fn raise_file_limit() -> std::io::Result<()> {
    rlimit::increase_nofile_limit(u64::MAX).map(drop)
}

/// Returns the maximum number of connections: `wanted`, but at most a quarter of the limit.
pub(in crate::http) fn connections(wanted: usize) -> usize {
    // Increasing the limit to 0 only reads it. Systems without a limit return 0.
    let limit = rlimit::increase_nofile_limit(0).unwrap_or_default();
    match usize::try_from(limit / 4) {
        Ok(quarter) if quarter > 0 => wanted.min(quarter),
        _ => wanted,
    }
}
