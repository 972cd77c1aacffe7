//! Writes a record as a Bundle. Reads the resources in order and in small steps, and returns the Bundle piece by piece.
//!
//! The links come after the entries, because only the last entry shows where the page ends.

use std::collections::VecDeque;

use bytes::Bytes;

use super::super::SearchError;
use super::super::bundle::attached::AddressSigner;
use super::super::bundle::page;
use super::super::bundle::page::Entry;
use super::super::engine::MAX_PAGE_BYTES;
use super::super::paging::links::Links;
use super::super::paging::page_token::PageToken;
use super::super::paging::position::Position;
use super::super::parameters::query::Query;
use super::super::run::parts::Part;
use super::request::{Extent, RecordRequest};
use crate::fhir::TypeId;
use crate::lake::Lake;
use crate::lake::scan::{Locator, Row, ScanError, ScopedTable};
use crate::parallel;

/// The maximum number of resources that are read at a time.
const STEP: usize = 100;
/// The maximum bytes of resources that are read at a time. A single resource may exceed it.
const STEP_BYTES: usize = 1 << 20;
/// The minimum bytes of a piece of the Bundle. The last piece may be smaller.
const PIECE: usize = 64 << 10;

/// The resources of a page.
pub(in crate::search) enum Shown {
    /// Resources that are not read yet: the part and the locator of each.
    Places(VecDeque<(usize, Locator)>),
    /// Resources that were read already.
    Entries(VecDeque<Entry>),
}

/// The resources of one type in a record.
#[derive(Debug)]
struct Source {
    table: ScopedTable,
    /// The index of the type among all types of the record.
    place: usize,
    /// Whether the resources are shown only because other resources refer to them.
    is_referred: bool,
}

/// A record, or one page of it, while it is written.
#[derive(Debug)]
pub struct RecordPage {
    lake: Lake,
    base: String,
    signer: Option<AddressSigner>,
    address: String,
    now: i64,
    /// Whether the page has the whole record.
    is_whole: bool,
    lead: Query,
    course: Position,
    pub(in crate::search) snapshot: u64,
    total: Option<usize>,
    more: bool,
    /// The number of matches that the page leaves out at its beginning.
    left_out: usize,
    sources: Vec<Source>,
    places: VecDeque<(usize, Locator)>,
    entries: VecDeque<Entry>,
    given: usize,
    bytes: usize,
    ends: Option<[(usize, Locator); 2]>,
    stage: Stage,
}

/// Yields the JSON of the Bundle in pieces. Yields nothing more after an error.
impl Iterator for RecordPage {
    type Item = Result<Bytes, SearchError>;

    fn next(&mut self) -> Option<Result<Bytes, SearchError>> {
        if self.stage == Stage::All {
            return None;
        }
        let piece = self.piece();
        if piece.is_err() {
            self.stage = Stage::All;
        }
        Some(piece)
    }
}

/// How much of the Bundle is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Nothing,
    Beginning,
    All,
}

/// The resources of one type in a record.
#[derive(Debug)]
pub struct Gathered {
    /// The resource type.
    pub type_id: TypeId,
    /// Whether the resources are in the record only because other resources refer to them.
    pub is_referred: bool,
    /// The resources.
    pub rows: Vec<Row>,
}

impl RecordPage {
    /// Creates a page that has `found` resources. [`show`](Self::show) sets these resources. `more` tells whether
    /// further resources follow this page.
    pub(in crate::search) fn new(
        (lake, signer): (&Lake, Option<&AddressSigner>),
        request: &RecordRequest<'_>,
        (lead, course): (Query, Position),
        (found, more): (usize, bool),
        total: Option<usize>,
    ) -> RecordPage {
        let path = match request.extent {
            Extent::Whole => None,
            Extent::Page { path, .. } => Some(path),
        };
        RecordPage {
            lake: lake.clone(),
            base: request.base.to_owned(),
            signer: signer.cloned(),
            address: format!("{}{}", request.base, path.unwrap_or_default()),
            now: request.now,
            is_whole: path.is_none(),
            lead,
            course,
            snapshot: 0,
            total,
            more,
            left_out: found,
            sources: Vec::new(),
            places: VecDeque::new(),
            entries: VecDeque::new(),
            given: 0,
            bytes: 0,
            ends: None,
            stage: Stage::Nothing,
        }
    }

