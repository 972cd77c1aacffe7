//! The kind of a lake: open, sealed, or in between.

/// The kind of a lake. It says which files the lake may have, and whether new files are sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// All files are unencrypted.
    #[default]
    Open,
    /// The lake is being converted from [`Open`](Kind::Open) to [`Sealed`](Kind::Sealed): it has files of both kinds,
    /// and new files are sealed.
    Sealing,
    /// All files are sealed.
    Sealed,
    /// The lake is being converted from [`Sealed`](Kind::Sealed) to [`Open`](Kind::Open): it has files of both kinds,
    /// and new files are unencrypted.
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

    /// Whether unencrypted files may belong to the lake. If not, readers refuse an unencrypted file, because somebody
    /// else may have put it there.
    pub fn takes_clear(self) -> bool {
        self != Kind::Sealed
    }

    /// Whether the lake may have files of both kinds.
    pub fn is_halfway(self) -> bool {
        matches!(self, Kind::Sealing | Kind::Unsealing)
    }
}
