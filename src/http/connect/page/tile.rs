//! Chooses the letter and the colour of the tile that stands in for a missing logo.

/// The number of colours. The style sheet has a class for each one, from `tile-0` on.
const COLORS: u32 = 6;

/// A tile with the first letter of a name.
pub(in crate::http::connect) struct Tile {
    pub(in crate::http::connect) letter: String,
    /// The number of the colour. The same name always has the same one.
    pub(in crate::http::connect) color: u32,
}

impl Tile {
    pub(in crate::http::connect) fn of(name: &str) -> Tile {
        let first = name.chars().find(|letter| letter.is_alphanumeric());
        // FNV-1a. Rust's own hash may differ between versions, and the colour must not.
        let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        Tile {
            letter: first.map(|letter| letter.to_uppercase().collect()).unwrap_or_default(),
            color: hash % COLORS,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_tile_has_the_first_letter_of_a_name() {
        for (name, letter) in [
            ("lakeshore Health Plan", "L"),
            ("«Élan» Care", "É"),
            ("3rd Street Clinic", "3"),
            ("健康保険", "健"),
            ("  ", ""),
        ] {
            assert_eq!(Tile::of(name).letter, letter, "{name}");
        }
    }

    #[test]
    fn names_have_different_colours_and_each_its_own_class() {
        let colors: BTreeSet<u32> = (0..100)
            .map(|number| Tile::of(&format!("Clinic {number}")).color)
            .collect();
        assert_eq!(colors, (0..COLORS).collect());
        let css = include_str!("../../../../templates/connect/assets/connect.css");
        for color in colors {
            assert!(css.contains(&format!(".tile-{color} {{")), "{color}");
        }
    }
}
