//! Records without a person: practitioners, organizations, locations and medications. A unit sees the ones that its own
//! records refer to. They come from the input or, if the input lacks them, from the lake.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::asked::is_asked;
use super::kept::Shelf;
use super::stowed;
use crate::columns::json::{Tape, Value};
use crate::fhir::reference::Target;
use crate::fhir::{TypeId, facts};
use crate::ingest::error::IngestError;
use crate::ingest::references::condition::Keys;
use crate::ingest::rows::block::lines;
use crate::lake::scratch::Parts;

/// The maximum number of bytes of the input's records in memory. Further records are in a temporary file.
const IN_MEMORY: usize = 48 << 20;
/// The maximum number of the input's records that are stored here. It limits the memory for their positions. Further
/// records are not stored. In place of such a record, a unit sees the lake's version of it, if there is one.
const MAX_RECORDS: usize = 2 << 20;
/// If the cache for units has more bytes than this, it is emptied.
const MAX_READ: usize = 32 << 20;
/// The maximum number of steps by which references are followed from a referenced record to further ones, such as from
/// a role to its organization.
const ROUNDS: usize = 3;

/// The input's records without a person that rules look up. Of each id, the last version is stored.
#[derive(Debug)]
pub(super) struct Shared {
    folder: PathBuf,
    keys: Keys,
    places: FxHashMap<u128, Stored>,
    /// The number of bytes in memory.
    memory: usize,
    file: Option<Parts>,
}

#[derive(Debug)]
struct Stored {
    ordinal: u64,
    place: Location,
}

/// Where a record is: its bytes in memory, or its offset and length in the temporary file. The bytes have the form of
/// [`stowed`].
#[derive(Debug)]
enum Location {
    Memory(Box<[u8]>),
    File(u64, usize),
}

/// A record without a person.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) resource_type: TypeId,
    pub(super) id: String,
    pub(super) text: String,
    /// The record's references to records that rules look up, as `Type/id`.
    refers_to: Vec<String>,
}

impl Shared {
    pub(super) fn new(folder: PathBuf, keys: Keys) -> Shared {
        Shared {
            folder,
            keys,
            places: FxHashMap::default(),
            memory: 0,
            file: None,
        }
    }

    /// Stores a record, unless a later record with the same id is stored, or there are too many records.
    pub(super) fn note(&mut self, identity: u128, ordinal: u64, record: &[u8]) -> Result<(), IngestError> {
        match self.places.get(&identity) {
            Some(known) if known.ordinal > ordinal => return Ok(()),
            None if self.places.len() >= MAX_RECORDS => return Ok(()),
            _ => {}
        }
        let place = if self.memory + record.len() <= IN_MEMORY {
            self.memory += record.len();
            Location::Memory(record.into())
        } else {
            let file = match &self.file {
                Some(file) => file,
                None => self.file.insert(Parts::create_in(&self.folder)?),
            };
            Location::File(file.add(record)?, record.len())
        };
        let earlier = self.places.insert(identity, Stored { ordinal, place });
        if let Some(Stored {
            place: Location::Memory(record),
            ..
        }) = earlier
        {
            self.memory -= record.len();
        }
        Ok(())
    }

    fn get(&self, type_id: TypeId, id: &str) -> Result<Option<Known>, IngestError> {
        let Some(stored) = self.places.get(&self.keys.identity(type_id, id)) else {
            return Ok(None);
        };
        let mut buffer = Vec::new();
        let bytes = match (&stored.place, &self.file) {
            (Location::Memory(bytes), _) => &bytes[..],
            (Location::File(at, length), Some(file)) => {
                file.read(*at, *length, 0..*length, &mut buffer)?;
                &buffer
            }
            (Location::File(..), None) => return Ok(None),
        };
        Ok(stowed::read(bytes).map(|record| Known {
            resource_type: record.resource_type,
            id: record.id.to_owned(),
            text: record.text.to_owned(),
            refers_to: lines(record.shared_refs)
                .filter(|name| is_asked(name))
                .map(str::to_owned)
                .collect(),
        }))
    }
}

