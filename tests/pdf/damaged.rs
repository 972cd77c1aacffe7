//! Attached documents that are damaged, mislabelled or hostile: each becomes content or a placeholder, and the document
//! loses no page.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use encoding_rs::Encoding;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use lopdf::encryption::crypt_filters::{Aes128CryptFilter, Aes256CryptFilter, CryptFilter};
use lopdf::{EncryptionState, EncryptionVersion, Object, Permissions, Stream, Writer, dictionary};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tabularium::pdf::{Attachment, Outcome};

use super::attachments::{attachment, content_type, keeps, real_files};
use super::reading::{assert_in_order, document, squeezed, text};

/// Media types that any attachment may be declared as.
const TYPES: [Option<&str>; 10] = [
    None,
    Some("application/pdf"),
    Some("text/xml"),
    Some("text/html"),
    Some("text/html; charset=utf-16"),
    Some("text/plain; charset=shift_jis"),
    Some("application/rtf"),
    Some("image/png"),
    Some("application/dicom"),
    Some("not a media type; charset="),
];

/// Names of encodings and RTF's code page numbers, known and unknown.
const ENCODINGS: [&str; 16] = [
    "utf-8",
    "utf-16le",
    "utf-16be",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "iso-8859-8",
    "koi8-r",
    "macintosh",
    "shift_jis",
    "euc-jp",
    "iso-2022-jp",
    "gb18030",
    "big5",
    "euc-kr",
    "x-user-defined",
];
const PAGES: [u32; 12] = [437, 850, 866, 874, 932, 936, 949, 950, 1250, 1255, 10000, 65001];

/// A word whose bytes are the same in every encoding except UTF-16.
const MARK: &str = "MARKERWORD";

struct Damage(ChaCha8Rng);

impl Damage {
    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.0.random_range(0..from.len())]
    }

    fn bytes(&mut self, at_most: usize) -> Vec<u8> {
        let length = self.0.random_range(0..=at_most);
        (0..length).map(|_| self.0.random()).collect()
    }

    /// A damaged copy of a real file.
    fn broken(&mut self, real: &[u8]) -> Vec<u8> {
        let mut bytes = real.to_vec();
        let at = self.0.random_range(0..bytes.len());
        match self.0.random_range(0..5) {
            0 => bytes.truncate(at),
            1 => {
                for _ in 0..self.0.random_range(1..50) {
                    let place = self.0.random_range(0..bytes.len());
                    bytes[place] ^= 1 << self.0.random_range(0..8);
                }
            }
            2 => {
                let length = self.0.random_range(0..=bytes.len() - at);
                bytes.drain(at..at + length);
            }
            3 => {
                let put = self.bytes(300);
                drop(bytes.splice(at..at, put));
            }
            _ => bytes[at..].reverse(),
        }
        bytes
    }

    /// HTML in some encoding, declared correctly, wrongly or not at all. Also returns whether its text can be read.
    fn html(&mut self) -> (Option<String>, Vec<u8>, bool) {
        let label = *self.pick(&ENCODINGS);
        let named = match self.0.random_range(0..3) {
            0 => Some(label),
            1 => Some(*self.pick(&ENCODINGS)),
            _ => None,
        };
        let in_head = self.0.random_bool(0.5);
        let meta = match named.filter(|_| in_head) {
            Some(name) => format!("<meta charset=\"{name}\">"),
            None => String::new(),
        };
        let text = format!("<html><head>{meta}</head><body><p>Núñez Ελλ Кир 日本 {MARK}</p></body></html>");
        let bytes = match label {
            "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            _ => Encoding::for_label(label.as_bytes())
                .unwrap()
                .encode(&text)
                .0
                .into_owned(),
        };
        let content_type = match named.filter(|_| !in_head) {
            Some(name) => format!("text/html; charset={name}"),
            None => "text/html".to_owned(),
        };
        let is_wide = label.starts_with("utf-16");
        let is_plain = |label: &str| !label.starts_with("utf-16");
        // Bytes of a wide encoding are not read as a narrow one, nor bytes of a narrow encoding as a wide one.
        let readable = !is_wide && named.is_none_or(is_plain) || is_wide && named == Some(label) && !in_head;
        (Some(content_type), bytes, readable)
    }

    /// RTF in some code page, with escapes of arbitrary bytes.
    fn rtf(&mut self) -> (Option<String>, Vec<u8>, bool) {
        let page = *self.pick(&PAGES);
        let mut bytes = format!("{{\\rtf1\\ansi\\ansicpg{page}\\uc1 {MARK} ").into_bytes();
        for byte in self.bytes(60) {
            bytes.extend(format!("\\'{byte:02x}").bytes());
        }
        for _ in 0..self.0.random_range(0..20) {
            bytes.extend(format!("\\u{}?", self.0.random_range(-40_000..70_000)).bytes());
        }
        bytes.extend(self.bytes(40).into_iter().filter(|byte| !b"\\{}".contains(byte)));
        bytes.extend(b"\\par}");
        (Some("text/rtf".to_owned()), bytes, true)
    }

    /// A PDF that claims to be encrypted, with or without object streams.
    fn locked(&mut self, pdf: &[u8]) -> Vec<u8> {
        let key = self.bytes(32);
        let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let encrypt =
            format!("/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -1 /O <{key}> /U <{key}> >> /Root ");
        let at = memchr::memmem::rfind(pdf, b"/Root ").unwrap();
        [&pdf[..at], encrypt.as_bytes(), &pdf[at + b"/Root ".len()..]].concat()
    }
}

