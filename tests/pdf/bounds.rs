//! With texts of any length, a document can be finished, contains all of them, and needs limited memory.

use tabularium::pdf::Column;

use super::reading::{document, pages, squeezed, text};

fn words(count: usize) -> String {
    let words: Vec<String> = (0..count).map(|word| format!("w{word}")).collect();
    words.join(" ")
}

/// The head of a table is repeated on each page. If it filled the page, no row had space, and new pages were begun
/// endlessly. A letter's table could have such a head.
#[test]
fn a_head_that_fills_a_page_leaves_room_for_rows() {
    for length in [400, 4_000] {
        let mut document = document();
        {
            let title = words(length);
            let columns = [Column::new(title.as_str(), 1.0), Column::new("Dose", 1.0)];
            let mut table = document.table("Values", &columns);
            for row in 0..100 {
                table.row(&[format!("row-{row}"), "20 mg".to_owned()]);
            }
        }
        assert!(document.page_count() < 60, "{length}: {}", document.page_count());
        let file = text(&document.finish().unwrap());
        assert!(
            file.contains(&format!("w{}", length - 1)) && file.contains("row-99"),
            "{length}"
        );
    }
}

/// A text is shaped in pieces, because shaping needs a hundred times its bytes. Nothing is lost between pieces.
#[test]
fn long_texts_are_whole_wherever_they_stand() {
    let long = words(12_000);
    assert!(long.len() > 60_000);
    let lines = long.replace("0 ", "0\n");
    let mut document = document();
    document.heading(1, &long);
    document.paragraph(&lines);
    document.list(&[long.as_str(), "another"]);
    {
        let mut table = document.table("Values", &[Column::new("When", 1.0), Column::new("What", 1.0)]);
        table.row(&["today", &long]);
        table.row(&[&*long, "yesterday", &long]);
    }
    let file = document.finish().unwrap();
    assert!(pages(&file).len() < 1_000);
    let found = text(&file);
    // The text occurs each time. The cells of the last row are side by side.
    let expected = squeezed("w11998 w11999");
    assert!(
        found.matches("w11999").count() >= 6,
        "{}",
        found.matches("w11999").count()
    );
    assert!(found.contains(&expected) && found.contains("another") && found.contains("yesterday"));
    for word in (0..12_000).step_by(997) {
        let count = found.matches(&format!("w{word}")).count();
        assert!(count >= 6, "w{word}: {count}");
    }
}