    /// Sets the resources of the page, and the parts to which they belong. For each part, `places` has the index of its
    /// type among all types of the record. The first `members` parts have members, the other parts have resources to
    /// which members refer.
    pub(in crate::search) fn show(&mut self, shown: Shown, parts: Vec<Part>, places: Vec<usize>, members: usize) {
        let sources = parts.into_iter().zip(places).enumerate();
        let source = |(at, (part, place)): (usize, (Part, usize))| Source {
            table: part.table,
            place,
            is_referred: at >= members,
        };
        self.sources = sources.map(source).collect();
        let shown = match shown {
            Shown::Places(places) => {
                self.places = places;
                self.left_out
            }
            Shown::Entries(entries) => {
                self.entries = entries;
                self.entries.len()
            }
        };
        self.left_out -= shown;
    }

    /// Reads the first resources. For a patient token, also opens the files of the remaining resources and holds them
    /// open, unless they are too many. Then they can be read even if they are unlinked before the answer ends.
    pub(in crate::search) fn read_first(&mut self) -> Result<(), SearchError> {
        self.read_ahead()?;
        let mut left: Vec<usize> = self.places.iter().map(|(part, _)| *part).collect();
        left.dedup();
        for part in left {
            let table = &mut self.sources[part].table;
            // For an application, no files are held open, because its tables may have very many files.
            if table.scope().patient.is_some() {
                *table = table.held(None)?;
            }
        }
        Ok(())
    }

