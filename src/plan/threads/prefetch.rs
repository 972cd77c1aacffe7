//! Runs the parts of some work ahead of the consumer, on several threads, and returns the results in the order of the
//! parts. The threads may be only a limited number of results ahead of the consumer, so memory stays bounded. They stop
//! when the stream is dropped.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::{Stream, StreamExt};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;

use super::runtime::{Died, current, own};
use crate::parallel::processors;

/// The maximum number of results of one part that wait for the consumer.
const WAITING: usize = 4;

/// One part of the work: the stream of its results, in order.
pub type Part<T, E> = Pin<Box<dyn Stream<Item = Result<T, E>> + Send>>;
/// All parts in order. The iterator yields a part when a thread is free to run it.
pub type Parts<T, E> = Box<dyn Iterator<Item = Part<T, E>> + Send>;

/// Where and when parts run.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Whether the consumer's thread runs the first part. If so, the other parts begin only when the consumer has read
    /// the first part to its end and wants more.
    pub first_here: bool,
    /// Whether parts may block. If so, they run on separate blocking threads. If not, parts are asynchronous tasks that
    /// yield to other tasks now and then.
    pub blocking: bool,
}

/// The stream of the results of all parts, in the order of the parts. After an error the stream ends.
pub struct Prefetch<T, E> {
    /// The parts that no thread has begun. `None` after they were passed to threads, and after the stream has ended.
    parts: Option<Parts<T, E>>,
    /// The part that runs on the thread that polls this stream.
    here: Option<Part<T, E>>,
    running: Option<Running<T, E>>,
    pace: Pace,
}

/// The state of parts that run on other threads.
struct Running<T, E> {
    queue: Receiver<Receiver<Message<T, E>>>,
    current: Option<Receiver<Message<T, E>>>,
    /// The tasks of the threads. Dropping the set aborts asynchronous tasks. A blocking task ends when it cannot send
    /// its next result.
    workers: JoinSet<()>,
}

enum Message<T, E> {
    Result(Result<T, E>),
    /// The part has ended normally. If a channel closes without this message, a thread has panicked.
    Done,
}

struct Source<T, E> {
    parts: Parts<T, E>,
    queue: Sender<Receiver<Message<T, E>>>,
}

type Shared<T, E> = Arc<Mutex<Option<Source<T, E>>>>;

impl<T, E> Prefetch<T, E> {
    /// Creates a stream of the results of these parts. Nothing runs before the first poll.
    pub fn new(parts: Parts<T, E>, pace: Pace) -> Prefetch<T, E> {
        Prefetch {
            parts: Some(parts),
            here: None,
            running: None,
            pace,
        }
    }

    fn end(&mut self) {
        (self.parts, self.here, self.running) = (None, None, None);
    }
}

impl<T: Send + 'static, E: Send + 'static> Prefetch<T, E> {
    /// Starts the remaining parts on other threads, or takes the next part for the polling thread. Returns `None` if
    /// there is no further part.
    fn go_on(&mut self) -> Option<()> {
        let mut parts = self.parts.take()?;
        let left = parts.size_hint().1;
        let here = std::mem::take(&mut self.pace.first_here) || left.is_some_and(|left| left <= 1);
        let runtime = if here {
            None
        } else if self.pace.blocking {
            own().cloned()
        } else {
            current()
        };
        match runtime {
            Some(runtime) => {
                let workers = processors().min(left.unwrap_or(usize::MAX));
                let (sender, queue) = channel(workers);
                let source = Some(Source { parts, queue: sender });
                let source: Shared<T, E> = Arc::new(Mutex::new(source));
                let mut running = Running {
                    queue,
                    current: None,
                    workers: JoinSet::new(),
                };
                for _ in 0..workers {
                    let work = work(source.clone());
                    if self.pace.blocking {
                        running
                            .workers
                            .spawn_blocking_on(move || futures::executor::block_on(work), &runtime)
                    } else {
                        running.workers.spawn_on(work, &runtime)
                    };
                }
                self.running = Some(running);
            }
            None => {
                self.here = Some(parts.next()?);
                self.parts = Some(parts);
            }
        }
        Some(())
    }
}

/// Runs one part after the other, until there are no more or the consumer stops reading.
async fn work<T: Send, E: Send>(source: Shared<T, E>) {
    while let Some((mut part, results)) = next_part(&source).await {
        while let Some(result) = part.next().await {
            let failed = result.is_err();
            if results.send(Message::Result(result)).await.is_err() {
                return;
            }
            if failed {
                break;
            }
        }
        // Dropping the part records its metrics. This must happen before the consumer reads that the part has ended.
        drop(part);
        if results.send(Message::Done).await.is_err() {
            return;
        }
    }
}

/// Takes the next part and sends the receiver of its results to the consumer, in the order of the parts. Returns `None`
/// if there are no more parts, or if the consumer has stopped.
async fn next_part<T, E>(source: &Shared<T, E>) -> Option<(Part<T, E>, Sender<Message<T, E>>)> {
    let mut source = source.lock().await;
    // `source` gets its value back only at the end of this function. If this thread panics before that, the other
    // threads find no source and stop. If they continued, the part of this thread would be missing in the results.
    let mut open = source.take()?;
    let part = open.parts.next()?;
    let (results, taken) = channel(WAITING);
    open.queue.send(taken).await.ok()?;
    *source = Some(open);
    Some((part, results))
}

