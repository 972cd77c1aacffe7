//! The process that reads attachments.

use std::cell::RefCell;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use bytes::Bytes;
use chrono::DateTime;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::message::{Answer, BYTES, MAX_ADDRESS, MESSAGE, Mode, PIECE, Said, Task, TaskKind, TaskPart};
use super::trial::try_attachments;
use crate::confined::Inside;
use crate::fhir::facts;
use crate::lake::scan::Row;
use crate::patient::Record;
use crate::patient::pdf::attached::{Attached, Documents, FetchError};
use crate::patient::pdf::build::{self, Export, Form, Part};
use crate::patient::pdf::gate::{Gate, Unread};
use crate::patient::pdf::source::{Source, SourceKind};
use crate::pdf::PdfError;
use crate::search::Gathered;

/// Does the task that the other process gives. Call this in a process that is or could not be confined: then it only
/// says so.
pub fn serve(inside: io::Result<(Inside, u64)>) {
    let (inside, size) = match inside {
        Ok(inside) => inside,
        Err(error) => return unconfined(&error),
    };
    let client = Client {
        channel: RefCell::new(inside),
    };
    client.say(&Said::Ready { size });
    let task: Task = client.answer();
    let texts = Bytes::from(client.bytes());
    let done = match work(&client, &task, &texts) {
        Ok(failed) => Said::Done { failed },
        Err(_) => Said::Failed,
    };
    client.say(&done);
}

/// Tells the starter that this process could not be confined, over the connection that it would have had.
#[cfg(unix)]
fn unconfined(error: &io::Error) {
    use std::os::fd::AsFd;
    if let Ok(connection) = io::stdin().as_fd().try_clone_to_owned() {
        let mut channel = crate::confined::Channel::new(std::fs::File::from(connection));
        let text = serde_json::to_vec(&Said::Unconfined(error.raw_os_error().unwrap_or(0))).unwrap_or_default();
        let _ = channel.send(MESSAGE, [text]);
    }
}

fn work(client: &Client, task: &Task, texts: &Bytes) -> Result<Vec<usize>, PdfError> {
    let mut start = 0;
    let records: Vec<Option<Record>> = task.parts.iter().map(|part| record(part, texts, &mut start)).collect();
    let sources: Vec<Source> = task.parts.iter().map(source).collect();
    let documents: Vec<Remote<'_>> = (0..task.parts.len()).map(|part| Remote { client, part }).collect();
    let parts: Vec<Part<'_>> = records
        .iter()
        .zip(&sources)
        .zip(&documents)
        .map(|((record, source), documents)| Part {
            source,
            record: record.as_ref(),
            documents,
        })
        .collect();
    let moment = DateTime::from_timestamp_micros(task.moment).unwrap_or_default();
    let mut export = Export::new(moment, task.author.as_str()).with_base(&task.base);
    export.is_packed = task.is_packed;
    let form = match task.mode {
        Mode::Document => Form::Document,
        Mode::Archive => Form::Archive,
        Mode::Trial { from } => {
            try_attachments(export, &parts, from, client)?;
            return Ok(Vec::new());
        }
    };
    let sent = Sent {
        client,
        place: 0,
        length: 0,
    };
    let mut out = BufWriter::with_capacity(PIECE, sent);
    let export = build::draw(export, &parts, form, client, &mut out)?;
    out.flush().map_err(PdfError::Output)?;
    Ok(export.failed_parts().to_vec())
}

/// Returns the records of a part. `start` is the place of their texts.
fn record(part: &TaskPart, texts: &Bytes, start: &mut usize) -> Option<Record> {
    let mut types = Vec::new();
    for group in part.groups.as_ref()? {
        let mut rows = Vec::with_capacity(group.rows.len());
        for (id, length) in &group.rows {
            let end = *start + length;
            rows.push(Row {
                id: id.clone(),
                resource: texts.slice(*start..end),
                version: 1,
                last_updated: 0,
            });
            *start = end;
        }
        if let Some(type_id) = facts().lookup(&group.type_name) {
            types.push(Gathered {
                type_id,
                is_referred: group.is_referred,
                rows,
            });
        }
    }
    Some(Record { snapshot: 0, types })
}

fn source(part: &TaskPart) -> Source {
    Source {
        label: part.label.clone(),
        name: part.name.clone(),
        kind: match part.kind {
            TaskKind::Connected => SourceKind::Connected,
            TaskKind::SelfAttested => SourceKind::SelfAttested,
            TaskKind::Facility => SourceKind::Facility,
        },
        missing: part.missing.clone(),
    }
}

/// The connection to the other process. If it breaks, nobody wants the work, so the process ends.
struct Client {
    channel: RefCell<Inside>,
}

impl Client {
    fn say(&self, message: &impl Serialize) {
        let text = or_end(serde_json::to_vec(message));
        or_end(self.channel.borrow_mut().send(MESSAGE, [text]));
    }

    fn bytes(&self) -> Vec<u8> {
        or_end(self.channel.borrow_mut().receive(u64::MAX)).bytes
    }

    fn answer<T: DeserializeOwned>(&self) -> T {
        or_end(serde_json::from_slice(&self.bytes()))
    }

    fn permission(&self) -> Result<(), Unread> {
        match self.answer() {
            Answer::Read => Ok(()),
            Answer::Skip { reason, is_kept } => Err(Unread { reason, is_kept }),
            _ => std::process::exit(1),
        }
    }
}

fn or_end<T, E>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|_| std::process::exit(1))
}

impl Gate for Client {
    fn begin(&self, number: usize) -> Result<(), Unread> {
        self.say(&Said::Begin(number));
        self.permission()
    }

    fn keep(&self, number: usize) -> Result<(), Unread> {
        self.say(&Said::Keep(number));
        self.permission()
    }

    fn end(&self, number: usize) {
        self.say(&Said::End(number));
    }

    fn finishing(&self) {
        self.say(&Said::Finishing);
    }

    fn finished(&self) {
        self.say(&Said::Finished);
    }
}

/// The documents of a part, which the other process has.
struct Remote<'c> {
    client: &'c Client,
    part: usize,
}

impl Documents for Remote<'_> {
    fn get(&self, url: &str, room: u64) -> Result<Attached, FetchError> {
        // No document is held under such an address: a `data:` URL, for example, has the document itself.
        if url.len() > MAX_ADDRESS {
            return Err(FetchError::NotHeld);
        }
        self.client.say(&Said::Want {
            part: self.part,
            url: url.to_owned(),
            room,
        });
        match self.client.answer() {
            Answer::Here { content_type } => Ok(Attached {
                content_type,
                bytes: self.client.bytes(),
            }),
            Answer::Lacking(error) => Err(error),
            _ => std::process::exit(1),
        }
    }
}

/// The file, which the other process keeps.
struct Sent<'c> {
    client: &'c Client,
    place: u64,
    length: u64,
}

impl Write for Sent<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        self.client.channel.borrow_mut().send(BYTES, [piece])?;
        self.place += piece.len() as u64;
        self.length = self.length.max(self.place);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Sent<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(by) => self.place.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        let place = place.ok_or(io::ErrorKind::InvalidInput)?;
        if place != self.place {
            self.client.say(&Said::At(place));
            self.place = place;
        }
        Ok(place)
    }
}
