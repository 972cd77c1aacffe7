//! Runs independent pieces of work on several threads.

use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Returns the number of processors. Asks the system only on the first call and keeps the answer. To answer, the system
/// reads files, which takes longer than many searches.
pub fn processors() -> usize {
    static PROCESSORS: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));
    *PROCESSORS
}

/// Calls `work` for each item and returns the results in the order of the items. The work runs on the calling thread
/// and on new threads, at most `threads` in total (`0` counts as `1`). When a thread has finished an item, it takes the
/// next one. If the system refuses to start a thread, fewer threads do the work. If `work` panics, `map` panics with
/// the same value.
pub fn map<'i, T: Sync, R: Send>(items: &'i [T], threads: usize, work: impl Fn(&'i T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, some).ok();
        let others: Vec<_> = (1..threads.min(items.len())).map_while(start).collect();
        let mut done = some();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        let items: Vec<usize> = (0..1_000).collect();
        for threads in [0, 1, 2, 7, 2_000] {
            assert_eq!(
                map(&items, threads, |item| item * 2),
                (0..2_000).step_by(2).collect::<Vec<_>>()
            );
        }
        assert!(map(&[], 4, |item: &usize| *item).is_empty());
    }

    #[test]
    fn items_are_worked_on_at_the_same_time() {
        // Each item waits until the other one has begun.
        let both = Barrier::new(2);
        map(&[1, 2], 2, |_| both.wait());
    }

    #[test]
    #[should_panic(expected = "a piece of work")]
    fn a_panic_reaches_the_caller() {
        map(&[1, 2, 3, 4], 2, |item| assert!(*item < 3, "a piece of work"));
    }
}
