//! A report as one self-contained HTML page with charts. The layout is in `templates/bench.html`; this file computes
//! the positions of bars and marks.

use askama::Template;

use super::super::error::BenchError;
use super::report::{ErrorCount, LeftOut, MemoryAt, Outcome, Report, mebibytes, milliseconds, rate};

/// The length of the bar of a family's highest rate. The template has the left end of the bars.
const LONGEST_BAR: f64 = 210.0;
/// The left end and the length of the scale of latencies.
const LATENCIES: (f64, f64) = (420.0, 330.0);
/// The area of a soak's memory curve: left, width, top, height.
const CURVE: (f64, f64, f64, f64) = (90.0, 660.0, 20.0, 120.0);
/// The height of a row, which shows one number of clients. `ABOVE` and `BELOW` are the space above and below all rows.
const ROW: f64 = 26.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 10.0;

#[derive(Template)]
#[template(path = "bench.html")]
struct Page<'a> {
    title: String,
    facts: Vec<(&'static str, String)>,
    families: Vec<FamilyChart<'a>>,
    errors: Vec<(&'a Outcome, &'a ErrorCount)>,
    left_out: &'a [LeftOut],
}

/// A family's chart and table.
struct FamilyChart<'a> {
    name: &'a str,
    queries: &'a [String],
    height: f64,
    ticks: &'a [Tick],
    rows: Vec<Row<'a>>,
    curves: Vec<Curve>,
}

/// A soak's memory over time.
struct Curve {
    clients: usize,
    /// The `points` of an SVG polyline.
    line: String,
    most: String,
    minutes: String,
    /// Minutes and memory, as texts for the table.
    rows: Vec<(String, String)>,
}

/// A power of ten on the scale of latencies.
struct Tick {
    x: f64,
    label: String,
}

/// The row for one number of clients.
struct Row<'a> {
    outcome: &'a Outcome,
    rate: String,
    megabytes: String,
    notes: String,
    /// The vertical position of the row's middle in the chart.
    y: f64,
    bar: f64,
    /// The percentiles, as texts for the table.
    latencies: [String; 4],
    /// The marks of the percentiles on the scale. The median is last, so that it is drawn over marks at the same
    /// position.
    marks: Vec<Mark>,
}

/// The mark of a percentile.
struct Mark {
    name: &'static str,
    x: f64,
    value: String,
}

/// Renders the page of a report.
pub fn page(report: &Report) -> Result<String, BenchError> {
    let scale = Scale::new(report);
    let ticks = scale.ticks();
    let mut families: Vec<FamilyChart<'_>> = Vec::new();
    for outcome in &report.results {
        if families.iter().all(|family| family.name != outcome.family) {
            families.push(family(report, &outcome.family, &scale, &ticks));
        }
    }
    let errors = report
        .results
        .iter()
        .flat_map(|outcome| outcome.errors.iter().map(move |error| (outcome, error)));
    let page = Page {
        title: format!("tabularium bench, {}", report.at),
        facts: report.facts(),
        families,
        errors: errors.collect(),
        left_out: &report.left_out,
    };
    Ok(page.render()?)
}

fn family<'a>(report: &'a Report, name: &'a str, scale: &Scale, ticks: &'a [Tick]) -> FamilyChart<'a> {
    let outcomes: Vec<&Outcome> = report.results.iter().filter(|outcome| outcome.family == name).collect();
    let fastest = outcomes.iter().map(|outcome| outcome.per_second).fold(0.0, f64::max);
    let row = |(place, outcome): (usize, &&'a Outcome)| {
        let latency = outcome.latency_ms;
        let marks = [
            ("p50", latency.p50),
            ("p90", latency.p90),
            ("p99", latency.p99),
            ("p99.9", latency.p999),
        ];
        Row {
            outcome,
            rate: rate(outcome.per_second),
            megabytes: rate(outcome.megabytes_per_second()),
            notes: outcome.notes().join(", "),
            y: ABOVE + ROW * (place as f64 + 0.5),
            bar: if fastest > 0.0 {
                LONGEST_BAR * outcome.per_second / fastest
            } else {
                0.0
            },
            latencies: marks.map(|(_, value)| outcome.latency(value)),
            marks: marks
                .into_iter()
                .rev()
                .filter(|(_, value)| *value > 0.0 && outcome.answers > 0)
                .map(|(name, value)| Mark {
                    name,
                    x: scale.x(value),
                    value: milliseconds(value),
                })
                .collect(),
        }
    };
    FamilyChart {
        name,
        queries: outcomes.first().map_or(&[], |outcome| &outcome.queries),
        height: ABOVE + ROW * outcomes.len() as f64 + BELOW,
        ticks,
        rows: outcomes.iter().enumerate().map(row).collect(),
        curves: outcomes.iter().filter_map(|outcome| curve(outcome)).collect(),
    }
}

