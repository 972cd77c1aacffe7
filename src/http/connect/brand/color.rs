//! Makes a brand's colour readable, by the contrast rules of WCAG 2.2.

use std::fmt;

/// The minimum contrast between text and background (WCAG 2.2, 1.4.3).
pub(super) const READABLE: f64 = 4.5;
/// The backgrounds of links, in light and in dark mode: the card, the page around it, and a notice.
const BEHIND: [[Color; 3]; 2] = [
    [
        Color([0xff, 0xff, 0xff]),
        Color([0xee, 0xf2, 0xf4]),
        Color([0xe4, 0xea, 0xee]),
    ],
    [
        Color([0x19, 0x23, 0x2b]),
        Color([0x10, 0x17, 0x1d]),
        Color([0x26, 0x33, 0x3d]),
    ],
];
const WHITE: Color = Color([0xff; 3]);
const INK: Color = Color([0x0b, 0x14, 0x1a]);

/// A colour as red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Color([u8; 3]);

impl Color {
    /// Parses a colour such as `#0b6b6b` or `#066`. `None` for any other form.
    pub(super) fn parse(text: &str) -> Option<Color> {
        let digits = text.strip_prefix('#')?;
        let digit = |at: usize| digits.get(at..=at).and_then(|one| u8::from_str_radix(one, 16).ok());
        let mut parts = [0; 3];
        for (at, part) in parts.iter_mut().enumerate() {
            *part = match digits.len() {
                3 => digit(at)? * 0x11,
                6 => digit(2 * at)? * 0x10 + digit(2 * at + 1)?,
                _ => return None,
            };
        }
        Some(Color(parts))
    }

    /// Computes the relative luminance as WCAG defines it.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    pub(super) fn contrast(self, other: Color) -> f64 {
        let (one, other) = (self.luminance(), other.luminance());
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    fn mixed(self, other: Color, share: f64) -> Color {
        let mut parts = [0; 3];
        for (at, part) in parts.iter_mut().enumerate() {
            let mixed = f64::from(self.0[at]) * (1.0 - share) + f64::from(other.0[at]) * share;
            *part = mixed.round().clamp(0.0, 255.0) as u8;
        }
        Color(parts)
    }

    /// Returns the nearest colour that has enough contrast to all backgrounds in `behind`. Mixes white or `INK` into
    /// the colour, each time 5 % more, until the contrast is enough.
    fn readable(self, behind: [Color; 4]) -> Color {
        let toward = if behind[0].luminance() > 0.18 { INK } else { WHITE };
        let steps = (0..=20).map(|step| self.mixed(toward, f64::from(step) / 20.0));
        let mut fine = steps.filter(|one| behind.iter().all(|behind| one.contrast(*behind) >= READABLE));
        fine.next().unwrap_or(toward)
    }

    /// Returns the colour for text on this colour: white or `INK`, whichever has more contrast.
    fn ink(self) -> Color {
        if self.contrast(WHITE) >= self.contrast(INK) {
            WHITE
        } else {
            INK
        }
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// The colours of the pages that are computed from a brand's colour, in light and in dark mode.
pub(super) struct Palette {
    /// For each mode: the accent, the colour of text on it, and a soft background for text in the accent colour.
    tones: [[Color; 3]; 2],
    /// Whether the accent in light mode is the brand's own colour, because its contrast is enough.
    pub(super) kept: bool,
}

impl Palette {
    pub(super) fn of(brand: Color) -> Palette {
        let tones = BEHIND.map(|[card, page, notice]| {
            let soft = card.mixed(brand, 0.12);
            let accent = brand.readable([card, page, notice, soft]);
            [accent, accent.ink(), soft]
        });
        Palette {
            kept: tones[0][0] == brand,
            tones,
        }
    }

    /// Returns a style sheet with these colours.
    pub(super) fn css(&self) -> String {
        let rule = |[accent, ink, soft]: [Color; 3]| {
            format!(":root {{ --accent: {accent}; --accent-ink: {ink}; --accent-soft: {soft}; }}")
        };
        let [day, night] = self.tones;
        format!(
            "{}\n@media (prefers-color-scheme: dark) {{ {} }}\n",
            rule(day),
            rule(night)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_wcag() {
        let color = |text| Color::parse(text).unwrap();
        assert!((color("#000").contrast(WHITE) - 21.0).abs() < 0.01);
        assert!((color("#777777").contrast(WHITE) - 4.48).abs() < 0.01);
        assert_eq!(color("#0b6b6b").to_string(), "#0b6b6b");
        for bad in ["", "0b6b6b", "#12", "#12345g", "#1234567", "#äöü"] {
            assert_eq!(Color::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn letters_on_tiles_can_be_read() {
        let css = include_str!("../../../../templates/connect/assets/connect.css");
        assert!(css.contains("color: #fff; font-size: 1.25rem"));
        let tile = regex::Regex::new(r"\.tile-\d \{ background: (#[0-9a-f]{6}); \}").unwrap();
        let colors: Vec<Color> = tile
            .captures_iter(css)
            .filter_map(|found| Color::parse(&found[1]))
            .collect();
        assert_eq!(colors.len(), 6);
        for color in colors {
            assert!(color.contrast(WHITE) >= READABLE, "{color}");
        }
    }

    #[test]
    fn the_backgrounds_are_those_of_the_style_sheet() {
        let style = include_str!("../../../../templates/connect/assets/connect.css");
        let (light, dark) = style.split_once("prefers-color-scheme: dark").unwrap();
        for (style, behind) in [light, dark].into_iter().zip(BEHIND) {
            for (name, expected) in ["card", "paper", "calm"].into_iter().zip(behind) {
                let value = style.split_once(&format!("--{name}: ")).unwrap().1;
                assert_eq!(Color::parse(value.split_once(';').unwrap().0), Some(expected), "{name}");
            }
        }
    }

    #[test]
    fn every_colour_becomes_one_that_can_be_read() {
        for step in 0..=0xfff_u32 {
            let brand = Color::parse(&format!("#{step:03x}")).unwrap();
            let palette = Palette::of(brand);
            for (behind, [accent, ink, soft]) in BEHIND.into_iter().zip(palette.tones) {
                for behind in behind.into_iter().chain([soft]) {
                    assert!(accent.contrast(behind) >= READABLE, "{brand} on {behind}");
                }
                assert!(accent.contrast(ink) >= READABLE, "{ink} on {brand}");
            }
        }
        assert!(Palette::of(Color::parse("#0b6b6b").unwrap()).kept);
        assert!(!Palette::of(Color::parse("#ffee00").unwrap()).kept);
    }
}
