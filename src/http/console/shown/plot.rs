//! Draws a plot as inline SVG. It uses the page's text colour, so that it suits light and dark mode. It has no
//! scripts and inline styles, because the page's policy forbids them. The page shows the names of the series.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::{Axis, Unit, round_width};
use super::json::escape;

/// A colour that is replaced by `currentColor`, the page's text colour.
const INK: RGBColor = RGBColor(1, 2, 3);
const INK_TEXT: &str = "#010203";
/// The maximum number of series in a plot.
pub(in crate::http::console) const SERIES: usize = 10;
/// The colours of the series. Their contrast is over 3 to 1 on white and on the page's dark background.
const COLOURS: [RGBColor; SERIES] = [
    RGBColor(0x2f, 0x80, 0xc9),
    RGBColor(0xc2, 0x61, 0x0c),
    RGBColor(0x2e, 0x8b, 0x57),
    RGBColor(0xc2, 0x40, 0x8f),
    RGBColor(0x7a, 0x6f, 0xd0),
    RGBColor(0x8a, 0x7a, 0x00),
    RGBColor(0xd0, 0x45, 0x3e),
    RGBColor(0x15, 0x8a, 0x8a),
    RGBColor(0x8c, 0x6d, 0x5a),
    RGBColor(0x76, 0x81, 0x8c),
];
/// The size of a plot. It is small, so that its text can be read on a phone, where the plot is scaled down.
const WIDTH: u32 = 600;
const HEIGHT: u32 = 360;
/// The sizes of text.
const LABEL: i32 = 14;
const NAME: i32 = 15;
/// The approximate number of bins in a histogram.
const BINS: f64 = 20.0;
/// The maximum number of points of a line that are also drawn as dots.
const DOTTED: usize = 100;
/// The maximum number of characters in a bar's name.
const LONGEST: usize = 24;
/// The maximum absolute value of a number. The span of an axis must be within the range of `f64`.
const LARGEST: f64 = 1e300;
/// The minimum span of an axis, as a share of its largest number. Ticks that are closer together cannot be
/// distinguished.
const CLOSEST: f64 = 1e-9;

/// The data of a plot. Each series has a colour of its own. A plot has at most [`SERIES`] series.
#[derive(Clone, Debug)]
pub(in crate::http::console) enum Points {
    /// A bar for each name, with a part for each series.
    Bars(Vec<(String, Vec<f64>)>),
    /// The points of each series.
    Lines {
        /// The points of each series, as x and y.
        series: Vec<Vec<(f64, f64)>>,
        /// What x is.
        unit: Unit,
        /// Whether a line joins the points of a series.
        is_joined: bool,
    },
    /// The values of each series. They are counted in bins.
    Histogram(Vec<Vec<f64>>),
}

/// A plot: the labels of its axes, and its data.
#[derive(Clone, Debug)]
pub(in crate::http::console) struct Plot<'a> {
    pub(in crate::http::console) x: &'a str,
    pub(in crate::http::console) y: &'a str,
    /// What y is.
    pub(in crate::http::console) y_unit: Unit,
    pub(in crate::http::console) points: Points,
}

/// Why there is no plot.
#[derive(Debug, thiserror::Error)]
pub(in crate::http::console) enum PlotError {
    /// No row has a value to draw.
    #[error("no row has a value that could be drawn")]
    Nothing,
    /// A number, or a sum of numbers, is too large for an axis.
    #[error("its numbers are larger than 1e300, which no axis can show")]
    TooLarge,
    /// The plot could not be drawn.
    #[error("the plot could not be drawn: {0}")]
    Drawing(String),
}

type Area<'b> = DrawingArea<SVGBackend<'b>, Shift>;
type Chart<'b> = ChartContext<'b, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

fn drawing<E: std::fmt::Display>(error: E) -> PlotError {
    PlotError::Drawing(error.to_string())
}

fn colour(series: usize) -> RGBColor {
    COLOURS[series % SERIES]
}

