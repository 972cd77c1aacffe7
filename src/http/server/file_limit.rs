//! How many files and sockets the system lets this process have open. Connections take a quarter of them at most, so
//! that files of the lake, of which a server keeps hundreds open, and of the store can be opened whatever clients do.

/// Raises the limit as far as the system lets it. Shells and service managers often start with 1,024, which is no more
/// than the default number of connections.
pub fn raise_file_limit() -> std::io::Result<()> {
    rlimit::increase_nofile_limit(u64::MAX).map(drop)
}

/// As many of these connections as there is room for.
pub(in crate::http) fn connections(wanted: usize) -> usize {
    // Asking for no more than there is tells how much there is; systems without such a limit answer with zero.
    let limit = rlimit::increase_nofile_limit(0).unwrap_or_default();
    match usize::try_from(limit / 4) {
        Ok(quarter) if quarter > 0 => wanted.min(quarter),
        _ => wanted,
    }
}
