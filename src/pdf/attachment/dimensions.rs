//! Reads the sizes of pictures from their headers, so that pictures that are too large are refused before any pixel is
//! decoded.

use super::image::DAMAGED;
use super::kind::Kind;

/// Returns the number of pixels that a decoder makes room for. A file may have several headers, such as a canvas and
/// its first frame. The largest one counts. A JPEG is copied into the document without decoding, so its pixels do not
/// count. The error says why the picture cannot be used.
pub(super) fn pixels(kind: Kind, bytes: &[u8]) -> Result<u64, &'static str> {
    let pixels = match kind {
        Kind::Png => png(bytes),
        // The decoder assumes that the first frame has the size of the screen.
        Kind::Gif if !fills_the_screen(bytes) => return Err("its first frame does not have the size of the picture"),
        Kind::Gif => screen(bytes),
        Kind::Jpeg => return Ok(0),
        _ => webp(bytes),
    };
    pixels.filter(|pixels| *pixels > 0).ok_or(DAMAGED)
}

/// The first chunk of a PNG has its size. A PNG with another first chunk is damaged.
fn png(bytes: &[u8]) -> Option<u64> {
    const SIGNATURE_AND_LENGTH: usize = 12;
    let header = bytes.get(SIGNATURE_AND_LENGTH..)?.strip_prefix(b"IHDR")?;
    let number = |at: usize| Some(u64::from(u32::from_be_bytes(*header.get(at..)?.first_chunk()?)));
    Some(number(0)?.saturating_mul(number(4)?))
}

/// Returns the pixels of the screen of a GIF.
fn screen(bytes: &[u8]) -> Option<u64> {
    let [width, height] = [6, 8].map(|at| bytes.get(at..)?.first_chunk().copied().map(u16::from_le_bytes));
    Some(u64::from(width?) * u64::from(height?))
}

/// Whether the first frame of a GIF has the size of its screen.
fn fills_the_screen(bytes: &[u8]) -> bool {
    const SIGNATURE: usize = 6;
    const SCREEN: usize = 7;
    const EXTENSION: u8 = b'!';
    const FRAME: u8 = b',';
    let (Some(size), Some(flags)) = (bytes.get(SIGNATURE..SIGNATURE + 4), bytes.get(SIGNATURE + 4)) else {
        return false;
    };
    let table = match flags & 0x80 {
        0 => 0,
        _ => 3 << ((flags & 7) + 1),
    };
    let mut at = SIGNATURE + SCREEN + table;
    while bytes.get(at) == Some(&EXTENSION) {
        at += 2;
        // Skip blocks, which begin with their lengths. An empty block ends them.
        while let Some(length) = bytes.get(at).copied().filter(|length| *length > 0) {
            at += usize::from(length) + 1;
        }
        at += 1;
    }
    bytes.get(at) == Some(&FRAME) && bytes.get(at + 5..at + 9) == Some(size)
}

/// A WebP consists of chunks. The canvas, each frame and each bitstream have sizes of their own, and the decoder makes
/// room for them before it compares them.
fn webp(bytes: &[u8]) -> Option<u64> {
    const HEADER: usize = 12;
    chunks(bytes.get(HEADER..)?, true)
}

/// Returns the pixels of the largest picture in these chunks. `None` if a header is incomplete, or if a color profile
/// is longer than the file: the decoder would make room for it.
fn chunks(mut bytes: &[u8], may_nest: bool) -> Option<u64> {
    const NAME_AND_LENGTH: usize = 8;
    const FRAME_HEADER: usize = 16;
    let mut largest = 0;
    while bytes.len() >= NAME_AND_LENGTH {
        let (head, rest) = bytes.split_at(NAME_AND_LENGTH);
        let length = u32::from_le_bytes(*head[4..].first_chunk()?) as usize;
        let three = |at: usize| {
            Some(u64::from(u32::from_le_bytes([
                *rest.get(at)?,
                *rest.get(at + 1)?,
                *rest.get(at + 2)?,
                0,
            ])))
        };
        let pixels = match &head[..4] {
            b"VP8X" => (three(4)? + 1) * (three(7)? + 1),
            b"VP8 " => {
                let side = |at: usize| Some(u64::from(u16::from_le_bytes(*rest.get(at..)?.first_chunk()?) & 0x3fff));
                side(6)? * side(8)?
            }
            b"VP8L" => {
                let sides = u64::from(u32::from_le_bytes(*rest.get(1..)?.first_chunk()?));
                ((sides & 0x3fff) + 1) * ((sides >> 14 & 0x3fff) + 1)
            }
            b"ANMF" if may_nest => {
                let frame = (three(6)? + 1) * (three(9)? + 1);
                frame.max(chunks(rest.get(FRAME_HEADER..)?, false)?)
            }
            b"ICCP" if length > rest.len() => return None,
            _ => 0,
        };
        largest = largest.max(pixels);
        let padded = length.saturating_add(length & 1);
        bytes = rest.get(padded..).unwrap_or_default();
    }
    Some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u32).to_le_bytes();
        let padding = vec![0; content.len() % 2];
        [&name[..], &length, content, &padding].concat()
    }

    fn webp(chunks: &[Vec<u8>]) -> Result<u64, &'static str> {
        let file = [b"RIFF\0\0\0\0WEBP".to_vec(), chunks.concat()].concat();
        pixels(Kind::Webp, &file)
    }

    #[test]
    fn the_largest_header_of_a_webp_counts() {
        let canvas = chunk(b"VP8X", &[0, 0, 0, 0, 99, 0, 0, 49, 0, 0]);
        let lossy = chunk(b"VP8 ", &[0x10, 0, 0, 0x9d, 1, 0x2a, 0xff, 0xff, 0x10, 0x40]);
        let lossless = chunk(b"VP8L", &[0x2f, 9, 0xc0, 4, 0, 0]);
        assert_eq!(webp(std::slice::from_ref(&canvas)), Ok(100 * 50));
        assert_eq!(webp(std::slice::from_ref(&lossy)), Ok(0x3fff * 16));
        assert_eq!(webp(std::slice::from_ref(&lossless)), Ok(10 * 20));
        assert_eq!(
            webp(&[canvas.clone(), chunk(b"EXIF", b"odd"), lossy.clone()]),
            Ok(0x3fff * 16)
        );
        let frame = [&[0; 6][..], &[9, 0, 0, 4, 0, 0], &[0; 4], &lossy].concat();
        assert_eq!(webp(&[canvas.clone(), chunk(b"ANMF", &frame)]), Ok(0x3fff * 16));
        // A profile that claims to be longer than the file.
        let mut profile = chunk(b"ICCP", b"1234");
        profile[7] = 0x7f;
        assert_eq!(webp(&[canvas, profile, lossless]), Err(DAMAGED));
        assert_eq!(webp(&[]), Err(DAMAGED));
    }

    #[test]
    fn a_png_begins_with_its_size() {
        let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        file.extend([0, 1, 0, 0, 0, 0, 1, 0]);
        assert_eq!(pixels(Kind::Png, &file), Ok(65_536 * 256));
        assert_eq!(pixels(Kind::Png, &file[..20]), Err(DAMAGED));
        assert_eq!(
            pixels(Kind::Png, b"\x89PNG\r\n\x1a\n\0\0\0\rtEXt12345678"),
            Err(DAMAGED)
        );
    }
}
