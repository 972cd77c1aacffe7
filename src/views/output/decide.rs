//! Decides the SQL type of a column without a tag `ansi/type`, by the column's values: decimals of one scale, dates
//! with a day, or moments. Decides only after all values have been seen. If no such type holds all values without loss,
//! the values stay text.

use std::fmt;

use arrow::array::{Array, ArrayRef, AsArray};

use crate::fhir::decimal::Decimal;
use crate::fhir::temporal::{Precision, Temporal, TimeOfDay};
use crate::views::definition::column::Column;
use crate::views::definition::kind::Kind;
use crate::views::definition::sql_type::SqlType;

/// The precisions that a decimal type may get. 18 digits fit into eight bytes, and 38 digits are the maximum.
const PRECISIONS: [u8; 2] = [18, 38];
/// The maximum number of decimals that the seconds of a moment may have.
const MICROSECONDS: usize = 6;

/// The expected values of a column, by its FHIR type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Decimal,
    Date,
    /// A date, or a date with a time.
    DateTime,
    Instant,
    Time,
}

/// Why a column is text although its FHIR type has a SQL type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyText {
    /// A decimal type for all values would need more than 38 digits.
    Digits,
    /// A date has no day, or no month.
    PartialDate,
    /// Some values are dates, and others have a time.
    Precisions,
    /// A time has no zone.
    Zone,
    /// A time has no seconds, has the leap second 60, or has more than six decimals.
    Seconds,
    /// A moment in UTC is not in the years 1 to 9999.
    Years,
    /// A value does not have the form of its type.
    Form,
}

impl fmt::Display for WhyText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            WhyText::Digits => "its decimals need more than 38 digits",
            WhyText::PartialDate => "some of its dates have no day",
            WhyText::Precisions => "some of its values are dates and some have a time",
            WhyText::Zone => "some of its times have no zone",
            WhyText::Seconds => "some of its times have no seconds, a leap second, or more than six decimals",
            WhyText::Years => "some of its times are not in the years 1 to 9999 of UTC",
            WhyText::Form => "one of its values is not of the form that its type has",
        })
    }
}

/// What the values that were seen so far have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    wanted: Wanted,
    /// The maximum number of digits before the decimal point, and the maximum number of digits after it.
    digits: (i64, i64),
    dates: bool,
    moments: bool,
    why: Option<WhyText>,
}

impl Seen {
    /// Returns the initial state for a column whose type depends on its values. `None` if the view or the FHIR type
    /// decides the type.
    pub(super) fn of(column: &Column) -> Option<Seen> {
        if column.has_sql_tag() {
            return None;
        }
        let name = column
            .fhir_type
            .as_deref()
            .map(|fhir_type| fhir_type.rsplit('/').next().unwrap_or(fhir_type));
        let name = name.map(|name| name.trim_start_matches("FHIR.").trim_start_matches("System."));
        let wanted = match (column.kind, name) {
            (Kind::Decimal, Some("integer64")) => return None,
            (Kind::Decimal, _) => Wanted::Decimal,
            (Kind::Text, Some("date" | "Date")) => Wanted::Date,
            (Kind::Text, Some("dateTime" | "DateTime")) => Wanted::DateTime,
            (Kind::Text, Some("instant")) => Wanted::Instant,
            (Kind::Text, Some("time" | "Time")) => Wanted::Time,
            _ => return None,
        };
        Some(Seen {
            wanted,
            digits: (0, 0),
            dates: false,
            moments: false,
            why: None,
        })
    }

    /// Looks at more values: strings, or lists of strings.
    pub(super) fn look(&mut self, array: &ArrayRef) {
        let items = array.as_list_opt::<i32>().map(|list| {
            let offsets = list.value_offsets();
            let (from, to) = (offsets[0] as usize, offsets[list.len()] as usize);
            list.values().slice(from, to - from)
        });
        let Some(texts) = items.as_ref().unwrap_or(array).as_string_opt::<i32>() else {
            self.why = Some(WhyText::Form);
            return;
        };
        for text in texts.iter().flatten() {
            if self.why.is_some() {
                return;
            }
            self.why = self.fault(text);
        }
    }

