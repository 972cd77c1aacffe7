//! Writes the rows of several views, each to its own output.

use super::targets::Target;
use crate::cli::terminal::failure::{Failure, warn};
use crate::cli::terminal::progress::Progress;
use crate::cli::terminal::sink::{Excerpt, Sink, Stop};
use crate::views::{Event, RunError, TextColumn};

/// The outputs of the views that share one run.
pub(super) struct Outputs<'t> {
    targets: &'t [Target],
    /// For each view of the run, the index of its target in `targets`.
    places: Vec<usize>,
    sinks: Vec<Sink>,
    /// The number of rows that were written to each output, in the order of `places`.
    rows: Vec<usize>,
}

impl<'t> Outputs<'t> {
    /// Opens the output of each target in `places`. With `table`, the rows arrive as CSV with a header and are written
    /// as tables for people.
    pub(super) fn new(
        targets: &'t [Target],
        places: Vec<usize>,
        table: Option<Excerpt>,
    ) -> Result<Outputs<'t>, Failure> {
        let sink = |place: &usize| {
            let sink = Sink::at(targets[*place].out.as_deref())?;
            Ok(match table {
                Some(excerpt) => sink.of_table(excerpt),
                None => sink,
            })
        };
        Ok(Outputs {
            rows: vec![0; places.len()],
            sinks: places.iter().map(sink).collect::<Result<_, _>>()?,
            targets,
            places,
        })
    }

    /// Writes the rows of all views. Files get their names at the end, after all views have finished and `whole` has
    /// returned `Ok`. Returns the failures of single views: these views get no file, and the others are written. Any
    /// other failure ends all views and is the error. `named` receives an error and adds the name of the resource that
    /// caused it. If the reader of standard output closes it, the function returns at once: it calls neither `whole`
    /// nor `named`, and no file gets its name.
    pub(super) fn write(
        &mut self,
        events: impl Iterator<Item = Result<Event, RunError>>,
        progress: &Progress,
        whole: impl FnOnce() -> Result<(), Failure>,
        named: impl Fn(usize, RunError) -> RunError,
    ) -> Result<Vec<Failure>, Failure> {
        let (mut failed, mut warnings, mut ended) = (Vec::new(), Vec::new(), None);
        for event in events {
            match event {
                Err(error) => {
                    ended = Some(error);
                    break;
                }
                Ok(Event::Piece { view, bytes, rows }) => {
                    match self.sinks[view].write(&bytes) {
                        // The reader of standard output has closed it. This is no error.
                        Err(Stop::Quiet) => return Ok(self.failures(failed, |_, error| error)),
                        Err(Stop::Failed(failure)) => return Err(failure),
                        Ok(()) => {
                            self.rows[view] += rows;
                            progress.rows(rows as u64);
                        }
                    }
                }
                Ok(Event::Failed { view, error }) => {
                    self.sinks[view] = Sink::Gone;
                    failed.push((view, error));
                }
                Ok(Event::Done { view, texts }) => {
                    let file = self.targets[self.places[view]].file.display();
                    let told = |column: &TextColumn| {
                        format!("{file}: column '{}' is text in Parquet: {}", column.name, column.why)
                    };
                    warnings.extend(texts.iter().map(told));
                }
            }
        }
        if let Some(error) = ended {
            return Err(failure(&self.targets[self.places[0]], named(0, error)));
        }
        let failures = self.failures(failed, named);
        whole()?;
        progress.finish();
        for (sink, rows) in self.sinks.iter_mut().zip(&self.rows) {
            match sink.finish() {
                Err(Stop::Failed(failure)) => return Err(failure),
                Err(Stop::Quiet) | Ok(()) => sink.tell_rows(*rows),
            }
        }
        warnings.iter().for_each(|warning| warn(warning));
        Ok(failures)
    }

    fn failures(&self, failed: Vec<(usize, RunError)>, named: impl Fn(usize, RunError) -> RunError) -> Vec<Failure> {
        let of_view = |(view, error)| failure(&self.targets[self.places[view]], named(view, error));
        failed.into_iter().map(of_view).collect()
    }
}

/// Converts the error of a view to a failure. Its exit code is 3 if the view is too costly, 2 if the view is wrong, and
/// 1 for other errors.
pub(super) fn failure(target: &Target, error: RunError) -> Failure {
    let message = format!("{}: {error}", target.file.display());
    match error {
        error if error.is_too_costly() => Failure::partial(message),
        error if error.is_of_view() => Failure::input(message),
        _ => Failure::other(message),
    }
}
