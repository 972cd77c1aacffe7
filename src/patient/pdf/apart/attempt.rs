//! One process at work: gives it the task, answers its questions, and takes the file.

use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::COMMAND;
use super::message::{Answer, BYTES, MAX_MESSAGE, MESSAGE, Mode, PIECE, Said};
use super::reader::Reader;
use super::request::{OWN, Request};
use super::verdict::{Reason, Verdicts};
use crate::confined::{Patience, Process};
use crate::patient::pdf::build::{Export, MAX_ATTACHED};
use crate::pdf::{PdfError, Stop};

/// How a process ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It did its work. The parts with these numbers have losses.
    Done(Vec<usize>),
    /// It ended early, while it read the attachment with this number, or at other work.
    Early(Option<usize>, Reason),
}

/// Why the work with a process stops at once.
enum Trouble {
    /// The request ends with this error.
    Fatal(PdfError),
    /// The process ended, gave no sign of life in time, or said what makes no sense.
    Early(Reason),
}

/// Runs a process and writes the file to `out`.
pub(super) fn run<W: Write + Seek>(
    reader: &Reader,
    request: &mut Request<'_>,
    verdicts: &mut Verdicts,
    mode: Mode,
    export: &Export,
    out: &mut W,
) -> Result<Ended, PdfError> {
    let stop = export.stop().clone();
    let (process, size) = ready(reader, request, &stop)?;
    let finishes = match mode {
        Mode::Document => 1,
        Mode::Archive => request.parts.len(),
        Mode::Trial { .. } => 0,
    };
    let mut attempt = Attempt {
        process,
        size,
        limit: 0,
        until: Instant::now() + request.all_wait(),
        finishes,
        room: MAX_ATTACHED,
        request,
        verdicts,
        stop,
        is_trial: matches!(mode, Mode::Trial { .. }),
        window: None,
        finishing: None,
        next: 0,
        fetched: 0,
        small: ALL_SMALL,
        asked: 0,
        given: 0,
        largest: 0,
        counted: Duration::ZERO,
        end_of_file: 0,
    };
    let begun = attempt.begin().and_then(|()| attempt.give(mode, export));
    let worked = begun.and_then(|()| attempt.serve(out));
    let at = attempt.window.map(|window| window.number);
    attempt.count();
    match worked {
        Ok(failed) => Ok(Ended::Done(failed)),
        Err(Trouble::Fatal(error)) => Err(error),
        Err(Trouble::Early(reason)) => {
            // If the process ended by itself, the system knows more.
            let reason = match (reason, attempt.process.end()) {
                (Reason::Failure, end) => end.into(),
                (reason, _) => reason,
            };
            Ok(Ended::Early(at, reason))
        }
    }
}

/// The maximum bytes of a small attachment, and of all small attachments of a file.
const SMALL: u64 = 1 << 20;
const ALL_SMALL: u64 = 8 << 20;

/// A file that is being written.
#[derive(Clone, Copy)]
struct Finishing {
    /// The processor time of the process at the beginning.
    used: Duration,
    /// The processor time for the pages of records.
    own: Duration,
    since: Instant,
}

/// Starts a process and waits until it is confined. Tries it several times, because the process may be killed before.
/// Also returns the bytes of address space that the process has taken.
fn ready(reader: &Reader, request: &Request<'_>, stop: &Stop) -> Result<(Process, u64), PdfError> {
    const TRIES: usize = 3;
    /// More address space than the program ever has before it does anything.
    const MAX_SIZE: u64 = 4 << 30;
    let mut error = io::Error::from(io::ErrorKind::Other);
    for _ in 0..TRIES {
        let watched = stop.clone();
        let patience = Patience {
            until: Instant::now() + request.start_wait(),
            is_over: Arc::new(move || watched.is_asked()),
        };
        let mut process = Process::start(&reader.program, COMMAND, patience).map_err(PdfError::Apart)?;
        match process.receive(MAX_MESSAGE) {
            Ok(frame) => match serde_json::from_slice(&frame.bytes) {
                Ok(Said::Ready { size }) if size <= MAX_SIZE => return Ok((process, size)),
                Ok(Said::Unconfined(code)) => {
                    let why = format!("the process could not be confined: system error {code}");
                    return Err(PdfError::Apart(io::Error::other(why)));
                }
                _ => error = io::ErrorKind::InvalidData.into(),
            },
            Err(_) if stop.is_asked() => return Err(PdfError::Stopped),
            Err(why) => error = why,
        }
    }
    Err(PdfError::Apart(error))
}

