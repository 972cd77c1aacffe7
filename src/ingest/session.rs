//! An import, from its first byte to its commit.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::IngestError;
use super::input::document::Preparer;
use super::input::normalize::Normalizer;
use super::input::source::{Fault, Piece, Pieces, Text, find};
use super::options::Options;
use super::references::condition::Keys;
use super::references::identifiers::Identifiers;
use super::references::late::Late;
use super::references::library::Library;
use super::references::rewrite::{Rewrite, Survey};
use super::rows::owners::Owners;
use super::rows::store::Store;
use super::rows::unfit::Unfit;
use super::rules::{Gathered, Gatherer, Scene, Shelf, normalize};
use super::sequence::{Sequence, Sink};
use super::summary::Summary;
use super::sync::synced::{Naming, Synced, SyncedAttachment};
use crate::lake::owners::owner::OwnerKey;
use crate::lake::scratch::TextFile;
use crate::lake::{Lake, LakeWriter, Snapshot};

/// While a thread prepares a piece of more bytes than this, no other thread reads a piece.
const LARGE: usize = 8 << 20;
/// The maximum number of passes over an input with rules. After the last pass, the import commits even if the pass has
/// found another unfit resource. This is rare, because hiding a resource from the rules rarely makes another one unfit.
const MAX_BEGINNINGS: u32 = 4;

/// Imports files and folders. All well-formed records become one snapshot. On an error nothing is stored.
pub fn import(writer: &mut LakeWriter, options: Options, paths: &[PathBuf]) -> Result<Summary, IngestError> {
    let files = find(paths)?.into_iter().map(TextFile::from).collect();
    take_in(writer, options, None, files, &[])
}

/// Imports the records of a source as the rows of one consent. Each record gets an id of ours, and tags, `meta.source`
/// and an identifier that show its origin. Records of another person are refused. `attachments` has the bytes of
/// Binaries among the records. All well-formed records become one snapshot. On an error nothing is stored.
pub fn sync(
    writer: &mut LakeWriter,
    options: Options,
    synced: Synced,
    records: &[TextFile],
    attachments: &[SyncedAttachment],
) -> Result<Summary, IngestError> {
    take_in(writer, options, Some(synced), records.to_vec(), attachments)
}

/// Reads files and commits their records. With rules, some resources may turn out not to fit into a table, after the
/// rules have used them. Then the function starts again with the first file, and hides these resources from the rules.
fn take_in(
    writer: &mut LakeWriter,
    mut options: Options,
    synced: Option<Synced>,
    files: Vec<TextFile>,
    attachments: &[SyncedAttachment],
) -> Result<Summary, IngestError> {
    let mut unfit = Unfit::default();
    let mut begun = 0;
    loop {
        begun += 1;
        let mut session = Session::begin_as(writer, options.clone(), synced.clone())?;
        if session.options.rewrite_ids {
            session.survey(files.clone())?;
        }
        session.gather(unfit.clone());
        session.add_files(files.clone())?;
        session.write_rest()?;
        let found = std::mem::take(&mut session.store.unfit);
        if begun == MAX_BEGINNINGS || session.options.normalize.is_none() || found.is_within(&unfit) {
            session.attach(attachments)?;
            return session.commit();
        }
        unfit.add_all(found);
        options.progress = None;
    }
}

/// Applies the rules again to the rows of an owner in the lake. Removes what the rules made from records that no longer
/// exist. Does nothing without rules or rows.
pub fn normalize_again(writer: &mut LakeWriter, options: Options, owner: i64) -> Result<Summary, IngestError> {
    if options.normalize.is_none() {
        return Ok(Summary::default());
    }
    let mut session = Session::begin_as(writer, options, None)?;
    session.always = Some(owner);
    if !session.shelf().has_rows(owner)? {
        return Ok(Summary::default());
    }
    session.gather(Unfit::default());
    session.finish()
}

