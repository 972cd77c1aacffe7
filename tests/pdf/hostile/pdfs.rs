//! Hostile PDF files.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::Bomb;
use crate::pdf::reading::document;

pub(super) const BOMBS: &[Bomb] = &[
    ("nested lists", |damage| {
        let depth = damage.size(150, 40_000);
        page(&format!("/Annots {}{}", "[".repeat(depth), "]".repeat(depth)))
    }),
    ("open lists", |damage| {
        let depth = damage.size(10_000, 40_000);
        page(&format!("/Annots {}", "[ ".repeat(depth)))
    }),
    ("nested dictionaries", |damage| {
        let depth = damage.size(150, 40_000);
        page(&format!("/Resources {}{}", "<</A".repeat(depth), ">>".repeat(depth)))
    }),
    ("nested strings", |damage| {
        let depth = damage.size(150, 100_000);
        page(&format!("/Title {}{}", "(".repeat(depth), ")".repeat(depth)))
    }),
    ("nested lists in a stream of objects", |damage| {
        let depth = damage.size(1_000, 200_000);
        object_stream(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)), 1)
    }),
    ("a stream of numbers", |damage| {
        let count = damage.size(3_000_000, 15_000_000);
        object_stream(&format!("[{}]", "0 ".repeat(count)), 1)
    }),
    ("many streams of numbers", |damage| {
        let count = damage.size(20_000, 80_000);
        object_stream(&format!("[{}]", "0 ".repeat(count)), 60)
    }),
    ("a stream of empty lists", |damage| {
        let count = damage.size(500_000, 2_000_000);
        object_stream(&format!("[{}]", "[]".repeat(count)), 1)
    }),
    ("a list of numbers", |damage| {
        let count = damage.size(10_000, 1_700_000);
        page(&format!("/Annots [{}]", "0 ".repeat(count)))
    }),
    ("packed contents", |damage| contents(damage.size(1, 2))),
    ("pages in a circle", |_| {
        body(&[
            "<</Type/Catalog/Pages 2 0 R>>",
            "<</Type/Pages/Kids[2 0 R 3 0 R 2 0 R]/Count 3/Parent 2 0 R>>",
            "<</Type/Pages/Kids[2 0 R]/Count 1/Parent 3 0 R>>",
        ])
    }),
    ("one page many times", |damage| {
        let kids = "3 0 R ".repeat(damage.size(1_000, 50_000));
        body(&[
            "<</Type/Catalog/Pages 2 0 R>>",
            &format!("<</Type/Pages/Kids[{kids}]/Count 99999999>>"),
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
        ])
    }),
    ("pages of pages", |damage| {
        // Each level names the next one ten times.
        let levels = damage.size(10, 30);
        let mut objects = vec!["<</Type/Catalog/Pages 2 0 R>>".to_owned()];
        for level in 0..levels {
            let next = format!("{} 0 R ", level + 3).repeat(10);
            objects.push(format!("<</Type/Pages/Kids[{next}]/Count 1000000000>>"));
        }
        objects.push("<</Type/Page/MediaBox[0 0 9 9]>>".to_owned());
        body(&objects.iter().map(String::as_str).collect::<Vec<_>>())
    }),
    ("parents in a circle", |_| {
        body(&[
            "<</Type/Catalog/Pages 2 0 R>>",
            "<</Type/Pages/Kids[3 0 R]/Count 1/Parent 4 0 R>>",
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Annots[<</Parent 4 0 R>>]>>",
            "<</Parent 2 0 R>>",
        ])
    }),
    ("a long resource that many pages inherit", |damage| {
        let (pages, length) = (damage.size(100, 2_000), damage.size(1_000, 20_000));
        let mut objects = vec!["<</Type/Catalog/Pages 2 0 R>>".to_owned()];
        let kids: String = (0..pages).map(|page| format!("{} 0 R ", page + 3)).collect();
        let resource = format!("<</X({})>>", "x".repeat(length));
        objects.push(format!(
            "<</Type/Pages/Kids[{kids}]/Count {pages}/MediaBox[0 0 9 9]/Resources{resource}>>"
        ));
        objects.extend((0..pages).map(|_| "<</Type/Page/Parent 2 0 R>>".to_owned()));
        body(&objects.iter().map(String::as_str).collect::<Vec<_>>())
    }),
    ("lengths in a circle", |damage| {
        let length = damage.number();
        body(&[
            "<</Type/Catalog/Pages 2 0 R>>",
            "<</Type/Pages/Kids[3 0 R]/Count 1>>",
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
            "<</Length 5 0 R>>\nstream\nq Q\nendstream",
            &format!("<</Length {length}/X 4 0 R>>\nstream\nx\nendstream"),
            "6 0 R",
        ])
    }),
    ("huge numbers", |damage| {
        let numbers: Vec<&str> = (0..8).map(|_| damage.number()).collect();
        page(&format!(
            "/MediaBox[{} {} {} {}]/Rotate {}/UserUnit {}/StructParents {}/Count {}",
            numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6], numbers[7]
        ))
    }),
    ("tables that lead to themselves", |damage| {
        let mut file = page("/A 1");
        let at = memchr::memmem::rfind(&file, b"trailer").unwrap();
        file.truncate(at);
        let table = memchr::memmem::rfind(&file, b"xref").unwrap();
        let size = damage.number();
        let tail =
            format!("trailer\n<</Root 1 0 R/Size {size}/Prev {table}/XRefStm {table}>>\nstartxref\n{table}\n%%EOF");
        file.extend(tail.bytes());
        file
    }),
    ("a table of many objects", |damage| {
        let (size, entry) = (damage.number(), damage.size(1, 8));
        let table = packed(&vec![1; damage.size(100_000, 3_000_000)]);
        let mut file = b"%PDF-1.5\n1 0 obj\n".to_vec();
        let head = format!(
            "<</Type/XRef/Size {size}/Index[0 {size} 7 1000000]/W[1 {entry} 0]/Root 2 0 R/Filter/FlateDecode/Length {}>>\nstream\n",
            table.len()
        );
        file.extend(head.bytes());
        file.extend(table);
        file.extend(b"\nendstream\nendobj\nstartxref\n9\n%%EOF");
        file
    }),
    ("filters over filters", |damage| {
        let names = [
            "FlateDecode",
            "LZWDecode",
            "ASCII85Decode",
            "ASCIIHexDecode",
            "RunLengthDecode",
        ];
        let filters: String = (0..damage.size(2, 200))
            .map(|_| format!("/{}", damage.pick(&names)))
            .collect();
        let content = packed(&packed(&vec![b' '; 1 << 20]));
        stream(&format!("/Type/ObjStm/N 1/First 4/Filter[{filters}]"), &content)
    }),
    ("locked with odd keys", |damage| {
        let (version, length) = (damage.size(0, 6), damage.number());
        let mut file = page("/A 1");
        let at = memchr::memmem::rfind(&file, b"/Root").unwrap();
        let lock =
            format!("/Encrypt<</Filter/Standard/V {version}/R {version}/Length {length}/P -1/O(x)/U(y)>>/ID[(a)(b)]");
        drop(file.splice(at..at, lock.bytes()));
        file
    }),
];