/// An attachment that is being read.
#[derive(Clone, Copy)]
struct Window {
    number: usize,
    since: Instant,
    /// The processor time of the process at the beginning.
    used: Duration,
}

struct Attempt<'r, 'a> {
    process: Process,
    /// The address space of the program itself, in bytes.
    size: u64,
    /// The memory that the process may use beyond that.
    limit: u64,
    /// When the process must have done all its work.
    until: Instant,
    /// How many files the process may still write.
    finishes: usize,
    /// The bytes of documents that the process may still get for a file.
    room: u64,
    request: &'r mut Request<'a>,
    verdicts: &'r mut Verdicts,
    stop: Stop,
    is_trial: bool,
    window: Option<Window>,
    finishing: Option<Finishing>,
    /// The lowest number that the next attachment may have.
    next: usize,
    /// The bytes of the largest document that the process got for the next attachment.
    fetched: u64,
    /// The bytes that further small attachments may have.
    small: u64,
    /// The number of documents that the process has asked for.
    asked: usize,
    /// The bytes of all documents that it got, and of the largest.
    given: u64,
    largest: u64,
    /// The processor time of the process that was counted for attachments.
    counted: Duration,
    /// The number of bytes of the file.
    end_of_file: u64,
}

impl Attempt<'_, '_> {
    /// Sets the limits of the process.
    fn begin(&mut self) -> Result<(), Trouble> {
        let limited = self.process.bound_processor_time(self.request.all());
        let limited = limited.and_then(|()| self.limit_memory()).and_then(|()| self.outside());
        limited.map_err(|error| self.early(&error))
    }

    /// Sends the task.
    fn give(&mut self, mode: Mode, export: &Export) -> Result<(), Trouble> {
        let (task, rows) = self.request.task(mode, export);
        self.say(&task)?;
        let sent = self.process.send(BYTES, rows.iter().map(|row| &row.resource));
        sent.map_err(|error| self.early(&error))
    }

    /// Answers until the work is done. Returns the numbers of the parts with losses.
    fn serve<W: Write + Seek>(&mut self, out: &mut W) -> Result<Vec<usize>, Trouble> {
        const LIE: Trouble = Trouble::Early(Reason::Failure);
        loop {
            let frame = self.process.receive(MAX_MESSAGE).map_err(|error| self.early(&error))?;
            if frame.tag == BYTES {
                if self.is_trial || self.window.is_some() || frame.bytes.len() > PIECE {
                    return Err(LIE);
                }
                out.write_all(&frame.bytes).map_err(fatal)?;
                let place = out.stream_position().map_err(fatal)?;
                self.end_of_file = self.end_of_file.max(place);
                continue;
            }
            match serde_json::from_slice(&frame.bytes).map_err(|_| LIE)? {
                Said::Want { part, url, room } => self.document(part, &url, room)?,
                Said::Begin(number) if self.is_between() && self.is_next(number) => {
                    self.next = number + 1;
                    self.read(number)?;
                }
                Said::Keep(number) if !self.is_trial && self.is_between() && self.is_next(number) => {
                    self.next = number + 1;
                    self.keep(number)?;
                }
                Said::End(number) if self.window.is_some_and(|window| window.number == number) => {
                    self.count();
                    if self.is_trial {
                        self.verdicts.sound(number);
                    }
                    self.outside().map_err(|_| LIE)?;
                }
                Said::Finishing if self.is_between() && self.finishes > 0 => {
                    self.finishes -= 1;
                    self.finishing().map_err(|_| LIE)?;
                }
                Said::Finished if self.finishing.is_some() => self.finished().map_err(|_| LIE)?,
                Said::At(place) if !self.is_trial && place <= self.end_of_file => {
                    out.seek(SeekFrom::Start(place)).map_err(fatal)?;
                }
                Said::Done { failed } if self.is_whole() && self.is_list_of_parts(&failed) => return Ok(failed),
                _ => return Err(LIE),
            }
        }
    }

