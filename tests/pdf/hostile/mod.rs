//! A library of hostile and damaged attachments, and tests that give them to a real server. The files are made from a
//! seed. `TABULARIUM_HOSTILE=10000` makes 10,000 files of each kind instead of 300, and `TABULARIUM_SEED` other ones.
//!
//! Files that read as honest are bombs of their kind: by depth, by compression, by claimed sizes, by count and by
//! circles. The others are damaged copies of real documents.

mod damage;
mod door;
mod pdfs;
mod pictures;
mod texts;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::harness::kills::number;
use damage::Damage;

/// The number of files of each kind in a usual run.
const USUAL: usize = 300;
/// The seed of a usual run.
const SEED: u64 = 38;

/// A hostile or damaged file.
pub(super) struct Hostile {
    /// What it is, such as `nested lists`.
    pub(super) what: &'static str,
    pub(super) content_type: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// A kind of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pdf,
    Png,
    Jpeg,
    Gif,
    Webp,
    Rtf,
    Html,
    Cda,
    Text,
}

impl Kind {
    pub(super) const ALL: [Kind; 9] = [
        Kind::Pdf,
        Kind::Png,
        Kind::Jpeg,
        Kind::Gif,
        Kind::Webp,
        Kind::Rtf,
        Kind::Html,
        Kind::Cda,
        Kind::Text,
    ];

    fn content_type(self) -> &'static str {
        match self {
            Kind::Pdf => "application/pdf",
            Kind::Png => "image/png",
            Kind::Jpeg => "image/jpeg",
            Kind::Gif => "image/gif",
            Kind::Webp => "image/webp",
            Kind::Rtf => "text/rtf",
            Kind::Html => "text/html",
            Kind::Cda => "text/xml",
            Kind::Text => "text/plain",
        }
    }

    /// Honest files of this kind, which are damaged.
    fn honest(self) -> Vec<Vec<u8>> {
        match self {
            Kind::Pdf => pdfs::honest(),
            Kind::Png | Kind::Jpeg | Kind::Gif | Kind::Webp => pictures::honest(self),
            Kind::Rtf | Kind::Html | Kind::Cda | Kind::Text => texts::honest(self),
        }
    }

    /// The bombs of this kind. Each is made anew, with its sizes drawn at random.
    fn bombs(self) -> &'static [Bomb] {
        match self {
            Kind::Pdf => pdfs::BOMBS,
            Kind::Png => pictures::PNG,
            Kind::Jpeg => pictures::JPEG,
            Kind::Gif => pictures::GIF,
            Kind::Webp => pictures::WEBP,
            Kind::Rtf => texts::RTF,
            Kind::Html => texts::HTML,
            Kind::Cda => texts::CDA,
            Kind::Text => texts::TEXT,
        }
    }
}

/// What a bomb is, and how it is made.
type Bomb = (&'static str, fn(&mut Damage) -> Vec<u8>);

/// Files of one kind without end: every bomb once, and then one bomb and five damaged files in turn.
pub(super) struct Library {
    kind: Kind,
    honest: Vec<Vec<u8>>,
    damage: Damage,
    made: usize,
}

impl Library {
    pub(super) fn new(kind: Kind, seed: u64) -> Library {
        Library {
            kind,
            honest: kind.honest(),
            damage: Damage(ChaCha8Rng::seed_from_u64(seed ^ ((kind as u64) << 32))),
            made: 0,
        }
    }
}

impl Iterator for Library {
    type Item = Hostile;

    fn next(&mut self) -> Option<Hostile> {
        let bombs = self.kind.bombs();
        let made = self.made;
        self.made += 1;
        let bomb = match made.checked_sub(bombs.len()) {
            None => Some(made),
            Some(later) if later % 6 == 0 => Some(self.damage.0.random_range(0..bombs.len())),
            Some(_) => None,
        };
        let content_type = self.kind.content_type();
        let (what, bytes) = match bomb {
            Some(bomb) => (bombs[bomb].0, bombs[bomb].1(&mut self.damage)),
            None => ("damaged", self.damage.broken(&self.honest)),
        };
        Some(Hostile {
            what,
            content_type,
            bytes,
        })
    }
}

/// The number of files of each kind, and the seed.
pub(super) fn settings() -> (usize, u64) {
    let (count, seed) = (
        number("TABULARIUM_HOSTILE").unwrap_or(USUAL),
        number("TABULARIUM_SEED").unwrap_or(SEED),
    );
    println!("{count} files of each kind, seed {seed}");
    (count, seed)
}
