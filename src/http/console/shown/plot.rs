//! Draws a plot as inline SVG. It uses the page's text colour, so that it suits light and dark mode. It has no
//! scripts and inline styles, because the page's policy forbids them.

use chrono::{Days, NaiveDate};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::json::escape;

/// A colour that is replaced by `currentColor`, the page's text colour.
const INK: RGBColor = RGBColor(1, 2, 3);
const INK_TEXT: &str = "#010203";
/// The colour of bars and lines. Its contrast is over 3 to 1 on white and on the page's dark background.
const MARK: RGBColor = RGBColor(0x2f, 0x80, 0xc9);
const WIDTH: u32 = 760;
const HEIGHT: u32 = 380;
/// The approximate number of bins in a histogram.
const BINS: f64 = 20.0;
/// The maximum number of characters in a bar's name.
const LONGEST: usize = 28;
/// The maximum absolute value of a number. `plotters` multiplies the span of an axis by 10. If that exceeds the range
/// of `f64`, its search for labels does not end.
const LARGEST: f64 = 1e300;
/// The minimum span of an axis, as a share of its largest number. `plotters` cannot distinguish numbers that are
/// closer together.
const CLOSEST: f64 = 1e-9;

/// The data of a plot.
#[derive(Clone, Debug)]
pub(in crate::http::console) enum Points {
    /// A bar for each name.
    Bars(Vec<(String, f64)>),
    /// A line through points.
    Line(Vec<(f64, f64)>),
    /// A line through points whose x is in days since 1970.
    Days(Vec<(f64, f64)>),
    /// The number of values in each bin.
    Histogram(Vec<f64>),
}

/// A plot: the labels of its axes, and its data.
#[derive(Clone, Debug)]
pub(in crate::http::console) struct Plot<'a> {
    pub(in crate::http::console) x: &'a str,
    pub(in crate::http::console) y: &'a str,
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

fn drawing<E: std::fmt::Display>(error: E) -> PlotError {
    PlotError::Drawing(error.to_string())
}

