//! Walks over all pages of a search, from link to link.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::connect::client::{Job, Line, failed, judge, message, tally};
use super::super::error::BenchError;
use super::super::tell::tally::Tally;
use super::dice::Dice;
use super::plan::Ready;
use super::request::get;

/// The maximum time for the walks of a client is the run's time multiplied by this number. It is longer than the run's
/// time, because a client completes the walk that it has begun. A partial walk would say little.
const LONGEST: u32 = 20;

/// The lower limit of the maximum time for the walks of a client. Without it, a short run on a busy machine could cut
/// off the first walk.
const SHORTEST_LIMIT: Duration = Duration::from_secs(30);

/// The parts of a page that a walk needs.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    link: Vec<Link>,
    #[serde(default)]
    entry: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Link {
    relation: String,
    url: String,
}

/// Returns the maximum time for the walks of a client in a run of length `time`.
fn limit(time: Duration) -> Duration {
    (time * LONGEST).max(SHORTEST_LIMIT)
}

/// Repeats the walk until the time is over, and completes the last walk. If that walk is not complete when [`limit`]
/// has passed since the start of the run, it is stopped and counts as an error.
pub(in crate::bench) async fn walks(job: Arc<Job>, mut dice: Dice, time: Duration) -> Result<Tally, BenchError> {
    let mut tally = tally()?;
    let begun = Instant::now();
    let (until, latest) = (begun + time, begun + limit(time));
    let mut line = Line::new(&job.target, job.tls.as_ref());
    let mut busy = Duration::ZERO;
    while let Some(ready) = job.plan.draw(&mut dice) {
        walk(&job, ready, &mut dice, &mut line, latest, &mut busy, &mut tally).await;
        if Instant::now() >= until || tally.is_shut_out() {
            break;
        }
    }
    if !busy.is_zero() {
        tally.walks.rate = tally.walks.resources as f64 / busy.as_secs_f64();
    }
    Ok(tally)
}

async fn walk(
    job: &Job,
    ready: &Ready,
    dice: &mut Dice,
    line: &mut Line<'_>,
    latest: Instant,
    busy: &mut Duration,
    tally: &mut Tally,
) {
    let Some(row) = ready.row(dice) else { return };
    let token = job.tokens.of(ready.query.token, row);
    let mut request = Vec::new();
    ready.request(row, &job.target, token, dice, &mut request);
    let mut first = None;
    loop {
        let (answer, took) = match line.send(&request, usize::MAX).await {
            Ok(answered) => answered,
            Err(error) => return failed(error, tally).await,
        };
        if let Err(sort) = judge(&answer, &line.kept, ready.expects) {
            return tally.bad(sort, || message(&line.kept));
        }
        // `took` was measured before this line, so the time for parsing the page does not count as the server's time.
        let Ok(page) = serde_json::from_slice::<Page>(&line.kept) else {
            return tally.bad("no Bundle".to_owned(), String::new);
        };
        tally.good(took, answer.bytes);
        *busy += took;
        tally.walks.resources += page.entry.len() as u64;
        let first = *first.get_or_insert(took);
        let next = page.link.iter().find(|link| link.relation == "next");
        let Some(next) = next else {
            return tally.walks.ends.push((first, took));
        };
        let Some(path) = job.target.path_of(&next.url) else {
            return tally.bad("bad link".to_owned(), String::new);
        };
        if Instant::now() >= latest {
            return tally.bad("unfinished walk".to_owned(), || "the pages took too long".to_owned());
        }
        get(&path, &job.target, token, &mut request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_does_not_cut_its_first_walk_off() {
        assert_eq!(limit(Duration::from_millis(10)), Duration::from_secs(30));
        assert_eq!(limit(Duration::from_secs(10)), Duration::from_secs(200));
    }
}
