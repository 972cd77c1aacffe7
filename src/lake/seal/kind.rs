//! The kind of a lake: open, sealed, or in between.

/// The kind of a lake's files, and of its new files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// All in clear.
    #[default]
    Open,
    /// On the way from [`Open`](Kind::Open) to [`Sealed`](Kind::Sealed): both kinds of files are there, new ones are
    /// sealed.
    Sealing,
    /// All sealed.
    Sealed,
    /// On the way back: both kinds of files are there, new ones are in clear.
    Unsealing,
}

impl Kind {
    /// Whether new files are sealed.
    pub fn seals(self) -> bool {
        matches!(self, Kind::Sealing | Kind::Sealed)
    }

    /// Whether there may be sealed files, and so keys.
    pub fn has_keys(self) -> bool {
        self != Kind::Open
    }

    /// Whether clear files may belong to the lake. In a sealed lake nobody knows who put them there.
    pub fn takes_clear(self) -> bool {
        self != Kind::Sealed
    }

    /// Whether files of both kinds may be there.
    pub fn is_halfway(self) -> bool {
        matches!(self, Kind::Sealing | Kind::Unsealing)
    }
}