impl Plot<'_> {
    /// Draws the plot as SVG.
    pub(in crate::http::console) fn svg(&self) -> Result<String, PlotError> {
        let mut text = String::new();
        {
            let area = SVGBackend::with_string(&mut text, (WIDTH, self.height())).into_drawing_area();
            match &self.points {
                Points::Bars(bars) => self.bars(&area, bars),
                Points::Line(points) => self.line(&area, points, &|value| plain(*value)),
                Points::Days(points) => self.line(&area, points, &day),
                Points::Histogram(values) => self.histogram(&area, values),
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

    /// Draws bars horizontally, so that there is space for their names.
    fn bars(&self, area: &Area<'_>, bars: &[(String, f64)]) -> Result<(), PlotError> {
        if bars.is_empty() {
            return Err(PlotError::Nothing);
        }
        let mut names: Vec<String> = bars.iter().rev().map(|(name, _)| shortened(name)).collect();
        names.resize(names.len().max(2), String::new());
        let (low, high) = bounds(bars.iter().map(|(_, value)| *value).chain([0.0]))?;
        let last = names.len() - 1;
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(44)
            .y_label_area_size(210)
            .build_cartesian_2d(low..high, (0..last).into_segmented())
            .map_err(drawing)?;
        let name = |at: &SegmentValue<usize>| match at {
            SegmentValue::CenterOf(at) => names.get(*at).cloned().unwrap_or_default(),
            _ => String::new(),
        };
        chart
            .configure_mesh()
            .disable_y_mesh()
            .x_desc(self.y)
            .x_labels(6)
            .y_labels(names.len())
            .x_label_formatter(&|value| plain(*value))
            .y_label_formatter(&name)
            .label_style(("sans-serif", 13, &INK))
            .axis_desc_style(("sans-serif", 14, &INK))
            .axis_style(INK)
            .bold_line_style(INK.mix(0.15))
            .light_line_style(INK.mix(0.0))
            .draw()
            .map_err(drawing)?;
        let drawn = bars.iter().rev().enumerate().map(|(at, (_, value))| {
            let ends = [(0.0, SegmentValue::Exact(at)), (*value, SegmentValue::Exact(at + 1))];
            let mut bar = Rectangle::new(ends, MARK.filled());
            bar.set_margin(3, 3, 0, 0);
            bar
        });
        chart.draw_series(drawn).map_err(drawing)?;
        Ok(())
    }

    fn line(&self, area: &Area<'_>, points: &[(f64, f64)], label: &dyn Fn(&f64) -> String) -> Result<(), PlotError> {
        let mut points: Vec<(f64, f64)> = points.to_vec();
        points.retain(|(x, y)| x.is_finite() && y.is_finite());
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        if points.is_empty() {
            return Err(PlotError::Nothing);
        }
        let (left, right) = bounds(points.iter().map(|point| point.0))?;
        let (low, high) = bounds(points.iter().map(|point| point.1))?;
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            // Leave space for the last label, which is centred at the right edge.
            .margin_right(44)
            .x_label_area_size(48)
            .y_label_area_size(76)
            .build_cartesian_2d(left..right, low..high)
            .map_err(drawing)?;
        self.mesh(&mut chart, label)?;
        let line = LineSeries::new(points.iter().copied(), MARK.stroke_width(2));
        chart.draw_series(line).map_err(drawing)?;
        // If there are few points, draw each as a dot, too.
        if points.len() <= 100 {
            let dots = points.iter().map(|point| Circle::new(*point, 3, MARK.filled()));
            chart.draw_series(dots).map_err(drawing)?;
        }
        Ok(())
    }

    fn histogram(&self, area: &Area<'_>, values: &[f64]) -> Result<(), PlotError> {
        let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let bins = binned(&values)?;
        let highest = bins.iter().map(|bin| bin.2).max().unwrap_or_default();
        let (left, right) = apart(bins[0].0, bins[bins.len() - 1].1);
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .x_label_area_size(48)
            .y_label_area_size(76)
            .build_cartesian_2d(left..right, 0.0..highest as f64 * 1.05)
            .map_err(drawing)?;
        self.mesh(&mut chart, &|value| plain(*value))?;
        let bars = bins.iter().map(|(from, to, count)| {
            let mut bar = Rectangle::new([(*from, 0.0), (*to, *count as f64)], MARK.filled());
            bar.set_margin(0, 0, 1, 1);
            bar
        });
        chart.draw_series(bars).map_err(drawing)?;
        Ok(())
    }

    fn mesh<'a>(
        &self,
        chart: &mut ChartContext<
            'a,
            SVGBackend<'a>,
            Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
        >,
        label: &dyn Fn(&f64) -> String,
    ) -> Result<(), PlotError> {
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_labels(8)
            .y_labels(6)
            .x_label_formatter(&label)
            .y_label_formatter(&|value| plain(*value))
            .label_style(("sans-serif", 13, &INK))
            .axis_desc_style(("sans-serif", 14, &INK))
            .axis_style(INK)
            .bold_line_style(INK.mix(0.15))
            .light_line_style(INK.mix(0.0))
            .draw()
            .map_err(drawing)
    }
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

/// Moves bounds apart if `plotters` could not distinguish them.
fn apart(low: f64, high: f64) -> (f64, f64) {
    let closest = low.abs().max(high.abs()) * CLOSEST;
    if high - low > closest {
        (low, high)
    } else {
        (low - closest.max(0.5), high + closest.max(0.5))
    }
}

/// Counts the values in bins of a round width. Returns the bounds and the count of each bin.
fn binned(values: &[f64]) -> Result<Vec<(f64, f64, usize)>, PlotError> {
    let (low, high) = extremes(values.iter().copied())?;
    let width = round_width((high - low) / BINS);
    let first = (low / width).floor();
    let count = ((high / width).floor() - first) as usize + 1;
    let mut bins: Vec<(f64, f64, usize)> = (0..count)
        .map(|at| ((first + at as f64) * width, (first + at as f64 + 1.0) * width, 0))
        .collect();
    for value in values {
        let at = ((value / width).floor() - first) as usize;
        bins[at.min(count - 1)].2 += 1;
    }
    Ok(bins)
}

/// Returns the smallest of 1, 2 and 5 times a power of ten that is at least `width`. 1 if `width` is zero or invalid.
fn round_width(width: f64) -> f64 {
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
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

/// Formats a day for an axis.
fn day(days: &f64) -> String {
    let first = NaiveDate::default();
    let date = if *days < 0.0 {
        first.checked_sub_days(Days::new(-days as u64))
    } else {
        first.checked_add_days(Days::new(*days as u64))
    };
    date.map_or_else(String::new, |date| date.to_string())
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

    fn svg(points: Points) -> String {
        let plot = Plot {
            x: "a<b",
            y: "rows",
            points,
        };
        plot.svg().unwrap()
    }

    #[test]
    fn each_kind_is_drawn_without_style_script_or_markup_of_the_data() {
        let bars = vec![("<script>alert(1)</script>".to_owned(), 3.0), ("b & c".to_owned(), 1.0)];
        for points in [
            Points::Bars(bars),
            Points::Bars(vec![("one".to_owned(), 2.0)]),
            Points::Line(vec![(1.0, 2.0), (0.0, 1.0)]),
            Points::Line(vec![(1.0, 2.0)]),
            Points::Days(vec![(19_000.0, 2.0), (-20.0, 1.0)]),
            Points::Histogram(vec![1.0, 1.0, 40.0]),
            Points::Histogram(vec![7.0]),
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
    fn nothing_to_draw_is_said() {
        for points in [
            Points::Bars(Vec::new()),
            Points::Line(vec![(f64::NAN, 1.0)]),
            Points::Histogram(vec![f64::INFINITY]),
        ] {
            let plot = Plot { x: "x", y: "y", points };
            assert!(matches!(plot.svg(), Err(PlotError::Nothing)));
        }
    }

    /// The span of these values is infinite. Without the limit, the search for an axis's labels would not end, and a
    /// histogram would have more bins than `usize` can count.
    #[test]
    fn numbers_that_no_axis_can_show_are_refused() {
        let far = [-1e308, 1e308];
        for points in [
            Points::Line(far.iter().map(|value| (1.0, *value)).collect()),
            Points::Line(far.iter().map(|value| (*value, 1.0)).collect()),
            Points::Line(vec![(0.0, 1.79e308), (1.0, 0.0)]),
            Points::Bars(far.iter().map(|value| ("x".to_owned(), *value)).collect()),
            Points::Bars(vec![("the sum of several".to_owned(), f64::INFINITY)]),
            Points::Histogram(far.to_vec()),
        ] {
            let plot = Plot { x: "x", y: "y", points };
            assert!(matches!(plot.svg(), Err(PlotError::TooLarge)), "{plot:?}");
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
            svg(Points::Histogram(values.to_vec()));
            svg(Points::Line(values.iter().map(|value| (*value, *value)).collect()));
            svg(Points::Days(values.iter().map(|value| (*value, *value)).collect()));
            svg(Points::Bars(
                values.iter().map(|value| ("x".to_owned(), *value)).collect(),
            ));
        }
    }

    #[test]
    fn bins_are_round_and_hold_every_value() {
        let bins = binned(&[0.0, 3.0, 99.0, 100.0]).unwrap();
        assert_eq!((bins[0].0, bins[0].1, bins[0].2), (0.0, 5.0, 2));
        assert_eq!(bins.iter().map(|bin| bin.2).sum::<usize>(), 4);
        assert_eq!(
            ["12 k", "0.25", "1.5 M"],
            [12_000.0, 0.25, 1_500_000.0].map(plain).each_ref().map(String::as_str)
        );
        assert_eq!(day(&19_723.0), "2024-01-01");
    }
}
