//! Shared strings, days, and the writing of JSON.

use std::borrow::Cow;
use std::sync::Arc;

use chrono::{Datelike, NaiveDate};
use rustc_hash::FxHashSet;

use crate::columns::json::push_quoted;
use crate::fhir::temporal::Temporal;
use crate::normalize::marks::PLACEHOLDER;
use crate::normalize::record::Day;

/// A string that several facts share.
pub(in crate::normalize::claims) type Name = Arc<str>;

/// Stores equal strings once, because the claims of one person repeat references, codes and displays.
#[derive(Debug, Default)]
pub(in crate::normalize::claims) struct Names(FxHashSet<Name>);

impl Names {
    /// Returns the shared copy of a string.
    pub(in crate::normalize::claims) fn keep(&mut self, text: &str) -> Name {
        if let Some(name) = self.0.get(text) {
            return name.clone();
        }
        let name = Name::from(text);
        self.0.insert(name.clone());
        name
    }
}

/// Stores a text of a source. Returns `None` if there is no text, or if it is the placeholder that an earlier run
/// wrote.
pub(in crate::normalize::claims) fn said(text: Option<Cow<'_, str>>, names: &mut Names) -> Option<Name> {
    text.filter(|text| text != PLACEHOLDER).map(|text| names.keep(&text))
}

/// A source's date or time, and its local calendar day.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::normalize::claims) struct When {
    /// The day.
    pub(in crate::normalize::claims) day: Day,
    /// A valid FHIR date or dateTime.
    pub(in crate::normalize::claims) text: Name,
}

impl When {
    /// Reads a full date, alone or before a time. Returns `None` for a year or a month alone. Leaves out a time that
    /// FHIR does not allow.
    pub(in crate::normalize::claims) fn read(text: &str, names: &mut Names) -> Option<When> {
        let date = text.get(..10)?;
        let day = day_of(date)?;
        let whole = text.len() == 10 || Temporal::instant(text).is_ok();
        Some(When {
            day,
            text: names.keep(if whole { text } else { date }),
        })
    }

    /// Whether this date or time is not after `end`. If both have a time, compares the instants. If not, compares the
    /// days.
    fn is_until(&self, end: &When) -> bool {
        match (Temporal::instant(&self.text), Temporal::instant(&end.text)) {
            (Ok(start), Ok(end)) => start.start <= end.start,
            _ => self.day <= end.day,
        }
    }
}

/// A period. An unknown start or end is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::normalize::claims) struct Span {
    /// The first day, with a time if the source states one.
    pub(in crate::normalize::claims) start: Option<When>,
    /// The last day, with a time if the source states one.
    pub(in crate::normalize::claims) end: Option<When>,
}

impl Span {
    /// Creates a period that starts and ends at the same time.
    pub(in crate::normalize::claims) fn of(when: When) -> Span {
        Span {
            start: Some(when.clone()),
            end: Some(when),
        }
    }

    /// Returns the day of the start or, if that is unknown, of the end.
    pub(in crate::normalize::claims) fn day(&self) -> Option<Day> {
        self.start.as_ref().or(self.end.as_ref()).map(|when| when.day)
    }

    /// Returns the span as a Period, or `None` if it is empty. Leaves out an end before the start.
    pub(in crate::normalize::claims) fn json(&self) -> Option<String> {
        let mut period = Object::new();
        if let Some(start) = &self.start {
            period.text("start", &start.text);
        }
        let ends = |end: &&When| self.start.as_ref().is_none_or(|start| start.is_until(end));
        if let Some(end) = self.end.as_ref().filter(ends) {
            period.text("end", &end.text);
        }
        period.some()
    }
}

/// Parses `YYYY-MM-DD`.
pub(in crate::normalize::claims) fn day_of(date: &str) -> Option<Day> {
    let date = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
    Some(Day(date.to_epoch_days()))
}

/// Formats a day as `YYYY-MM-DD`.
pub(in crate::normalize::claims) fn date_of(day: Day) -> String {
    NaiveDate::from_epoch_days(day.0).unwrap_or_default().to_string()
}

/// Returns the year of a day.
pub(in crate::normalize::claims) fn year_of(day: Day) -> i32 {
    NaiveDate::from_epoch_days(day.0).unwrap_or_default().year()
}

