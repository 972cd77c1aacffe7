//! The values of one stored resource that queries can use.

use chrono::{Days, NaiveDate};

/// The number of days between `{date}` and `{until}`.
const SPAN: Days = Days::new(90);

/// A value of a resource that a query can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::bench) enum Field {
    /// The resource's type.
    Type,
    /// The resource's id.
    Id,
    /// The id of the resource's Patient.
    Patient,
    /// The code, as `system|code`.
    Code,
    /// The category, as `system|code`.
    Category,
    /// The number in the resource's `valueQuantity`.
    Value,
    /// The resource's date as a day, for example of `effectiveDateTime` or `birthDate`.
    Date,
    /// The day 90 days after [`Field::Date`].
    Until,
}

impl Field {
    /// All fields, in the order of a row's values.
    pub(in crate::bench) const ALL: [Field; 8] = [
        Field::Type,
        Field::Id,
        Field::Patient,
        Field::Code,
        Field::Category,
        Field::Value,
        Field::Date,
        Field::Until,
    ];

    /// Returns the field's name in placeholders.
    pub(in crate::bench) fn name(self) -> &'static str {
        match self {
            Field::Type => "type",
            Field::Id => "id",
            Field::Patient => "patient",
            Field::Code => "code",
            Field::Category => "category",
            Field::Value => "value",
            Field::Date => "date",
            Field::Until => "until",
        }
    }

    /// Returns the field with this name in placeholders.
    pub(in crate::bench) fn named(name: &str) -> Option<Field> {
        Field::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// The values of one resource as a query has them, before percent-encoding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::bench) struct Row([Option<Box<str>>; Field::ALL.len()]);

impl Row {
    /// Returns the value of a field, if the resource has one.
    pub(in crate::bench) fn get(&self, field: Field) -> Option<&str> {
        self.0[field as usize].as_deref()
    }

    /// Sets the value of a field.
    pub(in crate::bench) fn set(&mut self, field: Field, value: impl Into<Box<str>>) {
        self.0[field as usize] = Some(value.into());
    }

    /// Sets `date` and `until` from a FHIR date or dateTime. Sets nothing if the text has no day, such as `2024-05`.
    pub(in crate::bench) fn set_date(&mut self, text: &str) {
        let Some(day) = text.get(..10).and_then(|day| day.parse::<NaiveDate>().ok()) else {
            return;
        };
        self.set(Field::Date, day.to_string());
        if let Some(until) = day.checked_add_days(SPAN) {
            self.set(Field::Until, until.to_string());
        }
    }

    /// Whether the row has all of these fields.
    pub(in crate::bench) fn has(&self, fields: &[Field]) -> bool {
        fields.iter().all(|field| self.get(*field).is_some())
    }
}

/// Appends `system|code` as a value of a token parameter. Escapes the separators of values.
pub(in crate::bench) fn token(system: Option<&str>, code: &str, out: &mut String) {
    if let Some(system) = system {
        escape(system, out);
        out.push('|');
    }
    escape(code, out);
}

fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        if matches!(character, '\\' | ',' | '|' | '$') {
            out.push('\\');
        }
        out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_escape_what_separates_values() {
        let mut text = String::new();
        token(Some("http://loinc.org"), "8867-4", &mut text);
        text.push(' ');
        token(None, r"a,b|c$d\e", &mut text);
        assert_eq!(text, r"http://loinc.org|8867-4 a\,b\|c\$d\\e");
    }

    #[test]
    fn dates_are_days_and_their_span_ends_90_days_later() {
        let mut row = Row::default();
        row.set_date("2023-11-20T10:00:00+01:00");
        assert_eq!(
            (row.get(Field::Date), row.get(Field::Until)),
            (Some("2023-11-20"), Some("2024-02-18"))
        );
        for partial in ["2023", "2023-11", "", "yesterday..", "2023-02-30"] {
            let mut row = Row::default();
            row.set_date(partial);
            assert_eq!(row, Row::default(), "{partial}");
        }
    }

    #[test]
    fn every_field_has_a_name_and_a_place() {
        for (place, field) in Field::ALL.into_iter().enumerate() {
            assert_eq!(Field::named(field.name()), Some(field));
            assert_eq!(field as usize, place);
        }
        assert_eq!(Field::named("colour"), None);
    }
}
