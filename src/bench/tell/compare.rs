//! Compares two reports: how many times as good each family is in the first one.

use std::fmt::Write;

use super::report::{Outcome, Report};

/// Returns a table with the ratios between two reports. A ratio above 1 means that `report` is better than `other`.
pub fn comparison(report: &Report, other: &Report) -> String {
    let mut text = differences(report, other);
    text += &format!(
        "{:<26} {:>7} {:>11} {:>9} {:>9}   (times as good as in the other report)\n",
        "family", "clients", "answers/s", "p50", "p99"
    );
    let (mut logs, mut pairs) = (0.0, 0u32);
    for outcome in &report.results {
        let Some(before) = same(outcome, other) else {
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "{:<26} {:>7}   not in the other report",
                outcome.family, outcome.clients
            );
            continue;
        };
        let rates = ratio(outcome.per_second, before.per_second);
        let p50 = ratio(before.latency_ms.p50, outcome.latency_ms.p50);
        let p99 = ratio(before.latency_ms.p99, outcome.latency_ms.p99);
        if let Some(rates) = rates {
            logs += rates.ln();
            pairs += 1;
        }
        let _ = writeln!(
            text,
            "{:<26} {:>7} {:>11} {:>9} {:>9}",
            outcome.family,
            outcome.clients,
            ratio_text(rates),
            ratio_text(p50),
            ratio_text(p99)
        );
    }
    if pairs > 0 {
        let mean = (logs / f64::from(pairs)).exp();
        let _ = writeln!(
            text,
            "{:<26} {:>7} {:>11}",
            "geometric mean",
            "",
            ratio_text(Some(mean))
        );
    }
    for outcome in other.results.iter().filter(|outcome| same(outcome, report).is_none()) {
        let _ = writeln!(
            text,
            "{:<26} {:>7}   only in the other report",
            outcome.family, outcome.clients
        );
    }
    text
}

/// Returns a text with the differences that make two reports hard to compare, such as another lake, seed, duration or
/// machine.
fn differences(report: &Report, other: &Report) -> String {
    let mut found = Vec::new();
    if report.lake.types != other.lake.types {
        let (here, there) = (report.lake.resources, other.lake.resources);
        found.push(format!("another lake ({there} resources, {here} here)"));
    }
    if report.seed != other.seed {
        found.push(format!("another seed ({}, {} here)", other.seed, report.seed));
    }
    if report.seconds != other.seconds {
        found.push(format!(
            "{} seconds for each family ({} here)",
            other.seconds, report.seconds
        ));
    }
    if report.program.build != other.program.build {
        found.push(format!(
            "a {} build ({} here)",
            other.program.build, report.program.build
        ));
    }
    if report.warm_up_seconds != other.warm_up_seconds {
        found.push(format!(
            "{} seconds of warming up ({} here)",
            other.warm_up_seconds, report.warm_up_seconds
        ));
    }
    if report.machine != other.machine {
        found.push("another machine".to_owned());
    }
    if report.server.make() != other.server.make() {
        found.push(format!(
            "another server ({}, {} here)",
            other.server.make(),
            report.server.make()
        ));
    }
    let asked = report
        .results
        .iter()
        .filter_map(|outcome| Some((outcome, same(outcome, other)?)));
    let mut otherwise: Vec<&str> = asked
        .filter(|(outcome, before)| outcome.queries != before.queries)
        .map(|(outcome, _)| outcome.family.as_str())
        .collect();
    otherwise.dedup();
    if !otherwise.is_empty() {
        found.push(format!("other queries by the name of {}", otherwise.join(" and ")));
    }
    if found.is_empty() {
        String::new()
    } else {
        format!("the other report is of {}\n", found.join(", "))
    }
}

fn same<'a>(outcome: &Outcome, report: &'a Report) -> Option<&'a Outcome> {
    let same = |other: &&Outcome| other.family == outcome.family && other.clients == outcome.clients;
    report.results.iter().find(same)
}

/// Returns the ratio of two numbers. `None` if either is not positive.
fn ratio(one: f64, other: f64) -> Option<f64> {
    (one > 0.0 && other > 0.0).then(|| one / other)
}

fn ratio_text(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tell::report::tests::report;

    #[test]
    fn ratios_are_over_one_where_the_first_is_better() {
        let mut now = report("read", 300.0);
        now.results[0].latency_ms.p50 = 0.25;
        now.results[0].latency_ms.p99 = 0.0;
        let mut before = report("read", 100.0);
        now.results.extend(report("new", 1.0).results);
        before.results.extend(report("old", 1.0).results);
        expect_test::expect![[r#"
            family                     clients   answers/s       p50       p99   (times as good as in the other report)
            read                             8        3.00      2.00         -
            new                              8   not in the other report
            geometric mean                            3.00
            old                              8   only in the other report
        "#]]
        .assert_eq(&comparison(&now, &before));
    }

    #[test]
    fn what_was_measured_otherwise_is_said() {
        let (now, mut before) = (report("read", 1.0), report("read", 1.0));
        assert!(comparison(&now, &before).starts_with("family"));
        before.lake.types.insert("Basic".to_owned(), 7);
        before.lake.resources += 7;
        before.warm_up_seconds += 0.5;
        before.server.version = Some("0.0.9".to_owned());
        before.results[0].queries.push("Patient".to_owned());
        before.seed += 1;
        before.seconds += 0.5;
        let text = comparison(&now, &before);
        let said = text.lines().next().unwrap();
        assert!(said.starts_with("the other report is of another lake ("), "{said}");
        for word in [
            "another seed (",
            "seconds for each family (",
            "seconds of warming up (",
            "another server (Tabularium 0.0.9, Tabularium 0.1.0 here)",
            "other queries by the name of read",
        ] {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
}
