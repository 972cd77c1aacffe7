//! The contents of real documents, found without the program's readers of XML, HTML and RTF.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

use super::reading::{assert_in_order, pages, squeezed, text};

/// The readable texts of the RTF documents.
const RTF: [(&str, &[&str]); 7] = [
    (
        "ansicpg1250.rtf",
        &[
            "o zapoznanie się z poniższą klauzulą informacyjną.",
            "Zgodnie z rozporządzeniem Parlamentu Europejskiego i Rady (UE) 2016/679 z dnia",
            "w sprawie ochrony osób fizycznych w związku z przetwarzaniem danych osobowych",
            "(ogólne rozporządzenie o ochronie danych), (Dz. Urz. UE L 119 z 04.05.2016 r., str. 1) informuję.",
        ],
    ),
    (
        "calcium-score.rtf",
        &[
            "Calcium-Score",
            "RCA",
            "0",
            "LM",
            "0",
            "LAD/RIVA",
            "0",
            "CX",
            "0",
            "Gesamt Calcium-Score",
        ],
    ),
    (
        "ffc.rtf",
        &["file format commons rtf", "0110011001101001011011000110010100"],
    ),
    (
        "french.rtf",
        &["10‘000", "a 10'000", "b.", "a 10‘000 b c!", "a a a 10´000 d?"],
    ),
    ("hyperlinks.rtf", &["Wikipedia", "Text", "Search"]),
    ("simple-table.rtf", &["foo", "bar", "1", "1"]),
    ("unicode.rtf", &["柔道", "2 characters of this document have no glyph"]),
];

/// Asserts that a file contains the contents of a real document that its pages show.
pub(super) fn assert_content(name: &str, bytes: &[u8], file: &[u8]) {
    match name.rsplit('.').next().unwrap() {
        "rtf" => {
            let (_, expected) = RTF.iter().find(|(known, _)| *known == name).unwrap();
            assert_in_order(file, expected);
        }
        "pdf" => assert_pages(name, bytes, file),
        "png" => assert_picture(name, bytes, file),
        "html" => assert_words(
            name,
            &plain(&without(text_of(bytes), &["head", "style", "script"])),
            file,
        ),
        "xml" => assert_cda(name, text_of(bytes), file),
        other => panic!("{other}"),
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asserts that the pages of a document are consecutive pages of the file.
fn assert_pages(name: &str, bytes: &[u8], file: &[u8]) {
    let (own, all) = (pages(bytes), pages(file));
    assert!(own.iter().any(|page| page.len() > 20), "{name} has no text");
    assert!(all.windows(own.len()).any(|window| window == own), "{name}");
}

/// Asserts that the file has a picture of the size in the PNG's header.
fn assert_picture(name: &str, bytes: &[u8], file: &[u8]) {
    let number = |at: usize| i64::from(u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()));
    let size = (number(16), number(20));
    let file = lopdf::Document::load_mem(file).unwrap();
    let pictures = file.objects.values().filter_map(|object| {
        let picture = &object.as_stream().ok()?.dict;
        let part = |key: &[u8]| picture.get(key).ok()?.as_i64().ok();
        (picture.get(b"Subtype").ok()?.as_name().ok()? == b"Image").then_some((part(b"Width")?, part(b"Height")?))
    });
    let pictures: Vec<(i64, i64)> = pictures.collect();
    assert!(pictures.contains(&size), "{name}: {size:?} is not among {pictures:?}");
}

/// Asserts that the file contains the titles and narratives of a C-CDA's sections, or the wrapped document.
fn assert_cda(name: &str, document: String, file: &[u8]) {
    let document = without(document, &["entry"]);
    let wrapped = Regex::new(r#"(?s)<nonXMLBody>.*?<text mediaType="([^"]+)"[^>]*>(.*?)</text>"#).unwrap();
    if let Some(found) = wrapped.captures(&document) {
        let packed: String = found[2].chars().filter(|c| !c.is_whitespace()).collect();
        let inner = STANDARD.decode(packed).unwrap();
        match &found[1] {
            "application/pdf" => assert_pages(name, &inner, file),
            "text/plain" => assert_words(name, &text_of(&inner), file),
            other => panic!("{other}"),
        }
        return;
    }
    let body = &document[document.find("<structuredBody").unwrap()..];
    let parts = Regex::new(r"(?s)<title(?:\s[^>]*)?>(.*?)</title>|<text(?:\s[^>]*)?>(.*?)</text>").unwrap();
    let shown = parts.captures_iter(body).map(|found| {
        let part = found.get(1).or_else(|| found.get(2)).unwrap();
        plain(part.as_str())
    });
    assert_words(name, &shown.collect::<Vec<_>>().join(" "), file);
}

/// A text without these elements and without comments.
fn without(text: String, elements: &[&str]) -> String {
    let comments = Regex::new(r"(?s)<!--.*?-->").unwrap();
    let text = comments.replace_all(&text, " ").into_owned();
    elements.iter().fold(text, |text, name| {
        let element = Regex::new(&format!(r"(?si)<{name}(?:\s[^>]*)?>.*?</{name}>")).unwrap();
        element.replace_all(&text, " ").into_owned()
    })
}

/// The text of markup.
fn plain(markup: &str) -> String {
    let tags = Regex::new(r"(?s)<[^>]*>").unwrap();
    let text = tags.replace_all(markup, " ");
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.into_owned(), |text, (entity, character)| {
        text.replace(entity, character)
    })
}

/// Asserts that the file contains each word of a text as often as the text. Long words may be broken between lines of a
/// narrow column. Words with numeric entities or non-ASCII letters are skipped, because each reader decodes them
/// differently.
fn assert_words(name: &str, expected: &str, file: &[u8]) {
    let found = text(file);
    let is_plain = |word: &&str| word.len() <= 7 && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let words: Vec<&str> = expected.split_whitespace().filter(is_plain).collect();
    assert!(words.len() >= 4, "{name}: {expected}");
    for word in &words {
        let (wanted, there) = (
            words.iter().filter(|other| *other == word).count(),
            found.matches(&squeezed(word)).count(),
        );
        assert!(
            there >= wanted,
            "{name}: {word} stands there {there} times, not {wanted}"
        );
    }
}
