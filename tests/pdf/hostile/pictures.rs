//! Hostile PNG, JPEG, GIF and WebP files.

use std::io::Write as _;
use std::sync::LazyLock;

use super::pdfs::packed;
use super::{Bomb, Kind};

pub(super) const PNG: &[Bomb] = &[
    ("a PNG of many pixels", |_| LARGE_PNG.clone()),
    ("a PNG that claims many pixels", |damage| {
        let header = ihdr(damage.number().parse().unwrap_or(u32::MAX), u32::MAX, 8, 6);
        png(&[(b"IHDR", &header), (b"IDAT", &packed(&[0; 9])), (b"IEND", b"")])
    }),
    ("a PNG of more pixels than it claims", |damage| {
        let pixels = packed(&vec![0; damage.size(1 << 20, 16 << 20)]);
        png(&[(b"IHDR", &ihdr(9, 9, 8, 2)), (b"IDAT", &pixels), (b"IEND", b"")])
    }),
    ("a PNG with a packed profile", |damage| {
        let profile = [b"x\0\0".to_vec(), packed(&vec![0; damage.size(1 << 20, 90 << 20)])].concat();
        png(&[
            (b"IHDR", &ihdr(1, 1, 8, 2)),
            (b"iCCP", &profile),
            (b"IDAT", &packed(&[0; 4])),
            (b"IEND", b""),
        ])
    }),
    ("a PNG with many chunks", |damage| {
        let header = ihdr(1, 1, 8, 2);
        let mut chunks: Vec<(&[u8; 4], &[u8])> = vec![(b"IHDR", &header)];
        chunks.extend(vec![(b"tEXt", &b"a\0b"[..]); damage.size(1_000, 30_000)]);
        png(&chunks)
    }),
    ("a PNG with frames", |damage| {
        let control = [[0; 4], [255; 4], [255; 4]].concat();
        let count = (damage.size(0, usize::MAX >> 1) as u32).to_be_bytes();
        png(&[
            (b"IHDR", &ihdr(2, 2, 8, 2)),
            (b"acTL", &[count, [0; 4]].concat()),
            (b"fcTL", &control),
            (b"IDAT", &packed(&[0; 14])),
            (b"IEND", b""),
        ])
    }),
    ("two headers of a PNG", |_| {
        png(&[
            (b"IHDR", &ihdr(1, 1, 8, 2)),
            (b"IHDR", &ihdr(60_000, 60_000, 8, 6)),
            (b"IDAT", &packed(&[0; 4])),
        ])
    }),
    ("a PNG without its palette", |damage| {
        let depth = *damage.pick(&[1, 2, 4, 8, 16, 0]);
        png(&[
            (b"IHDR", &ihdr(20, 20, depth, 3)),
            (b"IDAT", &packed(&[255; 420])),
            (b"IEND", b""),
        ])
    }),
];

pub(super) const JPEG: &[Bomb] = &[
    ("a JPEG that claims many pixels", |damage| {
        jpeg(damage.size(16_000, 65_535) as u16)
    }),
    ("a JPEG with many scans", |damage| {
        let mut file = jpeg(damage.size(1_000, 16_000) as u16);
        file.truncate(file.len() - 2);
        let scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 1, 2, 3];
        file.extend(scan.repeat(damage.size(10, 5_000)));
        file
    }),
    ("a JPEG with wrong lengths", |damage| {
        let mut file = vec![0xff, 0xd8];
        for _ in 0..damage.size(1, 200) {
            let marker = damage.size(0xc0, 0xfe) as u8;
            let length = (damage.size(0, 65_535) as u16).to_be_bytes();
            let content = damage.noise(20);
            file.extend([&[0xff, marker][..], &length, &content].concat());
        }
        file
    }),
    ("a JPEG with parts of a profile", |damage| {
        let mut file = vec![0xff, 0xd8];
        for _ in 0..damage.size(1, 255) {
            file.extend([0xff, 0xe2, 0, 18]);
            file.extend(b"ICC_PROFILE\0");
            file.extend([damage.size(0, 255) as u8, damage.size(0, 255) as u8, 1, 2]);
        }
        file.extend(&jpeg(8)[2..]);
        file
    }),
];

pub(super) const GIF: &[Bomb] = &[
    ("a GIF with a large screen", |damage| {
        gif(damage.size(4_000, 65_535) as u16, 60_000)
    }),
    ("a GIF whose frame is larger than the screen", |damage| {
        gif(1, damage.size(2, 65_535) as u16)
    }),
    ("a GIF as large as its screen", |damage| {
        let side = damage.size(4_000, 65_535) as u16;
        gif(side, side)
    }),
    ("a GIF with many extensions", |damage| {
        let mut file = gif(3, 3);
        let block = [0x21, 0xfe, 1, b'x', 0].repeat(damage.size(1_000, 50_000));
        drop(file.splice(19..19, block));
        file
    }),
    ("a GIF with an endless block", |damage| {
        let mut file = gif(3, 3);
        file.truncate(file.len() - 2);
        for _ in 0..damage.size(10, 1_000) {
            file.push(255);
            file.extend(damage.noise(255));
        }
        file
    }),
];