    /// Returns the type that holds all values seen so far, or the reason why there is none.
    pub(super) fn decided(&self) -> Result<SqlType, WhyText> {
        if let Some(why) = self.why {
            return Err(why);
        }
        let moment = SqlType::Timestamp { zone: true };
        Ok(match self.wanted {
            Wanted::Decimal => {
                let (whole, scale) = self.digits;
                let digits = whole + scale;
                let precision = PRECISIONS.into_iter().find(|precision| digits <= i64::from(*precision));
                SqlType::Decimal {
                    precision: precision.ok_or(WhyText::Digits)?,
                    scale: u8::try_from(scale).map_err(|_| WhyText::Digits)?,
                }
            }
            Wanted::Date => SqlType::Date,
            Wanted::DateTime if self.dates => SqlType::Date,
            Wanted::DateTime | Wanted::Instant => moment,
            Wanted::Time => SqlType::Time,
        })
    }

    /// Looks at a value. Returns the reason if this value and the earlier ones have no common type.
    fn fault(&mut self, text: &str) -> Option<WhyText> {
        match self.wanted {
            Wanted::Decimal => {
                let Some((whole, scale)) = digits(text) else {
                    return Some(WhyText::Form);
                };
                self.digits = (self.digits.0.max(whole), self.digits.1.max(scale));
                let max_digits = i64::from(PRECISIONS[1]);
                (self.digits.0 + self.digits.1 > max_digits).then_some(WhyText::Digits)
            }
            Wanted::Date => match Temporal::date(text) {
                Ok(date) if date.precision == Precision::Day => None,
                Ok(_) => Some(WhyText::PartialDate),
                Err(_) => Some(WhyText::Form),
            },
            Wanted::DateTime | Wanted::Instant => {
                let Ok(moment) = Temporal::date_time(text) else {
                    return Some(WhyText::Form);
                };
                match moment.precision {
                    Precision::Year | Precision::Month => return Some(WhyText::PartialDate),
                    Precision::Day => self.dates = true,
                    Precision::Hour | Precision::Minute => return Some(WhyText::Seconds),
                    Precision::Second | Precision::Fraction => {
                        self.moments = true;
                        if moment.zone.is_none() {
                            return Some(WhyText::Zone);
                        }
                        if decimals(text) > MICROSECONDS || has_leap_second(text, DATE_LENGTH + 1) {
                            return Some(WhyText::Seconds);
                        }
                        if !YEARS.contains(&moment.start) {
                            return Some(WhyText::Years);
                        }
                    }
                }
                let mixed = self.dates && (self.moments || self.wanted == Wanted::Instant);
                mixed.then_some(WhyText::Precisions)
            }
            Wanted::Time => match TimeOfDay::parse(text) {
                Ok(time)
                    if time.precision < Precision::Second
                        || decimals(text) > MICROSECONDS
                        || has_leap_second(text, 0) =>
                {
                    Some(WhyText::Seconds)
                }
                Ok(_) => None,
                Err(_) => Some(WhyText::Form),
            },
        }
    }
}

/// The length of a date such as `2020-01-01`.
const DATE_LENGTH: usize = 10;
/// The first and the last microsecond of the years 1 to 9999. Parquet's readers support only moments in this range.
const YEARS: std::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;

/// Whether the time that begins at `at` has the second 60, which no Parquet type can hold.
fn has_leap_second(text: &str, at: usize) -> bool {
    text.get(at + 6..at + 8) == Some("60")
}

/// Returns the numbers of digits that a number has before and after the decimal point when written without an
/// exponent.
fn digits(text: &str) -> Option<(i64, i64)> {
    Decimal::parse(text).ok()?;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let mantissa = mantissa.trim_start_matches('-');
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // A zero has no digits before the decimal point, whatever the exponent is.
    let whole = match whole {
        "0" if exponent <= 0 => 0,
        "0" if fraction.bytes().all(|digit| digit == b'0') => 0,
        whole => (whole.len() as i64 + exponent).max(0),
    };
    Some((whole, (fraction.len() as i64 - exponent).max(0)))
}

