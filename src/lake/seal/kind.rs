//! The kind of a lake: open, sealed, or in between.

/// The kind of a lake's files, and of its new files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// All files are clear.
    #[default]
    Open,
    /// In conversion from [`Open`](Kind::Open) to [`Sealed`](Kind::Sealed): the lake has files of both kinds, and new
    /// files are sealed.
    Sealing,
    /// All files are sealed.
    Sealed,
    /// In conversion back: the lake has files of both kinds, and new files are clear.
    Unsealing,
}

impl Kind {
    /// Whether new files are sealed.
    pub fn seals(self) -> bool {
        matches!(self, Kind::Sealing | Kind::Sealed)
    }

    /// Whether sealed files, and therefore keys, may exist.
    pub fn has_keys(self) -> bool {
        self != Kind::Open
    }

    /// Whether clear files may belong to the lake. In a sealed lake somebody else may have put them there.
    pub fn takes_clear(self) -> bool {
        self != Kind::Sealed
    }

    /// Whether the lake may have files of both kinds.
    pub fn is_halfway(self) -> bool {
        matches!(self, Kind::Sealing | Kind::Unsealing)
    }
}
