//! Computes the points of a plot from a view's rows and draws it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::ask::Wanted;
use super::preview::Rows;
use crate::fhir::temporal::Temporal;
use crate::http::console::shown::axis::Unit;
use crate::http::console::shown::plot::{Plot, PlotError, Points, SERIES, colour_name};

/// The maximum number of bars. Those with the largest sums are drawn.
const BARS: usize = 30;
/// The maximum number of series that are named as left out.
const NAMED: usize = 20;
const MICROS_OF_DAY: f64 = 86_400e6;
/// The label of the y axis if rows are counted.
const COUNT: &str = "rows";

/// A plot, and the names of its series.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) svg: String,
    /// The colour and the name of each series. Empty if there is only one.
    pub(super) legend: Vec<(String, String)>,
    /// The names of series that are not drawn, because there are too many.
    pub(super) left_out: Vec<String>,
}

impl Drawn {
    /// Returns the names of the series that are left out. Only counts the last ones if there are many.
    pub(super) fn left_out_names(&self) -> String {
        let (named, others) = self.left_out.split_at(self.left_out.len().min(NAMED));
        let mut text = named.join(", ");
        if !others.is_empty() {
            text.push_str(&format!(" and {} others", others.len()));
        }
        text
    }
}

/// The series of each row.
struct Series<'r> {
    /// The names of the drawn series. Empty if all rows are in one series.
    names: Vec<&'r str>,
    left_out: Vec<&'r str>,
    /// The column with the names.
    column: Option<usize>,
}

/// Draws the plot. Or returns the reason why there is none.
pub(super) fn chart(wanted: &Wanted, rows: &Rows) -> Result<Drawn, String> {
    let column = |name: &str| {
        rows.column(name)
            .ok_or_else(|| format!("the view has no column {name:?}"))
    };
    let maybe = |name: &str| {
        if name.is_empty() {
            Ok(None)
        } else {
            column(name).map(Some)
        }
    };
    let x = match maybe(&wanted.x)? {
        Some(x) => x,
        None if rows.names.is_empty() => return Err("the view has no columns".to_owned()),
        None => 0,
    };
    let y = maybe(&wanted.y)?;
    let series = Series::of(rows, maybe(&wanted.by)?);
    let value = |row: &[Option<String>]| match y {
        None => Some(1.0),
        Some(y) => number(row[y].as_deref()),
    };
    let points = match wanted.kind.as_str() {
        "bar" => bars(rows, &series, x, &value),
        kind @ ("line" | "points") => {
            let (series, unit) = lines(rows, &series, x, y.is_none(), &value);
            Points::Lines {
                series,
                unit,
                is_joined: kind == "line",
            }
        }
        "histogram" => Points::Histogram(series.split(rows, |row| number(row[x].as_deref()))),
        other => return Err(format!("a plot is bar, line, points or histogram, not {other:?}")),
    };
    let is_histogram = wanted.kind == "histogram";
    let plot = Plot {
        x: &rows.names[x],
        y: y.filter(|_| !is_histogram).map_or(COUNT, |y| &rows.names[y]),
        y_unit: Unit::Number,
        points,
    };
    let svg = plot.svg().map_err(|error| match error {
        PlotError::Nothing => "no row has values of these columns that could be drawn".to_owned(),
        error => error.to_string(),
    })?;
    let names = series.names.iter().enumerate();
    Ok(Drawn {
        svg,
        legend: names.map(|(at, name)| (colour_name(at), (*name).to_owned())).collect(),
        left_out: series.left_out.iter().map(|name| (*name).to_owned()).collect(),
    })
}

impl<'r> Series<'r> {
    /// Makes a series of each value of a column. The series with the most rows are drawn, in the order of their names.
    fn of(rows: &'r Rows, column: Option<usize>) -> Series<'r> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        if let Some(column) = column {
            for row in &rows.cells {
                *counts.entry(name(row, column)).or_default() += 1;
            }
        }
        let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
        names.sort_by_key(|(_, count)| Reverse(*count));
        let mut names: Vec<&str> = names.into_iter().map(|(name, _)| name).collect();
        let mut left_out = names.split_off(names.len().min(SERIES));
        names.sort_unstable();
        left_out.sort_unstable();
        Series {
            names,
            left_out,
            column,
        }
    }

    /// Returns the number of drawn series.
    fn count(&self) -> usize {
        match self.column {
            None => 1,
            Some(_) => self.names.len(),
        }
    }

    /// Returns the index of a row's series. `None` if this series is not drawn.
    fn at(&self, row: &[Option<String>]) -> Option<usize> {
        match self.column {
            None => Some(0),
            Some(column) => self.names.binary_search(&name(row, column)).ok(),
        }
    }

    /// Computes an item for each row of the drawn series. Returns the items of each series. Skips rows without an item.
    fn split<T>(&self, rows: &Rows, item: impl Fn(&[Option<String>]) -> Option<T>) -> Vec<Vec<T>> {
        let mut split: Vec<Vec<T>> = (0..self.count()).map(|_| Vec::new()).collect();
        for row in &rows.cells {
            if let (Some(at), Some(item)) = (self.at(row), item(row)) {
                split[at].push(item);
            }
        }
        split
    }
}