/// An import in progress. Dropping it without [`finish`](Session::finish) stores nothing.
#[derive(Debug)]
pub struct Session<'w> {
    options: Options,
    store: Store<'w>,
    sequence: Sequence,
    context: Context,
    lake: Lake,
    base: Arc<Snapshot>,
    synced: Option<Synced>,
    /// The input for the rules, in bins. `None` if no rules are applied.
    gathered: Option<Gathered>,
    /// An owner whose rows are normalized even if the input has no record of it.
    always: Option<i64>,
    /// The number of pieces that were read so far.
    pieces: u64,
}

/// The values that each pass over the input needs.
#[derive(Debug)]
struct Context {
    keys: Keys,
    owners: Arc<Owners>,
    key: OwnerKey,
    rewrite: Option<Arc<Rewrite>>,
    identifiers: usize,
    spill: PathBuf,
}

impl<'w> Session<'w> {
    /// Begins an import that neither rewrites ids nor applies rules. [`import`] does both if the options ask for it.
    pub fn begin(writer: &'w mut LakeWriter, options: Options) -> Result<Self, IngestError> {
        Session::begin_as(writer, options, None)
    }

    fn begin_as(writer: &'w mut LakeWriter, options: Options, synced: Option<Synced>) -> Result<Self, IngestError> {
        let lake = writer.lake().clone();
        let key = lake.owner_key();
        let naming = synced
            .clone()
            .map(|synced| Naming::new(key, &options.application, options.mode, synced));
        let context = Context {
            keys: Keys::new(),
            owners: Arc::new(Owners::new(key, &options.application, true)),
            key,
            rewrite: naming.map(|naming| Arc::new(Rewrite::Synced(Box::new(naming)))),
            identifiers: options.limits.identifiers,
            spill: lake.folder().data(),
        };
        let transaction = writer.begin();
        let base = Arc::clone(transaction.base());
        let library = Library::new(
            Arc::clone(&base),
            transaction.keys().clone(),
            options.mode,
            &options.application,
        );
        let library = if synced.is_some() {
            library.unconsulted()
        } else {
            library
        };
        let sequence = context.sequence(library, Sink::Buffer(Default::default()));
        Ok(Self {
            store: Store::new(
                transaction,
                options.clone(),
                if synced.is_some() { "sync" } else { "import" },
            ),
            sequence,
            lake,
            base,
            always: synced.as_ref().map(|synced| synced.owner),
            synced,
            gathered: None,
            context,
            options,
            pieces: 0,
        })
    }

    /// Adds files and folders.
    pub fn add_paths(&mut self, paths: &[PathBuf]) -> Result<(), IngestError> {
        self.add_files(find(paths)?.into_iter().map(TextFile::from).collect())
    }

    /// Adds one JSON document: a resource, or a Bundle, whose entries are added.
    pub fn add_document(&mut self, json: &[u8]) -> Result<(), IngestError> {
        let text = Text::Document(json.to_vec());
        let piece = Piece {
            file: PathBuf::new().into(),
            first_line: 1,
            text,
            consumed: 0,
        };
        let number = self.pieces;
        self.pieces += 1;
        let prepared = self.context.preparer().prepare(&piece, first_ordinal(number));
        self.sequence.take(number, prepared)?;
        if self.sequence.weight() > self.options.limits.buffer {
            self.flush(self.options.limits.buffer / 3)
        } else {
            Ok(())
        }
    }

    /// Commits what was added as one snapshot, and returns its summary.
    pub fn finish(mut self) -> Result<Summary, IngestError> {
        self.write_rest()?;
        self.commit()
    }

    fn commit(mut self) -> Result<Summary, IngestError> {
        let mut summary = std::mem::take(&mut self.sequence.summary);
        if !self.options.dry_run {
            self.store.finish(&mut summary)?;
        }
        summary.close();
        Ok(summary)
    }

    /// Writes the resources that are not written yet. With rules, these are all resources.
    fn write_rest(&mut self) -> Result<(), IngestError> {
        self.sequence.end()?;
        self.flush(0)?;
        self.normalize()
    }

