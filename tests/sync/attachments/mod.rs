//! Syncs fetch attachments of records: documents of all kinds, as Binaries and by other addresses. Missing, forbidden
//! and too large ones are reported. Readers of a record can read them in any form, and they are gone after the consent
//! ends.

mod brought;
mod ended;
mod moved;
mod signed;
mod world;