/// Returns the curve of a soak's memory. `None` for other families, or if there are no samples.
fn curve(outcome: &Outcome) -> Option<Curve> {
    let memory = &outcome.soak.as_ref()?.memory;
    let end = memory.last()?.seconds.max(1e-9);
    let most = memory.iter().map(|at| at.bytes).max()?.max(1);
    let (left, width, top, height) = CURVE;
    let minutes = |seconds: f64| format!("{:.1}", seconds / 60.0);
    let point = |at: &MemoryAt| {
        let x = left + width * at.seconds / end;
        let y = top + height * (1.0 - at.bytes as f64 / most as f64);
        format!("{x:.1},{y:.1}")
    };
    Some(Curve {
        clients: outcome.clients,
        line: memory.iter().map(point).collect::<Vec<_>>().join(" "),
        most: mebibytes(most),
        minutes: minutes(end),
        rows: memory
            .iter()
            .map(|at| (minutes(at.seconds), mebibytes(at.bytes)))
            .collect(),
    })
}

impl Row<'_> {
    /// Returns the positions on the scale of the median and of the highest percentile. The chart has a line between
    /// them.
    fn range(&self) -> Option<(f64, f64)> {
        Some((self.marks.last()?.x, self.marks.first()?.x))
    }
}

/// A logarithmic scale of milliseconds, the same for all families.
struct Scale {
    first: i32,
    decades: i32,
}

impl Scale {
    fn new(report: &Report) -> Scale {
        let latencies = report
            .results
            .iter()
            .flat_map(|outcome| [outcome.latency_ms.p50, outcome.latency_ms.p999]);
        let powers = latencies.filter(|value| *value > 0.0).map(f64::log10);
        let (low, high) = powers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), power| {
            (low.min(power), high.max(power))
        });
        if low > high {
            return Scale { first: 0, decades: 1 };
        }
        let first = low.floor() as i32;
        Scale {
            first,
            decades: (high.ceil() as i32 - first).max(1),
        }
    }

    fn x(&self, value: f64) -> f64 {
        LATENCIES.0 + LATENCIES.1 * (value.log10() - f64::from(self.first)) / f64::from(self.decades)
    }

    fn ticks(&self) -> Vec<Tick> {
        let tick = |power: i32| {
            let value = 10f64.powi(power);
            Tick {
                x: self.x(value),
                label: format!("{value}"),
            }
        };
        (self.first..=self.first + self.decades).map(tick).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tell::report::tests::report;

    #[test]
    fn the_page_needs_nothing_beside_it_and_escapes_what_it_shows() {
        let mut report = report("a <family>", 100.0);
        report.results.push(Outcome {
            clients: 32,
            per_second: 0.0,
            answers: 0,
            ..report.results[0].clone()
        });
        let html = page(&report).unwrap();
        for word in [
            "<svg",
            "a &#60;family&#62;",
            "busy &#38; &#60;tired&#62;",
            "<table",
            "the lake has no Observation",
        ] {
            assert!(html.contains(word), "{word}: {html}");
        }
        // The second result has no answers, so its four latencies are shown as dashes.
        assert_eq!(html.matches("<td>-</td>").count(), 4, "{html}");
        for word in ["<script", "http://", "https://", "a <family>", "NaN", "inf"] {
            assert!(!html.contains(word), "{word}: {html}");
        }
        quick_xml_reads(&html);
    }

    /// Checks that every element that is opened is closed.
    fn quick_xml_reads(html: &str) {
        let body = &html[html.find("<main>").unwrap()..html.find("</body>").unwrap()];
        let mut reader = quick_xml::Reader::from_str(body);
        loop {
            match reader.read_event().unwrap() {
                quick_xml::events::Event::Eof => break,
                _ => continue,
            }
        }
    }

    #[test]
    fn latencies_lie_on_a_logarithmic_scale_that_holds_all_of_them() {
        let report = report("read", 1.0);
        let scale = Scale::new(&report);
        assert_eq!((scale.first, scale.decades), (-1, 4));
        let (start, length) = LATENCIES;
        assert!((scale.x(0.1) - start).abs() < 1e-9 && (scale.x(1000.0) - start - length).abs() < 1e-9);
        let labels: Vec<String> = scale.ticks().into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0.1", "1", "10", "100", "1000"]);
        let mut nothing = report;
        nothing.results.clear();
        assert_eq!(Scale::new(&nothing).ticks().len(), 2);
    }
}
