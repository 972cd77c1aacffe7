//! A request for a file: what its records have attached, and what its processes have used so far.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::message::{Group, Mode, Task, TaskKind, TaskPart};
use super::reader::Bounds;
use crate::columns::json::Tape;
use crate::fhir::{TypeId, facts};
use crate::lake::scan::Row;
use crate::patient::pdf::attached;
use crate::patient::pdf::build::{Export, Part};
use crate::patient::pdf::source::SourceKind;

/// How many times a process may use the processor time for the pages of records: once to set them, and once to write
/// them.
pub(super) const OWN: u32 = 2;

/// What a part's records have attached.
#[derive(Debug, Default)]
pub(super) struct Survey<'a> {
    /// The resources with attachments, in the order of the record, with the number of attachments of each.
    rows: Vec<(TypeId, bool, &'a Row)>,
    /// The bytes of each attachment inside of the records. Zero if it is elsewhere.
    lengths: Vec<u64>,
    /// The addresses that the process may ask for.
    pub(super) urls: BTreeSet<String>,
    /// The bytes of the records' texts.
    texts: u64,
    /// The bytes of attachments inside of the records: of all, and of the largest.
    inline: u64,
    largest: u64,
}

impl<'a> Survey<'a> {
    pub(super) fn of(part: &Part<'a>) -> Survey<'a> {
        let mut survey = Survey::default();
        let mut tape = Tape::new();
        let groups = part.record.into_iter().flat_map(|record| &record.types);
        for (group, row) in groups.flat_map(|group| group.rows.iter().map(move |row| (group, row))) {
            survey.texts += row.resource.len() as u64;
            let Ok(resource) = tape.parse(&row.resource) else {
                continue;
            };
            let named = attached::of(group.type_id, resource);
            if named.is_empty() {
                continue;
            }
            survey.rows.push((group.type_id, group.is_referred, row));
            for one in named {
                let inline = one.inline_length();
                survey.lengths.push(inline);
                survey.inline += inline;
                survey.largest = survey.largest.max(inline);
                survey.urls.extend(one.url);
            }
        }
        survey
    }
}

/// A request for a file.
pub(super) struct Request<'a> {
    pub(super) parts: &'a [Part<'a>],
    pub(super) surveys: Vec<Survey<'a>>,
    pub(super) bounds: Bounds,
    /// The processor time that attachments have used, and the time by the clock.
    used: Duration,
    waited: Duration,
    /// The processor time that trials must leave.
    kept: Duration,
    /// Whether the process must be quick.
    is_quick: bool,
}

