//! Reads a date of birth as people type it: the parts in three fields, or the whole date in one field.

use chrono::{Datelike, NaiveDate};

/// The maximum age in years.
const OLDEST: i32 = 130;

/// Why the input is not an accepted date of birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http::connect) enum NoBirthDate {
    /// The input is no date, or there is no such day.
    Unreadable,
    /// The date is in the future.
    Future(NaiveDate),
    /// The date's year is more than `OLDEST` years ago.
    TooOld(NaiveDate),
}

impl NoBirthDate {
    /// Returns the date that was read, but is not accepted.
    pub(in crate::http::connect) fn date(self) -> Option<NaiveDate> {
        match self {
            NoBirthDate::Unreadable => None,
            NoBirthDate::Future(date) | NoBirthDate::TooOld(date) => Some(date),
        }
    }
}

/// A part of a date. Each language has its own order of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http::connect) enum Part {
    Day,
    Month,
    Year,
}

/// Parses the order of the parts in a language's dates, such as `month day year`. If the text is not a valid order,
/// returns year, month, day.
pub(in crate::http::connect) fn order(text: &str) -> [Part; 3] {
    let parts: Vec<Part> = text
        .split_whitespace()
        .filter_map(|word| match word {
            "day" => Some(Part::Day),
            "month" => Some(Part::Month),
            "year" => Some(Part::Year),
            _ => None,
        })
        .collect();
    match parts[..] {
        [one, two, three] if one != two && two != three && one != three => [one, two, three],
        _ => [Part::Year, Part::Month, Part::Day],
    }
}

/// Reads the fields for day, month and year, or a whole date in one field. `whole` is an optional fourth field for a
/// whole date. A patient may also type or paste a whole date into any other field. A whole date has the year first, the
/// month's name, or the language's order.
pub(in crate::http::connect) fn read(
    [day, month, year]: [&str; 3],
    whole: &str,
    order: [Part; 3],
    months: &str,
    today: NaiveDate,
) -> Result<NaiveDate, NoBirthDate> {
    let (fields, whole) = ([day, month, year].map(western), western(whole));
    let fields = fields.each_ref().map(|field| field.trim());
    let filled: Vec<&str> = fields
        .into_iter()
        .chain([whole.trim()])
        .filter(|field| !field.is_empty())
        .collect();
    let date = match filled[..] {
        [one] => as_whole(one, order, months),
        [_, _, _] => dated(fields[2], fields[1], fields[0], months),
        _ => None,
    };
    let date = date.ok_or(NoBirthDate::Unreadable)?;
    if date > today {
        return Err(NoBirthDate::Future(date));
    }
    if today.year() - date.year() > OLDEST {
        Err(NoBirthDate::TooOld(date))
    } else {
        Ok(date)
    }
}

/// The code points of the digit zero in other scripts: Arabic, Persian, Devanagari, Bengali, and fullwidth forms of
/// East Asian keyboards.
const ZEROS: [u32; 5] = [0x660, 0x6f0, 0x966, 0x9e6, 0xff10];

/// Replaces the digits of the scripts in `ZEROS` by ASCII digits.
fn western(text: &str) -> String {
    let digit = |letter: char| {
        let place = |zero: &u32| (letter as u32).checked_sub(*zero).filter(|place| *place < 10);
        ZEROS
            .iter()
            .find_map(place)
            .and_then(|place| char::from_digit(place, 10))
    };
    text.chars().map(|letter| digit(letter).unwrap_or(letter)).collect()
}

fn as_whole(text: &str, order: [Part; 3], months: &str) -> Option<NaiveDate> {
    // Split into words, without words such as "de" in "31 de diciembre de 1980".
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<&str> = words
        .filter(|word| !word.is_empty() && !is_filler(word, months))
        .collect();
    let [one, two, three] = match words[..] {
        [digits] if digits.len() == 8 && digits.is_ascii() => [&digits[..4], &digits[4..6], &digits[6..]],
        [one, two, three] => [one, two, three],
        _ => return None,
    };
    if is_year(one) {
        return dated(one, two, three, months);
    }
    if !is_year(three) {
        return None;
    }
    let named =
        |word: &str| word.contains(char::is_alphabetic) && !word.starts_with(|letter: char| letter.is_ascii_digit());
    let day_first =
        order.iter().position(|part| *part == Part::Day) < order.iter().position(|part| *part == Part::Month);
    match (named(one), named(two)) {
        (true, false) => dated(three, one, two, months),
        (false, true) => dated(three, two, one, months),
        // Try the language's order first, then exchange day and month. So 31/12 is a date in every language.
        _ if day_first => dated(three, two, one, months).or_else(|| dated(three, one, two, months)),
        _ => dated(three, one, two, months).or_else(|| dated(three, two, one, months)),
    }
}