/// Returns the name that a row has in a column.
fn name(row: &[Option<String>], column: usize) -> &str {
    row[column].as_deref().unwrap_or("(none)")
}

/// Sums the values for each name in column `x`, by series. Returns the bars with the largest sums, the largest first.
/// Skips rows without a value.
fn bars(rows: &Rows, series: &Series<'_>, x: usize, value: &dyn Fn(&[Option<String>]) -> Option<f64>) -> Points {
    let mut sums: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in &rows.cells {
        if let (Some(at), Some(value)) = (series.at(row), value(row)) {
            sums.entry(name(row, x)).or_insert_with(|| vec![0.0; series.count()])[at] += value;
        }
    }
    let mut bars: Vec<(String, Vec<f64>)> = sums.into_iter().map(|(name, sums)| (name.to_owned(), sums)).collect();
    let total = |sums: &[f64]| sums.iter().sum::<f64>();
    bars.sort_by(|one, other| total(&other.1).total_cmp(&total(&one.1)));
    bars.truncate(BARS);
    Points::Bars(bars)
}

/// Returns a point for each row, in order of `x`, by series. Skips rows without a value. If rows are counted
/// (`counts`), returns one point for each value of `x`. Also returns what `x` is.
fn lines(
    rows: &Rows,
    series: &Series<'_>,
    x: usize,
    counts: bool,
    value: &dyn Fn(&[Option<String>]) -> Option<f64>,
) -> (Vec<Vec<(f64, f64)>>, Unit) {
    // Years alone can be read as numbers and as dates. Draw them as numbers.
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
    let mut series = series.split(rows, |row| Some((place(row)?, value(row)?)));
    for points in &mut series {
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
    }
    (series, if numbers { Unit::Number } else { Unit::Days })
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

    fn wanted(kind: &str, x: &str, y: &str, by: &str) -> Wanted {
        let [kind, x, y, by] = [kind, x, y, by].map(str::to_owned);
        Wanted { kind, x, y, by }
    }

    fn drawn(kind: &str, x: &str, y: &str) -> Result<String, String> {
        chart(&wanted(kind, x, y, ""), &rows()).map(|drawn| drawn.svg)
    }

    #[test]
    fn rows_are_counted_summed_and_drawn_over_days() {
        assert!(drawn("bar", "name", "").unwrap().contains("rows by name"));
        let line = drawn("line", "date", "value").unwrap();
        assert!(line.contains("2024-01-01") && line.contains("value by date"), "{line}");
        let points = drawn("points", "date", "value").unwrap();
        // The axes are lines, too, but not in a colour.
        let is_joined = |svg: &str| {
            let mut tags = svg.split('<').filter(|tag| tag.starts_with("polyline"));
            tags.any(|tag| tag.contains("stroke=\"#"))
        };
        assert!(points.contains("<circle") && !is_joined(&points), "{points}");
        assert!(is_joined(&line), "{line}");
        assert!(drawn("histogram", "value", "").unwrap().contains("rows by value"));
    }

    #[test]
    fn a_column_splits_the_rows_into_series() {
        for kind in ["bar", "line", "points", "histogram"] {
            let x = if kind == "histogram" { "value" } else { "date" };
            let drawn = chart(&wanted(kind, x, "value", "name"), &rows()).unwrap();
            let names: Vec<&str> = drawn.legend.iter().map(|(_, name)| name.as_str()).collect();
            assert_eq!((names, drawn.left_out.len()), (vec!["a", "b"], 0), "{kind}");
            for (colour, _) in &drawn.legend {
                assert!(drawn.svg.contains(colour.as_str()), "{kind}: {colour}");
            }
        }
        let alone = chart(&wanted("line", "date", "value", ""), &rows()).unwrap();
        assert!(alone.legend.is_empty() && alone.left_out.is_empty());
        assert!(chart(&wanted("line", "date", "value", "no"), &rows()).is_err());
    }

    /// A plot of many lines cannot be read. It has those with the most rows, and names the others.
    #[test]
    fn series_that_are_too_many_are_named() {
        let mut rows = rows();
        for at in 0..SERIES + 2 {
            let row = [format!("s{at:02}"), "2024-01-03".to_owned(), "1".to_owned()];
            rows.cells.push(row.map(Some).to_vec());
        }
        let drawn = chart(&wanted("line", "date", "value", "name"), &rows).unwrap();
        assert_eq!(drawn.legend.len(), SERIES);
        assert_eq!(drawn.legend[0].1, "a", "it has two rows");
        assert_eq!(drawn.left_out_names(), "s08, s09, s10, s11");
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        assert!(drawn("bar", "nothing", "").unwrap_err().contains("no column"));
        assert!(drawn("histogram", "name", "").unwrap_err().contains("no row"));
        assert!(
            drawn("pie", "name", "")
                .unwrap_err()
                .contains("bar, line, points or histogram")
        );
    }
}
