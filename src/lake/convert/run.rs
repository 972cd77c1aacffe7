//! A conversion, step by step. Between two steps the caller may give the lake to other writers.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::file::{New, Old};
use super::leftovers;
use crate::lake::catalog;
use crate::lake::commit::transaction::sync_files;
use crate::lake::commit::writer::LakeWriter;
use crate::lake::erase::{Fresh, reasons};
use crate::lake::error::LakeError;
use crate::lake::seal::{KeyStore, Kind, remove_unused};
use crate::parallel::{self, processors};

/// The approximate size in bytes of the files that one step rewrites. The old files stay during the step, so the disk
/// needs about this much more space.
const AT_ONCE: u64 = 256 << 20;

/// The results of a conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// The number of data files that were rewritten, with their delete files.
    pub files: u64,
    /// The number of converted attachments.
    pub attachments: u64,
    /// The size of the new files in bytes.
    pub bytes: u64,
    /// Texts for messages about what remains of the former kind (sealed or unencrypted): files that could not be read
    /// or removed, keys that could not be destroyed, the catalog's log. The conversion is incomplete while the catalog
    /// names a file of the former kind.
    pub left: Vec<String>,
}

/// A conversion of a lake from open to sealed, or from sealed to open. It leaves out files that it could not read.
#[derive(Debug)]
pub struct Conversion {
    goal: Kind,
    at_once: u64,
    /// The numbers of the data files and attachments that could not be read. A data file and an attachment never have
    /// the same number.
    unreadable: FxHashSet<u64>,
    done: Converted,
}

impl Conversion {
    /// Prepares a conversion that seals the lake.
    pub fn to_sealed() -> Conversion {
        Conversion::to(Kind::Sealed)
    }

    /// Prepares a conversion that unseals the lake and destroys its keys at the end.
    pub fn to_open() -> Conversion {
        Conversion::to(Kind::Open)
    }

    fn to(goal: Kind) -> Conversion {
        Conversion {
            goal,
            at_once: AT_ONCE,
            unreadable: FxHashSet::default(),
            done: Converted::default(),
        }
    }

    /// Returns the results so far.
    pub fn done(&self) -> &Converted {
        &self.done
    }

    /// Does one part of the work. Returns `true` if there is more to do. Replaced files stay until the next writer
    /// opens the lake, or until the last step. So readers in other processes have time to notice the new files.
    pub fn step(&mut self, writer: &mut LakeWriter) -> Result<bool, LakeError> {
        let halfway = match self.goal {
            Kind::Sealed | Kind::Sealing => Kind::Sealing,
            Kind::Open | Kind::Unsealing => Kind::Unsealing,
        };
        let kind = writer.lake().kind();
        if kind != self.goal && kind != halfway {
            writer.turn(halfway)?;
        }
        if kind != self.goal {
            let some = self.next(writer)?;
            if !some.is_empty() {
                return self.convert(writer, &some).map(|()| true);
            }
            if self.unreadable.is_empty() {
                writer.turn(self.goal)?;
            }
        }
        self.end(writer)?;
        Ok(false)
    }

    /// Returns files of the former kind until they have about `at_once` bytes in total. Returns at least one file,
    /// unless no readable file of the former kind is left.
    fn next(&self, writer: &LakeWriter) -> Result<Vec<Old>, LakeError> {
        let connection = &writer.connection;
        let are_sealed = self.goal == Kind::Open;
        let snapshot = writer.lake().snapshot();
        let (mut some, mut bytes) = (Vec::new(), 0);
        let mut has_room = |of: u64| {
            let has_room = bytes <= self.at_once;
            bytes += of;
            has_room
        };
        let mut others = catalog::files_of_other_kind(connection, are_sealed)?;
        others.retain(|other| !self.unreadable.contains(&other.id) && has_room(other.bytes));
        for table in snapshot.tables.values() {
            let of_table = others.iter().filter(|other| other.table == table.table_id);
            let ids: FxHashSet<u64> = of_table.map(|other| other.id).collect();
            if ids.is_empty() {
                continue;
            }
            let files = catalog::reached(connection, table.table_id, |id, _| ids.contains(&id))?;
            some.extend(files.into_iter().map(|file| Old::Data(Arc::clone(table), file)));
        }
        let mut others = catalog::attachments_of_other_kind(connection, are_sealed)?;
        others.retain(|other| !self.unreadable.contains(&other.id) && has_room(other.file_bytes));
        some.extend(others.into_iter().map(Old::Attachment));
        Ok(some)
    }

