//! Pictures: PNG, JPEG, GIF and WebP become part of a page.

use std::panic::{AssertUnwindSafe, catch_unwind};

use krilla::image::Image;
use krilla::page::PageSettings;
use krilla::{Document as Writer, geom::Size};

use super::kind::Kind;

/// The most pixels of a picture. Decoded, one takes up to four bytes.
const MAX_PIXELS: u64 = 12_000_000;

/// A picture that is known to be writable, or why it is not.
pub(super) fn read(kind: Kind, bytes: Vec<u8>) -> Result<Image, &'static str> {
    catch_unwind(AssertUnwindSafe(|| decoded(kind, bytes))).unwrap_or(Err(DAMAGED))
}

const DAMAGED: &str = "the picture is damaged";

fn decoded(kind: Kind, bytes: Vec<u8>) -> Result<Image, &'static str> {
    let data = bytes.into();
    let image = match kind {
        Kind::Png => Image::from_png(data, true),
        Kind::Jpeg => Image::from_jpeg(data, true),
        Kind::Gif => Image::from_gif(data, true),
        _ => Image::from_webp(data, true),
    };
    let image = image.map_err(|_| DAMAGED)?;
    let (width, height) = image.size();
    let is_jpeg = kind == Kind::Jpeg;
    // A JPEG goes into the file as it is, so that its size does not matter.
    if width == 0 || height == 0 || (!is_jpeg && u64::from(width) * u64::from(height) > MAX_PIXELS) {
        return Err("the picture is too large");
    }
    if is_written(&image) { Ok(image) } else { Err(DAMAGED) }
}

/// The writer decodes pictures at the very end, where a damaged one would cost the whole document, so each is tried
/// before.
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
