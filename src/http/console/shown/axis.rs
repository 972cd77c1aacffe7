//! The axis of a plot: its bounds, its ticks and their labels. Ticks are at round numbers, at round sizes, or where
//! years, months, days, hours or minutes begin.

use std::ops::Range;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

const DAY: f64 = 86_400.0;
/// Steps between ticks, in seconds. Longer steps are in months.
const SECONDS: [f64; 17] = [
    1.0,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
    600.0,
    1_800.0,
    3_600.0,
    10_800.0,
    21_600.0,
    43_200.0,
    DAY,
    2.0 * DAY,
    5.0 * DAY,
    7.0 * DAY,
    14.0 * DAY,
];
const MONTHS: [i64; 13] = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 6_000, 12_000, 120_000];
const SECONDS_OF_MONTH: f64 = 30.44 * DAY;
/// The maximum number of ticks with a short label, such as a number, a month or a year.
const SHORT: f64 = 7.0;
/// The maximum number of ticks with a day or a time as label.
const LONG: f64 = 5.0;
/// Ticks at dates are only searched within this many days of 1970. These days are within the range of `chrono`.
const FARTHEST: f64 = 20e6;

/// What the numbers of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http::console) enum Unit {
    /// Numbers without a unit.
    Number,
    /// Days since 1970.
    Days,
    /// Bytes.
    Bytes,
}

/// An axis with its ticks.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
    unit: Unit,
    /// The form of the labels of dates.
    form: &'static str,
}

impl Axis {
    /// Creates an axis from `low` to `high`, which must differ. If all values are whole (`is_whole`), ticks are at
    /// whole numbers or days.
    pub(super) fn new(unit: Unit, (low, high): (f64, f64), is_whole: bool) -> Axis {
        let is_date = unit == Unit::Days && low.abs().max(high.abs()) < FARTHEST;
        let (ticks, form) = if is_date {
            dates(low, high, is_whole)
        } else {
            (numbers(low, high, unit, is_whole), "")
        };
        Axis {
            low,
            high,
            ticks,
            unit,
            form,
        }
    }

    fn label(&self, value: f64) -> String {
        match self.unit {
            Unit::Number => plain(value),
            Unit::Bytes => size(value),
            Unit::Days => {
                time((value * DAY).round()).map_or_else(String::new, |time| time.format(self.form).to_string())
            }
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.low) / (self.high - self.low);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

/// Returns ticks at multiples of a round number.
fn numbers(low: f64, high: f64, unit: Unit, is_whole: bool) -> Vec<f64> {
    let scale = if unit == Unit::Bytes {
        unit_of(low.abs().max(high.abs())).0
    } else {
        1.0
    };
    let mut step = round_width((high - low) / SHORT / scale) * scale;
    if is_whole {
        step = step.max(1.0);
    }
    multiples(low, high, step)
}

fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    // There are at most 8 steps between the bounds. The cast of a negative number is 0.
    let count = (last - first).min(100.0) as usize;
    let ticks = (0..=count).map(|at| (first + at as f64) * step);
    ticks.filter(|tick| (low..=high).contains(tick)).collect()
}

/// Returns ticks at dates, and the form of their labels.
fn dates(low: f64, high: f64, is_whole: bool) -> (Vec<f64>, &'static str) {
    let span = (high - low) * DAY;
    let shortest = if is_whole { DAY } else { 0.0 };
    let step = SECONDS
        .into_iter()
        .find(|step| *step >= shortest && span / step <= LONG);
    if let Some(step) = step {
        let form = match step {
            step if step < 60.0 => "%H:%M:%S",
            step if step < DAY => "%-d %b %H:%M",
            _ => "%Y-%m-%d",
        };
        let ticks = multiples(low * DAY, high * DAY, step);
        return (ticks.into_iter().map(|seconds| seconds / DAY).collect(), form);
    }
    let months = MONTHS
        .into_iter()
        .find(|months| span / (*months as f64 * SECONDS_OF_MONTH) <= SHORT)
        .unwrap_or(MONTHS[MONTHS.len() - 1]);
    let form = if months < 12 { "%Y-%m" } else { "%Y" };
    let Some(first) = time(low * DAY).map(month) else {
        return (Vec::new(), form);
    };
    let first = first.div_euclid(months) * months;
    let ticks = (0..=100).map_while(|at| days(first + at * months));
    let ticks = ticks.take_while(|tick| *tick <= high).filter(|tick| *tick >= low);
    (ticks.collect(), form)
}

fn time(seconds: f64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(seconds as i64, 0)
}

/// Returns the number of a time's month, counted from year 0.
fn month(time: DateTime<Utc>) -> i64 {
    i64::from(time.year()) * 12 + i64::from(time.month0())
}

/// Returns the first day of a month, in days since 1970.
fn days(month: i64) -> Option<f64> {
    let year = i32::try_from(month.div_euclid(12)).ok()?;
    let first = NaiveDate::from_ymd_opt(year, month.rem_euclid(12) as u32 + 1, 1)?;
    Some(first.signed_duration_since(NaiveDate::default()).num_days() as f64)
}

/// Returns the smallest of 1, 2 and 5 times a power of ten that is at least `width`. 1 if `width` is zero or invalid.
pub(super) fn round_width(width: f64) -> f64 {
    if !width.is_normal() || width <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(width.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= width);
    step.unwrap_or(10.0) * power
}

/// Formats a number for an axis.
fn plain(value: f64) -> String {
    let size = value.abs();
    let (value, unit) = match size {
        size if size >= 1e9 => (value / 1e9, " G"),
        size if size >= 1e6 => (value / 1e6, " M"),
        size if size >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    format!("{}{unit}", short(value))
}

/// Formats a number of bytes for an axis.
fn size(bytes: f64) -> String {
    let (scale, unit) = unit_of(bytes.abs());
    format!("{} {unit}", short(bytes / scale))
}

/// Returns the unit in which a number of bytes is written, and its bytes.
fn unit_of(bytes: f64) -> (f64, &'static str) {
    match bytes {
        bytes if bytes >= 1024f64.powi(3) => (1024f64.powi(3), "GiB"),
        bytes if bytes >= 1024f64.powi(2) => (1024f64.powi(2), "MiB"),
        bytes if bytes >= 1024.0 => (1024.0, "KiB"),
        _ => (1.0, "B"),
    }
}

/// Formats a number with at most three decimals.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(unit: Unit, low: f64, high: f64, is_whole: bool) -> Vec<String> {
        let axis = Axis::new(unit, (low, high), is_whole);
        axis.ticks.iter().map(|tick| axis.label(*tick)).collect()
    }

