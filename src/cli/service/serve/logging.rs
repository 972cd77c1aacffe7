//! Structured logs on standard error.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::log_writer::LogWriter;

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LogFormat {
    /// One line of text for each event
    #[default]
    Text,
    /// One JSON object for each event
    Json,
}

/// Starts logging. `RUST_LOG` sets the level; the default is `info`. Of a panic only the file and the line are logged,
/// because its message may contain records.
pub(in crate::cli) fn start(format: LogFormat) {
    start_with(format, "info");
}

/// Starts logging as [`start`] does, with `default` as the filter if `RUST_LOG` is not set.
pub(in crate::cli) fn start_with(format: LogFormat, default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(LogWriter::start())
        .with_target(false);
    // If this process already has a logger, keep it.
    let _ = match format {
        LogFormat::Text => lines.with_ansi(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    std::panic::set_hook(Box::new(|panic| {
        let (file, line) = panic.location().map_or(("", 0), |place| (place.file(), place.line()));
        tracing::error!(file, line, "panicked");
    }));
}