    /// Whether an attachment with this number may be the next one.
    fn is_next(&self, number: usize) -> bool {
        (self.next..self.verdicts.len()).contains(&number)
    }

    /// Whether the process neither reads an attachment nor writes a file.
    fn is_between(&self) -> bool {
        self.window.is_none() && self.finishing.is_none()
    }

    /// Whether the process may have done all its work. Nobody knows whether the bytes are a file.
    fn is_whole(&self) -> bool {
        self.is_between() && self.finishes == 0 && (self.is_trial || self.end_of_file > 0)
    }

    fn is_list_of_parts(&self, failed: &[usize]) -> bool {
        failed.iter().all(|part| *part < self.request.parts.len()) && failed.is_sorted_by(|one, next| one < next)
    }

    /// Gives the process a document that its records name.
    fn document(&mut self, part: usize, url: &str, room: u64) -> Result<(), Trouble> {
        // A process that is trying to read more than its records name is lying.
        let survey = self.request.surveys.get(part);
        let is_named = survey.is_some_and(|survey| survey.urls.contains(url));
        self.asked += 1;
        if !is_named || self.asked > self.verdicts.len() || !self.is_between() {
            return Err(Trouble::Early(Reason::Failure));
        }
        // A trial drops each document before it asks for the next one.
        let room = if self.is_trial {
            MAX_ATTACHED
        } else {
            self.room.min(room)
        };
        match self.request.parts[part].documents.get(url, room) {
            Ok(attached) => {
                let bytes = attached.bytes.len() as u64;
                self.fetched = self.fetched.max(bytes);
                if self.is_trial {
                    (self.given, self.largest) = (bytes, bytes);
                } else {
                    self.room = self.room.saturating_sub(bytes);
                    self.given += bytes;
                    self.largest = self.largest.max(bytes);
                }
                self.limit_memory().map_err(|error| self.early(&error))?;
                self.say(&Answer::Here {
                    content_type: attached.content_type,
                })?;
                let sent = self.process.send(BYTES, [&attached.bytes]);
                sent.map_err(|error| self.early(&error))
            }
            Err(error) => self.say(&Answer::Lacking(error)),
        }
    }

    /// Lets the process read an attachment, or tells it why not.
    fn read(&mut self, number: usize) -> Result<(), Trouble> {
        let small = self.small(number);
        let skipped = self.verdicts.skip(number, small.is_some());
        let next = self.request.next(self.is_trial);
        match (skipped, next) {
            (None, Some((time, wait))) => {
                self.small -= small.unwrap_or(0);
                self.window = Some(Window {
                    number,
                    since: Instant::now(),
                    used: self.process.processor_time(),
                });
                self.wait(wait);
                let limited = self.process.limit_processor_time(time);
                limited.map_err(|error| self.early(&error))?;
                self.say(&Answer::Read)
            }
            // A trial that may read no more ends here.
            (None, None) if self.is_trial => Err(Trouble::Early(Reason::NoTimeLeft)),
            (skipped, _) => {
                let (reason, is_kept) = skipped.unwrap_or((Reason::NoTimeLeft, true));
                self.say(&Answer::Skip {
                    reason: reason.to_string(),
                    is_kept,
                })
            }
        }
    }

