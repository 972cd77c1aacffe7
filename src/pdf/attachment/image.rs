//! Reads pictures: PNG, JPEG, GIF and WebP become part of a page.

use std::panic::{AssertUnwindSafe, catch_unwind};

use krilla::image::Image;
use krilla::page::PageSettings;
use krilla::{Document as Writer, geom::Size};

use super::dimensions;
use super::kind::Kind;

/// The maximum number of pixels of a picture that is decoded. A decoded pixel takes up to eight bytes.
const MAX_PIXELS: u64 = 12_000_000;

/// Reads a picture for the writer. Returns it with the number of pixels that the writer must decode. If this number is
/// more than `room`, the picture is refused. The error says why the picture cannot be used.
pub(super) fn read(kind: Kind, bytes: Vec<u8>, room: u64) -> Result<(Image, u64), &'static str> {
    catch_unwind(AssertUnwindSafe(|| decoded(kind, bytes, room))).unwrap_or(Err(DAMAGED))
}

pub(super) const DAMAGED: &str = "the picture is damaged";

fn decoded(kind: Kind, bytes: Vec<u8>, room: u64) -> Result<(Image, u64), &'static str> {
    // The library decodes a picture as soon as it gets the file. So its size is compared before.
    let pixels = dimensions::pixels(kind, &bytes)?;
    if pixels > MAX_PIXELS {
        return Err("the picture is too large");
    }
    if pixels > room {
        return Err("this file has no room for another picture");
    }
    let data = bytes.into();
    let image = match kind {
        Kind::Png => Image::from_png(data, true),
        Kind::Jpeg => Image::from_jpeg(data, true),
        Kind::Gif => Image::from_gif(data, true),
        _ => Image::from_webp(data, true),
    };
    let image = image.map_err(|_| DAMAGED)?;
    let (width, height) = image.size();
    if width > 0 && height > 0 && is_written(&image) {
        Ok((image, pixels))
    } else {
        Err(DAMAGED)
    }
}

/// Whether the writer can decode a picture. The writer decodes pictures when it finishes the document, and a damaged
/// picture would make the whole document fail. So this function tries the picture in a document of its own.
fn is_written(image: &Image) -> bool {
    let (Some(settings), Some(size)) = (PageSettings::from_wh(10.0, 10.0), Size::from_wh(10.0, 10.0)) else {
        return false;
    };
    let mut writer = Writer::new();
    let mut page = writer.start_page_with(settings);
    let mut surface = page.surface();
    surface.draw_image(image.clone(), size);
    surface.finish();
    page.finish();
    writer.finish().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the pixels of all pictures together had no limit. The writer decodes all pictures at the end, so
    /// many small files with large pictures used up the memory.
    #[test]
    fn pictures_take_room_by_their_pixels() {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 8, 4);
        encoder.set_color(png::ColorType::Grayscale);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[0; 32]).unwrap();
        writer.finish().unwrap();
        let taken = |room| read(Kind::Png, file.clone(), room).map(|(_, pixels)| pixels);
        assert_eq!(taken(32), Ok(32));
        assert_eq!(taken(31), Err("this file has no room for another picture"));
    }
}
