//! Computes the points of a plot from a view's rows and draws it.

use std::collections::BTreeMap;

use super::ask::Wanted;
use super::preview::Rows;
use crate::fhir::temporal::Temporal;
use crate::http::console::shown::plot::{Plot, PlotError, Points};

/// The maximum number of bars. Those with the largest sums are drawn.
const BARS: usize = 30;
const MICROS_OF_DAY: f64 = 86_400e6;
/// The label of the y axis if rows are counted.
const COUNT: &str = "rows";

/// Draws the plot as SVG. Or returns the reason why there is none.
pub(super) fn chart(wanted: &Wanted, rows: &Rows) -> Result<String, String> {
    let column = |name: &str| {
        rows.column(name)
            .ok_or_else(|| format!("the view has no column {name:?}"))
    };
    let x = if wanted.x.is_empty() {
        rows.names
            .first()
            .map(|_| 0)
            .ok_or_else(|| "the view has no columns".to_owned())?
    } else {
        column(&wanted.x)?
    };
    let y = if wanted.y.is_empty() {
        None
    } else {
        Some(column(&wanted.y)?)
    };
    let value = |row: &[Option<String>]| match y {
        None => Some(1.0),
        Some(y) => number(row[y].as_deref()),
    };
    let points = match wanted.kind.as_str() {
        "bar" => bars(rows, x, &value),
        "line" => line(rows, x, y.is_none(), &value),
        "histogram" => Points::Histogram(rows.cells.iter().filter_map(|row| number(row[x].as_deref())).collect()),
        other => return Err(format!("a plot is bar, line or histogram, not {other:?}")),
    };
    let is_histogram = wanted.kind == "histogram";
    let plot = Plot {
        x: &rows.names[x],
        y: y.filter(|_| !is_histogram).map_or(COUNT, |y| &rows.names[y]),
        points,
    };
    plot.svg().map_err(|error| match error {
        PlotError::Nothing => "no row has values of these columns that could be drawn".to_owned(),
        error => error.to_string(),
    })
}

/// Sums the values for each name in column `x`. Returns the bars with the largest sums, the largest first. Skips rows
/// without a value.
fn bars(rows: &Rows, x: usize, value: &dyn Fn(&[Option<String>]) -> Option<f64>) -> Points {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for row in &rows.cells {
        if let Some(value) = value(row) {
            *sums.entry(row[x].as_deref().unwrap_or("(none)")).or_default() += value;
        }
    }
    let mut bars: Vec<(String, f64)> = sums.into_iter().map(|(name, sum)| (name.to_owned(), sum)).collect();
    bars.sort_by(|one, other| other.1.total_cmp(&one.1));
    bars.truncate(BARS);
    Points::Bars(bars)
}

/// Returns a point for each row, in order of `x`. Skips rows without a value. If rows are counted (`counts`), returns
/// one point for each value of `x`.
fn line(rows: &Rows, x: usize, counts: bool, value: &dyn Fn(&[Option<String>]) -> Option<f64>) -> Points {
    let numbers = rows
        .cells
        .iter()
        .all(|row| row[x].is_none() || number(row[x].as_deref()).is_some());
    let place = |row: &[Option<String>]| {
        if numbers {
            number(row[x].as_deref())
        } else {
            day(row[x].as_deref())
        }
    };
    let mut points: Vec<(f64, f64)> = rows
        .cells
        .iter()
        .filter_map(|row| Some((place(row)?, value(row)?)))
        .collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    if counts {
        points.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
    }
    // Years alone can be read as numbers and as dates. Draw them as numbers.
    if numbers {
        Points::Line(points)
    } else {
        Points::Days(points)
    }
}

fn number(text: Option<&str>) -> Option<f64> {
    text?.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Parses a date or time, as days since 1970.
fn day(text: Option<&str>) -> Option<f64> {
    let date = Temporal::date_time(text?).ok()?;
    Some(date.start as f64 / MICROS_OF_DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Rows {
        let row = |name: &str, date: &str, value: &str| {
            vec![Some(name.to_owned()), Some(date.to_owned()), Some(value.to_owned())]
        };
        Rows {
            names: ["name", "date", "value"].map(str::to_owned).to_vec(),
            cells: vec![
                row("a", "2024-01-01", "1"),
                row("b", "2024-01-02", "2.5"),
                row("a", "2024-01-02", "x"),
            ],
        }
    }

    fn drawn(kind: &str, x: &str, y: &str) -> Result<String, String> {
        let text = |text: &str| text.to_owned();
        let wanted = Wanted {
            kind: text(kind),
            x: text(x),
            y: text(y),
        };
        chart(&wanted, &rows())
    }

    #[test]
    fn rows_are_counted_summed_and_drawn_over_days() {
        assert!(drawn("bar", "name", "").unwrap().contains("rows by name"));
        let line = drawn("line", "date", "value").unwrap();
        assert!(line.contains("2024-01-01") && line.contains("value by date"), "{line}");
        assert!(drawn("histogram", "value", "").unwrap().contains("rows by value"));
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        assert!(drawn("bar", "nothing", "").unwrap_err().contains("no column"));
        assert!(drawn("histogram", "name", "").unwrap_err().contains("no row"));
        assert!(drawn("pie", "name", "").unwrap_err().contains("bar, line or histogram"));
    }
}
