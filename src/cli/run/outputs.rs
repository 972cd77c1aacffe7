//! Where rows go: standard output, files that appear under their names when they are whole, or what else stands under a name: a
//! device or a pipe.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, StdoutLock, Write};
use std::path::{Path, PathBuf};

use super::failure;
use super::targets::Target;
use crate::cli::failure::Failure;
use crate::cli::progress::Progress;
use crate::views::{Event, RunError};

/// The outputs of some of the targets.
pub(super) struct Outputs<'t> {
    targets: &'t [Target],
    /// The targets' places, in the order of the views.
    places: Vec<usize>,
    sinks: Vec<Sink>,
}

enum Sink {
    Stdout(StdoutLock<'static>),
    /// A device or a pipe, which no file may take the place of.
    Stream(BufWriter<File>),
    File(Part),
    /// It failed, and what was written is gone.
    Gone,
}

/// A file under way. What is half written is of no use to anybody, so it goes where the work ends early.
struct Part {
    path: PathBuf,
    part: PathBuf,
    writer: Option<BufWriter<File>>,
}

impl<'t> Outputs<'t> {
    pub(super) fn new(targets: &'t [Target], places: Vec<usize>) -> Result<Outputs<'t>, Failure> {
        let sink = |place: &usize| match &targets[*place].out {
            None => Ok(Sink::Stdout(std::io::stdout().lock())),
            Some(path) => Sink::named(path),
        };
        Ok(Outputs {
            sinks: places.iter().map(sink).collect::<Result<_, _>>()?,
            targets,
            places,
        })
    }

    /// Writes what comes. Files appear under their names once all views are through and `whole` agrees that nothing is
    /// missing. Says which views failed; another failure ends all of them.
    pub(super) fn write(
        &mut self,
        events: impl Iterator<Item = Result<Event, RunError>>,
        progress: &Progress,
        whole: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<Vec<Failure>, Failure> {
        let mut failures = Vec::new();
        for event in events {
            match event.map_err(|error| failure(&self.targets[self.places[0]], error))? {
                Event::Piece { view, bytes, rows } => {
                    match self.sinks[view].write(&bytes) {
                        // Whoever reads standard output has had enough.
                        Err(Stop::Quiet) => return Ok(failures),
                        Err(Stop::Failed(failure)) => return Err(failure),
                        Ok(()) => progress.rows(rows as u64),
                    }
                }
                Event::Failed { view, error } => {
                    self.sinks[view] = Sink::Gone;
                    failures.push(failure(&self.targets[self.places[view]], error));
                }
                Event::Done { .. } => {}
            }
        }
        whole()?;
        for sink in &mut self.sinks {
            match sink.finish() {
                Err(Stop::Failed(failure)) => return Err(failure),
                Err(Stop::Quiet) | Ok(()) => {}
            }
        }
        Ok(failures)
    }
}

/// Why no more is written.
enum Stop {
    Quiet,
    Failed(Failure),
}

impl Sink {
    fn named(path: &Path) -> Result<Sink, Failure> {
        let failed = |error: std::io::Error| Failure::input(format!("{}: {error}", path.display()));
        if path == Path::new("/dev/stdout") {
            return Ok(Sink::Stdout(std::io::stdout().lock()));
        }
        match std::fs::metadata(path) {
            // Where a link leads to a file, that is written and the link stays.
            Ok(found) if found.is_file() => Part::new(&path.canonicalize().map_err(failed)?).map(Sink::File),
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                Ok(Sink::Stream(BufWriter::new(file)))
            }
            Err(_) => Part::new(path).map(Sink::File),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        match self {
            Sink::Gone => Ok(()),
            Sink::Stdout(sink) => sink.write_all(bytes).map_err(stopped),
            Sink::Stream(sink) => sink.write_all(bytes).map_err(stopped),
            Sink::File(part) => part.write(bytes).map_err(Stop::Failed),
        }
    }

    fn finish(&mut self) -> Result<(), Stop> {
        match self {
            Sink::Gone => Ok(()),
            Sink::Stdout(sink) => sink.flush().map_err(stopped),
            Sink::Stream(sink) => sink.flush().map_err(stopped),
            Sink::File(part) => part.finish().map_err(Stop::Failed),
        }
    }
}

fn stopped(error: std::io::Error) -> Stop {
    match error.kind() {
        ErrorKind::BrokenPipe => Stop::Quiet,
        _ => Stop::Failed(Failure::other(format!("the output could not be written: {error}"))),
    }
}

impl Part {
    fn new(path: &Path) -> Result<Part, Failure> {
        let name = path
            .file_name()
            .ok_or_else(|| Failure::input(format!("{} is no file name", path.display())))?;
        let part = path.with_file_name(format!(".{}.part", name.to_string_lossy()));
        let file = File::create(&part).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
        Ok(Part {
            path: path.to_owned(),
            part,
            writer: Some(BufWriter::new(file)),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.writer {
            Some(writer) => writer.write_all(bytes),
            None => Ok(()),
        };
        written.map_err(|error| self.failed(error))
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let Some(mut writer) = self.writer.take() else {
            return Ok(());
        };
        let written = writer.flush().and_then(|()| std::fs::rename(&self.part, &self.path));
        if written.is_err() {
            self.writer = Some(writer);
        }
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: std::io::Error) -> Failure {
        Failure::other(format!("{}: {error}", self.path.display()))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            // That it stays is no reason for another message.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
