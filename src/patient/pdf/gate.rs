//! Decides about each attachment of an export, before it is read.

/// Decides whether attachments are read. Also learns when the work moves on to or from what attachments contain.
///
/// The attachments of an export are numbered, in the order of the parts and their resources.
pub(super) trait Gate {
    /// Called before the attachment is read. If it returns an error, the attachment becomes a placeholder.
    fn begin(&self, number: usize) -> Result<(), Unread>;
    /// Called before an attachment is embedded whose contents are not shown anyway. If it returns an error, only a
    /// placeholder is written.
    fn keep(&self, number: usize) -> Result<(), Unread>;
    /// Called after the attachment was read.
    fn end(&self, number: usize);
    /// Called before a file with all its content is written.
    fn finishing(&self);
    /// Called after a file was written.
    fn finished(&self);
}

/// No attachment is read. So a process that is not confined never parses one.
impl Gate for () {
    fn begin(&self, _: usize) -> Result<(), Unread> {
        Err(Unread {
            reason: "it is read by a process of its own only".to_owned(),
            is_kept: true,
        })
    }

    fn keep(&self, _: usize) -> Result<(), Unread> {
        Ok(())
    }

    fn end(&self, _: usize) {}

    fn finishing(&self) {}

    fn finished(&self) {}
}

/// Why an attachment must not be read.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) reason: String,
    /// Whether the bytes are embedded in the file.
    pub(super) is_kept: bool,
}
