//! Checks the search results for texts as patients type them.

use std::fmt::Write;

use proptest::prelude::*;

use super::index::{Index, Known};
use super::words::words;

/// Names (labels and the organization's name, separated by bars), place and type, the most popular first.
const DIRECTORY: &[(&str, &str, &str)] = &[
    ("Lakeshore Health Plan", "Chicago, IL", "PAYER"),
    ("Cedarway Mutual", "Denver, Colorado", "PAYER"),
    ("Riverbend Medical Center", "Portland, OR", "PROVIDER"),
    (
        "Blue Cross Blue Shield of Illinois|Health Care Service Corporation",
        "",
        "PAYER",
    ),
    ("BlueCross BlueShield of Tennessee", "Chattanooga, TN", "PAYER"),
    ("St. Mary's Hospital", "Portland, Maine", "PROVIDER"),
    ("Saint Luke Clinic", "Kansas City, MO", "PROVIDER"),
    (
        "University of Washington Medicine|UW Medicine",
        "Seattle, WA",
        "PROVIDER",
    ),
    ("Cedar Way Pharmacy", "Boise, ID", "PHARMACY"),
    ("Mount Sinai", "New York, NY", "PROVIDER"),
    ("Quest Labs", "Secaucus, New Jersey", "LAB"),
    ("Santé Plus", "", "PAYER"),
    ("O’Brien Family Practice", "Albany, NY", "PROVIDER"),
    ("Kaiser Permanente", "Oakland, CA", "PAYER"),
    ("健康保険", "", "PAYER"),
    ("Plan 457", "", "PAYER"),
    ("Plan 458", "", "PAYER"),
    ("Lake County Clinic", "Waukegan, Illinois", "PROVIDER"),
    ("Portland Eye Center", "Portland, Oregon", "PROVIDER"),
];

fn known((names, place, kind): &(&str, &str, &str)) -> Known {
    Known {
        names: names.split('|').map(str::to_owned).collect(),
        technical: names.to_lowercase().replace([' ', '|'], "-"),
        place: (!place.is_empty()).then(|| (*place).to_owned()),
        kind: (*kind).to_owned(),
    }
}

fn directory() -> Index {
    Index::of(&DIRECTORY.iter().map(known).collect::<Vec<_>>())
}

/// Returns the first name of each result.
fn found(index: &Index, text: &str) -> Vec<&'static str> {
    let found = index.find(text, 50, |_| true);
    found
        .into_iter()
        .map(|number| DIRECTORY[number].0.split('|').next().unwrap())
        .collect()
}

