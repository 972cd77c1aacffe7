//! The writer's lock: an advisory lock on the file `DIR/lock`, so that only one process writes. The file contains the
//! id of the process that holds the lock. The system releases the lock when the process ends in any way. The file
//! stays.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};

use super::super::error::LakeError;
use super::super::store::folder::Folder;
use crate::private;

/// The lock. While it is held, this process may write the lake.
#[derive(Debug)]
pub(in crate::lake) struct WriteLock {
    file: File,
    /// Whether the former holder released the lock itself instead of being killed.
    pub(in crate::lake) was_given_up: bool,
}

impl WriteLock {
    /// Takes the lock. If it is held already, returns [`LakeError::Busy`] with the process id of the holder.
    pub(in crate::lake) fn take(folder: &Folder) -> Result<WriteLock, LakeError> {
        let path = folder.lock();
        let mut file = private::options()
            .read(true)
            .write(true)
            .create(true)
            .open(&path)
            .map_err(LakeError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // A holder that has not yet written its process id leaves an empty or old text. Then only the message
                // is less precise.
                let _ = file.read_to_string(&mut text);
                return Err(LakeError::Busy {
                    dir: folder.path().to_owned(),
                    pid: text.trim().parse().ok(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(LakeError::io("lock", &path)(source)),
        }
        let was_given_up = file.metadata().is_ok_and(|facts| facts.len() == 0);
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(LakeError::io("write", &path))?;
        Ok(WriteLock { file, was_given_up })
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // Empty the file, so that a later reader does not find this process's id. The next holder also sees that this
        // process was not killed. Closing the descriptor releases the lock in any case.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_writer_is_told_who_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path()).unwrap();
        let held = WriteLock::take(&folder).unwrap();
        let refused = WriteLock::take(&folder).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "the lake at {} is being written by process {}",
                dir.path().display(),
                std::process::id()
            )
        );
        assert!(refused.retryable());
        drop(held);
        WriteLock::take(&folder).unwrap();
    }
}
