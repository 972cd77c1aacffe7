//! Tests how hard the English pages are to read, by the Flesch-Kincaid grade of each page's texts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::Languages;

/// The maximum grade, in school years.
const HARDEST: f64 = 7.0;

static VOWELS: LazyLock<Regex> = LazyLock::new(|| Regex::new("[aeiouy]+").unwrap());

/// Whether the last vowel of a word is silent, as in `page`, `shared`, `times`, but not in `able`, `needed`,
/// `places`.
fn is_silent(word: &str) -> bool {
    let before = |end: &str| word.strip_suffix(end).and_then(|rest| rest.chars().last());
    let e = word.ends_with('e') && !word.ends_with("le");
    let ed = before("ed").is_some_and(|letter| !"td".contains(letter));
    let es = before("es").is_some_and(|letter| !"sxzcgh".contains(letter));
    e || ed || es
}

fn syllables(word: &str) -> usize {
    let word: String = word.to_lowercase().chars().filter(char::is_ascii_alphabetic).collect();
    let sounds = VOWELS.find_iter(&word).count();
    sounds.saturating_sub(usize::from(is_silent(&word))).max(1)
}

fn grade<'t>(texts: impl Iterator<Item = &'t str>) -> f64 {
    let (mut sentences, mut words, mut said) = (0, 0, 0);
    for sentence in texts.flat_map(|text| text.split(['.', '!', '?', ':'])) {
        let all: Vec<&str> = sentence
            .split_whitespace()
            .filter(|word| word.contains(char::is_alphabetic))
            .collect();
        sentences += usize::from(!all.is_empty());
        words += all.len();
        said += all.iter().map(|word| syllables(word)).sum::<usize>();
    }
    let (sentences, words, said) = (sentences.max(1) as f64, words.max(1) as f64, said as f64);
    0.39 * words / sentences + 11.8 * said / words - 15.59
}

#[test]
fn the_measure_is_that_of_flesch_and_kincaid() {
    assert_eq!(syllables("organization"), 5);
    assert_eq!(syllables("shared"), 1);
    assert_eq!(syllables("places"), 2);
    // 13 words, 1 sentence, 24 syllables: the grade, computed by hand, is 11.3.
    let hard = "The australian platypus is seemingly a hybrid of a mammal and reptilian creature.";
    assert!(
        (grade([hard].into_iter()) - 11.3).abs() < 1.5,
        "{}",
        grade([hard].into_iter())
    );
    assert!(grade(["The cat sat on the mat."].into_iter()) < 1.0);
}

#[test]
fn every_page_can_be_read_after_seven_years_of_school() {
    let languages = Languages::default();
    let mut pages: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, text) in languages.all()[0].filled() {
        // Skip texts for developers, labels of a few words, and the month names, which only serve to read dates.
        if key == "month_names" || key.ends_with("_developer") || text.split_whitespace().count() < 4 {
            continue;
        }
        let page = match key.strip_prefix("error_").or_else(|| key.strip_prefix("problem_")) {
            Some(_) => key.trim_end_matches("_patient").trim_end_matches("_title"),
            None => key.split('_').next().unwrap(),
        };
        pages.entry(page).or_default().push(text);
    }
    assert!(pages.len() > 20 && pages["share"].len() > 5, "{pages:?}");
    for (page, texts) in &pages {
        let grade = grade(texts.iter().map(String::as_str));
        assert!(grade <= HARDEST, "{page}: grade {grade:.1}: {texts:#?}");
    }
}
