//! Hostile RTF, HTML, C-CDA and plain texts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Bomb, Kind, pdfs, pictures};
use crate::harness;

pub(super) const RTF: &[Bomb] = &[
    ("nested groups", |damage| {
        let depth = damage.size(1_000, 300_000);
        format!("{{\\rtf1 {}a{}", "{".repeat(depth), "}".repeat(depth)).into()
    }),
    ("closed groups", |damage| {
        format!("{{\\rtf1 a{}b", "}".repeat(damage.size(2, 100_000))).into()
    }),
    ("huge numbers in RTF", |damage| {
        let mut text = "{\\rtf1 a".to_owned();
        for word in ["bin", "u", "uc", "ansicpg", "deff", "f", "fcharset", "v", "cellx"] {
            text += &format!("\\{word}{} b", damage.number());
        }
        text.into()
    }),
    ("many fonts", |damage| {
        let fonts: String = (0..damage.size(100, 20_000))
            .map(|font| format!("{{\\f{font}\\fcharset{} A;}}", font % 300))
            .collect();
        format!("{{\\rtf1{{\\fonttbl{fonts}}}\\f77 a\\par}}").into()
    }),
    ("odd characters in RTF", |damage| {
        let escapes: String = (0..damage.size(10, 2_000))
            .map(|_| format!("\\u{}?\\'{:02x}", damage.size(0, 70_000), damage.size(0, 255)))
            .collect();
        format!("{{\\rtf1\\ansicpg932 {escapes}\\par}}").into()
    }),
    ("a long control word", |damage| {
        format!("{{\\rtf1 \\{}1 a}}", "x".repeat(damage.size(100, 100_000))).into()
    }),
];

pub(super) const HTML: &[Bomb] = &[
    ("nested elements", |damage| {
        let name = *damage.pick(&[
            "div",
            "ul><li",
            "table><tr><td",
            "pre",
            "h1",
            "b",
            "svg",
            "select",
            "template",
        ]);
        format!("<html>{}a", format!("<{name}>").repeat(damage.size(1_000, 30_000))).into()
    }),
    ("many attributes", |damage| {
        let attributes: String = (0..damage.size(100, 3_000))
            .map(|place| format!(" a{place}={place}"))
            .collect();
        format!("<html><p{attributes}>text</p>").into()
    }),
    ("spans without end", |damage| {
        let (rows, columns) = (damage.number(), damage.number());
        let cells = format!("<td rowspan={rows} colspan={columns}>a").repeat(damage.size(10, 300));
        format!("<html><table><tr>{cells}<tr><td>b<tr>{cells}</table>").into()
    }),
    ("a row of many cells", |damage| {
        format!("<html><table><tr>{}", "<td>a".repeat(damage.size(100, 3_000))).into()
    }),
    ("open comments and values", |damage| {
        let open = *damage.pick(&[
            "<!--",
            "<!DOCTYPE ",
            "<script>",
            "<style>",
            "<textarea>",
            "<a href=\"",
            "<![CDATA[",
            "&#",
            "<",
        ]);
        format!("<html>text{open}{}", "x<p>".repeat(damage.size(10, 5_000))).into()
    }),
    ("characters by number", |damage| {
        let references: String = (0..damage.size(10, 500))
            .map(|_| format!("&#{};&#x{:x};", damage.number(), damage.size(0, 0x11_ffff)))
            .collect();
        format!("<html><p>{references}").into()
    }),
    ("many headings", |damage| {
        format!("<html>{}", "<h1>a</h1>".repeat(damage.size(10, 800))).into()
    }),
    ("another encoding", |damage| {
        let label = *damage.pick(&[
            "utf-16le",
            "utf-16be",
            "iso-2022-jp",
            "replacement",
            "x-user-defined",
            "utf-7",
            "\0",
        ]);
        [
            format!("<html><meta charset=\"{label}\"><p>").into_bytes(),
            damage.noise(400),
        ]
        .concat()
    }),
];

