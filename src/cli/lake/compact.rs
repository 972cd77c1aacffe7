//! `tabularium compact`: merges many small files into few large ones.

use std::path::PathBuf;

use indicatif::ProgressBar;

use super::super::terminal::failure::Failure;
use super::super::terminal::manner::quietly;
use super::info::bytes;
use super::wait::{Wait, span};
use crate::cli::terminal::failure::warn;
use crate::lake::compact::{self, CompactOptions, Effort, Unreadable};
use crate::lake::{ClockTrust, Lake, LakeOptions};

/// Merge each table's files toward 32 MiB, so that each person's rows lie in one file
///
/// A running server continues meanwhile. Replaced files are removed by the next compaction or import that comes an hour
/// later or more, because links to further pages may need them until then. It is safe to interrupt the command: files
/// that are merged by then stay merged.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Merge only small files, and files that overlap so that a person's rows lie in more than 8
    #[arg(long)]
    thrifty: bool,
    /// Remove old files by this machine's clock, even if nobody has written the lake for more than 8 days
    #[arg(long)]
    trust_clock: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

/// Compacts the lake and prints the number and size of the merged files. Fails with exit code 3 if a file could not be
/// merged.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let effort = if arguments.thrifty {
        Effort::Thrifty
    } else {
        Effort::Thorough
    };
    let options = LakeOptions {
        trust: if arguments.trust_clock {
            ClockTrust::Clock
        } else {
            ClockTrust::default()
        },
        ..LakeOptions::default()
    };
    let lake = Lake::open_with(&arguments.data, options).map_err(Failure::from_lake)?;
    let mut writer = arguments.wait.writer(&lake)?;
    let bar = quietly(ProgressBar::new_spinner());
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    bar.set_message("looking for files to merge");
    let done = compact::run(&mut writer, &CompactOptions::new(effort), |mode, table, done| {
        bar.set_message(format!(
            "{}.{table}: {} merged",
            mode.schema(),
            bytes(done.bytes_before)
        ));
    });
    bar.finish_and_clear();
    let (done, unreadable) = done.map_err(Failure::other)?;
    if let Some(silence) = lake.silence().filter(|_| !arguments.trust_clock) {
        let silence = span(silence);
        warn(&format!(
            "old snapshots and their files stay, because the clock is {silence} ahead of the last change of the lake; \
             if the clock is right, run the command again, with --trust-clock"
        ));
    }
    if arguments.json {
        println!(
            "{:#}",
            serde_json::json!({
                "merges": done.merges, "filesBefore": done.files_before, "bytesBefore": done.bytes_before,
                "filesAfter": done.files_after, "bytesAfter": done.bytes_after,
            })
        );
    } else if done.merges == 0 {
        println!("nothing to merge");
    } else {
        println!(
            "{} files of {} became {} of {}",
            done.files_before,
            bytes(done.bytes_before),
            done.files_after,
            bytes(done.bytes_after)
        );
    }
    let damaged = |file: Unreadable| {
        let (path, error) = (file.path.display(), &file.error);
        Failure::partial(format!("{path} is left as it is, because it cannot be merged: {error}"))
    };
    Failure::all(unreadable.into_iter().map(damaged).collect())
}
