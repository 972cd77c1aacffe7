//! Makes a file, with as many processes as it takes.

use std::io::{self, Seek, Write};

use super::attempt::{Ended, run};
use super::message::Mode;
use super::reader::Reader;
use super::request::Request;
use super::verdict::{Reason, Verdicts};
use crate::patient::pdf::build::{self, Export, Form, Part};
use crate::pdf::PdfError;

/// Writes the file of these parts. `begin` makes the output. If the file must be made again, it is called again, and
/// the first output is dropped. Also returns the last output if the file could not be made.
///
/// The file is made here if the records have no attachments, and otherwise in a process of `reader`.
pub fn made<W: Write + Seek>(
    reader: &Reader,
    mut export: Export,
    parts: &[Part<'_>],
    form: Form,
    mut begin: impl FnMut() -> W,
) -> (W, Result<Export, PdfError>) {
    let mut request = Request::new(parts, reader.bounds);
    let mut out = begin();
    if request.count() == 0 {
        let drawn = build::draw(export, parts, form, &(), &mut out);
        return (out, drawn);
    }
    let mut verdicts = Verdicts::new(request.count());
    // Each step reads fewer attachments than the one before.
    let steps: [fn(&mut Verdicts); 5] = [
        |_| {},
        Verdicts::skip_untried,
        Verdicts::drop_bad,
        Verdicts::only_small,
        Verdicts::read_none,
    ];
    for (place, step) in steps.into_iter().enumerate() {
        step(&mut verdicts);
        if place > 0 {
            out = begin();
            // Time is short now. Bytes that are only embedded should take none.
            export.is_packed = false;
        }
        let ended = run(reader, &mut request, &mut verdicts, mode(form), &export, &mut out);
        match ended {
            Ok(Ended::Done(failed)) => return (out, Ok(finished(export, parts, &failed))),
            Ok(Ended::Early(at, reason)) => {
                if let Some(number) = at {
                    verdicts.bad(number, reason);
                }
            }
            Err(error) => return (out, Err(error)),
        }
        if place == 0
            && let Err(error) = try_all(reader, &mut request, &mut verdicts, &export)
        {
            return (out, Err(error));
        }
    }
    (out, Err(PdfError::Writer("the process that makes it ended")))
}

/// Writes the file of these parts to `out`, if that is quick. `None` if it takes longer than the bounds say, or if an
/// attachment ends the process. Then [`made`] can make it with the reader that [`Reader::after_quick`] returns.
pub fn quickly<W: Write + Seek>(
    reader: &Reader,
    export: Export,
    parts: &[Part<'_>],
    form: Form,
    mut out: W,
) -> (W, Result<Option<Export>, PdfError>) {
    let mut request = Request::quick(parts, reader.bounds);
    if request.count() == 0 {
        let drawn = build::draw(export, parts, form, &(), &mut out);
        return (out, drawn.map(Some));
    }
    let mut verdicts = Verdicts::new(request.count());
    let ended = run(reader, &mut request, &mut verdicts, mode(form), &export, &mut out);
    let quick = match ended {
        Ok(Ended::Done(failed)) => Ok(Some(finished(export, parts, &failed))),
        // A process that cannot be started at once may be started later.
        Ok(Ended::Early(..)) | Err(PdfError::Apart(_)) => Ok(None),
        Err(error) => Err(error),
    };
    (out, quick)
}

fn mode(form: Form) -> Mode {
    match form {
        Form::Document => Mode::Document,
        Form::Archive => Mode::Archive,
    }
}

/// Reads each attachment alone, to find all that end a process. Stops when half of the time that was left is used: the
/// sound ones have to be read once more for the file.
fn try_all(
    reader: &Reader,
    request: &mut Request<'_>,
    verdicts: &mut Verdicts,
    export: &Export,
) -> Result<(), PdfError> {
    /// How many processes may end between attachments before the trial is given up.
    const MAX_STRAYS: usize = 3;
    request.begin_trials();
    let (mut from, mut strays) = (0, 0);
    while from < verdicts.len() && request.next(true).is_some() && strays < MAX_STRAYS {
        match run(
            reader,
            request,
            verdicts,
            Mode::Trial { from },
            export,
            &mut io::Cursor::new(Vec::new()),
        )? {
            Ended::Done(_) => break,
            Ended::Early(Some(number), reason) => {
                verdicts.bad(number, reason);
                from = number + 1;
            }
            Ended::Early(None, Reason::NoTimeLeft) => break,
            Ended::Early(None, _) => strays += 1,
        }
    }
    Ok(())
}

/// Fills in the result of the export.
fn finished(mut export: Export, parts: &[Part<'_>], failed: &[usize]) -> Export {
    export.failed = failed.iter().map(|part| parts[*part].source.label.clone()).collect();
    export.resources = parts
        .iter()
        .filter_map(|part| part.record)
        .map(|record| record.len())
        .sum();
    export
}
