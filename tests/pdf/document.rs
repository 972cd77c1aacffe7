//! Headings, paragraphs, lists and tables.

use proptest::prelude::*;
use tabularium::pdf::{Column, Document};

use super::reading::{assert_in_order, document, pages, squeezed, text};

#[test]
fn blocks_stand_in_their_order_in_a_tagged_file() {
    let mut document = document();
    document.heading(1, "Records of Núñez");
    document.paragraph("Ελληνικά and Кириллица, 5 µg ≥ 3");
    document.list(&["first item", "second item"]);
    {
        let mut table = document.table("Medications", &[Column::new("Drug", 2.0), Column::new("Dose", 1.0)]);
        table.row(&["Atorvastatin", "20 mg"]);
    }
    {
        let mut fields = document.fields("Person");
        fields.row(&["Born", "1970-02-01"]);
    }
    document.note("A remark");
    let file = document.finish().unwrap();
    let expected = [
        "~head~",
        "Records of Núñez",
        "Ελληνικά and Кириллица, 5 µg ≥ 3",
        "first item",
        "second item",
        "Drug",
        "Dose",
        "Atorvastatin",
        "20 mg",
        "Born",
        "1970-02-01",
        "A remark",
    ];
    // The page header is drawn last.
    assert_in_order(&file, &expected[1..]);
    let read = lopdf::Document::load_mem(&file).unwrap();
    let catalog = read.catalog().unwrap();
    for key in [&b"StructTreeRoot"[..], b"Outlines", b"Lang", b"MarkInfo"] {
        assert!(catalog.has(key), "{}", String::from_utf8_lossy(key));
    }
    assert!(String::from_utf8_lossy(&file).contains("<pdfuaid:part>1</pdfuaid:part>"));
}

#[test]
fn a_long_table_repeats_its_head_and_a_tall_cell_goes_on() {
    let mut document = document();
    {
        let mut table = document.table("Values", &[Column::new("When", 1.0), Column::new("What", 3.0)]);
        for place in 0..200 {
            table.row(&[format!("row-{place}"), "something".to_owned()]);
        }
        let words: Vec<String> = (0..2_000).map(|word| format!("word{word}")).collect();
        table.row(&["tall".to_owned(), words.join(" ")]);
    }
    assert!(document.page_count() > 5);
    let file = document.finish().unwrap();
    for page in pages(&file) {
        assert!(page.contains("WhenWhat") && page.contains("~head~"), "{page}");
    }
    let text = text(&file);
    for place in 0..200 {
        assert!(text.contains(&format!("row-{place}")));
    }
    for word in 0..2_000 {
        assert!(text.contains(&format!("word{word}")), "{word}");
    }
}

/// If the first row of a table did not fit below its heading, the heading stood alone at the end of a page.
#[test]
fn a_heading_stays_with_what_follows_it() {
    let contents: [fn(&mut Document); 3] = [
        |document| {
            let mut table = document.table("Values", &[Column::new("What", 1.0), Column::new("Value", 3.0)]);
            for _ in 0..3 {
                table.row(&["first".to_owned(), "a text of several lines ".repeat(12)]);
            }
        },
        |document| document.paragraph(&"first of some words ".repeat(20)),
        |document| document.list(&["first of some words ".repeat(20)]),
    ];
    for content in contents {
        for filled in 28..44 {
            let mut document = document();
            (0..filled).for_each(|_| document.paragraph("filler"));
            document.heading(2, "Section");
            document.heading(3, "Subsection");
            content(&mut document);
            let pages = pages(&document.finish().unwrap());
            let page = pages.iter().find(|page| page.contains("Section")).unwrap();
            assert!(
                page.contains("Subsection") && page.contains("first"),
                "{filled}: {page}"
            );
        }
    }
}

/// Headings wait for content, and none may come.
#[test]
fn headings_without_content_are_shown() {
    let mut document = document();
    document.paragraph("before");
    document.heading(1, "Alone");
    document.page_break();
    document.heading(2, "Last");
    document.list::<&str>(&[]);
    assert_eq!(document.page_count(), 2);
    let pages = pages(&document.finish().unwrap());
    assert!(
        pages[0].contains("beforeAlone") && pages[1].contains("Last"),
        "{pages:?}"
    );
}

/// A text that ended at a page's foot left its blank lines on a page of their own.
#[test]
fn blank_lines_at_the_end_of_a_text_make_no_page() {
    for lines in 30..90 {
        let text = "a line\n".repeat(lines);
        let [whole, with_blank_lines] = [&text, &format!("{text}\n \n\n\n")].map(|text| {
            let mut document = document();
            document.paragraph(text);
            pages(&document.finish().unwrap()).len()
        });
        assert_eq!(with_blank_lines, whole, "{lines} lines");
    }
}

#[test]
fn an_empty_document_has_a_page() {
    let file = document().finish().unwrap();
    assert_eq!(pages(&file).len(), 1);
}

#[derive(Debug, Clone)]
enum Step {
    Heading(u8, String),
    Paragraph(String),
    List(Vec<String>),
    Table(Vec<Vec<String>>),
    Break,
}

fn step() -> impl Strategy<Value = Step> {
    let words = "[a-zA-Zα-ωа-я0-9 .,()µ\u{0}\t\n\u{1f48a}]{0,300}";
    prop_oneof![
        (0..9_u8, words).prop_map(|(level, text)| Step::Heading(level, text)),
        words.prop_map(Step::Paragraph),
        prop::collection::vec(words, 0..4).prop_map(Step::List),
        prop::collection::vec(prop::collection::vec(words, 0..5), 0..6).prop_map(Step::Table),
        Just(Step::Break),
    ]
}

fn write(document: &mut Document, step: &Step) {
    match step {
        Step::Heading(level, text) => document.heading(*level, text),
        Step::Paragraph(text) => document.paragraph(text),
        Step::List(items) => document.list(items),
        Step::Table(rows) => {
            let columns = ["A", "B", "C"].map(|title| Column::new(title, 1.0));
            let mut table = document.table("Table", &columns);
            rows.iter().for_each(|row| table.row(row));
        }
        Step::Break => document.page_break(),
    }
}

fn words(step: &Step) -> Vec<String> {
    let texts: Vec<&String> = match step {
        Step::Heading(_, text) | Step::Paragraph(text) => vec![text],
        Step::List(items) => items.iter().collect(),
        Step::Table(rows) => rows.iter().flatten().collect(),
        Step::Break => Vec::new(),
    };
    let ascii = texts
        .into_iter()
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()));
    ascii.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any document can be written, and the file contains all words.
    #[test]
    fn nothing_is_lost(steps in prop::collection::vec(step(), 0..12)) {
        let mut document = document();
        steps.iter().for_each(|step| write(&mut document, step));
        let pages_written = document.page_count();
        let file = document.finish().unwrap();
        prop_assert_eq!(pages(&file).len(), pages_written.max(1));
        let text = text(&file);
        for word in steps.iter().flat_map(words) {
            // A word may be broken between lines, and a cell's lines stand beside those of others.
            if word.len() < 12 {
                prop_assert!(text.contains(&squeezed(&word)), "{} in {}", word, text);
            }
        }
    }
}