    #[test]
    fn ticks_are_round_numbers_and_whole_where_values_are() {
        assert_eq!(labels(Unit::Number, 1.0, 2.0, true), ["1", "2"]);
        assert_eq!(
            labels(Unit::Number, 1.0, 2.0, false),
            ["1", "1.2", "1.4", "1.6", "1.8", "2"]
        );
        assert_eq!(labels(Unit::Number, -40_000.0, 900.0, true).first().unwrap(), "-40 k");
        let mebibyte = 1024.0 * 1024.0;
        assert_eq!(
            labels(Unit::Bytes, 0.0, 3.0 * mebibyte, true),
            ["0 B", "512 KiB", "1 MiB", "1.5 MiB", "2 MiB", "2.5 MiB", "3 MiB"]
        );
    }

    #[test]
    fn ticks_are_where_years_months_days_and_hours_begin() {
        let day = |text: &str| {
            let date: NaiveDate = text.parse().unwrap();
            date.signed_duration_since(NaiveDate::default()).num_days() as f64
        };
        assert_eq!(
            labels(Unit::Days, day("2016-07-18"), day("2026-02-16"), true),
            ["2018", "2020", "2022", "2024", "2026"]
        );
        assert_eq!(
            labels(Unit::Days, day("2023-11-30"), day("2024-04-02"), true),
            ["2023-12", "2024-01", "2024-02", "2024-03", "2024-04"]
        );
        assert_eq!(
            labels(Unit::Days, day("2024-01-01"), day("2024-01-03"), true),
            ["2024-01-01", "2024-01-02", "2024-01-03"]
        );
        assert_eq!(
            labels(Unit::Days, day("2024-01-01"), day("2024-01-01") + 0.5, false),
            [
                "1 Jan 00:00",
                "1 Jan 03:00",
                "1 Jan 06:00",
                "1 Jan 09:00",
                "1 Jan 12:00"
            ]
        );
        assert_eq!(
            labels(Unit::Days, day("1969-12-31"), day("1970-01-02"), true)[0],
            "1969-12-31"
        );
        assert!(labels(Unit::Days, -1e300, 1e300, false).iter().all(String::is_empty));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            ["12 k", "0.25", "1.5 M"],
            [12_000.0, 0.25, 1_500_000.0].map(plain).each_ref().map(String::as_str)
        );
    }
}