    fn add_files(&mut self, files: Vec<TextFile>) -> Result<(), IngestError> {
        let mut feed = Feed {
            pieces: Pieces::new(files),
            next: self.pieces,
            ended: false,
        };
        while !feed.ended {
            let gathered = self.gathered.as_ref();
            read(&mut feed, &mut self.sequence, &self.context, &self.options, gathered)?;
            self.pieces = feed.next;
            if self.sequence.weight() > self.options.limits.buffer {
                self.flush(self.options.limits.buffer / 3)?;
            }
        }
        Ok(())
    }

    /// Reads files only to learn the owners of their resources. The new ids contain these owners.
    fn survey(&mut self, files: Vec<TextFile>) -> Result<(), IngestError> {
        let library = self.sequence.library.unconsulted();
        let survey = Survey::new(self.context.key, &self.options.application);
        let mut sequence = self.context.sequence(library.clone(), Sink::Survey(survey));
        let mut feed = Feed {
            pieces: Pieces::new(files),
            next: 0,
            ended: false,
        };
        while !feed.ended {
            read(
                &mut feed,
                &mut sequence,
                &self.context,
                &Options {
                    progress: None,
                    ..self.options.clone()
                },
                None,
            )?;
        }
        sequence.end()?;
        if let Sink::Survey(survey) = sequence.sink {
            self.context.rewrite = Some(Arc::new(survey.finish()));
        }
        self.sequence = self.context.sequence(library, Sink::Buffer(Default::default()));
        Ok(())
    }

    /// Prepares the session for rules, if there are any: it gathers the input, sorted by owners. The rules do not see
    /// the resources in `unfit`.
    fn gather(&mut self, unfit: Unfit) {
        if self.options.normalize.is_none() {
            return;
        }
        let context = &mut self.context;
        context.owners = Arc::new(Owners::new(context.key, &self.options.application, false));
        let library = self.sequence.library.clone();
        self.sequence = self.context.sequence(library, Sink::Rules(Vec::new()));
        let (folder, limit) = (self.context.spill.clone(), self.options.limits.buffer);
        let is_one_owner = self.synced.is_some();
        self.gathered = Some(Gathered::new(folder, limit, self.context.keys, is_one_owner, unfit));
    }

    /// Applies the rules to the gathered records, and writes the results.
    fn normalize(&mut self) -> Result<(), IngestError> {
        let (Some(gathered), Some(rules)) = (self.gathered.take(), self.options.normalize.clone()) else {
            return Ok(());
        };
        let mut gatherer = gathered.gatherer();
        let ready = self.sequence.ready();
        ready.iter().try_for_each(|block| gatherer.take(block))?;
        gatherer.finish()?;
        let scene = Scene {
            rules,
            key: self.context.key,
            keys: self.context.keys,
            shelf: self.shelf(),
            synced: self.synced.clone(),
            always: self.always,
            threads: self.options.threads(),
            buffer: self.options.limits.buffer,
        };
        normalize(scene, &gathered, &mut self.store, &mut self.sequence.summary)
    }

    /// Returns a reader of the lake's existing rows.
    fn shelf(&self) -> Shelf {
        let Options { mode, application, .. } = &self.options;
        let is_import = self.always.is_none();
        Shelf::new(&self.lake, Arc::clone(&self.base), *mode, application, is_import)
    }

    /// Adds the bytes of Binaries to the transaction.
    fn attach(&mut self, attachments: &[SyncedAttachment]) -> Result<(), IngestError> {
        let Some(synced) = &self.synced else { return Ok(()) };
        for one in attachments {
            let binary = self
                .lake
                .synced_id(synced.owner, &synced.endpoint, "Binary", &one.source_id);
            self.store.attach(synced, &binary, one)?;
        }
        Ok(())
    }