/// Honest files: real ones, if they are there, and one of our own.
pub(super) fn honest() -> Vec<Vec<u8>> {
    let mut own = document();
    own.heading(1, "Visit");
    for line in 0..30 {
        own.paragraph(&format!("Line {line} of a letter about a visit"));
    }
    let mut files = vec![own.finish().unwrap()];
    files.extend(super::texts::real("attachments", "pdf"));
    files
}

/// Objects, with a table of objects and a trailer. The first object is the catalog.
fn body(objects: &[&str]) -> Vec<u8> {
    let mut file = "%PDF-1.5\n".to_owned();
    let mut places = Vec::new();
    for (place, object) in objects.iter().enumerate() {
        places.push(file.len());
        let _ = write!(file, "{} 0 obj\n{object}\nendobj\n", place + 1);
    }
    let table = file.len();
    let _ = write!(file, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for place in places {
        let _ = writeln!(file, "{place:010} 00000 n ");
    }
    let size = objects.len() + 1;
    let _ = write!(file, "trailer\n<</Root 1 0 R/Size {size}>>\nstartxref\n{table}\n%%EOF");
    file.into_bytes()
}

/// A file of one page with these entries.
fn page(entries: &str) -> Vec<u8> {
    body(&[
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 99 99]>>",
        &format!("<</Type/Page/Parent 2 0 R{entries}>>"),
    ])
}

/// A file of one page without a table of objects, with a stream.
fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let mut file = page("/A 1");
    file.truncate(memchr::memmem::rfind(&file, b"xref\n0").unwrap());
    file.extend(format!("4 0 obj\n<<{entries}/Length {}>>\nstream\n", content.len()).bytes());
    file.extend(content);
    file.extend(b"\nendstream\nendobj\ntrailer\n<</Root 1 0 R/Size 5>>\n");
    file
}

/// A file of one page, with packed streams that have this object.
fn object_stream(object: &str, count: usize) -> Vec<u8> {
    let content = packed(format!("9 0 {object}").as_bytes());
    let mut file = page("/A 1");
    file.truncate(memchr::memmem::rfind(&file, b"xref\n0").unwrap());
    for place in 0..count {
        let head = format!(
            "{} 0 obj\n<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length {}>>\nstream\n",
            place + 10,
            content.len()
        );
        file.extend(head.bytes());
        file.extend(&content);
        file.extend(b"\nendstream\nendobj\n");
    }
    file.extend(format!("trailer\n<</Root 1 0 R/Size {}>>\n", count + 10).bytes());
    file
}

/// A file whose page has contents of many spaces, packed this number of times.
fn contents(times: usize) -> Vec<u8> {
    let mut content = vec![b' '; 8 << 20];
    for _ in 0..times {
        content = packed(&content);
    }
    let filters = "/FlateDecode".repeat(times);
    let mut file = stream(&format!("/Filter[{filters}]"), &content);
    let at = memchr::memmem::find(&file, b"/A 1").unwrap();
    drop(file.splice(at..at, b"/Contents 4 0 R".iter().copied()));
    file
}

pub(super) fn packed(content: &[u8]) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(content).unwrap();
    packer.finish().unwrap()
}
