//! A set of many half-open intervals. Decides whether one of them contains or overlaps a given interval, without
//! checking each.

/// Intervals, in the order of their starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans<T> {
    starts: Vec<T>,
    /// For each interval, the maximum end of this interval and all intervals before it.
    ends: Vec<T>,
}

impl<T: Ord + Copy> Spans<T> {
    /// Creates a set of these intervals, each given by its start and end.
    pub(crate) fn of(mut intervals: Vec<(T, T)>) -> Spans<T> {
        intervals.sort_unstable();
        let mut spans = Spans {
            starts: Vec::with_capacity(intervals.len()),
            ends: Vec::with_capacity(intervals.len()),
        };
        for (start, end) in intervals {
            let max = spans.ends.last().copied().map_or(end, |before: T| before.max(end));
            spans.starts.push(start);
            spans.ends.push(max);
        }
        spans
    }

    /// Returns the maximum end of the intervals that start at or before `start`. With `sooner`, only intervals that
    /// start before `start` count. Returns `None` if there are no such intervals.
    fn end_of_those_from(&self, start: T, sooner: bool) -> Option<T> {
        let started = |other: &T| if sooner { *other < start } else { *other <= start };
        let count = self.starts.partition_point(started);
        count.checked_sub(1).map(|last| self.ends[last])
    }

    /// Whether one of the intervals contains this half-open interval.
    pub(crate) fn contain(&self, start: T, end: T) -> bool {
        self.end_of_those_from(start, false).is_some_and(|max| max >= end)
    }

    /// Whether one of the intervals contains `from`, `to` and all values between them.
    pub(crate) fn reach(&self, from: T, to: T) -> bool {
        self.end_of_those_from(from, false).is_some_and(|max| max > to)
    }

    /// Whether one of the intervals has a value in common with this half-open interval.
    pub(crate) fn overlap(&self, start: T, end: T) -> bool {
        self.end_of_those_from(end, true).is_some_and(|max| max > start)
    }
}