/// Writes a JSON object. Properties keep the order in which they are added.
#[derive(Debug)]
pub(in crate::normalize::claims) struct Object(Vec<u8>);

impl Object {
    /// Creates an empty object.
    pub(in crate::normalize::claims) fn new() -> Object {
        Object(vec![b'{'])
    }

    /// Adds a property with a JSON value.
    pub(in crate::normalize::claims) fn raw(&mut self, name: &str, json: &str) -> &mut Object {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        push_quoted(&mut self.0, name);
        self.0.push(b':');
        self.0.extend_from_slice(json.as_bytes());
        self
    }

    /// Adds a property with a JSON value, if there is one.
    pub(in crate::normalize::claims) fn maybe(&mut self, name: &str, json: Option<String>) -> &mut Object {
        if let Some(json) = json {
            self.raw(name, &json);
        }
        self
    }

    /// Adds a property with a string.
    pub(in crate::normalize::claims) fn text(&mut self, name: &str, text: &str) -> &mut Object {
        self.raw(name, &quoted(text))
    }

    /// Adds a property with a list of JSON values. Adds none if the list is empty.
    pub(in crate::normalize::claims) fn list(&mut self, name: &str, items: &[String]) -> &mut Object {
        if !items.is_empty() {
            self.raw(name, &format!("[{}]", items.join(",")));
        }
        self
    }

    /// Returns the JSON of the object.
    pub(in crate::normalize::claims) fn json(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.0).into_owned();
        text.push('}');
        text
    }

    /// Returns the JSON of the object, or `None` if it is empty.
    pub(in crate::normalize::claims) fn some(&self) -> Option<String> {
        (self.0.len() > 1).then(|| self.json())
    }
}

/// Returns a text as a JSON string.
pub(in crate::normalize::claims) fn quoted(text: &str) -> String {
    let mut json = Vec::with_capacity(text.len() + 2);
    push_quoted(&mut json, text);
    String::from_utf8(json).unwrap_or_default()
}

/// Returns a Reference with this text.
pub(in crate::normalize::claims) fn reference(text: &str) -> String {
    Object::new().text("reference", text).json()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_days() {
        let mut names = Names::default();
        let mut text = |text: &str| When::read(text, &mut names).map(|when| (when.day.0, when.text.to_string()));
        assert_eq!(text("1970-01-02"), Some((1, "1970-01-02".into())));
        assert_eq!(
            text("2021-03-18T23:30:00-05:00"),
            Some((18704, "2021-03-18T23:30:00-05:00".into()))
        );
        assert_eq!(text("2021-03-18T23:30"), Some((18704, "2021-03-18".into())));
        assert_eq!(text("2021-03"), None);
        assert_eq!(text("2021-02-30"), None);
        assert_eq!(date_of(Day(18704)), "2021-03-18");
        assert_eq!(year_of(Day(18704)), 2021);
    }

    #[test]
    fn a_period_that_ends_before_it_starts_has_no_end() {
        let mut names = Names::default();
        let mut when = |text: &str| When::read(text, &mut names);
        let span = Span {
            start: when("2020-02-01"),
            end: when("2020-01-01"),
        };
        assert_eq!(span.json().unwrap(), r#"{"start":"2020-02-01"}"#);
        let mut json = |start, end| {
            let (start, end) = (When::read(start, &mut names), When::read(end, &mut names));
            Span { start, end }.json().unwrap()
        };
        // The instants are compared, not the local dates.
        assert_eq!(
            json("2020-01-01T18:00:00Z", "2020-01-01T09:00:00Z"),
            r#"{"start":"2020-01-01T18:00:00Z"}"#
        );
        assert_eq!(
            json("2020-01-01T23:00:00-05:00", "2020-01-02T01:00:00Z"),
            r#"{"start":"2020-01-01T23:00:00-05:00"}"#
        );
        assert_eq!(
            json("2020-01-02T00:30:00+05:00", "2020-01-01T20:00:00Z"),
            r#"{"start":"2020-01-02T00:30:00+05:00","end":"2020-01-01T20:00:00Z"}"#
        );
        assert_eq!(
            json("2020-01-01T18:00:00Z", "2020-01-01"),
            r#"{"start":"2020-01-01T18:00:00Z","end":"2020-01-01"}"#
        );
        assert_eq!(Span::default().json(), None);
    }
}
