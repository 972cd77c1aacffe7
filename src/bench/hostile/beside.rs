//! The results of a soak that sends hostile requests in every second part of its time.

use std::time::Duration;

use super::super::connect::client;
use super::super::error::BenchError;
use super::super::soak::peak;
use super::super::tell::report::{ErrorCount, Honest, Hostile, Latency, MemoryAt};
use super::super::tell::tally::Tally;

/// The results of the parts with hostile requests, and of those without them.
pub(in crate::bench) struct Beside {
    quiet: Parts,
    beside: Parts,
    /// The hostile requests.
    pub(in crate::bench) hostile: Tally,
}

/// The honest requests of some parts of the time.
struct Parts {
    tally: Tally,
    /// When each part began and ended.
    times: Vec<(Duration, Duration)>,
}

impl Beside {
    pub(in crate::bench) fn new() -> Result<Beside, BenchError> {
        let parts = || -> Result<Parts, BenchError> {
            Ok(Parts {
                tally: client::tally()?,
                times: Vec::new(),
            })
        };
        Ok(Beside {
            quiet: parts()?,
            beside: parts()?,
            hostile: client::tally()?,
        })
    }

    /// Adds the honest requests of a part. `times` are when it began and ended.
    pub(in crate::bench) fn add(&mut self, is_quiet: bool, tally: Tally, times: (Duration, Duration)) {
        let parts = if is_quiet { &mut self.quiet } else { &mut self.beside };
        parts.tally.add(tally);
        parts.times.push(times);
    }

    /// Returns the figures. `memory` is the server's memory over time.
    pub(in crate::bench) fn figures(&self, clients: usize, memory: &[MemoryAt]) -> Hostile {
        let end = memory.last().map_or(0.0, |sample| sample.seconds);
        Hostile {
            clients,
            answers: self.hostile.answers(),
            latency_ms: Latency::of(&self.hostile),
            errors: ErrorCount::of(&self.hostile),
            quiet: self.quiet.figures(memory),
            beside: self.beside.figures(memory),
            first_minute_bytes: peak(memory, 0.0, 60.0),
            last_minute_bytes: peak(memory, end - 60.0, end),
        }
    }
}

impl Parts {
    fn figures(&self, memory: &[MemoryAt]) -> Honest {
        let peaks = self.times.iter();
        let peaks = peaks.filter_map(|(from, to)| peak(memory, from.as_secs_f64(), to.as_secs_f64()));
        Honest {
            answers: self.tally.answers(),
            failed: self.tally.failed(),
            latency_ms: Latency::of(&self.tally),
            memory_bytes: peaks.max(),
        }
    }
}