/// A really encrypted PDF with this page and this password of the reader.
pub(super) fn encrypted(version: u8, shown: &str, password: &str) -> Vec<u8> {
    let mut document = document();
    document.paragraph(shown);
    let mut file = lopdf::Document::load_mem(&document.finish().unwrap()).unwrap();
    encrypt(version, &mut file, password);
    let mut bytes = Vec::new();
    file.save_to(&mut bytes).unwrap();
    bytes
}

/// Encrypts a PDF with this password of the reader.
fn encrypt(version: u8, file: &mut lopdf::Document, password: &str) {
    let id = Object::string_literal(b"0123456789abcdef".to_vec());
    file.trailer.set("ID", vec![id.clone(), id]);
    let filters = |filter: Arc<dyn CryptFilter>| BTreeMap::from([(b"StdCF".to_vec(), filter)]);
    let (owner_password, permissions) = ("owner", Permissions::PRINTABLE);
    let (stream_filter, string_filter) = (b"StdCF".to_vec(), b"StdCF".to_vec());
    let key = [7; 32];
    let version = match version {
        2 => EncryptionVersion::V2 {
            document: file,
            owner_password,
            user_password: password,
            key_length: 128,
            permissions,
        },
        4 => EncryptionVersion::V4 {
            document: file,
            encrypt_metadata: true,
            crypt_filters: filters(Arc::new(Aes128CryptFilter)),
            stream_filter,
            string_filter,
            owner_password,
            user_password: password,
            permissions,
        },
        _ => EncryptionVersion::V5 {
            encrypt_metadata: true,
            crypt_filters: filters(Arc::new(Aes256CryptFilter)),
            file_encryption_key: &key,
            stream_filter,
            string_filter,
            owner_password,
            user_password: password,
            permissions,
        },
    };
    let state = EncryptionState::try_from(version).unwrap();
    file.encrypt(&state).unwrap();
}