    fn flush(&mut self, rest: usize) -> Result<(), IngestError> {
        let Sink::Buffer(buffer) = &mut self.sequence.sink else {
            return Ok(());
        };
        let types = buffer.drain(rest);
        for (type_id, paths) in self.store.flush(&types, &mut self.sequence.summary)? {
            self.sequence.library.pending.entry(type_id).or_default().extend(paths);
        }
        Ok(())
    }
}

impl Context {
    fn normalizer(&self) -> Normalizer {
        Normalizer::new(self.keys, self.rewrite.clone())
    }

    fn preparer(&self) -> Preparer {
        Preparer::new(self.normalizer(), Arc::clone(&self.owners))
    }

    fn sequence(&self, library: Library, sink: Sink) -> Sequence {
        let late = Late::new(self.spill.clone());
        let identifiers = match sink {
            // No file is written before the end of the input, so a temporary file keeps the identifiers that do not
            // fit.
            Sink::Rules(_) => Identifiers::with_overflow(self.identifiers, &self.spill),
            // The written files have rewritten ids, so only the index knows the input's ids. It must hold all of them.
            Sink::Survey(_) => Identifiers::new(usize::MAX),
            Sink::Buffer(_) if self.rewrite.is_some() => Identifiers::new(usize::MAX),
            Sink::Buffer(_) => Identifiers::new(self.identifiers),
        };
        Sequence::new(
            self.normalizer(),
            Arc::clone(&self.owners),
            library,
            identifiers,
            sink,
            late,
        )
    }
}

/// The input that the threads read.
struct Feed {
    pieces: Pieces,
    next: u64,
    ended: bool,
}

/// Returns the ordinal of a piece's first resource. Ordinals count through the whole input, and a piece has fewer than
/// 2^32 resources.
fn first_ordinal(piece: u64) -> u64 {
    piece << 32
}

/// Prepares pieces on all cores until the buffer is full or the input ends.
fn read(
    feed: &mut Feed,
    sequence: &mut Sequence,
    context: &Context,
    options: &Options,
    gathered: Option<&Gathered>,
) -> Result<(), IngestError> {
    let shared = Mutex::new(feed);
    let sequence = Mutex::new(sequence);
    let work = || {
        let mut preparer = context.preparer();
        let mut gatherer = gathered.map(Gathered::gatherer);
        let end = |gatherer: Option<Gatherer<'_>>| gatherer.map_or(Ok(()), Gatherer::finish);
        loop {
            if lock(&sequence).weight() > options.limits.buffer {
                return end(gatherer);
            }
            let mut feed = lock(&shared);
            if feed.ended {
                drop(feed);
                return end(gatherer);
            }
            let number = feed.next;
            let Some(piece) = feed.pieces.next() else {
                feed.ended = true;
                drop(feed);
                return end(gatherer);
            };
            let piece = match piece {
                Ok(piece) => Ok(piece),
                Err(Fault::Refused(refusal)) => Err(refusal),
                Err(Fault::Broken(error)) => {
                    feed.ended = true;
                    return Err(error);
                }
            };
            feed.next += 1;
            // If the piece is large, this thread keeps the lock, so that no other thread reads a piece meanwhile.
            let held = piece
                .as_ref()
                .is_ok_and(|piece| piece.text.len() > LARGE)
                .then_some(feed);
            let prepared = match piece {
                Ok(piece) => preparer.prepare(&piece, first_ordinal(number)),
                Err(refusal) => Preparer::refused(refusal),
            };
            if let Some(progress) = &options.progress {
                progress(prepared.consumed);
            }
            let (mut taken, ready) = {
                let mut sequence = lock(&sequence);
                (sequence.take(number, prepared), sequence.ready())
            };
            if let Some(gatherer) = &mut gatherer {
                taken = taken.and_then(|()| ready.iter().try_for_each(|block| gatherer.take(block)));
            }
            drop(held);
            if taken.is_err() {
                // This makes the other threads stop.
                lock(&shared).ended = true;
                return taken;
            }
        }
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..options.threads()).map(|_| scope.spawn(work)).collect();
        running
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| IngestError::Worker)?)
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
