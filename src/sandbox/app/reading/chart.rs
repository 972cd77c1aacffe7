//! Computes a small chart of values over time. The result is numbers that a template puts into SVG, so that no text of
//! a record becomes markup.

use chrono::NaiveDate;

/// The width of the chart in SVG units. `HEIGHT` is its height.
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 64.0;
/// The distance from the edges of the chart to the outermost dots, in SVG units.
const MARGIN: f64 = 6.0;

/// A value that was measured on a day.
#[derive(Clone, Copy, Debug)]
pub(in crate::sandbox::app) struct Point {
    pub(in crate::sandbox::app) day: NaiveDate,
    pub(in crate::sandbox::app) value: f64,
    /// Whether the value is outside the normal range.
    pub(in crate::sandbox::app) is_out: bool,
}

/// A dot of the chart.
#[derive(Debug, PartialEq)]
pub(in crate::sandbox::app) struct Dot {
    pub(in crate::sandbox::app) x: String,
    pub(in crate::sandbox::app) y: String,
    pub(in crate::sandbox::app) is_out: bool,
}

/// A chart: a line through values, with the normal range behind it.
#[derive(Debug, PartialEq)]
pub(in crate::sandbox::app) struct Chart {
    /// The line's points in SVG's notation.
    pub(in crate::sandbox::app) line: String,
    pub(in crate::sandbox::app) dots: Vec<Dot>,
    /// The top and the height of the normal range, in SVG units. If the range has only one bound, it extends to the
    /// edge of the chart. `None` if the range is unknown.
    pub(in crate::sandbox::app) band: Option<(String, String)>,
}

impl Chart {
    /// Computes the chart of these points. The oldest point must come first. `usual` has the lower and the upper bound
    /// of the normal range, if they are known. Returns `None` for fewer than two points, or if a value is not finite.
    pub(in crate::sandbox::app) fn of(points: &[Point], usual: (Option<f64>, Option<f64>)) -> Option<Chart> {
        let [first, .., last] = points else { return None };
        let values = points.iter().map(|point| point.value).filter(|value| value.is_finite());
        if values.clone().count() != points.len() {
            return None;
        }
        let bounds = [usual.0, usual.1]
            .into_iter()
            .flatten()
            .filter(|bound| bound.is_finite());
        let (low, high) = values.chain(bounds).fold((f64::MAX, f64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let days = (last.day - first.day).num_days() as f64;
        let across = |at: usize, point: &Point| {
            // If all values are from the same day, the days decide nothing. So the dots are spaced evenly.
            let share = if days > 0.0 {
                (point.day - first.day).num_days() as f64 / days
            } else {
                at as f64 / (points.len() - 1) as f64
            };
            MARGIN + share * (WIDTH - 2.0 * MARGIN)
        };
        let down = |value: f64| {
            let share = if high > low { (high - value) / (high - low) } else { 0.5 };
            MARGIN + share * (HEIGHT - 2.0 * MARGIN)
        };
        let dots: Vec<Dot> = points
            .iter()
            .enumerate()
            .map(|(at, point)| Dot {
                x: written(across(at, point)),
                y: written(down(point.value)),
                is_out: point.is_out,
            })
            .collect();
        let line: Vec<String> = dots.iter().map(|dot| format!("{},{}", dot.x, dot.y)).collect();
        let band = (usual.0.is_some() || usual.1.is_some()).then(|| {
            let (top, bottom) = (usual.1.map_or(0.0, down), usual.0.map_or(HEIGHT, down));
            (written(top), written((bottom - top).max(0.0)))
        });
        Some(Chart {
            line: line.join(" "),
            dots,
            band,
        })
    }
}

fn written(number: f64) -> String {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: u32, value: f64) -> Point {
        Point {
            day: NaiveDate::from_ymd_opt(2026, 3, day).unwrap(),
            value,
            is_out: value > 10.0,
        }
    }

    #[test]
    fn values_lie_where_their_days_and_sizes_are() {
        let chart = Chart::of(&[at(1, 0.0), at(3, 5.0), at(11, 20.0)], (Some(0.0), Some(10.0))).unwrap();
        // The second value is 2 of 10 days after the first. So its x is at one fifth of the width between the margins.
        assert_eq!(chart.line, "6.0,58.0 51.6,45.0 234.0,6.0");
        assert_eq!(chart.band, Some(("32.0".to_owned(), "26.0".to_owned())));
        let out: Vec<bool> = chart.dots.iter().map(|dot| dot.is_out).collect();
        assert_eq!(out, [false, false, true]);
    }

    #[test]
    fn there_is_a_chart_only_of_values_that_can_be_drawn() {
        assert_eq!(Chart::of(&[at(1, 1.0)], (None, None)), None);
        assert_eq!(Chart::of(&[at(1, 1.0), at(2, f64::NAN)], (None, None)), None);
        // Equal values of one day make a line across the middle.
        let flat = Chart::of(&[at(1, 1.0), at(1, 1.0)], (None, None)).unwrap();
        assert_eq!((flat.line.as_str(), flat.band), ("6.0,32.0 234.0,32.0", None));
        let open = Chart::of(&[at(1, 1.0), at(2, 2.0)], (Some(1.0), None)).unwrap();
        assert_eq!(open.band, Some(("0.0".to_owned(), "58.0".to_owned())));
    }
}