/// An encrypted PDF whose page is in a stream of objects, with `further` at the end of the stream.
fn encrypted_with_stream(version: u8, shown: &str, further: &str) -> Vec<u8> {
    let mut document = document();
    document.paragraph(shown);
    let mut file = lopdf::Document::load_mem(&document.finish().unwrap()).unwrap();
    let page = *file.get_pages().values().next().unwrap();
    let mut entries = Vec::new();
    Writer::write_object(&mut entries, &file.objects.remove(&page).unwrap()).unwrap();
    let head = format!("{} 0 {} {} ", page.0, file.max_id + 9, entries.len() + 1);
    let packed = zipped(&[head.as_bytes(), &entries, b" ", further.as_bytes()].concat());
    let kind = dictionary! {"Type" => "ObjStm", "N" => 2, "First" => head.len() as i64, "Filter" => "FlateDecode"};
    let container = file.add_object(Stream::new(kind, packed));
    encrypt(version, &mut file, "");
    let stream = file.objects.remove(&container).unwrap();
    let mut bytes = Vec::new();
    file.save_to(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let before = text.rsplit("startxref").next().unwrap();
    let before: i64 = before.split_whitespace().next().unwrap().parse().unwrap();
    // The library writes no streams of objects. They follow as an update, with a table that says where they are.
    let mut append = |number: u32, object: &Object| {
        let start = bytes.len() as u32;
        bytes.extend(format!("{number} 0 obj\n").bytes());
        Writer::write_object(&mut bytes, object).unwrap();
        bytes.extend(b"\nendobj\n");
        start
    };
    let start = append(container.0, &stream);
    let entry = |kind: u8, of: u32| [&[kind][..], &of.to_be_bytes(), &[0, 0]].concat();
    let mut table = Stream::new(file.trailer.clone(), [entry(2, container.0), entry(1, start)].concat());
    let pairs = [page.0, 1, container.0, 1].map(|number| i64::from(number).into());
    table.dict.set("Type", "XRef");
    table.dict.set("W", vec![1.into(), 4.into(), 2.into()]);
    table.dict.set("Index", pairs.to_vec());
    table.dict.set("Prev", before);
    table.dict.set("Size", i64::from(file.max_id) + 2);
    let start = append(file.max_id + 1, &Object::Stream(table));
    bytes.extend(format!("startxref\n{start}\n%%EOF\n").bytes());
    bytes
}

/// The values in an encrypted stream were not estimated: they took gigabytes.
#[test]
fn the_values_of_an_encrypted_pdf_are_bounded_too() {
    for version in [2, 4, 5] {
        let bytes = encrypted_with_stream(version, "for everybody", "[1 2 3]");
        let mut open = document();
        let outcome = open.attachment(attachment("open", Some("application/pdf"), &bytes));
        assert_eq!(outcome, Outcome::Appended { pages: 1 }, "{version}");
        assert_in_order(&open.finish().unwrap(), &["1 page follows", "for everybody"]);

        for (further, reason) in [
            (format!("[{}]", "1 ".repeat(3_000_000)), "unpacks to more"),
            (format!("{}{}", "[".repeat(501), "]".repeat(501)), "nested too deeply"),
        ] {
            let bytes = encrypted_with_stream(version, "for everybody", &further);
            let outcome = document().attachment(attachment("bomb", Some("application/pdf"), &bytes));
            let loss = outcome.loss().unwrap_or_default();
            assert!(loss.contains(reason), "{version}: {outcome:?}");
        }
    }
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// Many PDF files have a password for changes only. Everybody may read them.
#[test]
fn an_encrypted_pdf_is_appended_if_it_opens_without_a_password() {
    for version in [2, 4, 5] {
        let bytes = encrypted(version, "for everybody", "");
        assert!(bytes.windows(8).any(|window| window == b"/Encrypt"));
        let mut open = document();
        let outcome = open.attachment(attachment("open", Some("application/pdf"), &bytes));
        assert_eq!(outcome, Outcome::Appended { pages: 1 }, "{version}");
        assert_in_order(&open.finish().unwrap(), &["1 page follows", "for everybody"]);

        let bytes = encrypted(version, "for somebody", "secret");
        let mut locked = document();
        let outcome = locked.attachment(attachment("locked", Some("application/pdf"), &bytes));
        assert_eq!(outcome.loss(), Some("the PDF is protected by a password"), "{version}");
        let file = locked.finish().unwrap();
        assert_in_order(&file, &["protected by a password", "attached to this file"]);
        assert!(!text(&file).contains(&squeezed("for somebody")) && keeps(&file, &bytes));
    }
}

/// A file whose table of objects leads to another place than the object that says how the file is encrypted.
fn displaced(mut file: Vec<u8>) -> Vec<u8> {
    let after = |file: &[u8], what: &[u8]| memchr::memmem::rfind(file, what).unwrap() + what.len();
    let digits: String = file[after(&file, b"/Encrypt ")..]
        .iter()
        .map_while(|byte| byte.is_ascii_digit().then_some(char::from(*byte)))
        .collect();
    let number: usize = digits.parse().unwrap();
    let table = after(&file, b"\nxref\n0 ");
    let entries = table + file[table..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    file[entries + 20 * number..][..10].copy_from_slice(b"0000000003");
    file
}

#[test]
fn an_encrypted_pdf_with_a_wrong_table_of_objects_is_repaired() {
    for version in [2, 4, 5] {
        let bytes = displaced(encrypted(version, "for everybody", ""));
        let mut open = document();
        let outcome = open.attachment(attachment("open", Some("application/pdf"), &bytes));
        assert_eq!(outcome, Outcome::Appended { pages: 1 }, "{version}");
        assert_in_order(&open.finish().unwrap(), &["1 page follows", "for everybody"]);
    }
}

fn packed(of: u8, length: usize) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    let block = vec![of; 1 << 20];
    for _ in 0..length >> 20 {
        packer.write_all(&block).unwrap();
    }
    packer.finish().unwrap()
}

/// A valid PNG with as many white pixels in each direction.
fn png(side: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header().unwrap();
    let mut stream = writer.stream_writer().unwrap();
    let row = vec![0xff; side.div_ceil(8) as usize];
    (0..side).for_each(|_| stream.write_all(&row).unwrap());
    stream.finish().unwrap();
    writer.finish().unwrap();
    file
}

/// A GIF without pixels. Its screen and its first frame are squares with these sides.
fn gif(screen: u16, frame: u16) -> Vec<u8> {
    let (screen, frame) = (screen.to_le_bytes(), frame.to_le_bytes());
    let mut file = b"GIF89a".to_vec();
    file.extend([screen, screen].concat());
    file.extend([0x80, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff]);
    // An extension before the frame.
    file.extend([0x21, 0xf9, 4, 0, 0, 0, 0, 0]);
    file.extend([0x2c, 0, 0, 0, 0]);
    file.extend([frame, frame].concat());
    file.extend([0, 2, 2, 0x4c, 0x01, 0, 0x3b]);
    file
}

fn riff(kind: &[u8; 4], chunk: &[u8]) -> Vec<u8> {
    let mut file = b"RIFF".to_vec();
    file.extend((chunk.len() as u32 + 12).to_le_bytes());
    file.extend(b"WEBP");
    file.extend(kind);
    file.extend((chunk.len() as u32).to_le_bytes());
    file.extend(chunk);
    file
}

/// A lossless WebP that claims a side of pixels.
fn webp(side: u32) -> Vec<u8> {
    let sides = (side - 1) | (side - 1) << 14;
    riff(b"VP8L", &[&[0x2f_u8][..], &sides.to_le_bytes(), &[0; 7]].concat())
}

/// A lossy WebP that claims a side of pixels.
fn lossy_webp(side: u16) -> Vec<u8> {
    let side = side.to_le_bytes();
    riff(
        b"VP8 ",
        &[&[0x10_u8, 0, 0, 0x9d, 1, 0x2a][..], &side, &side, &[0; 6]].concat(),
    )
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

/// A WebP whose color profile claims to be longer than the file. The reader made room for it.
fn long_profile() -> Vec<u8> {
    let mut file = riff(b"VP8X", &[0x20, 0, 0, 0, 2, 0, 0, 2, 0, 0]);
    file.extend(b"ICCP\xf0\xff\xff\x7f");
    file
}

/// A PDF with a list in a list, and so on, in its page. The tolerant reader took stack for each level, and ended the
/// process.
fn nested_lists(depth: usize) -> Vec<u8> {
    let lists = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    format!(
        "%PDF-1.5\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n\
         3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Annots {lists}>>\nendobj\ntrailer\n<</Root 1 0 R/Size 4>>\n"
    )
    .into_bytes()
}

/// A PDF whose stream of objects has this many numbers. A number takes two bytes unpacked, and took 200 in memory.
fn numbers(count: usize) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    packer
        .write_all(format!("9 0 [{}]", "0 ".repeat(count)).as_bytes())
        .unwrap();
    let content = packer.finish().unwrap();
    let mut file = nested_lists(1);
    let at = memchr::memmem::rfind(&file, b"trailer").unwrap();
    let head = format!(
        "4 0 obj\n<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length {}>>\nstream\n",
        content.len()
    );
    let object = [head.as_bytes(), &content, b"\nendstream\nendobj\n"].concat();
    drop(file.splice(at..at, object));
    file
}

/// A PDF with these contents of its page.
fn page(contents: Stream) -> Vec<u8> {
    let mut file = lopdf::Document::with_version("1.7");
    let root = file.new_object_id();
    let contents = file.add_object(contents);
    let page = file.add_object(dictionary! {
        "Type" => "Page", "Parent" => root, "Contents" => contents,
        "MediaBox" => vec![0.into(), 0.into(), 99.into(), 99.into()],
    });
    file.set_object(
        root,
        dictionary! { "Type" => "Pages", "Kids" => vec![page.into()], "Count" => 1 },
    );
    let catalog = file.add_object(dictionary! { "Type" => "Catalog", "Pages" => root });
    file.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    file.save_to(&mut bytes).unwrap();
    bytes
}

/// Contents that a document does not need are not unpacked: the contents of appended pages, and the pixels of a JPEG.
#[test]
fn bombs_that_readers_unpack_stay_as_small_as_they_came() {
    let once = packed(b' ', 256 << 20);
    let mut twice = ZlibEncoder::new(Vec::new(), Compression::best());
    twice.write_all(&once).unwrap();
    let twice = twice.finish().unwrap();
    let flate = || Object::Name(b"FlateDecode".to_vec());
    let once = Stream::new(dictionary! { "Filter" => flate() }, once);
    let twice = Stream::new(dictionary! { "Filter" => vec![flate(), flate()] }, twice);
    for contents in [once, twice] {
        let kept = contents.content.clone();
        let whole = page(contents);
        // The table of objects is found by a search.
        let end = memchr::memmem::rfind(&whole, b"startxref").unwrap();
        for bytes in [&whole[..], &whole[..end]] {
            let mut document = document();
            let outcome = document.attachment(attachment("a.pdf", Some("application/pdf"), bytes));
            assert_eq!(outcome, Outcome::Appended { pages: 1 });
            let file = document.finish().unwrap();
            assert!(file.len() < bytes.len() + 100_000, "{}", file.len());
            assert!(memchr::memmem::find(&file, &kept).is_some());
        }
    }
    let bytes = jpeg(16_000);
    let mut document = document();
    assert_eq!(
        document.attachment(attachment("a.jpg", Some("image/jpeg"), &bytes)),
        Outcome::Shown
    );
    let file = document.finish().unwrap();
    assert!(file.len() < 100_000 && memchr::memmem::find(&file, &bytes).is_some());
}

/// Small files that claim to be large, deep or long.
fn bombs() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    // A PNG header that claims 100,000 by 100,000 pixels.
    let mut header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    header.extend([0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0, 8, 2, 0, 0, 0, 0, 0, 0, 0]);
    let entities =
        "<!DOCTYPE l [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\">]><ClinicalDocument>&b;</ClinicalDocument>";
    let external = "<!DOCTYPE l [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><ClinicalDocument><title>&a;</title></ClinicalDocument>";
    let wrapped = "<ClinicalDocument><component><nonXMLBody><text mediaType=\"text/xml\">&lt;ClinicalDocument&gt;&lt;component&gt;\
        &lt;nonXMLBody&gt;&lt;text mediaType=\"text/xml\"&gt;x&lt;/text&gt;&lt;/nonXMLBody&gt;&lt;/component&gt;\
        &lt;/ClinicalDocument&gt;</text></nonXMLBody></component></ClinicalDocument>";
    let deep = format!("<?xml version=\"1.0\"?>{}", "<a>".repeat(200_000));
    // Objects that unpack to 128 MiB each and are a kilobyte here.
    let stream = packed(b' ', 128 << 20);
    let mut objects = format!(
        "%PDF-1.5\n1 0 obj\n<< /Type /ObjStm /N 1 /First 4 /Filter /FlateDecode /Length {} >>\nstream\n",
        stream.len()
    )
    .into_bytes();
    objects.extend(&stream);
    objects.extend(b"\nendstream\nendobj\ntrailer\n<< /Root 2 0 R /Size 3 >>\n");
    vec![
        ("header.png", "image/png", header),
        ("pixels.png", "image/png", png(20_000)),
        ("screen.gif", "image/gif", gif(60_000, 60_000)),
        ("frame.gif", "image/gif", gif(1, 3_500)),
        ("profile.webp", "image/webp", long_profile()),
        ("nested.pdf", "application/pdf", nested_lists(32_057)),
        ("numbers.pdf", "application/pdf", numbers(15_000_000)),
        ("pixels.webp", "image/webp", webp(16_000)),
        ("lossy.webp", "image/webp", lossy_webp(16_000)),
        ("pixels.jpg", "image/jpeg", jpeg(65_500)),
        ("entities.xml", "text/xml", entities.into()),
        ("external.xml", "text/xml", external.into()),
        ("wrapped.xml", "text/xml", wrapped.into()),
        ("deep.xml", "text/xml", deep.into_bytes()),
        ("objects.pdf", "application/pdf", objects),
    ]
}

#[test]
fn bombs_end_as_placeholders() {
    for (name, content_type, bytes) in bombs() {
        let mut document = document();
        let outcome = document.attachment(attachment(name, Some(content_type), &bytes));
        assert!(matches!(outcome, Outcome::Unreadable { .. }), "{name}: {outcome:?}");
        assert!(keeps(&document.finish().unwrap(), &bytes), "{name}");
    }
}

/// Deep documents are read without exhausting the stack.
#[test]
fn depth_costs_nothing() {
    let html = format!("{}{MARK}", "<div><ul><li>".repeat(50_000));
    let rtf = format!("{{\\rtf1 {}{MARK}", "{".repeat(200_000));
    let table = format!("{}{MARK}", "<table><tr><td>".repeat(20_000));
    for (name, content_type, text) in [
        ("a", "text/html", html),
        ("b", "text/rtf", rtf),
        ("c", "text/html", table),
    ] {
        let mut document = document();
        let outcome = document.attachment(attachment(name, Some(content_type), text.as_bytes()));
        assert_eq!(outcome, Outcome::Shown, "{name}");
        assert!(self::text(&document.finish().unwrap()).contains(MARK), "{name}");
    }
}

/// One faulty attachment, and whether the mark must be in the file.
fn wrong(damage: &mut Damage, real: &[(String, Vec<u8>)], round: usize) -> (Attachment, bool) {
    let (name, bytes) = damage.pick(real);
    let of_its_own = Some(content_type(name).to_owned());
    let (content_type, bytes, readable) = match round % 8 {
        0 | 1 => (of_its_own, damage.broken(bytes), false),
        // Unchanged, and with another declared type.
        2 => (damage.pick(&TYPES).map(str::to_owned), bytes.clone(), false),
        3 => (damage.pick(&TYPES).map(str::to_owned), damage.broken(bytes), false),
        4 => damage.html(),
        5 => damage.rtf(),
        6 => {
            let pdf = real.iter().filter(|(name, _)| name.ends_with(".pdf"));
            let (_, pdf) = *damage.pick(&pdf.map(|(name, bytes)| (name, bytes)).collect::<Vec<_>>());
            (Some("application/pdf".to_owned()), damage.locked(pdf), false)
        }
        _ => (damage.pick(&TYPES).map(str::to_owned), damage.bytes(2_000), false),
    };
    let title = format!("Nr{round}");
    (attachment(&title, content_type.as_deref(), &bytes), readable)
}

/// A thousand attachments: truncated, bit-flipped, cut, stretched, reversed, locked, of a wrong type, in any encoding,
/// and noise.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn damaged_attachments_end_as_content_or_placeholder() {
    let files = real_files();
    let mut damage = Damage(ChaCha8Rng::seed_from_u64(7));
    let (mut placeholders, mut marks) = (0, 0);
    for block in 0..100 {
        let mut document = document();
        let (mut appended, mut kept) = (0, Vec::new());
        let mut wanted = 0;
        for round in block * 10..block * 10 + 10 {
            let (attachment, readable) = wrong(&mut damage, &files, round);
            let (bytes, locked) = (attachment.bytes.clone(), round % 8 == 6);
            document.heading(2, &attachment.title);
            let outcome = document.attachment(attachment);
            assert!(
                !locked || outcome.loss().is_some(),
                "{round}: what is locked is not shown"
            );
            appended += outcome.pages();
            if matches!(outcome, Outcome::Placeholder | Outcome::Unreadable { .. }) {
                kept.push(bytes);
            }
            wanted += usize::from(readable);
        }
        document.paragraph("behind all of them");
        let written = document.page_count();
        let file = document.finish().unwrap_or_else(|error| panic!("{block}: {error}"));
        check(block, &file, written + appended, &kept);
        let text = text(&file);
        for round in block * 10..block * 10 + 10 {
            assert!(text.contains(&format!("Nr{round}")), "{round} is lost");
        }
        assert!(text.contains(&squeezed("behind all of them")), "{block}");
        assert!(text.matches(MARK).count() >= wanted, "{block}: {wanted} could be read");
        placeholders += kept.len();
        marks += wanted;
    }
    println!("{placeholders} placeholders, {marks} texts in some encoding");
    assert!(placeholders > 300 && marks > 150);
}

