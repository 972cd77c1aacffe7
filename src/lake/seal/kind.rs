//! Of what kind the files of a lake are.

/// What the files of a lake are, and what new ones become.
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

    /// Whether files in clear belong to the lake. In a sealed one nobody knows who put them there.
    pub fn takes_clear(self) -> bool {
        self != Kind::Sealed
    }

    /// Whether files of both kinds may be there.
    pub fn is_halfway(self) -> bool {
        matches!(self, Kind::Sealing | Kind::Unsealing)
    }
}