pub(super) const CDA: &[Bomb] = &[
    ("nested XML", |damage| {
        format!("<?xml version=\"1.0\"?>{}", "<a>".repeat(damage.size(150, 200_000))).into()
    }),
    ("entities of entities", |damage| {
        let mut text = "<?xml version=\"1.0\"?><!DOCTYPE l [<!ENTITY a \"ha\">".to_owned();
        for level in 0..damage.size(5, 40) {
            text += &format!("<!ENTITY e{level} \"{}\">", "&a;".repeat(10));
        }
        (text + "]><ClinicalDocument><title>&e1;</title></ClinicalDocument>").into()
    }),
    ("a file of this machine", |_| {
        "<?xml version=\"1.0\"?><!DOCTYPE l [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><ClinicalDocument><title>&a;</title></ClinicalDocument>".into()
    }),
    ("nested sections", |damage| {
        let depth = damage.size(10, 60);
        let open = "<component><section><title>a</title>".repeat(depth);
        cda(&format!(
            "<structuredBody>{open}{}</structuredBody>",
            "</section></component>".repeat(depth)
        ))
    }),
    ("nested tables of a narrative", |damage| {
        let depth = damage.size(10, 60);
        section(&format!(
            "{}a{}",
            "<table><tr><td>".repeat(depth),
            "</td></tr></table>".repeat(depth)
        ))
    }),
    ("spans of a narrative", |damage| {
        let (rows, columns) = (damage.number(), damage.number());
        section(&format!(
            "<table><tr>{}</tr></table>",
            format!("<td rowspan=\"{rows}\" colspan=\"{columns}\">a</td>").repeat(200)
        ))
    }),
    ("a PDF inside", |damage| {
        let bombs = pdfs::BOMBS;
        let bomb = bombs[damage.size(0, 3)].1(damage);
        wrapped("application/pdf", &bomb)
    }),
    ("a picture inside", |damage| {
        let bomb = damage.pick(pictures::WEBP).1(damage);
        wrapped("image/webp", &bomb)
    }),
    ("a document inside of a document", |damage| {
        let mut inner = section("a");
        for _ in 0..damage.size(2, 6) {
            inner = wrapped("text/xml", &inner);
        }
        inner
    }),
    ("many files of one region", |damage| {
        let name = "r".repeat(damage.size(1_000, 20_000));
        let media = "<observationMedia ID=\"m\"><value mediaType=\"application/dicom\">x</value></observationMedia>";
        section_with(&format!(
            "<entry><regionOfInterest ID=\"{name}\">{}</regionOfInterest></entry>",
            media.repeat(60)
        ))
    }),
    ("many pictures of a section", |damage| {
        let header = [&5_000_u32.to_be_bytes()[..], &2_000_u32.to_be_bytes(), &[1, 0, 0, 0, 0]].concat();
        let rows = pdfs::packed(&vec![0; 626 * 2_000]);
        let picture = STANDARD.encode(pictures::png(&[(b"IHDR", &header), (b"IDAT", &rows), (b"IEND", b"")]));
        let media = format!(
            "<entry><observationMedia ID=\"m\"><value mediaType=\"image/png\" representation=\"B64\">{picture}</value></observationMedia></entry>"
        );
        section_with(&media.repeat(damage.size(5, 9)))
    }),
];

pub(super) const TEXT: &[Bomb] = &[
    ("bytes", |damage| {
        let length = damage.size(1, 3_000);
        damage.noise(length)
    }),
    ("a word without end", |damage| {
        "x".repeat(damage.size(1_000, 60_000)).into()
    }),
    ("marks over a letter", |damage| {
        format!("a{}", "\u{301}".repeat(damage.size(100, 8_000))).into()
    }),
    ("lines without text", |damage| {
        format!("a{}b", "\n".repeat(damage.size(100, 5_000))).into()
    }),
    ("directions", |damage| {
        let marks = [
            "\u{202e}",
            "\u{2066}",
            "\u{2069}",
            "\u{200f}",
            "\u{5d0}",
            "a",
            "\u{1f468}\u{200d}",
            "\u{fe0f}",
        ];
        (0..damage.size(100, 3_000))
            .map(|_| *damage.pick(&marks))
            .collect::<String>()
            .into()
    }),
    ("tabs", |damage| "\t".repeat(damage.size(100, 8_000)).into()),
    ("wide characters", |damage| {
        "\u{65e5}\u{1f432} "
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect::<Vec<u8>>()
            .repeat(damage.size(1, 500))
    }),
];

/// Honest files of a kind.
pub(super) fn honest(kind: Kind) -> Vec<Vec<u8>> {
    let (folder, extension, own) = match kind {
        Kind::Rtf => (
            "attachments",
            "rtf",
            b"{\\rtf1\\ansi{\\fonttbl{\\f0 A;}}\\f0 a\\cell b\\row Caf\\'e9\\par}".to_vec(),
        ),
        Kind::Html => (
            "attachments",
            "html",
            b"<!DOCTYPE html><html><h1>a</h1><ul><li>b<li>c</ul><table><tr><td>d<td>e</table><pre>f  g</pre></html>"
                .to_vec(),
        ),
        Kind::Cda => (
            "ccda",
            "xml",
            section("<paragraph>a</paragraph><list><item>b</item></list>"),
        ),
        _ => {
            return vec![
                b"Sodium      140\n  (serum)    4.5\tmmol/l\n".to_vec(),
                "Caf\u{e9} \u{65e5}".into(),
            ];
        }
    };
    let mut files = vec![own];
    files.extend(real(folder, extension));
    files
}

/// Small real files of a folder. None if this build has no shared records.
pub(super) fn real(folder: &str, extension: &str) -> Vec<Vec<u8>> {
    const MAX: u64 = 40_000;
    let real = harness::real();
    let Ok(entries) = std::fs::read_dir(real.data.join(folder)) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|own| own == extension) && path.metadata().unwrap().len() <= MAX);
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn cda(body: &str) -> Vec<u8> {
    format!(
        "<?xml version=\"1.0\"?><ClinicalDocument><title>Visit</title><component>{body}</component></ClinicalDocument>"
    )
    .into()
}

/// A document with this narrative.
fn section(narrative: &str) -> Vec<u8> {
    section_with(&format!("<text>{narrative}</text>"))
}

fn section_with(content: &str) -> Vec<u8> {
    cda(&format!(
        "<structuredBody><component><section><title>Hand</title>{content}</section></component></structuredBody>"
    ))
}

/// A document that wraps a file.
fn wrapped(content_type: &str, file: &[u8]) -> Vec<u8> {
    let packed = STANDARD.encode(file);
    cda(&format!(
        "<nonXMLBody><text mediaType=\"{content_type}\" representation=\"B64\">{packed}</text></nonXMLBody>"
    ))
}