/// Checks that the file has all pages, and the originals of the attachments that it does not show.
fn check(block: usize, file: &[u8], pages: usize, originals: &[Vec<u8>]) {
    let read = lopdf::Document::load_mem(file).unwrap();
    assert_eq!(read.get_pages().len(), pages, "{block}");
    let streams = read.objects.values().filter_map(|object| object.as_stream().ok());
    let inside: Vec<Vec<u8>> = streams.filter_map(|stream| stream.get_plain_content().ok()).collect();
    for original in originals.iter().filter(|bytes| !bytes.is_empty()) {
        assert!(inside.contains(original), "{block}: an original is not in the file");
    }
}

/// Small files took gigabytes: 36 bytes of a WebP 1.9 GB, half a megabyte of a PNG 4.1 GB, and 31 KB of a PDF 3.4 GB.
#[cfg(target_os = "linux")]
#[test]
fn small_attachments_take_little_memory() {
    use crate::harness::command::{imported, peak};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    let scratch = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    let mut cases = vec![("ann", None)];
    cases.extend([
        ("nested", Some(("application/pdf", nested_lists(32_057)))),
        ("numbers", Some(("application/pdf", numbers(15_000_000)))),
        ("profile", Some(("image/webp", long_profile()))),
        ("webp", Some(("image/webp", webp(16_000)))),
        ("png", Some(("image/png", png(40_000)))),
    ]);
    for (person, file) in &cases {
        lines += &format!("{}\n", json!({"resourceType": "Patient", "id": person}));
        if let Some((content_type, bytes)) = file {
            assert!(bytes.len() < 1 << 20, "{person}: {}", bytes.len());
            let attachment = json!({"contentType": content_type, "data": STANDARD.encode(bytes)});
            let document = json!({"resourceType": "DocumentReference", "id": format!("d-{person}"), "status": "current",
                "subject": {"reference": format!("Patient/{person}")}, "content": [{"attachment": attachment}]});
            lines += &format!("{document}\n");
        }
    }
    let folder = scratch.path().join("lake");
    imported(&folder, &lines);
    let needed = |person: &str| {
        let out = scratch.path().join(format!("{person}.pdf"));
        let (data, out) = (folder.to_str().unwrap(), out.to_str().unwrap());
        peak(&["pdf", "--data", data, "--patient", person, "--out", out])
    };
    let quiet = needed("ann");
    for (person, _) in &cases[1..] {
        let memory = needed(person);
        assert!(
            memory < quiet + (200 << 20),
            "{person}: {} MiB, without {}",
            memory >> 20,
            quiet >> 20
        );
    }
}
