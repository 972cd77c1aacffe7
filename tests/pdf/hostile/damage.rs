//! Damages files at random places, and draws the sizes of bombs.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Random numbers, and what is done with them.
pub(in crate::pdf) struct Damage(pub(super) ChaCha8Rng);

/// Numbers that overflow, are negative, or are more than a file has of anything.
const NUMBERS: [&str; 9] = [
    "0",
    "-1",
    "255",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967296",
    "9223372036854775807",
    "99999999999999999999999999",
];

impl Damage {
    /// A number from `from` to `to`.
    pub(super) fn size(&mut self, from: usize, to: usize) -> usize {
        self.0.random_range(from..=to)
    }

    pub(super) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.0.random_range(0..from.len())]
    }

    pub(super) fn number(&mut self) -> &'static str {
        self.pick::<&str>(&NUMBERS)
    }

    pub(super) fn noise(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.0.random()).collect()
    }

    /// A copy of one of these files, damaged at one to three places.
    pub(super) fn broken(&mut self, honest: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.pick(honest).clone();
        for _ in 0..self.size(1, 3) {
            self.change(&mut bytes, honest);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, honest: &[Vec<u8>]) {
        if bytes.is_empty() {
            return;
        }
        let at = self.size(0, bytes.len() - 1);
        let length = self.size(0, (bytes.len() - at).min(2_000));
        match self.size(0, 9) {
            0 => bytes.truncate(at),
            1 | 2 => {
                for _ in 0..self.size(1, 50) {
                    let place = self.size(0, bytes.len() - 1);
                    bytes[place] ^= 1 << self.size(0, 7);
                }
            }
            3 => drop(bytes.drain(at..at + length)),
            4 => {
                let length = self.size(1, 300);
                let put = self.noise(length);
                drop(bytes.splice(at..at, put));
            }
            5 => bytes[at..at + length].reverse(),
            6 => bytes[at..at + length].fill(0),
            7 => {
                // A part follows itself several times.
                let part = bytes[at..at + length.min(200)].repeat(self.size(1, 20));
                drop(bytes.splice(at..at, part));
            }
            8 => {
                // A part of another file of this kind.
                let other = self.pick(honest).clone();
                let start = self.size(0, other.len().saturating_sub(1));
                let end = other.len().min(start + length);
                drop(bytes.splice(at..at + length, other[start..end].iter().copied()));
            }
            _ => self.renumber(bytes, at),
        }
    }

    /// Replaces the first decimal number after a place by an odd one, such as a wrong length.
    fn renumber(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|found| at + found) else {
            return;
        };
        let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = self.number();
        drop(bytes.splice(start..start + digits, number.bytes()));
    }
}