/// Returns the number of decimals that the seconds of a text have.
fn decimals(text: &str) -> usize {
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    fraction.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::StringArray;

    use super::*;

    fn column(kind: Kind, fhir_type: &str) -> Column {
        Column {
            name: "c".to_owned(),
            at: String::new(),
            kind,
            collection: false,
            fhir_type: Some(fhir_type.to_owned()),
            description: None,
            tags: Vec::new(),
            sql: SqlType::of(kind, Some(fhir_type)),
        }
    }

    fn decided(kind: Kind, fhir_type: &str, values: &[&str]) -> Result<String, WhyText> {
        let mut seen = Seen::of(&column(kind, fhir_type)).unwrap();
        // Each value gets its own batch, because the result must not depend on where batches end.
        for value in values {
            let array: ArrayRef = Arc::new(StringArray::from(vec![None, Some(*value)]));
            seen.look(&array);
        }
        seen.decided().map(|sql_type| sql_type.to_string())
    }

    #[test]
    fn decimals_have_the_scale_of_the_longest() {
        for (values, expected) in [
            (&[][..], Ok("DECIMAL(18,0)")),
            (&["100.10", "7"], Ok("DECIMAL(18,2)")),
            (&["-0.001", "0"], Ok("DECIMAL(18,3)")),
            (&["1e3", "1.5e-3"], Ok("DECIMAL(18,4)")),
            (&["1.25e1"], Ok("DECIMAL(18,1)")),
            (&["0.5e3"], Ok("DECIMAL(18,0)")),
            (&["123456789012345678", "0.1"], Ok("DECIMAL(38,1)")),
            (&["0.123456789012345678"], Ok("DECIMAL(18,18)")),
            (&["0e999999999"], Ok("DECIMAL(18,0)")),
            (&["1e999999999"], Err(WhyText::Digits)),
            (&["1e-39"], Err(WhyText::Digits)),
            (&["12345678901234567890", "0.1234567890123456789"], Err(WhyText::Digits)),
        ] {
            let expected = expected.map(str::to_owned);
            assert_eq!(decided(Kind::Decimal, "decimal", values), expected, "{values:?}");
        }
    }

    #[test]
    fn dates_and_moments_have_one_precision() {
        let moment = Ok("TIMESTAMP WITH TIME ZONE");
        for (fhir_type, values, expected) in [
            ("date", &["2024-02-29", "1970-01-01"][..], Ok("DATE")),
            ("date", &[], Ok("DATE")),
            ("date", &["2024-02-29", "1970-01"], Err(WhyText::PartialDate)),
            ("dateTime", &[], moment),
            ("dateTime", &["2024-02-29", "1970-01-01"], Ok("DATE")),
            (
                "dateTime",
                &["2024-02-29T10:00:00Z", "2024-02-29T10:00:00.123456+01:00"],
                moment,
            ),
            (
                "dateTime",
                &["2024-02-29T10:00:00Z", "2024-02-29"],
                Err(WhyText::Precisions),
            ),
            (
                "dateTime",
                &["2024-02-29", "2024-02-29T10:00:00Z"],
                Err(WhyText::Precisions),
            ),
            ("dateTime", &["2024"], Err(WhyText::PartialDate)),
            ("dateTime", &["2024-02-29T10:00:00"], Err(WhyText::Zone)),
            ("dateTime", &["2024-02-29T10:00Z"], Err(WhyText::Seconds)),
            ("dateTime", &["2024-02-29T10:00:00.1234567Z"], Err(WhyText::Seconds)),
            ("instant", &["2024-02-29T10:00:00Z"], moment),
            ("instant", &["2024-02-29"], Err(WhyText::Precisions)),
            (
                "http://hl7.org/fhir/StructureDefinition/time",
                &["10:00:00.5"],
                Ok("TIME"),
            ),
            ("time", &["10:00"], Err(WhyText::Seconds)),
            ("time", &["noon"], Err(WhyText::Form)),
        ] {
            let expected = expected.map(str::to_owned);
            assert_eq!(
                decided(Kind::Text, fhir_type, values),
                expected,
                "{fhir_type} {values:?}"
            );
        }
    }

    #[test]
    fn tags_and_other_types_leave_nothing_to_decide() {
        let mut tagged = column(Kind::Decimal, "decimal");
        tagged.tags.push(crate::views::definition::column::Tag {
            name: "ansi/type".to_owned(),
            value: "DOUBLE PRECISION".to_owned(),
        });
        assert!(Seen::of(&tagged).is_none());
        for (kind, fhir_type) in [
            (Kind::Decimal, "integer64"),
            (Kind::Text, "string"),
            (Kind::Integer, "integer"),
            (Kind::Any, "dateTime"),
        ] {
            assert!(Seen::of(&column(kind, fhir_type)).is_none(), "{fhir_type}");
        }
    }
}