/// Whether a word is neither a number nor a month.
fn is_filler(word: &str, months: &str) -> bool {
    !word.contains(|letter: char| letter.is_ascii_digit()) && month(word, months).is_none()
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn dated(year: &str, month_said: &str, day: &str, months: &str) -> Option<NaiveDate> {
    let year = is_year(year).then(|| year.parse().ok())??;
    // A day may have a suffix of two letters, as in "31st" and "1er".
    let digits = day.trim_end_matches(char::is_alphabetic);
    let suffix = day.len() - digits.len();
    let day = (suffix <= 2 && digits.len() <= 2).then(|| digits.parse().ok())??;
    NaiveDate::from_ymd_opt(year, month(month_said, months)?, day)
}

/// Returns the month with this number or name. The first three letters of the name are enough.
fn month(said: &str, months: &str) -> Option<u32> {
    if said.bytes().all(|byte| byte.is_ascii_digit()) {
        return (said.len() <= 2).then(|| said.parse().ok())?;
    }
    let said = said.trim_end_matches('.').to_lowercase();
    if said.chars().count() < 3 {
        return None;
    }
    let mut names = months.split_whitespace().zip(1..=12);
    names
        .find(|(name, _)| name.to_lowercase().starts_with(&said))
        .map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH: &str = "January February March April May June July August September October November December";
    const SPANISH: &str = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre";

    fn today() -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 5, 10).unwrap()
    }

    fn whole(text: &str, order_said: &str, months: &str) -> Result<String, NoBirthDate> {
        read([text, "", ""], "", order(order_said), months, today()).map(|date| date.to_string())
    }

    #[test]
    fn three_fields_make_a_date() {
        let three = |day, month, year| read([day, month, year], "", order(""), ENGLISH, today());
        let date = NaiveDate::from_ymd_opt(1980, 2, 9).unwrap();
        assert_eq!(three("9", "2", "1980"), Ok(date));
        assert_eq!(three(" 09 ", "Feb", "1980"), Ok(date));
        for (day, month, year) in [
            ("30", "2", "1980"),
            ("", "2", "1980"),
            ("9", "2", "80"),
            ("x", "y", "z"),
            ("9", "13", "1980"),
        ] {
            assert_eq!(
                three(day, month, year),
                Err(NoBirthDate::Unreadable),
                "{day} {month} {year}"
            );
        }
        let tomorrow = NaiveDate::from_ymd_opt(2026, 5, 11).unwrap();
        assert_eq!(three("11", "5", "2026"), Err(NoBirthDate::Future(tomorrow)));
        assert!(three("10", "5", "2026").is_ok());
        let old = NaiveDate::from_ymd_opt(1850, 1, 1).unwrap();
        assert_eq!(three("1", "1", "1850"), Err(NoBirthDate::TooOld(old)));
        // The page shows the date that was read in its three fields.
        let pasted = read(["", "31 Dec 2090", ""], "", order(""), ENGLISH, today()).unwrap_err();
        assert_eq!(pasted.date(), NaiveDate::from_ymd_opt(2090, 12, 31));
        assert_eq!(NoBirthDate::Unreadable.date(), None);
        assert_eq!(
            read(["", "", ""], "", order(""), ENGLISH, today()),
            Err(NoBirthDate::Unreadable)
        );
    }

    #[test]
    fn common_forms_are_read_wherever_they_are_put() {
        let american = "month day year";
        for text in [
            "1980-12-31",
            "12/31/1980",
            "31.12.1980",
            "12-31-1980",
            "Dec 31, 1980",
            "31 December 1980",
            "19801231",
            "December 31st, 1980",
            "31st of December 1980",
            "1980/12/31",
            " 12 31 1980 ",
            "dec. 31 1980",
        ] {
            assert_eq!(whole(text, american, ENGLISH).as_deref(), Ok("1980-12-31"), "{text}");
        }
        let spanish = "day month year";
        for text in ["31 de diciembre de 1980", "31/12/1980", "31 dic 1980"] {
            assert_eq!(whole(text, spanish, SPANISH).as_deref(), Ok("1980-12-31"), "{text}");
        }
        // An ambiguous date is read in the language's order.
        assert_eq!(whole("04/05/1980", american, ENGLISH).as_deref(), Ok("1980-04-05"));
        assert_eq!(whole("04/05/1980", spanish, SPANISH).as_deref(), Ok("1980-05-04"));
        let last = read(["", "", "12/31/1980"], "", order(american), ENGLISH, today());
        assert_eq!(last.unwrap().to_string(), "1980-12-31");
        let one = read(["", "", ""], "1980-12-31", order(american), ENGLISH, today());
        assert_eq!(one.unwrap().to_string(), "1980-12-31");
        for bad in [
            "",
            "yesterday",
            "12/31/80",
            "1980",
            "1980-13-01",
            "99999999999",
            "1/2/3/1980",
            "٣١",
            "ab cd 1980",
            "1980123é",
        ] {
            assert_eq!(whole(bad, american, ENGLISH), Err(NoBirthDate::Unreadable), "{bad}");
        }
    }

    /// Digits of other scripts must be accepted.
    #[test]
    fn digits_of_other_scripts_are_read() {
        for text in [
            "١٩٨٠-١٢-٣١",
            "۳۱/۱۲/۱۹۸۰",
            "३१ १२ १९८०",
            "３１．１２．１９８０",
            "١٩٨٠١٢٣١",
        ] {
            assert_eq!(
                whole(text, "day month year", ENGLISH).as_deref(),
                Ok("1980-12-31"),
                "{text}"
            );
        }
        let three = read(["٩", "٢", "١٩٨٠"], "", order(""), ENGLISH, today());
        assert_eq!(three.unwrap().to_string(), "1980-02-09");
    }

    #[test]
    fn an_order_that_is_none_is_the_iso_one() {
        assert_eq!(order("month day year"), [Part::Month, Part::Day, Part::Year]);
        for bad in ["", "day day year", "day month", "x y z"] {
            assert_eq!(order(bad), [Part::Year, Part::Month, Part::Day]);
        }
    }
}
