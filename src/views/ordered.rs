//! Work on many jobs by several threads, with the results in the order of the jobs. Threads run ahead of who takes the
//! results by a bounded number of results, so that memory stays bounded; they stop when nobody takes them any more.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::error::RunError;

/// Results of one job that may wait to be taken.
const WAITING: usize = 4;

/// Jobs in order; each gives results in order.
pub(super) type Jobs<T> = Box<dyn Iterator<Item = Job<T>> + Send>;
/// A job: what it gives, computed by the thread that runs it.
pub(super) type Job<T> = Box<dyn FnOnce() -> Results<T> + Send>;
/// What a job gives.
pub(super) type Results<T> = Box<dyn Iterator<Item = Result<T, RunError>>>;

/// The results of jobs, in the jobs' order.
pub(super) struct Ordered<T> {
    queue: Receiver<Receiver<Message<T>>>,
    current: Option<Receiver<Message<T>>>,
    /// Why there is no thread at all.
    failed: Option<RunError>,
}

enum Message<T> {
    Result(Result<T, RunError>),
    /// The job came to its end; without this a thread died.
    Done,
}

struct Source<T> {
    jobs: Jobs<T>,
    queue: SyncSender<Receiver<Message<T>>>,
}

impl<T: Send + 'static> Ordered<T> {
    /// Starts as many threads.
    pub(super) fn new(jobs: Jobs<T>, threads: usize) -> Ordered<T> {
        let (queue, jobs_begun) = sync_channel(threads.max(1));
        let source = Arc::new(Mutex::new(Some(Source { jobs, queue })));
        let (mut started, mut failed) = (0, None);
        for _ in 0..threads.max(1) {
            let source = source.clone();
            let spawned = thread::Builder::new().name("view".to_owned()).spawn(move || {
                while let Some((job, results)) = next_job(&source) {
                    if !work(job, &results) {
                        break;
                    }
                }
            });
            match spawned {
                Ok(_) => started += 1,
                Err(error) => failed = Some(RunError::Thread(error)),
            }
        }
        // Fewer threads than asked for do the same work.
        Ordered {
            queue: jobs_begun,
            current: None,
            failed: failed.filter(|_| started == 0),
        }
    }
}

/// The next job, its results announced in its turn. When there is none, or nobody listens, there never will be.
fn next_job<T>(source: &Mutex<Option<Source<T>>>) -> Option<(Job<T>, SyncSender<Message<T>>)> {
    let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
    let next = source.as_mut().and_then(|source| {
        let job = source.jobs.next()?;
        let (results, taken) = sync_channel(WAITING);
        source.queue.send(taken).ok()?;
        Some((job, results))
    });
    if next.is_none() {
        *source = None;
    }
    next
}

/// Runs a job; says whether its results are still wanted.
fn work<T>(job: Job<T>, results: &SyncSender<Message<T>>) -> bool {
    for result in job() {
        let failed = result.is_err();
        if results.send(Message::Result(result)).is_err() {
            return false;
        }
        if failed {
            break;
        }
    }
    results.send(Message::Done).is_ok()
}

impl<T> Iterator for Ordered<T> {
    type Item = Result<T, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        loop {
            let current = match &self.current {
                Some(current) => current,
                None => self.current.insert(self.queue.recv().ok()?),
            };
            match current.recv() {
                Ok(Message::Result(result)) => return Some(result),
                Ok(Message::Done) => self.current = None,
                Err(_) => {
                    self.current = None;
                    return Some(Err(RunError::Worker));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(count: usize) -> Jobs<usize> {
        Box::new((0..count).map(|job| -> Job<usize> {
            Box::new(move || Box::new((0..job % 7).map(move |place| Ok(job * 100 + place))))
        }))
    }

    #[test]
    fn results_come_in_the_order_of_jobs() {
        let expected: Vec<usize> = (0..500)
            .flat_map(|job| (0..job % 7).map(move |place| job * 100 + place))
            .collect();
        for threads in [1, 2, 5] {
            let found: Vec<usize> = Ordered::new(jobs(500), threads).map(Result::unwrap).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn an_error_stands_where_it_happened() {
        let jobs = (0..9).map(|job| -> Job<usize> {
            Box::new(move || {
                Box::new(std::iter::once(if job == 4 {
                    Err(RunError::TooManyRows)
                } else {
                    Ok(job)
                }))
            })
        });
        let found: Vec<Result<usize, RunError>> = Ordered::new(Box::new(jobs), 2).collect();
        assert!(matches!(found[4], Err(RunError::TooManyRows)));
        assert_eq!(found.len(), 9);
    }

    #[test]
    fn threads_stop_when_nobody_takes_results() {
        let (told, stopped) = sync_channel::<()>(1);
        let endless = (0..).map(move |_| -> Job<usize> {
            let told = told.clone();
            Box::new(move || {
                let _held = told;
                Box::new(std::iter::repeat_with(|| Ok(1)))
            })
        });
        let mut results = Ordered::new(Box::new(endless), 2);
        assert!(results.next().is_some());
        drop(results);
        // The channel closes once the last job is dropped.
        assert!(stopped.recv().is_err());
    }

    #[test]
    fn a_thread_that_dies_is_noticed() {
        let jobs = std::iter::once(0).map(|_| -> Job<usize> { Box::new(|| panic!("a job that fails")) });
        let found: Vec<Result<usize, RunError>> = Ordered::new(Box::new(jobs), 1).collect();
        assert!(matches!(found.as_slice(), [Err(RunError::Worker)]));
    }
}