    /// Rewrites the files in `some` on several threads, and then replaces all of them in one transaction. If a new file
    /// cannot be written because the disk is full, replaces none. Then the next steps rewrite one file at a time.
    fn convert(&mut self, writer: &mut LakeWriter, some: &[Old]) -> Result<(), LakeError> {
        let (folder, owner_key) = (writer.lake().folder().clone(), writer.lake().owner_key());
        let made = parallel::map(some, processors(), |old| old.convert(&folder, owner_key));
        let (mut new, mut fresh) = (Vec::with_capacity(some.len()), Fresh::default());
        for (old, made) in some.iter().zip(made) {
            match made {
                Ok((one, files)) => {
                    new.push(one);
                    fresh.append(files);
                }
                // The disk may have space for fewer files at a time. So replace none now, and let the next steps
                // rewrite one file at a time.
                Err(error) if error.is_of_writing() && self.at_once > 0 && some.len() > 1 => {
                    tracing::debug!(%error, "files are written anew one by one");
                    self.at_once = 0;
                    return Ok(());
                }
                Err(error) if error.is_of_writing() => return Err(error),
                Err(error) => {
                    let path = old.path(&folder);
                    self.done.left.push(format!("{} ({})", path.display(), reasons(&error)));
                    self.unreadable.insert(old.number());
                }
            }
        }
        writer.exchange_converted(&new, fresh)?;
        for one in &new {
            *match one {
                New::Data(_) => &mut self.done.files,
                New::Attachment(..) => &mut self.done.attachments,
            } += 1;
            self.done.bytes += one.bytes();
        }
        Ok(())
    }

    /// Removes what remains of the former kind: replaced files, orphans, keys without files, and old pages in the
    /// catalog's log. Adds what could not be removed to `done.left`.
    fn end(&mut self, writer: &mut LakeWriter) -> Result<(), LakeError> {
        let mut left: Vec<String> = writer.remove_scheduled()?.iter().map(|error| reasons(error)).collect();
        if writer.lake().kind() == self.goal {
            left.extend(leftovers::remove(writer)?);
        }
        let destroyed = writer.destroy_keys().and_then(|()| match writer.lake().kind() {
            // A `seal` that was killed before it turned the lake leaves a database without keys.
            Kind::Open => Ok(remove_unused(writer.lake().folder().path()).map(|_| ())?),
            _ => Ok(()),
        });
        if let Err(error) = destroyed {
            left.push(format!("keys.sqlite ({})", reasons(&error)));
        }
        if !catalog::empty_log(&writer.connection)? {
            left.push("the catalog's log, which could not be emptied while another program reads it".to_owned());
        }
        self.done.left.extend(left);
        Ok(())
    }
}

impl LakeWriter {
    /// Changes the kind of the lake durably.
    fn turn(&mut self, kind: Kind) -> Result<(), LakeError> {
        // Create the table of erasures if it is missing: the change of the kind raises the epoch, as an erasure does,
        // and a catalog with an epoch must have this table.
        catalog::watch_erasures(&self.connection)?;
        let lake = self.lake().clone();
        let keys = lake.folder().keys();
        let store: Option<KeyStore> = if kind.has_keys() && !keys.open_sealed() {
            Some(lake.folder().make_keys(lake.kek())?)
        } else {
            None
        };
        catalog::turn(&mut self.connection, kind)?;
        keys.turn(kind, store);
        self.publish_change()
    }

    fn exchange_converted(&mut self, new: &[New<'_>], mut fresh: Fresh) -> Result<(), LakeError> {
        if new.is_empty() {
            return Ok(());
        }
        sync_files(fresh.paths())?;
        let lake = self.lake().clone();
        lake.folder().keep_keys(new.iter().flat_map(New::keys))?;
        let before = catalog::epoch(&self.connection)?;
        let (mut files, mut attachments) = (Vec::new(), Vec::new());
        for one in new {
            match one {
                New::Data(exchange) => files.push(exchange),
                New::Attachment(converted, _) => attachments.push(converted),
            }
        }
        let exchanged = catalog::exchange_converted(&mut self.connection, &files, &attachments);
        if exchanged.is_ok() || !self.has_surely_stayed(before) {
            // The exchange succeeded. Or it returned an error, but the catalog may name the new files, or may name them
            // when its log is read again. In all these cases do not remove them. If the catalog does not name them, the
            // next writer moves them aside.
            fresh.keep();
            self.leaves_orphans |= exchanged.is_err();
        }
        exchanged?;
        self.publish_change()
    }

    fn publish_change(&mut self) -> Result<(), LakeError> {
        let base = self.lake().snapshot();
        self.publish(&base)?;
        self.mark_commit();
        Ok(())
    }
}
