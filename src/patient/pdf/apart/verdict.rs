//! What is known of each attachment of a request.

use crate::confined::End;

/// Why an attachment is not read. The pages show the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Reason {
    #[error("reading it takes too much processor time")]
    ProcessorTime,
    #[error("reading it takes too long")]
    Time,
    #[error("its reader failed: it is damaged, or takes too much memory")]
    Failure,
    #[error("reading the documents of this file took all the time that there is for it")]
    NoTimeLeft,
    #[error("this file could not be made with its documents")]
    Last,
}

impl From<End> for Reason {
    fn from(end: End) -> Reason {
        match end {
            End::ProcessorTime => Reason::ProcessorTime,
            End::Other => Reason::Failure,
        }
    }
}

/// What is known of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It was not tried alone yet.
    Unknown,
    /// A process has read it alone and made a file of it.
    Sound,
    /// A process ended while it read the attachment.
    Bad(Reason),
}

/// What is known of all attachments of a request, and what follows for the next process.
#[derive(Debug)]
pub(super) struct Verdicts {
    known: Vec<Verdict>,
    /// What happens to attachments that were not tried.
    untried: Untried,
    /// Whether the bytes of bad attachments are embedded in the file.
    are_bad_kept: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Untried {
    /// They are read.
    Read,
    /// They are not read, because there was no time to try them.
    Skipped,
    /// They are not read, and of the others only small ones.
    SmallOnly,
    /// No attachment is read.
    NoneIsRead,
}

impl Verdicts {
    pub(super) fn new(count: usize) -> Verdicts {
        Verdicts {
            known: vec![Verdict::Unknown; count],
            untried: Untried::Read,
            are_bad_kept: true,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether the attachment must not be read: why, and whether its bytes are embedded.
    pub(super) fn skip(&self, number: usize, is_small: bool) -> Option<(Reason, bool)> {
        match (self.known[number], self.untried) {
            (_, Untried::NoneIsRead) => Some((Reason::Last, false)),
            (Verdict::Sound, Untried::SmallOnly) if is_small => None,
            (Verdict::Sound | Verdict::Unknown, Untried::SmallOnly) => Some((Reason::Last, false)),
            (Verdict::Bad(reason), _) => Some((reason, self.are_bad_kept)),
            (Verdict::Unknown, Untried::Skipped) => Some((Reason::NoTimeLeft, true)),
            _ => None,
        }
    }

    /// Why an attachment must not be embedded whose contents are not shown anyway.
    pub(super) fn drop(&self, is_small: bool) -> Option<Reason> {
        match self.untried {
            Untried::NoneIsRead => Some(Reason::Last),
            Untried::SmallOnly if !is_small => Some(Reason::Last),
            _ => None,
        }
    }

    pub(super) fn bad(&mut self, number: usize, reason: Reason) {
        self.known[number] = Verdict::Bad(reason);
    }

    pub(super) fn sound(&mut self, number: usize) {
        self.known[number] = Verdict::Sound;
    }

    /// From now on, only attachments that were tried are read.
    pub(super) fn skip_untried(&mut self) {
        self.untried = Untried::Skipped;
    }

    /// From now on, the bytes of bad attachments are not embedded.
    pub(super) fn drop_bad(&mut self) {
        self.are_bad_kept = false;
    }

    /// From now on, only small attachments are read or embedded.
    pub(super) fn only_small(&mut self) {
        self.untried = Untried::SmallOnly;
    }

    /// From now on, no attachment is read or embedded.
    pub(super) fn read_none(&mut self) {
        self.untried = Untried::NoneIsRead;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_attachments_are_read_from_step_to_step() {
        let mut verdicts = Verdicts::new(3);
        verdicts.bad(1, Reason::Failure);
        let skipped = |verdicts: &Verdicts| [0, 1, 2].map(|number| verdicts.skip(number, number < 2));
        assert_eq!(skipped(&verdicts), [None, Some((Reason::Failure, true)), None]);
        verdicts.sound(0);
        verdicts.skip_untried();
        let untried = Some((Reason::NoTimeLeft, true));
        assert_eq!(skipped(&verdicts), [None, Some((Reason::Failure, true)), untried]);
        verdicts.drop_bad();
        assert_eq!(skipped(&verdicts), [None, Some((Reason::Failure, false)), untried]);
        assert_eq!([true, false].map(|is_small| verdicts.drop(is_small)), [None; 2]);
        verdicts.only_small();
        let last = Some((Reason::Last, false));
        assert_eq!(skipped(&verdicts), [None, Some((Reason::Failure, false)), last]);
        assert_eq!(verdicts.skip(0, false), last);
        assert_eq!(
            [true, false].map(|is_small| verdicts.drop(is_small)),
            [None, Some(Reason::Last)]
        );
        verdicts.read_none();
        assert_eq!(skipped(&verdicts), [Some((Reason::Last, false)); 3]);
    }
}