/// Finds records without a person by `Type/id`: in the input or, if it lacks them, in the lake.
#[derive(Debug)]
pub(super) struct Reach {
    shared: Shared,
    read: Mutex<Read>,
}

/// Cached records. `None` if neither the input nor the lake has the record.
#[derive(Debug, Default)]
struct Read {
    known: FxHashMap<String, Option<Arc<Known>>>,
    bytes: usize,
}

impl Reach {
    pub(super) fn new(shared: Shared) -> Reach {
        Reach {
            shared,
            read: Mutex::default(),
        }
    }

    /// Returns the records with these names (`Type/id`) and, in at most `ROUNDS` steps, the records to which their
    /// references lead. They are in order of names. Also returns the number of records that could not be read.
    pub(super) fn reached(
        &self,
        shelf: &Shelf,
        names: BTreeSet<String>,
    ) -> Result<(Vec<Arc<Known>>, u64), IngestError> {
        let mut unreadable = 0;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.bytes > MAX_READ {
            *read = Read::default();
        }
        let mut names = names;
        let mut open: Vec<String> = names.iter().cloned().collect();
        for round in 0..=ROUNDS {
            unreadable += self.read(shelf, &open, &mut read)?;
            if round == ROUNDS {
                break;
            }
            let found = open.iter().filter_map(|name| read.known.get(name)?.clone());
            let more: BTreeSet<String> = found
                .flat_map(|known| known.refers_to.clone())
                .filter(|name| !names.contains(name))
                .collect();
            if more.is_empty() {
                break;
            }
            names.extend(more.iter().cloned());
            open = more.into_iter().collect();
        }
        let known = names.iter().filter_map(|name| read.known.get(name)?.clone());
        Ok((known.collect(), unreadable))
    }

    /// Reads records that are not cached yet into the cache. Returns the number of records that could not be read.
    fn read(&self, shelf: &Shelf, names: &[String], read: &mut Read) -> Result<u64, IngestError> {
        let mut unreadable = 0;
        let mut missing: Vec<(TypeId, &str)> = Vec::new();
        for name in names {
            let target = Target::parse(name).filter(|_| !read.known.contains_key(name));
            let Some(target) = target else { continue };
            match self.shared.get(target.type_id, target.id)? {
                Some(known) => read.add(name.clone(), Some(known)),
                None => missing.push((target.type_id, target.id)),
            }
        }
        missing.sort_unstable();
        for of_type in missing.chunk_by(|one, other| one.0 == other.0) {
            let (type_id, name) = (of_type[0].0, facts().get(of_type[0].0).name);
            let ids: Vec<&str> = of_type.iter().map(|(_, id)| *id).collect();
            unreadable += shelf.of_nobody(type_id, &ids, |id, text| {
                let known = text.map(|text| Known {
                    resource_type: type_id,
                    id: id.to_owned(),
                    refers_to: references(&text),
                    text,
                });
                read.add(format!("{name}/{id}"), known);
            });
        }
        Ok(unreadable)
    }
}

impl Read {
    fn add(&mut self, name: String, known: Option<Known>) {
        self.bytes += 200 + name.len() + known.as_ref().map_or(0, |known| known.text.len());
        self.known.insert(name, known.map(Arc::new));
    }
}

/// Returns the references to records that rules look up. `text` is one of the lake's records.
fn references(text: &str) -> Vec<String> {
    fn of(value: Value<'_>, found: &mut Vec<String>) {
        value.items().for_each(|item| of(item, found));
        for (key, value) in value.entries() {
            match value.as_str().filter(|_| key.is("reference")) {
                Some(text) => found.extend(of_text(&text)),
                None => of(value, found),
            }
        }
    }
    fn of_text(text: &str) -> Option<String> {
        let target = Target::parse(text)?;
        let name = format!("{}/{}", facts().get(target.type_id).name, target.id);
        is_asked(&name).then_some(name)
    }
    let (mut tape, mut found) = (Tape::new(), Vec::new());
    if let Ok(root) = tape.parse(text.as_bytes()) {
        of(root, &mut found);
    }
    found
}