impl<'a> Request<'a> {
    /// A request whose process must be quick.
    pub(super) fn quick(parts: &'a [Part<'a>], bounds: Bounds) -> Request<'a> {
        Request {
            is_quick: true,
            ..Request::new(parts, bounds)
        }
    }

    /// All processor time that a process may use.
    pub(super) fn all(&self) -> Duration {
        if self.is_quick {
            self.bounds.quick
        } else {
            self.bounds.records * OWN + self.left()
        }
    }

    /// The time by the clock that a process may use.
    pub(super) fn all_wait(&self) -> Duration {
        if self.is_quick {
            self.bounds.quick_wait
        } else {
            self.bounds.wait * 2 + self.bounds.attachments_wait
        }
    }

    /// The time by the clock in which a process must be confined.
    pub(super) fn start_wait(&self) -> Duration {
        self.bounds.wait.min(self.all_wait())
    }

    pub(super) fn new(parts: &'a [Part<'a>], bounds: Bounds) -> Request<'a> {
        Request {
            parts,
            surveys: parts.iter().map(Survey::of).collect(),
            bounds,
            used: Duration::ZERO,
            waited: Duration::ZERO,
            kept: Duration::ZERO,
            is_quick: false,
        }
    }

    /// The number of attachments.
    pub(super) fn count(&self) -> usize {
        self.surveys.iter().map(|survey| survey.lengths.len()).sum()
    }

    /// The bytes of the attachment with this number inside of the records.
    pub(super) fn inline_length(&self, number: usize) -> u64 {
        let lengths = self.surveys.iter().flat_map(|survey| &survey.lengths);
        lengths.copied().nth(number).unwrap_or(0)
    }

    /// Counts the processor time of attachments, and the time by the clock since this moment.
    pub(super) fn count_time(&mut self, used: Duration, since: Instant) {
        self.used += used;
        self.waited += since.elapsed();
    }

    /// The processor time that attachments may still use.
    pub(super) fn left(&self) -> Duration {
        self.bounds.attachments.saturating_sub(self.used)
    }

    /// Keeps half of the processor time that is left from trials: the sound attachments have to be read once more for
    /// the file.
    pub(super) fn begin_trials(&mut self) {
        self.kept = self.left() / 2;
    }

    /// The processor time and the time by the clock for the next attachment. `None` if there is not enough for one.
    pub(super) fn next(&self, is_trial: bool) -> Option<(Duration, Duration)> {
        // A limit of processor time ends at a whole second.
        const MIN: Duration = Duration::from_secs(1);
        let kept = if is_trial { self.kept } else { Duration::ZERO };
        let time = self.left().saturating_sub(kept).min(self.bounds.attachment);
        let left = self.bounds.attachments_wait.saturating_sub(self.waited);
        let wait = left.min(self.bounds.attachment_wait);
        (time >= MIN && !wait.is_zero()).then_some((time, wait))
    }

    /// The memory of a process, in bytes. `given` are the documents that it got: all bytes, and those of the largest.
    pub(super) fn memory(&self, given: u64, largest: u64) -> u64 {
        // The pages of records take several times the bytes of the texts. The bytes of a document are in the file, in
        // the document that was read, and in the process's buffers.
        const OF_RECORDS: u64 = 12;
        const OF_FURTHER: u64 = 3;
        let texts: u64 = self.surveys.iter().map(|survey| survey.texts).sum();
        let inline: u64 = self.surveys.iter().map(|survey| survey.inline).sum();
        let of_inline = self.surveys.iter().map(|survey| survey.largest).max();
        let further = (inline + given).saturating_sub(largest.max(of_inline.unwrap_or(0)));
        self.bounds.memory + OF_RECORDS * texts.saturating_sub(inline / 3 * 4) + OF_FURTHER * further
    }

    /// Returns the task for a process, and the rows whose texts follow. A trial gets only the resources with
    /// attachments.
    pub(super) fn task(&self, mode: Mode, export: &Export) -> (Task, Vec<&'a Row>) {
        let mut rows = Vec::new();
        let parts = self.parts.iter().zip(&self.surveys).map(|(part, survey)| {
            let source = part.source;
            TaskPart {
                label: source.label.clone(),
                name: source.name.clone(),
                kind: match source.kind {
                    SourceKind::Connected => TaskKind::Connected,
                    SourceKind::SelfAttested => TaskKind::SelfAttested,
                    SourceKind::Facility => TaskKind::Facility,
                },
                missing: source.missing.clone(),
                groups: part.record.map(|record| match mode {
                    Mode::Trial { .. } => grouped(survey.rows.iter().copied(), &mut rows),
                    _ => {
                        let all = record.types.iter().flat_map(|group| {
                            let rows = group.rows.iter();
                            rows.map(|row| (group.type_id, group.is_referred, row))
                        });
                        grouped(all, &mut rows)
                    }
                }),
            }
        });
        let task = Task {
            mode,
            parts: parts.collect(),
            moment: export.moment.timestamp_micros(),
            author: export.author.clone(),
            is_packed: export.is_packed,
            base: export.base().to_owned(),
        };
        (task, rows)
    }
}

/// Groups consecutive rows of one type. Adds the rows to `all`.
fn grouped<'a>(rows: impl Iterator<Item = (TypeId, bool, &'a Row)>, all: &mut Vec<&'a Row>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (type_id, is_referred, row) in rows {
        let type_name = facts().get(type_id).name;
        let item = (row.id.clone(), row.resource.len());
        match groups.last_mut() {
            Some(group) if group.type_name == type_name => group.rows.push(item),
            _ => groups.push(Group {
                type_name: type_name.to_owned(),
                is_referred,
                rows: vec![item],
            }),
        }
        all.push(row);
    }
    groups
}