    /// Whether the whole Bundle was written, or an error has ended it.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::All
    }

    /// Returns the next piece of the Bundle's JSON.
    fn piece(&mut self) -> Result<Bytes, SearchError> {
        let mut out = Vec::with_capacity(2 * PIECE);
        if self.stage == Stage::Nothing {
            page::begin(&mut out, self.now, self.total);
            self.stage = Stage::Beginning;
        }
        while out.len() < PIECE {
            let Some(entry) = self.entry()? else {
                self.finish(&mut out);
                break;
            };
            self.open_entry(&mut out);
            let mode = if self.source_of(entry.type_id).is_some_and(|source| source.is_referred) {
                "include"
            } else {
                "match"
            };
            let base = (self.base.as_str(), self.signer.as_ref());
            page::push_entry(&mut out, base, &entry, None, mode);
            self.note(&entry);
        }
        Ok(Bytes::from(out))
    }

    /// Returns all resources, type after type, instead of the Bundle. The page must have the whole record
    /// (`Extent::Whole`). At most `threads` threads read it, and each of them takes some MiB of memory.
    pub fn gather(mut self, threads: usize) -> Result<Vec<Gathered>, SearchError> {
        let shares = self.shares(threads);
        let read = parallel::map(&shares, threads, |share| {
            let read = share.iter().map(|(table, places)| {
                let rows = table.resources_in_passing(places, usize::MAX)?;
                Ok((table.type_id(), rows.unwrap_or_default()))
            });
            read.collect::<Result<Vec<_>, ScanError>>()
        });
        let mut gathered: Vec<Gathered> = Vec::new();
        for entry in std::mem::take(&mut self.entries) {
            self.add(&mut gathered, entry.type_id, [entry.row]);
        }
        for share in read {
            for (type_id, rows) in share? {
                self.add(&mut gathered, type_id, rows);
            }
        }
        Ok(gathered)
    }

    /// Divides the resources that are not read yet into at most `count` shares, in order. The shares have about equal
    /// numbers of resources. Each share consists of steps, which have at most `STEP` resources of one table.
    fn shares(&self, count: usize) -> Vec<Vec<(ScopedTable, Vec<Locator>)>> {
        let all: Vec<(usize, Locator)> = self.places.iter().copied().collect();
        let size = all.len().div_ceil(count.max(1)).max(STEP);
        let step = |step: &[(usize, Locator)]| {
            let table = self.sources[step[0].0].table.clone();
            (table, step.iter().map(|(_, place)| *place).collect())
        };
        let share = |share: &[(usize, Locator)]| {
            let of_parts = share.chunk_by(|one, other| one.0 == other.0);
            of_parts.flat_map(|of_part| of_part.chunks(STEP)).map(step).collect()
        };
        all.chunks(size).map(share).collect()
    }

    /// Appends rows to the last group of `gathered` if it has their type, otherwise adds a group. The caller adds all
    /// rows of a type before the rows of another type.
    fn add(&self, gathered: &mut Vec<Gathered>, type_id: TypeId, rows: impl IntoIterator<Item = Row>) {
        match gathered.last_mut().filter(|last| last.type_id == type_id) {
            Some(last) => last.rows.extend(rows),
            None => gathered.push(Gathered {
                type_id,
                is_referred: self.source_of(type_id).is_some_and(|source| source.is_referred),
                rows: rows.into_iter().collect(),
            }),
        }
    }

    /// Returns the id of the snapshot.
    pub fn snapshot(&self) -> u64 {
        self.snapshot
    }

    /// Returns the next resource. Returns `None` if there is none, or if the page would exceed `MAX_PAGE_BYTES` with
    /// it.
    fn entry(&mut self) -> Result<Option<Entry>, SearchError> {
        if self.entries.is_empty() {
            self.read_ahead()?;
        }
        let bytes = self.entries.front().map_or(0, |entry| entry.row.resource.len());
        if !self.is_whole && self.given > 0 && self.bytes + bytes > MAX_PAGE_BYTES {
            self.more = true;
            self.entries.clear();
            self.places.clear();
        }
        Ok(self.entries.pop_front())
    }

    /// Reads the next resources, at most `STEP` of one part. Does nothing if all resources have been read.
    fn read_ahead(&mut self) -> Result<(), SearchError> {
        let Some((part, _)) = self.places.front().copied() else {
            return Ok(());
        };
        let of_part = self.places.iter().take_while(|(of, _)| *of == part).take(STEP);
        let places: Vec<Locator> = of_part.map(|(_, place)| *place).collect();
        let table = &self.sources[part].table;
        let mut count = places.len();
        let rows = loop {
            // A single resource is read whatever its size.
            let max_bytes = if count == 1 { usize::MAX } else { STEP_BYTES };
            match table.resources_in_passing(&places[..count], max_bytes)? {
                Some(rows) => break rows,
                None => count = (count / 16).max(1),
            }
        };
        let type_id = table.type_id();
        let entries = rows
            .into_iter()
            .zip(&places)
            .map(|(row, place)| Entry::of(type_id, row).at(*place));
        self.entries.extend(entries);
        self.places.drain(..count);
        Ok(())
    }

    fn source_of(&self, type_id: TypeId) -> Option<&Source> {
        self.sources.iter().find(|source| source.table.type_id() == type_id)
    }

    fn note(&mut self, entry: &Entry) {
        self.given += 1;
        self.bytes += entry.row.resource.len();
        let place = self
            .source_of(entry.type_id)
            .map(|source| source.place)
            .zip(entry.place);
        if let Some(place) = place {
            self.ends = Some([self.ends.map_or(place, |[first, _]| first), place]);
        }
    }

    /// Writes the text before an entry: the beginning of the array, or a comma.
    fn open_entry(&self, out: &mut Vec<u8>) {
        match self.given {
            0 => out.extend_from_slice(br#","entry":["#),
            _ => out.push(b','),
        }
    }

    /// Writes the end of the Bundle: the remarks and, unless the page has the whole record, the links.
    fn finish(&mut self, out: &mut Vec<u8>) {
        let said = page::said(&self.lead.remarks).filter(|_| !self.lead.counts_only());
        if let Some(outcome) = &said {
            self.open_entry(out);
            page::push_outcome(out, outcome);
        }
        if self.given > 0 || said.is_some() {
            out.push(b']');
        }
        if !self.is_whole {
            page::push_links(out, &self.links());
        }
        out.push(b'}');
        self.stage = Stage::All;
    }

    fn links(&self) -> Vec<(&'static str, String)> {
        let links = Links {
            address: &self.address,
            parameters: &self.lead.understood,
            count: self.lead.count,
            offset: self.lead.offset,
            left_out: self.left_out,
            matches: self.given,
            more: self.more,
            included: 0,
            more_included: None,
            ends: self.ends,
            first: PageToken {
                total: self.total.or_else(|| self.course.total()),
                ..PageToken::first(self.snapshot, self.course.erasures, self.course.scope)
            },
            asked: self.lead.tag.as_deref(),
        };
        links.list(|tag| tag.text(&self.lake, &self.course.search))
    }
}
