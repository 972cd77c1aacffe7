//! `tabularium bench`: measures how fast a server answers requests drawn from a lake.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::super::lake::lake_scope::LOCAL;
use super::super::terminal::failure::Failure;
use super::mode::Mode;
use crate::bench::{Asked, Bench, BenchError, Copy, Mix, Report, Settings, Target, comparison, heading, page};
use crate::lake::{Lake, Scope};

/// The environment variable with the bearer token for the server of `--url`.
const TOKEN: &str = "TABULARIUM_TOKEN";
/// The maximum of `--seconds` and `--warm-up`: one day.
const LONGEST: f64 = 86_400.0;

const MIXES: &str = "\
Mixes: read, patient-search, population, includes, paging, everything, views, all (of these); soak.

A soak reads, searches and runs views for --seconds, while other processes import and erase. It measures the server's \
memory over time. It works on a copy of the lake in the temporary folder, and does not change the lake.

A mix file is JSON:
  {\"families\": [
    {\"use\": \"read-hot\", \"clients\": [1, 64]},
    {\"name\": \"mine\", \"queries\": [
      {\"query\": \"Condition?code={code}&patient={patient}\", \"weight\": 3},
      {\"query\": \"Observation/_search\", \"post\": \"code={code}&date=ge{date}\", \"draw\": \"common\"},
      {\"view\": \"mine.view.json\"}]}]}
benches/README.md has its other members.

Exit codes: 0 all requests were answered; 2 an option or a file is wrong; 3 some requests failed, or the \
server ended before the last one, as the report says; 1 another failure or Ctrl-C, and the report has what was \
measured.";

/// Measure how fast a server answers: reads, searches, includes, pages and views
///
/// Ids, codes, people, dates and values are drawn from the lake; the same seed draws the same ones. Without --url the
/// command starts a server over the lake, and stops it at the end.
#[derive(Debug, clap::Args)]
#[command(after_help = MIXES)]
pub(in crate::cli) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// FHIR base address of a running server, ours or another. It should have the same records as the lake
    ///
    /// The bearer token comes from --token-file or the variable TABULARIUM_TOKEN.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File with the token for --url
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
    /// Which requests to send: the name of a mix, or a file
    #[arg(long, value_name = "MIX", default_value = "all")]
    mix: String,
    /// Numbers of clients that send requests at once; each number is measured by itself
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,8,32",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    clients: Vec<u64>,
    /// Seconds to measure each family of requests at each number of clients
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    seconds: Duration,
    /// Seconds to send requests before that, without measuring
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    warm_up: Duration,
    /// Number that decides which ids and codes are drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// In every second part of a soak, send hostile requests too
    ///
    /// Ten people with hostile attachments ask for PDFs of their records, and two send searches with 70,000 includes.
    /// The report tells the other requests' times and errors with and without them.
    #[arg(long)]
    hostile: bool,
    /// Use the live or the test records
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// The application whose records are used
    #[arg(long, value_name = "ID", default_value = LOCAL)]
    application: String,
    /// Write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the report as JSON instead of the table
    #[arg(long)]
    json: bool,
    /// Write a page with charts to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Compare the results with this earlier report
    #[arg(long, value_name = "REPORT.json")]
    compare: Option<PathBuf>,
}

/// Runs the measurements and writes the report.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let mix = Mix::load(&arguments.mix).map_err(failure)?;
    let other = arguments
        .compare
        .as_deref()
        .map(Report::read)
        .transpose()
        .map_err(failure)?;
    for path in arguments.out.iter().chain(&arguments.html) {
        writable(path)?;
    }
    if arguments.out.is_some() && arguments.out == arguments.html {
        return Err(Failure::input("--out and --html name the same file"));
    }
    if arguments.hostile && !mix.changes_lake() {
        return Err(Failure::input("--hostile is an option of soaks: --mix soak"));
    }
    let asked = match &arguments.url {
        Some(url) => Some(Asked::Given {
            target: Target::parse(url).map_err(failure)?,
            token: token(arguments.token_file.as_deref())?,
        }),
        None => None,
    };
    let lake = Lake::open(&arguments.data).map_err(Failure::from_lake)?;
    let copy = if mix.changes_lake() {
        Some(copy(&lake, &arguments)?)
    } else {
        None
    };
    let lake = match &copy {
        Some(copy) => Lake::open(copy.path()).map_err(Failure::from_lake)?,
        None => lake,
    };
    let asked = match asked {
        Some(asked) => asked,
        None => Asked::own(&lake).map_err(failure)?,
    };
    let mut clients: Vec<usize> = Vec::new();
    for many in &arguments.clients {
        let many = usize::try_from(*many).map_err(Failure::other)?;
        if !clients.contains(&many) {
            clients.push(many);
        }
    }
    let bench = Bench {
        lake,
        mix,
        settings: Settings {
            clients,
            time: arguments.seconds,
            warm_up: arguments.warm_up,
            seed: arguments.seed,
            hostile: arguments.hostile,
            scope: Arc::new(Scope {
                mode: arguments.mode.into(),
                application: arguments.application.as_str().into(),
                patient: None,
            }),
        },
        asked,
    };
    let table = !arguments.json;
    let mut lines = 0;
    let report = bench
        .run(&mut |line| {
            if table {
                if lines == 0 {
                    println!("{}", heading());
                }
                println!("{line}");
                lines += 1;
            }
        })
        .map_err(failure)?;
    give(&arguments, &report, other.as_ref())
}

/// Copies the lake for a soak, because a soak imports and erases records. Fails if `--url` is given, because the soak
/// starts its own server over the copy. Fails if another application than the default is given, because the copy knows
/// no other.
fn copy(lake: &Lake, arguments: &Args) -> Result<Copy, Failure> {
    if arguments.url.is_some() {
        return Err(Failure::input(
            "a soak imports and erases, which is done to a copy of the lake alone: leave --url out",
        ));
    }
    if arguments.application != LOCAL {
        return Err(Failure::input(format!(
            "a soak asks a copy of the lake, where no application is registered but {LOCAL:?}"
        )));
    }
    Copy::of(lake).map_err(failure)
}

/// Writes the report in all requested forms. `other` is the earlier report of `--compare`. Fails if the run was
/// interrupted, if requests failed, or if the server ended early.
fn give(arguments: &Args, report: &Report, other: Option<&Report>) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(report).map_err(Failure::other)?;
    if let Some(path) = &arguments.out {
        write(path, &json)?;
    }
    if let Some(path) = &arguments.html {
        write(path, &page(report).map_err(failure)?)?;
    }
    let ratios = other.map(|other| comparison(report, other));
    if arguments.json {
        println!("{json}");
        if let Some(ratios) = ratios {
            eprint!("{ratios}");
        }
    } else {
        print!("\n{}", report.notes());
        if let Some(ratios) = ratios {
            print!("\n{ratios}");
        }
    }
    if report.is_interrupted() {
        return Err(Failure::other("interrupted; the report has what was measured"));
    }
    match report.failed() {
        (0, _) if report.ended_early() => Err(Failure::partial("the server answered no more before all was asked")),
        (0, _) => Ok(()),
        (failed, all) => Err(Failure::partial(format!("{failed} of {all} requests failed"))),
    }
}

fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Lake(error) => Failure::from_lake(error),
        error if error.is_input() => Failure::input(error.to_string()),
        error => Failure::other(error),
    }
}

/// Reads the bearer token from a file or from the environment variable. No option takes the token itself, because other
/// users of the machine can see a command line. `None` if neither the file nor the variable is given.
fn token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let (text, source) = match file {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::input(format!("cannot read {}: {error}", path.display())))?;
            (text, path.display().to_string())
        }
        None => match std::env::var(TOKEN) {
            Ok(text) => (text, TOKEN.to_owned()),
            Err(_) => return Ok(None),
        },
    };
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::input(format!("there is no bearer token in {source}")));
    }
    Ok(Some(text.to_owned()))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "it is no number of seconds".to_owned())?;
    if (0.0..=LONGEST).contains(&number) {
        Ok(Duration::from_secs_f64(number))
    } else {
        Err(format!("it is no number from 0 to {LONGEST}"))
    }
}

/// Fails if the path cannot be written. The caller checks this before the measurements, which can take an hour.
fn writable(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(Failure::input(format!(
            "cannot write {}: no such folder, or it is one",
            path.display()
        )));
    }
    if path.is_symlink() && !path.exists() {
        return Err(Failure::input(format!(
            "cannot write {}: it is a link, and there is no file behind it",
            path.display()
        )));
    }
    // Opens the file to find out whether it can be written, without changing it. Removes it again if it is new.
    let is_new = !path.exists();
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| Failure::input(format!("cannot write {}: {error}", path.display())))?;
    if is_new {
        std::fs::remove_file(path).map_err(Failure::other)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::input(format!("cannot write {}: {error}", path.display())))
}