impl<T, E: From<Died>> Running<T, E> {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, E>>> {
        loop {
            let current = match &mut self.current {
                Some(current) => current,
                None => match ready!(self.queue.poll_recv(context)) {
                    Some(next) => self.current.insert(next),
                    // All parts have been received. But a thread may have panicked before it sent its next part. Join
                    // the threads to find out.
                    None => match ready!(self.workers.poll_join_next(context)) {
                        Some(Ok(())) => continue,
                        Some(Err(_)) => return Poll::Ready(Some(Err(Died.into()))),
                        None => return Poll::Ready(None),
                    },
                },
            };
            match ready!(current.poll_recv(context)) {
                Some(Message::Result(result)) => return Poll::Ready(Some(result)),
                Some(Message::Done) => self.current = None,
                None => return Poll::Ready(Some(Err(Died.into()))),
            }
        }
    }
}

impl<T: Send + 'static, E: From<Died> + Send + 'static> Stream for Prefetch<T, E> {
    type Item = Result<T, E>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let ahead = self.get_mut();
        loop {
            let next = if let Some(part) = &mut ahead.here {
                let next = ready!(part.as_mut().poll_next(context));
                if next.is_none() {
                    ahead.here = None;
                    continue;
                }
                next
            } else if let Some(running) = &mut ahead.running {
                ready!(running.poll_next(context))
            } else if ahead.go_on().is_some() {
                continue;
            } else {
                None
            };
            if !matches!(next, Some(Ok(_))) {
                ahead.end();
            }
            return Poll::Ready(next);
        }
    }
}

impl<T, E> std::fmt::Debug for Prefetch<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prefetch")
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use futures::stream::{iter, repeat_with};

    use super::super::Waiting;
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    enum Fault {
        Own,
        Died,
    }

    impl From<Died> for Fault {
        fn from(_: Died) -> Fault {
            Fault::Died
        }
    }

    const PACES: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

    fn paces() -> impl Iterator<Item = Pace> {
        PACES
            .into_iter()
            .map(|(first_here, blocking)| Pace { first_here, blocking })
    }

    fn results<T: Send + 'static>(
        parts: impl Iterator<Item = Part<T, Fault>> + Send + 'static,
        pace: Pace,
    ) -> Waiting<Prefetch<T, Fault>> {
        Waiting::new(Prefetch::new(Box::new(parts), pace))
    }

    #[test]
    fn results_come_in_the_order_of_parts() {
        let expected: Vec<usize> = (0..500)
            .flat_map(|part| (0..part % 7).map(move |place| part * 100 + place))
            .collect();
        for pace in paces() {
            let parts = (0..500).map(|part| -> Part<usize, Fault> {
                Box::pin(iter((0..part % 7).map(move |place| Ok(part * 100 + place))))
            });
            let found: Vec<usize> = results(parts, pace).map(Result::unwrap).collect();
            assert_eq!(found, expected, "{pace:?}");
        }
    }

    #[test]
    fn an_error_stands_where_it_happened_and_is_the_last() {
        for pace in paces() {
            let parts = (0..9).map(|part| -> Part<usize, Fault> {
                Box::pin(iter([if part == 4 { Err(Fault::Own) } else { Ok(part) }]))
            });
            let found: Vec<_> = results(parts, pace).collect();
            assert_eq!(found, [Ok(0), Ok(1), Ok(2), Ok(3), Err(Fault::Own)], "{pace:?}");
        }
    }

    #[test]
    fn threads_stop_when_nobody_takes_results() {
        for pace in paces() {
            let (told, stopped) = sync_channel::<()>(1);
            let endless = (0..).map(move |_| -> Part<usize, Fault> {
                let told = told.clone();
                Box::pin(repeat_with(move || {
                    let _held = &told;
                    Ok(1)
                }))
            });
            let mut results = results(endless, pace);
            assert!(results.next().is_some());
            drop(results);
            // The channel closes when the last part is dropped.
            assert!(stopped.recv().is_err());
        }
    }

    #[test]
    fn parts_behind_the_first_are_not_begun_before_it_was_too_little() {
        let (told, begun) = std::sync::mpsc::channel();
        let parts = (0..4).map(move |part| -> Part<usize, Fault> {
            told.send(part).unwrap();
            Box::pin(iter([Ok(part), Ok(part)]))
        });
        let pace = Pace {
            first_here: true,
            blocking: false,
        };
        let mut results = results(parts, pace);
        assert_eq!((results.next(), results.next()), (Some(Ok(0)), Some(Ok(0))));
        assert_eq!(begun.try_iter().collect::<Vec<usize>>(), [0]);
        assert_eq!(results.map(Result::unwrap).collect::<Vec<_>>(), [1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn a_thread_that_dies_is_noticed() {
        for blocking in [false, true] {
            let pace = Pace {
                first_here: false,
                blocking,
            };
            let dying = |part: usize| -> Part<usize, Fault> {
                Box::pin(repeat_with(move || match part {
                    0 => panic!("a part that fails"),
                    _ => Ok(part),
                }))
            };
            let found: Vec<_> = results((0..2).map(dying), pace).collect();
            assert_eq!(found, [Err(Fault::Died)]);
            // The panic happens while a thread takes part 1. The results of the parts after it are not returned.
            let no_part = (0..4).map(|part| -> Part<usize, Fault> {
                match part {
                    1 => panic!("there is no such part"),
                    _ => Box::pin(iter([Ok(part)])),
                }
            });
            let found: Vec<_> = results(no_part, pace).collect();
            assert_eq!(found, [Ok(0), Err(Fault::Died)]);
        }
    }
}
