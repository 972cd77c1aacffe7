//! Seals or unseals a lake from beginning to end, step by step, so that other processes can read and write it in
//! between.

use std::time::Duration;

use crate::lake::seal::Kind;
use crate::lake::{Conversion, Converted, LakeError, LakeWriter, REFRESH};
use crate::sync::empty_spool;

/// The pause between two steps. In this time other processes notice the new files, and waiting writers begin.
const PAUSE: Duration = REFRESH.saturating_add(Duration::from_millis(500));

/// The reason why a conversion stopped. The lake is consistent, and the next conversion to the same kind continues.
#[derive(Debug)]
pub enum ConvertError<E> {
    /// The caller could not get a writer.
    Writer(E),
    /// A step failed.
    Step(LakeError),
}

/// Runs the steps of a conversion. Calls `writer` before each step to get a writer, and `progress` after each step
/// except the last. At the end of sealing it also removes unencrypted files that ended processes have left in the
/// spool.
pub fn convert<E>(
    mut conversion: Conversion,
    mut writer: impl FnMut() -> Result<LakeWriter, E>,
    mut progress: impl FnMut(&Converted),
) -> Result<Converted, ConvertError<E>> {
    loop {
        let mut writer = writer().map_err(ConvertError::Writer)?;
        let goes_on = conversion.step(&mut writer);
        let folder = writer.lake().folder().path().to_owned();
        let is_sealed = writer.lake().kind() == Kind::Sealed;
        drop(writer);
        if !goes_on.map_err(ConvertError::Step)? {
            let mut done = conversion.done().clone();
            if let (true, Err(error)) = (is_sealed, empty_spool(&folder)) {
                done.left.push(format!("{} ({error})", folder.join("spool").display()));
            }
            return Ok(done);
        }
        progress(conversion.done());
        std::thread::sleep(PAUSE);
    }
}