/// Returns the colour of a series, for SVG.
pub(in crate::http::console) fn colour_name(series: usize) -> String {
    let RGBColor(red, green, blue) = colour(series);
    format!("#{red:02X}{green:02X}{blue:02X}")
}

impl Plot<'_> {
    /// Draws the plot as SVG.
    pub(in crate::http::console) fn svg(&self) -> Result<String, PlotError> {
        let mut text = String::new();
        {
            let area = SVGBackend::with_string(&mut text, (WIDTH, self.height())).into_drawing_area();
            match &self.points {
                Points::Bars(bars) => self.bars(&area, bars),
                Points::Lines {
                    series,
                    unit,
                    is_joined,
                } => self.lines(&area, series, *unit, *is_joined),
                Points::Histogram(series) => self.histogram(&area, series),
            }?;
            area.present().map_err(drawing)?;
        }
        let start = text.find("<svg").unwrap_or(0);
        let mut label = String::new();
        escape(&format!("{} by {}", self.y, self.x), &mut label);
        let head = format!("<svg class=\"plot\" role=\"img\" aria-label=\"{label}\"");
        Ok(text[start..]
            .replacen("<svg", &head, 1)
            .replace(INK_TEXT, "currentColor"))
    }

    /// Returns the height of the plot. A plot with bars grows with their number, because each bar needs a line of its
    /// own.
    fn height(&self) -> u32 {
        match &self.points {
            Points::Bars(bars) => 80 + 24 * bars.len().max(2) as u32,
            _ => HEIGHT,
        }
    }

    /// Draws bars horizontally, so that there is space for their names. The parts of a bar are in a row: positive ones
    /// to the right of zero, negative ones to the left.
    fn bars(&self, area: &Area<'_>, bars: &[(String, Vec<f64>)]) -> Result<(), PlotError> {
        if bars.is_empty() {
            return Err(PlotError::Nothing);
        }
        let mut names: Vec<String> = bars.iter().rev().map(|(name, _)| shortened(name)).collect();
        names.resize(names.len().max(2), String::new());
        let parts: Vec<Vec<(f64, f64)>> = bars.iter().rev().map(|(_, values)| stacked(values)).collect();
        let ends = || parts.iter().flatten().map(|(_, end)| *end).chain([0.0]);
        let across = Axis::new(self.y_unit, bounds(ends())?, is_whole(ends()));
        let last = names.len() - 1;
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(28)
            .x_label_area_size(48)
            .y_label_area_size(190)
            .build_cartesian_2d(across, (0..last).into_segmented())
            .map_err(drawing)?;
        let name = |at: &SegmentValue<usize>| match at {
            SegmentValue::CenterOf(at) => names.get(*at).cloned().unwrap_or_default(),
            _ => String::new(),
        };
        chart
            .configure_mesh()
            .disable_y_mesh()
            .x_desc(self.y)
            .y_labels(names.len())
            .y_label_formatter(&name)
            .label_style(("sans-serif", LABEL, &INK))
            .axis_desc_style(("sans-serif", NAME, &INK))
            .axis_style(INK)
            .bold_line_style(INK.mix(0.15))
            .light_line_style(INK.mix(0.0))
            .draw()
            .map_err(drawing)?;
        for (at, parts) in parts.iter().enumerate() {
            let drawn = parts.iter().enumerate().map(|(series, (start, end))| {
                let ends = [(*start, SegmentValue::Exact(at)), (*end, SegmentValue::Exact(at + 1))];
                let mut bar = Rectangle::new(ends, colour(series).filled());
                bar.set_margin(3, 3, 0, 0);
                bar
            });
            chart.draw_series(drawn).map_err(drawing)?;
        }
        Ok(())
    }

    /// Draws the points of each series. If there are several series, each has its number at its last point, so that
    /// readers need not distinguish colours.
    fn lines(&self, area: &Area<'_>, series: &[Vec<(f64, f64)>], unit: Unit, is_joined: bool) -> Result<(), PlotError> {
        let cleaned = |points: &Vec<(f64, f64)>| {
            let mut points = points.clone();
            points.retain(|(x, y)| x.is_finite() && y.is_finite());
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            points
        };
        let series: Vec<Vec<(f64, f64)>> = series.iter().map(cleaned).collect();
        let xs = || series.iter().flatten().map(|point| point.0);
        let ys = || series.iter().flatten().map(|point| point.1);
        let across = Axis::new(unit, bounds(xs())?, is_whole(xs()));
        let up = Axis::new(self.y_unit, bounds(ys())?, is_whole(ys()));
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            // Leave space for the last label, which is centred at the right edge.
            .margin_right(44)
            .x_label_area_size(52)
            .y_label_area_size(76)
            .build_cartesian_2d(across, up)
            .map_err(drawing)?;
        self.mesh(&mut chart)?;
        let are_dotted = !is_joined || series.iter().map(Vec::len).sum::<usize>() <= DOTTED;
        for (at, points) in series.iter().enumerate() {
            if is_joined {
                let line = LineSeries::new(points.iter().copied(), colour(at).stroke_width(2));
                chart.draw_series(line).map_err(drawing)?;
            }
            if are_dotted {
                let dots = points.iter().map(|point| Circle::new(*point, 3, colour(at).filled()));
                chart.draw_series(dots).map_err(drawing)?;
            }
            if series.len() > 1 {
                let number = points.last().map(|point| {
                    let style = ("sans-serif", LABEL).into_font().color(&INK);
                    EmptyElement::at(*point) + Text::new((at + 1).to_string(), (6, -7), style)
                });
                chart.draw_series(number).map_err(drawing)?;
            }
        }
        Ok(())
    }

    fn histogram(&self, area: &Area<'_>, series: &[Vec<f64>]) -> Result<(), PlotError> {
        let finite = |values: &Vec<f64>| -> Vec<f64> {
            let finite = values.iter().copied().filter(|value| value.is_finite());
            finite.collect()
        };
        let series: Vec<Vec<f64>> = series.iter().map(finite).collect();
        let bins = binned(&series)?;
        let highest = bins.iter().map(|bin| bin.2.iter().sum::<usize>()).max();
        let across = apart(bins[0].0, bins[bins.len() - 1].1);
        let across_is_whole = bins.iter().all(|bin| bin.0.fract() == 0.0 && bin.1.fract() == 0.0);
        let across = Axis::new(Unit::Number, across, across_is_whole);
        let up = (0.0, highest.unwrap_or_default().max(1) as f64 * 1.05);
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .margin_right(28)
            .x_label_area_size(52)
            .y_label_area_size(76)
            .build_cartesian_2d(across, Axis::new(self.y_unit, up, true))
            .map_err(drawing)?;
        self.mesh(&mut chart)?;
        for (from, to, counts) in &bins {
            let counts: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
            let drawn = stacked(&counts).into_iter().enumerate().map(|(at, (start, end))| {
                let mut bar = Rectangle::new([(*from, start), (*to, end)], colour(at).filled());
                bar.set_margin(0, 0, 1, 1);
                bar
            });
            chart.draw_series(drawn).map_err(drawing)?;
        }
        Ok(())
    }

    fn mesh(&self, chart: &mut Chart<'_>) -> Result<(), PlotError> {
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .label_style(("sans-serif", LABEL, &INK))
            .axis_desc_style(("sans-serif", NAME, &INK))
            .axis_style(INK)
            .bold_line_style(INK.mix(0.15))
            .light_line_style(INK.mix(0.0))
            .draw()
            .map_err(drawing)
    }
}

