//! Many half-open intervals. Decides whether one of them contains or overlaps another without checking each.

/// Intervals, in the order of their starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans<T> {
    starts: Vec<T>,
    /// For each interval the maximum end up to it.
    ends: Vec<T>,
}

impl<T: Ord + Copy> Spans<T> {
    /// These intervals, each by start and end.
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

    /// The maximum end among intervals that start at or before `start`. With `sooner`, they must start before it.
    fn end_of_those_from(&self, start: T, sooner: bool) -> Option<T> {
        let started = |other: &T| if sooner { *other < start } else { *other <= start };
        let count = self.starts.partition_point(started);
        count.checked_sub(1).map(|last| self.ends[last])
    }

    /// Whether one of them contains this interval.
    pub(crate) fn contain(&self, start: T, end: T) -> bool {
        self.end_of_those_from(start, false).is_some_and(|max| max >= end)
    }

    /// Whether one of them contains all points from one to another, both included.
    pub(crate) fn reach(&self, from: T, to: T) -> bool {
        self.end_of_those_from(from, false).is_some_and(|max| max > to)
    }

    /// Whether one of them shares a value with this interval.
    pub(crate) fn overlap(&self, start: T, end: T) -> bool {
        self.end_of_those_from(end, true).is_some_and(|max| max > start)
    }
}
