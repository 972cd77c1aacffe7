//! The date of birth in the forms that patients type.

use super::super::world::World;

const SEARCH: (&str, &str) = ("svc_search_mode", "true");

#[test]
fn a_date_of_birth_is_three_fields_or_whatever_was_pasted_into_one() {
    let world = World::new();
    let person = world.payer.person(0);
    let (year, month, day) = (
        &person.birth_date[..4],
        &person.birth_date[5..7],
        &person.birth_date[8..],
    );
    let american = format!("{month}/{day}/{year}");
    let pasted: [&[(&str, &str)]; 4] = [
        &[("birth_month", month), ("birth_day", day), ("birth_year", year)],
        &[("birth_month", &american), ("birth_day", ""), ("birth_year", "")],
        &[
            ("birth_month", ""),
            ("birth_day", ""),
            ("birth_year", &person.birth_date),
        ],
        &[("birth_date", &person.birth_date)],
    ];
    for fields in pasted {
        let mut browser = world.enter(&[SEARCH]);
        browser.send("details", &[]);
        let mut all = vec![("given", person.given.as_str()), ("family", person.family.as_str())];
        all.extend(fields);
        browser.send("search", &all);
        assert_eq!(
            browser.page.heading(),
            "These places may have records of yours",
            "{fields:?}"
        );
    }
}

#[test]
fn a_date_that_nobody_was_born_on_is_named_and_kept() {
    let world = World::new();
    for (day, month, year, said) in [
        (
            "30",
            "2",
            "1980",
            "Enter your date of birth with month, day and full year",
        ),
        ("3", "2", "80", "Enter your date of birth with month, day and full year"),
        ("1", "1", "2999", "can’t be in the future"),
        ("1", "1", "1850", "Check the year of your date of birth"),
        (
            "<b>",
            "\"",
            "",
            "Enter your date of birth with month, day and full year",
        ),
    ] {
        let mut browser = world.enter(&[SEARCH]);
        browser.send("details", &[]);
        let fields = [
            ("given", "A"),
            ("family", "B"),
            ("birth_day", day),
            ("birth_month", month),
            ("birth_year", year),
        ];
        let page = browser.press("search", &fields);
        assert_eq!(page.status, 422);
        assert!(page.text.contains(said), "{}", page.text);
        // The typed text is still there, and the error summary links to the first field.
        let typed = ["birth_day", "birth_month", "birth_year"].map(|name| page.values(name).remove(0));
        assert_eq!(typed, [day, month, year]);
        assert!(
            page.text.contains(r##"<a href="#birth_date">"##)
                && page.text.contains(r#"<input id="birth_date" name="birth_month""#)
        );
    }
}

/// A date that was pasted into a field stood there cut off, beside two empty fields.
#[test]
fn a_refused_date_that_was_pasted_is_shown_in_its_three_fields() {
    let world = World::new();
    for (pasted, said, parts) in [
        ("31 Dec 2090", "can’t be in the future", ["31", "12", "2090"]),
        ("1/2/1850", "Check the year of your date of birth", ["2", "1", "1850"]),
    ] {
        let mut browser = world.enter(&[SEARCH]);
        browser.send("details", &[]);
        let fields = [
            ("given", "A"),
            ("family", "B"),
            ("birth_day", ""),
            ("birth_month", pasted),
            ("birth_year", ""),
        ];
        let page = browser.press("search", &fields);
        assert_eq!(page.status, 422);
        assert!(page.text.contains(said), "{}", page.text);
        let shown = ["birth_day", "birth_month", "birth_year"].map(|name| page.values(name).remove(0));
        assert_eq!(shown, parts);
    }
}

#[test]
fn the_fields_stand_in_the_order_of_the_language() {
    let world = World::new();
    for (language, order) in [
        ("en", ["birth_month", "birth_day", "birth_year"]),
        ("es", ["birth_day", "birth_month", "birth_year"]),
    ] {
        let mut browser = world.enter(&[SEARCH, ("ui_locales", language), ("svc_hint_dob", "1961-02-03")]);
        if !browser.page.text.contains("birth_day") {
            browser.send("details", &[]);
        }
        let text = &browser.page.text;
        let at = order.map(|name| {
            text.find(&format!(r#"name="{name}""#))
                .unwrap_or_else(|| panic!("no {name}: {text}"))
        });
        assert!(at.is_sorted(), "{language}: {at:?}");
        let values = ["birth_day", "birth_month", "birth_year"].map(|name| browser.page.values(name).remove(0));
        assert_eq!(values, ["3", "2", "1961"]);
    }
}
