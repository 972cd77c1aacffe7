//! Attachments that are small, and take a reader much memory or time: by depth, by compression, by claimed sizes and by
//! count. `tests/pdf/hostile` has many more.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Returns the attachments with their media types.
pub(super) fn all() -> std::io::Result<Vec<(&'static str, Vec<u8>)>> {
    let depth = 32_057;
    let numbers = format!("9 0 [{}]", "0 ".repeat(15_000_000));
    let some_numbers = format!("9 0 [{}]", "0 ".repeat(500_000));
    let attributes: String = (0..5_000).map(|place| format!(" a{place}={place}")).collect();
    let nested_lists = format!("/Annots {}{}", "[".repeat(depth), "]".repeat(depth));
    Ok(vec![
        ("application/pdf", pdf(&nested_lists, &[])),
        ("application/pdf", pdf("", &[object_stream(&numbers)?])),
        ("application/pdf", pdf("", &vec![object_stream(&some_numbers)?; 60])),
        ("image/png", png()?),
        ("image/webp", webp(&[0x2f, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0, 0, 0])),
        (
            "image/gif",
            b"GIF89a\xff\xff\xff\xff\0\0\0\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x4c\x01\0\x3b".to_vec(),
        ),
        ("text/rtf", format!("{{\\rtf1 {}a", "{".repeat(200_000)).into()),
        (
            "text/html",
            format!("<html>{}a", "<table><tr><td>".repeat(50_000)).into(),
        ),
        ("text/html", format!("<html><p{attributes}>a").into()),
        (
            "text/xml",
            format!("<?xml version=\"1.0\"?>{}", "<a>".repeat(200_000)).into(),
        ),
        ("text/plain", "x".repeat(500_000).into()),
    ])
}

/// A PDF of one page with these entries, and with these objects. It has no table of objects.
fn pdf(entries: &str, objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = format!(
        "%PDF-1.5\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n\
         2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 99 99]>>\nendobj\n\
         3 0 obj\n<</Type/Page/Parent 2 0 R{entries}>>\nendobj\n"
    )
    .into_bytes();
    for (place, object) in objects.iter().enumerate() {
        file.extend(format!("{} 0 obj\n", place + 10).bytes());
        file.extend(object);
    }
    file.extend(b"trailer\n<</Root 1 0 R/Size 100>>\n");
    file
}

/// A packed stream of objects.
fn object_stream(objects: &str) -> std::io::Result<Vec<u8>> {
    let content = packed(|packer| packer.write_all(objects.as_bytes()))?;
    let head = format!(
        "<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length {}>>\nstream\n",
        content.len()
    );
    Ok([head.as_bytes(), &content, b"\nendstream\nendobj\n"].concat())
}

/// A valid PNG with a bit for each of four thousand million pixels.
fn png() -> std::io::Result<Vec<u8>> {
    const SIDE: u32 = 65_528;
    let header = [&SIDE.to_be_bytes()[..], &SIDE.to_be_bytes(), &[1, 0, 0, 0, 0]].concat();
    let row = vec![0; SIDE as usize / 8 + 1];
    let pixels = packed(|packer| (0..SIDE).try_for_each(|_| packer.write_all(&row)))?;
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, content) in [(b"IHDR", &header), (b"IDAT", &pixels), (b"IEND", &Vec::new())] {
        let named = [&name[..], content].concat();
        file.extend((content.len() as u32).to_be_bytes());
        file.extend(&named);
        file.extend(crc32fast::hash(&named).to_be_bytes());
    }
    Ok(file)
}

fn webp(picture: &[u8]) -> Vec<u8> {
    let length = picture.len() as u32;
    [
        &b"RIFF"[..],
        &(length + 12).to_le_bytes(),
        b"WEBPVP8L",
        &length.to_le_bytes(),
        picture,
    ]
    .concat()
}

fn packed(write: impl FnOnce(&mut ZlibEncoder<Vec<u8>>) -> std::io::Result<()>) -> std::io::Result<Vec<u8>> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    write(&mut packer)?;
    packer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::{Attachment, Document, Outcome, Properties};

    #[test]
    fn hostile_attachments_are_small_and_known_by_their_kind() {
        let all = all().unwrap();
        let bytes: usize = all.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(bytes < 4 << 20, "{bytes}");
        let png = &all
            .iter()
            .find(|(content_type, _)| *content_type == "image/png")
            .unwrap()
            .1;
        let mut document = Document::new(Properties {
            title: "a".to_owned(),
            author: "b".to_owned(),
            language: "en".to_owned(),
            created: chrono::Utc::now(),
            running_head: String::new(),
        })
        .unwrap();
        let outcome = document.attachment(Attachment {
            title: "pixels".to_owned(),
            content_type: None,
            url: None,
            bytes: png.clone(),
        });
        assert!(matches!(outcome, Outcome::Unreadable { reason } if reason.contains("too large")));
    }
}
