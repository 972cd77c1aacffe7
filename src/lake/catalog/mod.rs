//! The catalog: DuckLake 1.0 tables in one SQLite file, so that other DuckLake readers open the same lake.
//!
//! This module writes the catalog's rows for a snapshot and reads them back as a `Snapshot`. It does not write data
//! files, take locks or decide what to commit (`lake::commit::transaction`, `lake::commit::writer`).
//!
//! Besides the DuckLake tables, the catalog has five tables of this program:
//! * `tabularium_file_bounds`: the bounds of `owner`, `version` and `last_updated` per file as integers. With this
//!   table, a lake of 100,000 files opens without reading every row of statistics.
//! * `tabularium_erasure`: unfinished erasures.
//! * `tabularium_evidence`: the results of finished erasures.
//! * `tabularium_attachment`: the files of attachments.
//! * `tabularium_expired_key`: the ids of the keys of expired files.

mod attachment;
mod connection;
mod create;
mod erasure;
mod evidence;
mod metadata;
mod named;
mod pending;
mod sealing;
mod snapshots;
mod stamp;
mod state;

pub(super) use attachment::{
    AddedAttachment, AttachmentCommit, StoredAttachment, all_attachments, find_attachment, live_attachments,
    means_attachments,
};
pub(super) use connection::{PATIENCE, copy, cut_off, open_reader, open_writer, refuse_without_catalog};
pub(super) use create::{check_version, count_on, create, forget_first, make};
pub(super) use erasure::{
    Exchange, NewPeriod, StoredFile, Told, empty_log, exchange, oldest_snapshot, overrule_failed_commit, reached,
    record,
};
pub(super) use evidence::{KeptEvidence, all_entries, entries, forget_entries, put_entries, search};
pub(super) use metadata::{is_sealed, ledger, owner_key, record_ledger, set_ledger};
pub(super) use named::{broken_pages, contradictions, named};
pub(super) use pending::{count_on as count_erasures_on, epoch, erasures, unfinished};
pub(super) use sealing::convert::{
    ConvertedAttachment, attachments_of_other_kind, exchange_converted, files_of_other_kind, give_up,
};
pub(super) use sealing::keys::{
    expired_keys, has_keys_to_destroy, have_keys_destroyed, keys_are_destroyed, list_expired_keys, named_keys,
    unlist_expired_keys,
};
pub(super) use sealing::kind::{is_kept_sealed, kind, set_kind, turn};
pub(super) use snapshots::commit::{Commit, NewDeleteFile, NewFile, TableCommit};
pub use snapshots::expire::Expired;
pub(super) use snapshots::expire::{Ended, expire, forget_scheduled, has_scheduled, scheduled};
pub use snapshots::growth::SnapshotSize;
pub(super) use snapshots::growth::growth;
pub(super) use snapshots::insert::insert;
pub(super) use snapshots::load::{history, is_kept, load, load_at};
pub(super) use snapshots::statistics::{mend, wrong_statistics};
pub(super) use state::{
    CatalogState, digest, find_owner_key, state, watch, watch_anew, watch_attachments, watch_erasures, watched,
};