    /// Lets the process embed an attachment, or tells it why not.
    fn keep(&mut self, number: usize) -> Result<(), Trouble> {
        let small = self.small(number);
        match self.verdicts.drop(small.is_some()) {
            None => {
                self.small -= small.unwrap_or(0);
                self.say(&Answer::Read)
            }
            Some(reason) => self.say(&Answer::Skip {
                reason: reason.to_string(),
                is_kept: false,
            }),
        }
    }

    /// Returns the bytes of an attachment if it counts as small, together with the small ones that were read before it.
    fn small(&mut self, number: usize) -> Option<u64> {
        let bytes = std::mem::take(&mut self.fetched).max(self.request.inline_length(number));
        (bytes <= SMALL.min(self.small)).then_some(bytes)
    }

    /// Counts the time of the attachment that was read, or of the file that was written. A trial does nothing else, so
    /// all its time counts.
    fn count(&mut self) {
        let used = self.process.processor_time();
        if let Some(finishing) = self.finishing.take() {
            let of_attachments = used.saturating_sub(finishing.used + finishing.own);
            self.request.count_time(of_attachments, finishing.since);
            self.counted += of_attachments;
        }
        if let Some(window) = self.window.take() {
            let before = if self.is_trial { self.counted } else { window.used };
            let of_attachment = used.saturating_sub(before);
            self.request.count_time(of_attachment, window.since);
            self.counted = if self.is_trial {
                used
            } else {
                self.counted + of_attachment
            };
        }
    }

    /// Sets the limits for work on the records.
    fn outside(&mut self) -> io::Result<()> {
        self.wait(self.request.bounds.wait);
        let records = self.request.bounds.records.min(self.own_left());
        self.process.limit_processor_time(records)
    }

    /// The processor time that the process may still use for other work than attachments.
    fn own_left(&self) -> Duration {
        let own = self.process.processor_time().saturating_sub(self.counted);
        (self.request.bounds.records * OWN).saturating_sub(own)
    }

    /// Sets the limits for writing a file. Writing the pages of records takes less than `own`; the rest is for the
    /// pages of attachments.
    fn finishing(&mut self) -> io::Result<()> {
        const LEAST: Duration = Duration::from_secs(2);
        let used = self.process.processor_time();
        let own = (used.saturating_sub(self.counted) * 4).max(LEAST);
        let own = own.min(self.request.bounds.records).min(self.own_left());
        self.finishing = Some(Finishing {
            used,
            own,
            since: Instant::now(),
        });
        self.wait(self.request.bounds.wait);
        self.process.limit_processor_time(own + self.request.left())
    }

    /// Counts the time of writing a file that was for attachments.
    fn finished(&mut self) -> io::Result<()> {
        self.count();
        self.outside()
    }

    /// Gives the process this much time by the clock, but no more than it has for all its work.
    fn wait(&mut self, time: Duration) {
        self.process.wait_until(self.until.min(Instant::now() + time));
    }

    fn limit_memory(&mut self) -> io::Result<()> {
        let memory = self.request.memory(self.given, self.largest);
        if memory == self.limit {
            return Ok(());
        }
        self.limit = memory;
        self.process.limit_memory(self.size.saturating_add(memory))
    }

    fn say(&mut self, message: &impl Serialize) -> Result<(), Trouble> {
        let text = serde_json::to_vec(message).map_err(|error| fatal(error.into()))?;
        self.process.send(MESSAGE, [text]).map_err(|error| self.early(&error))
    }

    /// Decides what an error of the connection means.
    fn early(&self, error: &io::Error) -> Trouble {
        match error.kind() {
            _ if self.stop.is_asked() => Trouble::Fatal(PdfError::Stopped),
            io::ErrorKind::TimedOut => Trouble::Early(Reason::Time),
            _ => Trouble::Early(Reason::Failure),
        }
    }
}

fn fatal(error: io::Error) -> Trouble {
    Trouble::Fatal(PdfError::Output(error))
}