pub(super) const WEBP: &[Bomb] = &[
    ("a WebP that claims many pixels", |damage| {
        riff(&[lossless(damage.size(4_000, 16_384) as u32)])
    }),
    ("a lossy WebP that claims many pixels", |damage| {
        riff(&[lossy(damage.size(4_000, 16_383) as u16)])
    }),
    ("a canvas of a WebP", |damage| {
        let side = damage.size(4_000, 0xff_ffff) as u32;
        riff(&[canvas(0, side), lossless(3)])
    }),
    ("a frame larger than its canvas", |damage| {
        let side = damage.size(4_000, 16_383) as u16;
        riff(&[canvas(0x10, 3), lossy(side)])
    }),
    ("a WebP with a long profile", |damage| {
        let length = (damage.size(1 << 20, 0x7fff_ffff) as u32).to_le_bytes();
        let profile = [&b"ICCP"[..], &length].concat();
        riff(&[canvas(0x20, 3), lossless(3), profile])
    }),
    ("frames of a WebP", |damage| {
        let picture = lossy(damage.size(4_000, 16_383) as u16);
        let frame = [&[0; 6][..], &[2, 0, 0, 2, 0, 0], &[0; 4], &picture].concat();
        riff(&[canvas(2, 3), chunk(b"ANIM", &[0; 6]), chunk(b"ANMF", &frame)])
    }),
    ("a WebP in a WebP without end", |damage| {
        let mut file = Vec::new();
        for _ in 0..damage.size(100, 2_000) {
            file = chunk(b"ANMF", &[&[0; 16][..], &file].concat());
            file.truncate(60_000);
        }
        riff(&[canvas(2, 3), chunk(b"ANIM", &[0; 6]), file])
    }),
];

/// Honest files of a kind. There is no encoder of JPEG and WebP here, so theirs have one color each.
pub(super) fn honest(kind: Kind) -> Vec<Vec<u8>> {
    match kind {
        Kind::Jpeg => vec![jpeg(16), jpeg(200)],
        Kind::Gif => vec![gif(3, 3), gif(40, 40)],
        Kind::Webp => vec![
            riff(&[lossless(3)]),
            riff(&[lossy(16)]),
            riff(&[canvas(0, 3), lossless(3)]),
        ],
        _ => {
            let mut files = vec![
                png(&[
                    (b"IHDR", &ihdr(9, 9, 8, 2)),
                    (b"IDAT", &packed(&[0; 252])),
                    (b"IEND", b""),
                ]),
                png(&[
                    (b"IHDR", &ihdr(90, 70, 16, 6)),
                    (b"IDAT", &packed(&[0; (90 * 8 + 1) * 70])),
                    (b"IEND", b""),
                ]),
            ];
            files.extend(super::texts::real("attachments", "png"));
            files
        }
    }
}

/// A valid PNG with a bit for each of 900 million pixels.
static LARGE_PNG: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 30_000, 30_000);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().unwrap();
    let mut stream = writer.stream_writer().unwrap();
    for _ in 0..30_000 {
        stream.write_all(&[0; 3_750]).unwrap();
    }
    stream.finish().unwrap();
    writer.finish().unwrap();
    file
});

fn ihdr(width: u32, height: u32, depth: u8, color: u8) -> Vec<u8> {
    [
        &width.to_be_bytes()[..],
        &height.to_be_bytes(),
        &[depth, color, 0, 0, 0],
    ]
    .concat()
}

pub(super) fn png(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, content) in chunks {
        let named = [&name[..], content].concat();
        file.extend((content.len() as u32).to_be_bytes());
        file.extend(&named);
        file.extend(crc32fast::hash(&named).to_be_bytes());
    }
    file
}

/// A JPEG that claims a side of pixels and has none.
fn jpeg(side: u16) -> Vec<u8> {
    let [high, low] = side.to_be_bytes();
    let mut file = vec![0xff, 0xd8, 0xff, 0xe0, 0, 16];
    file.extend(b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    file.extend([0xff, 0xdb, 0, 67, 0]);
    file.extend([1; 64]);
    file.extend([0xff, 0xc0, 0, 11, 8, high, low, high, low, 1, 1, 0x11, 0]);
    file.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0xff, 0xd9]);
    file
}

/// A GIF without pixels. Its screen and its frame are squares with these sides.
fn gif(screen: u16, frame: u16) -> Vec<u8> {
    let (screen, frame) = (screen.to_le_bytes(), frame.to_le_bytes());
    let mut file = b"GIF89a".to_vec();
    file.extend([screen, screen].concat());
    file.extend([0x80, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff]);
    file.extend([0x2c, 0, 0, 0, 0]);
    file.extend([frame, frame].concat());
    file.extend([0, 2, 2, 0x4c, 0x01, 0, 0x3b]);
    file
}

fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let padding = vec![0; content.len() % 2];
    [&name[..], &(content.len() as u32).to_le_bytes(), content, &padding].concat()
}

fn riff(chunks: &[Vec<u8>]) -> Vec<u8> {
    let chunks = chunks.concat();
    [&b"RIFF"[..], &(chunks.len() as u32 + 4).to_le_bytes(), b"WEBP", &chunks].concat()
}

fn canvas(flags: u8, side: u32) -> Vec<u8> {
    let side = (side - 1).to_le_bytes();
    chunk(b"VP8X", &[&[flags, 0, 0, 0][..], &side[..3], &side[..3]].concat())
}

/// A lossless WebP that claims a side of pixels.
fn lossless(side: u32) -> Vec<u8> {
    let sides = (side - 1) | (side - 1) << 14;
    chunk(b"VP8L", &[&[0x2f_u8][..], &sides.to_le_bytes(), &[0; 7]].concat())
}

/// A lossy WebP that claims a side of pixels.
fn lossy(side: u16) -> Vec<u8> {
    let side = side.to_le_bytes();
    chunk(
        b"VP8 ",
        &[&[0x10_u8, 0, 0, 0x9d, 1, 0x2a][..], &side, &side, &[0; 6]].concat(),
    )
}