/// Returns the start and the end of each part of a bar.
fn stacked(values: &[f64]) -> Vec<(f64, f64)> {
    let (mut positive, mut negative) = (0.0, 0.0);
    let part = |value: &f64| {
        let end = if *value < 0.0 { &mut negative } else { &mut positive };
        let start = *end;
        *end += value;
        (start, *end)
    };
    values.iter().map(part).collect()
}

fn is_whole(mut values: impl Iterator<Item = f64>) -> bool {
    values.all(|value| value.fract() == 0.0)
}

/// Returns the bounds of an axis: the smallest and the largest value, with some space above. They are never equal. An
/// error if an axis cannot show the values.
fn bounds(values: impl Iterator<Item = f64>) -> Result<(f64, f64), PlotError> {
    let (low, high) = extremes(values)?;
    let (low, high) = apart(low, high);
    Ok((low, high + (high - low) * 0.03))
}

/// Returns the smallest and the largest value. Returns an error if there are no values, or if a value is NaN, infinite
/// or too large. Sums of valid numbers can be infinite or NaN.
fn extremes(values: impl Iterator<Item = f64>) -> Result<(f64, f64), PlotError> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values {
        if value.is_nan() || value.abs() > LARGEST {
            return Err(PlotError::TooLarge);
        }
        (low, high) = (low.min(value), high.max(value));
    }
    if low <= high {
        Ok((low, high))
    } else {
        Err(PlotError::Nothing)
    }
}

