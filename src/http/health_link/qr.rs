//! Draws a link as a QR code, as PNG and as SVG. The code has error correction level M, as the specification
//! recommends.

use fast_qr::{ECL, QRBuilder, QRCode};

use crate::http::error::Error;

/// The width of the white margin in modules. Cameras need a margin to find the code.
const QUIET: usize = 4;
/// The width of a module in the PNG, in pixels.
const SCALE: usize = 8;

/// A QR code.
pub(super) struct Qr(QRCode);

impl Qr {
    /// Encodes a text. An error if it is too long.
    pub(super) fn of(text: &str) -> Result<Qr, Error> {
        let code = QRBuilder::new(text).ecl(ECL::M).build();
        code.map(Qr)
            .map_err(|_| Error::internal("the link is too long for a QR code"))
    }

    /// Returns the number of modules on each side, including the margin.
    fn side(&self) -> usize {
        self.0.size + 2 * QUIET
    }

    /// Whether the module at this position is dark. Positions count from the corner of the margin, whose modules are
    /// light.
    fn is_dark(&self, x: usize, y: usize) -> bool {
        let inside = |at: usize| at.checked_sub(QUIET).filter(|at| *at < self.0.size);
        match (inside(x), inside(y)) {
            (Some(x), Some(y)) => self.0[y][x].value(),
            _ => false,
        }
    }

    /// Draws the code as SVG.
    pub(super) fn svg(&self) -> String {
        let side = self.side();
        let mut path = String::new();
        for y in 0..side {
            for x in (0..side).filter(|x| self.is_dark(*x, y)) {
                path.push_str(&format!("M{x} {y}h1v1h-1z"));
            }
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" shape-rendering=\"crispEdges\">\
             <path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/><path d=\"{path}\"/></svg>"
        )
    }

    /// Draws the code as PNG, black on white.
    pub(super) fn png(&self) -> Result<Vec<u8>, Error> {
        let pixels = self.side() * SCALE;
        let row_bytes = pixels.div_ceil(8);
        let mut image = vec![0u8; row_bytes * pixels];
        for y in 0..pixels {
            for x in (0..pixels).filter(|x| !self.is_dark(x / SCALE, y / SCALE)) {
                image[y * row_bytes + x / 8] |= 0x80 >> (x % 8);
            }
        }
        let side = u32::try_from(pixels).map_err(Error::internal)?;
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, side, side);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::One);
        let mut writer = encoder.write_header().map_err(Error::internal)?;
        writer.write_image_data(&image).map_err(Error::internal)?;
        writer.finish().map_err(Error::internal)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn both_pictures_show_the_same_modules() {
        let code = Qr::of(&format!(
            "https://records.example/health-link#shlink:/{}",
            "a".repeat(400)
        ))
        .unwrap();
        let (side, file) = (code.side(), code.png().unwrap());
        let svg = code.svg();
        let drawn: HashSet<&str> = svg
            .split('M')
            .filter_map(|part| part.split_once("h1v1h-1z"))
            .map(|(at, _)| at)
            .collect();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        let mut image = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut image).unwrap();
        assert_eq!(
            (info.width as usize, info.height as usize),
            (side * SCALE, side * SCALE)
        );
        let mut dark = 0;
        for y in 0..side {
            for x in 0..side {
                let (column, line) = (x * SCALE, y * SCALE);
                let is_dark = image[line * info.line_size + column / 8] & (0x80 >> (column % 8)) == 0;
                assert_eq!(drawn.contains(format!("{x} {y}").as_str()), is_dark, "{x} {y}");
                let is_quiet = [x, y].iter().any(|at| *at < QUIET || *at >= side - QUIET);
                assert!(!(is_dark && is_quiet), "{x} {y}");
                dark += usize::from(is_dark);
            }
        }
        assert!(dark > side * side / 4);
    }
}