#[test]
fn the_first_result_is_what_was_meant() {
    let index = directory();
    let mut wrong = String::new();
    for (text, first) in [
        // The text is a full name or the beginning of one.
        ("Lakeshore Health Plan", "Lakeshore Health Plan"),
        ("lakes", "Lakeshore Health Plan"),
        ("health plan lakeshore", "Lakeshore Health Plan"),
        ("river med", "Riverbend Medical Center"),
        ("  SANTE pl", "Santé Plus"),
        ("健康", "健康保険"),
        ("plan 458", "Plan 458"),
        // The text has mistakes: a missing, additional or wrong letter, or two swapped letters.
        ("lakshore", "Lakeshore Health Plan"),
        ("lakeshorre", "Lakeshore Health Plan"),
        ("lakeshote", "Lakeshore Health Plan"),
        ("lakehsore", "Lakeshore Health Plan"),
        ("kakeshore", "Lakeshore Health Plan"),
        ("lakshor", "Lakeshore Health Plan"),
        ("lakshore helth plam", "Lakeshore Health Plan"),
        ("kiaser permanete", "Kaiser Permanente"),
        ("cedarwya", "Cedarway Mutual"),
        ("rivrbend medcal", "Riverbend Medical Center"),
        // The text has one word as two, or two words as one.
        ("lake shore", "Lakeshore Health Plan"),
        ("lake shroe", "Lakeshore Health Plan"),
        ("cedar way mutual", "Cedarway Mutual"),
        ("cedar way", "Cedar Way Pharmacy"),
        ("cedarway", "Cedarway Mutual"),
        ("cedarway pharmacy", "Cedar Way Pharmacy"),
        ("cedarwaypharmacy", "Cedar Way Pharmacy"),
        ("river bend", "Riverbend Medical Center"),
        ("bluecross tennessee", "BlueCross BlueShield of Tennessee"),
        ("blue cross blue shield tn", "BlueCross BlueShield of Tennessee"),
        // The text has brands, initials or synonyms.
        ("uw", "University of Washington Medicine"),
        ("health care service", "Blue Cross Blue Shield of Illinois"),
        ("bcbs tennessee", "BlueCross BlueShield of Tennessee"),
        ("bcbs il", "Blue Cross Blue Shield of Illinois"),
        ("st marys", "St. Mary's Hospital"),
        ("saint mary's", "St. Mary's Hospital"),
        ("st luke", "Saint Luke Clinic"),
        ("mt sinai", "Mount Sinai"),
        ("obrien", "O’Brien Family Practice"),
        ("o brien clinic", "O’Brien Family Practice"),
        ("lakeshore insurance", "Lakeshore Health Plan"),
        ("universidad washington", "University of Washington Medicine"),
        ("the university washington", "University of Washington Medicine"),
        ("vision portland", "Portland Eye Center"),
        // The text has words of an insurance card.
        ("hmo", "Lakeshore Health Plan"),
        ("PPO", "Lakeshore Health Plan"),
        ("Medicare", "Lakeshore Health Plan"),
        ("medicaid illinois", "Blue Cross Blue Shield of Illinois"),
        ("kaiser hmo", "Kaiser Permanente"),
        ("cedarway member", "Cedarway Mutual"),
        // The text has words for a type or a place.
        ("farmacia", "Cedar Way Pharmacy"),
        ("laboratory", "Quest Labs"),
        ("medical center portland oregon", "Riverbend Medical Center"),
        ("hospital portland maine", "St. Mary's Hospital"),
        ("colorado", "Cedarway Mutual"),
        ("CO", "Cedarway Mutual"),
        ("nj", "Quest Labs"),
        ("new jersy", "Quest Labs"),
        ("clinic illinois", "Lake County Clinic"),
        ("newyork family", "O’Brien Family Practice"),
        ("hospital in seattle", "University of Washington Medicine"),
    ] {
        let all = found(&index, text);
        if all.first() != Some(&first) {
            writeln!(wrong, "{text:?}: {first:?} is not first of {all:?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn what_nobody_is_called_finds_nobody() {
    let index = directory();
    for text in [
        "zzzz",
        "lue",
        "lakeshore pharmacy",
        "plan 459",
        "' OR 1=1 --",
        "akeshor pln 12",
    ] {
        assert_eq!(found(&index, text), [] as [&str; 0], "{text}");
    }
}

/// The word "medicare" must not be in the index: "medical" would find all health plans by its first letters.
#[test]
fn words_of_insurance_cards_find_only_health_plans() {
    let index = directory();
    for text in ["hmo", "ppo", "member"] {
        let all = found(&index, text);
        assert!(all.contains(&"Kaiser Permanente"), "{text}: {all:?}");
        assert!(!all.contains(&"Saint Luke Clinic"), "{text}: {all:?}");
    }
    assert_eq!(
        found(&index, "medical center").first(),
        Some(&"Riverbend Medical Center")
    );
    assert!(!found(&index, "medical center").contains(&"Kaiser Permanente"));
}

#[test]
fn what_was_written_well_comes_before_what_was_misspelt() {
    let index = directory();
    let all = found(&index, "cedar");
    assert_eq!(all, ["Cedar Way Pharmacy", "Cedarway Mutual"]);
    assert_eq!(found(&index, "plan 457"), ["Plan 457"]);
    assert_eq!(
        found(&index, "portland"),
        ["Portland Eye Center", "Riverbend Medical Center", "St. Mary's Hospital"]
    );
}

#[test]
fn without_words_all_come_in_their_order() {
    let index = directory();
    let in_order: Vec<usize> = (0..DIRECTORY.len()).collect();
    for text in ["", "  ", "%", "'"] {
        assert_eq!(index.find(text, 50, |_| true), in_order, "{text:?}");
    }
    assert_eq!(index.find("", 2, |number| number > 3), [4, 5]);
    assert_eq!(index.find("lakeshore", 50, |number| number > 0), [] as [usize; 0]);
    assert_eq!(Index::of(&[]).find("lakeshore", 50, |_| true), [] as [usize; 0]);
}

#[test]
fn long_and_strange_texts_are_borne() {
    let index = directory();
    for text in [
        "x".repeat(10_000),
        "lake ".repeat(2_000),
        "\u{0}\u{301}\u{202e}ß".to_owned(),
    ] {
        index.find(&text, 50, |_| true);
    }
}

/// A spelling mistake in a word.
#[derive(Clone, Debug)]
enum Mistake {
    Missing,
    Added(char),
    Changed(char),
    Swapped,
}

impl Mistake {
    fn within(&self, word: &str, at: usize) -> String {
        let mut letters: Vec<char> = word.chars().collect();
        let at = at % letters.len();
        match self {
            Mistake::Missing => {
                letters.remove(at);
            }
            Mistake::Added(letter) => letters.insert(at, *letter),
            Mistake::Changed(letter) => letters[at] = *letter,
            Mistake::Swapped => letters.swap(at, (at + 1) % word.chars().count().max(1)),
        }
        letters.into_iter().collect()
    }
}

fn mistakes() -> impl Strategy<Value = Mistake> {
    let letter = || proptest::char::range('a', 'z');
    prop_oneof![
        Just(Mistake::Missing),
        letter().prop_map(Mistake::Added),
        letter().prop_map(Mistake::Changed),
        Just(Mistake::Swapped),
    ]
}

fn names() -> impl Strategy<Value = Vec<String>> {
    let syllable = prop::sample::select(vec![
        "lake", "ce", "dar", "ri", "ver", "nor", "th", "field", "mer", "cy", "blue", "sha", "ron", "wil", "low", "ö",
    ]);
    let word = prop::collection::vec(syllable, 1..4).prop_map(|parts| parts.concat());
    let name = prop::collection::vec(word, 1..4).prop_map(|words| words.join(" "));
    prop::collection::vec(name, 1..20)
}

proptest! {
    #[test]
    fn one_mistake_in_a_long_word_is_forgiven(
        names in names(),
        (whose, which, at) in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..64),
        mistake in mistakes(),
    ) {
        let directory: Vec<Known> = names.iter().map(|name| known(&(name, "Chicago, IL", "PAYER"))).collect();
        let index = Index::of(&directory);
        let number = whose.index(names.len());
        let mut words = words(&names[number]);
        let long: Vec<usize> = (0..words.len()).filter(|at| words[*at].chars().count() >= 5).collect();
        prop_assume!(!long.is_empty());
        let which = long[which.index(long.len())];
        // Swapping the last letter with the first one is more than one mistake, so do not choose the last.
        let at = match mistake {
            Mistake::Swapped => at % (words[which].chars().count() - 1),
            _ => at,
        };
        words[which] = mistake.within(&words[which], at);
        let text = words.join(" ");
        let found = index.find(&text, 50, |_| true);
        prop_assert!(found.contains(&number), "{text:?} does not find {:?}, but {found:?}", names[number]);
    }
}