/// Moves bounds apart if they are too close together for an axis.
fn apart(low: f64, high: f64) -> (f64, f64) {
    let closest = low.abs().max(high.abs()) * CLOSEST;
    if high - low > closest {
        (low, high)
    } else {
        (low - closest.max(0.5), high + closest.max(0.5))
    }
}

/// Counts the values in bins of a round width. Returns the bounds of each bin, and its count for each series.
fn binned(series: &[Vec<f64>]) -> Result<Vec<(f64, f64, Vec<usize>)>, PlotError> {
    let (low, high) = extremes(series.iter().flatten().copied())?;
    let width = round_width((high - low) / BINS);
    let first = (low / width).floor();
    let count = ((high / width).floor() - first) as usize + 1;
    let mut bins: Vec<(f64, f64, Vec<usize>)> = (0..count)
        .map(|at| {
            let bound = |at: usize| (first + at as f64) * width;
            (bound(at), bound(at + 1), vec![0; series.len()])
        })
        .collect();
    for (one, values) in series.iter().enumerate() {
        for value in values {
            let at = ((value / width).floor() - first) as usize;
            bins[at.min(count - 1)].2[one] += 1;
        }
    }
    Ok(bins)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Points) -> Result<String, PlotError> {
        let plot = Plot {
            x: "a<b",
            y: "rows",
            y_unit: Unit::Number,
            points,
        };
        plot.svg()
    }

    fn svg(points: Points) -> String {
        plot(points).unwrap()
    }

    fn line(points: &[(f64, f64)]) -> Points {
        Points::Lines {
            series: vec![points.to_vec()],
            unit: Unit::Number,
            is_joined: true,
        }
    }

    fn days(points: &[(f64, f64)]) -> Points {
        Points::Lines {
            series: vec![points.to_vec()],
            unit: Unit::Days,
            is_joined: true,
        }
    }

    fn bars(bars: &[(&str, f64)]) -> Points {
        let bars = bars.iter().map(|(name, value)| ((*name).to_owned(), vec![*value]));
        Points::Bars(bars.collect())
    }

    fn histogram(values: &[f64]) -> Points {
        Points::Histogram(vec![values.to_vec()])
    }

    #[test]
    fn each_kind_is_drawn_without_style_script_or_markup_of_the_data() {
        for points in [
            bars(&[("<script>alert(1)</script>", 3.0), ("b & c", 1.0)]),
            bars(&[("one", 2.0)]),
            line(&[(1.0, 2.0), (0.0, 1.0)]),
            line(&[(1.0, 2.0)]),
            days(&[(19_000.0, 2.0), (-20.0, 1.0)]),
            histogram(&[1.0, 1.0, 40.0]),
            histogram(&[7.0]),
        ] {
            let text = svg(points);
            assert!(
                text.starts_with("<svg class=\"plot\" role=\"img\" aria-label=\"rows by a&lt;b\""),
                "{text}"
            );
            assert!(text.contains("#2F80C9") && text.contains("currentColor"), "{text}");
            for refused in ["<script", "style=", "a<b", "#010203"] {
                assert!(!text.contains(refused), "{refused}: {text}");
            }
        }
    }

    #[test]
    fn each_series_has_its_own_colour() {
        let two = vec![vec![(0.0, 1.0), (1.0, 2.0)], vec![(0.0, 3.0), (1.0, 4.0)]];
        let lines = |is_joined| Points::Lines {
            series: two.clone(),
            unit: Unit::Number,
            is_joined,
        };
        for points in [
            lines(true),
            lines(false),
            Points::Bars(vec![("a".to_owned(), vec![1.0, -2.0])]),
            Points::Histogram(vec![vec![1.0], vec![1.0, 2.0]]),
        ] {
            let text = svg(points);
            for series in 0..2 {
                assert!(text.contains(&colour_name(series)), "{series}: {text}");
            }
        }
        // The axes are lines, too, but not in a series' colour.
        let has_line = |is_joined| {
            let text = svg(lines(is_joined));
            let mut tags = text.split('<').filter(|tag| tag.starts_with("polyline"));
            tags.any(|tag| tag.contains(&colour_name(0)))
        };
        assert!(has_line(true) && !has_line(false));
        assert_eq!(
            stacked(&[1.0, -2.0, 3.0, -1.0]),
            [(0.0, 1.0), (0.0, -2.0), (1.0, 4.0), (-2.0, -3.0)]
        );
    }

    #[test]
    fn nothing_to_draw_is_said() {
        for points in [
            bars(&[]),
            line(&[(f64::NAN, 1.0)]),
            Points::Lines {
                series: Vec::new(),
                unit: Unit::Days,
                is_joined: false,
            },
            histogram(&[f64::INFINITY]),
        ] {
            assert!(matches!(plot(points), Err(PlotError::Nothing)));
        }
    }

    /// The span of these values is infinite. Without the limit, a histogram would have more bins than `usize` can
    /// count.
    #[test]
    fn numbers_that_no_axis_can_show_are_refused() {
        for points in [
            line(&[(1.0, -1e308), (1.0, 1e308)]),
            line(&[(-1e308, 1.0), (1e308, 1.0)]),
            line(&[(0.0, 1.79e308), (1.0, 0.0)]),
            bars(&[("x", -1e308), ("x", 1e308)]),
            bars(&[("the sum of several", f64::INFINITY)]),
            histogram(&[-1e308, 1e308]),
        ] {
            let said = format!("{points:?}");
            assert!(matches!(plot(points), Err(PlotError::TooLarge)), "{said}");
        }
    }

    #[test]
    fn numbers_at_the_edges_are_drawn() {
        let next = |value: f64| f64::from_bits(value.to_bits() + 1);
        let pairs = [
            [-1e300, 1e300],
            [1e300, 1e300],
            [-next(1e299), 1e300],
            [1e299, next(1e299)],
            [1e17, next(1e17)],
            [0.1, next(0.1)],
            [0.0, f64::MIN_POSITIVE],
            [0.0, 5e-324],
        ];
        for values in pairs {
            let points = values.map(|value| (value, value));
            svg(histogram(&values));
            svg(line(&points));
            svg(days(&points));
            svg(bars(&values.map(|value| ("x", value))));
        }
    }

    #[test]
    fn bins_are_round_and_hold_every_value() {
        let bins = binned(&[vec![0.0, 3.0, 99.0], vec![100.0]]).unwrap();
        assert_eq!((bins[0].0, bins[0].1, &bins[0].2), (0.0, 5.0, &vec![2, 0]));
        assert_eq!(bins.iter().flat_map(|bin| &bin.2).sum::<usize>(), 4);
    }
}
