//! The worker of a serving process: runs due jobs, stops those whose authorization has ended, carries out erasures, and
//! makes state changes that are due. If several processes serve one folder, one of them works and the others stand by.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use super::client::Client;
use super::erase::{EraseError, Erasing, carry_out_erasures};
use super::jobs::{JobContext, JobResources, Spools, run};
use super::settings::Settings;
use crate::consent::Store;
use crate::lake::{Lake, LakeError};

/// How often the worker looks for due work, unless an event wakes it earlier.
const TICK: Duration = Duration::from_secs(1);
/// The delay before retrying an erasure while another process writes the lake.
const LOCK_RETRY: Duration = Duration::from_millis(50);
/// The delay before the worker retries erasures that it could not complete.
const BLOCKED_RETRY: Duration = Duration::from_secs(60);

/// A running worker.
#[derive(Debug)]
pub struct Worker {
    stop: watch::Sender<bool>,
    works: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

impl Worker {
    /// Starts a worker on the current runtime. `base_url` is the service's public address. The systems of the tags on
    /// synced records begin with this address.
    pub fn start(store: Arc<Store>, lake: Lake, client: Client, base_url: &str, settings: Settings) -> Worker {
        let (stop, stopped) = watch::channel(false);
        let (working, works) = watch::channel(false);
        let task = tokio::spawn(work(
            JobResources {
                store,
                lake,
                client,
                base_url: base_url.trim_end_matches('/').to_owned(),
                settings,
            },
            stopped,
            working,
        ));
        Worker { stop, works, task }
    }

    /// Returns whether this process is the one of the folder that works: whether it holds the spool. The channel closes
    /// when the worker ends.
    pub fn works(&self) -> watch::Receiver<bool> {
        self.works.clone()
    }

    /// Stops the worker. It starts no further jobs and aborts running fetches. The next worker starts the aborted jobs
    /// again. A running commit is completed.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        // A panic of the worker is already logged.
        let _ = self.task.await;
    }
}

async fn work(means: JobResources, mut stopped: watch::Receiver<bool>, working: watch::Sender<bool>) {
    let store = means.store.clone();
    let Some(context) = set_up(means, &mut stopped).await else {
        return;
    };
    working.send_replace(true);
    let context = Arc::new(context);
    let mut running_jobs = Running {
        erasing: None,
        erased: None,
        tasks: JoinSet::new(),
        running: HashMap::new(),
        context,
    };
    let notified = store.wakeup();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = stopped.changed() => break,
            () = notified.notified() => {}
            _ = tick.tick() => running_jobs.keep_time().await,
            Some(_) = running_jobs.tasks.join_next(), if !running_jobs.tasks.is_empty() => {}
        }
        running_jobs.running.retain(|_, task| !task.is_finished());
        running_jobs.stop_what_ended().await;
        running_jobs.erase().await;
        running_jobs.begin_what_is_due().await;
    }
    running_jobs.tasks.shutdown().await;
    if let Some(erasing) = running_jobs.erasing {
        let _ = erasing.await;
    }
    // A running commit holds this lock until it is done.
    let _ = running_jobs.context.writing.lock().await;
}

/// Waits until this process holds the spool. Then puts the jobs of a process that has ended back into the queue.
/// Returns `None` if the worker was stopped.
async fn set_up(means: JobResources, stopped: &mut watch::Receiver<bool>) -> Option<JobContext> {
    let mut told = false;
    loop {
        match Spools::take(means.lake.folder().path()) {
            Ok(Some(spools)) => {
                match means.store.jobs().take_up() {
                    Ok(0) => {}
                    Ok(jobs) => tracing::info!(jobs, "syncs of an ended process are taken up again"),
                    Err(error) => tracing::error!(%error, "syncs of an ended process could not be taken up again"),
                }
                return Some(JobContext::new(means, spools));
            }
            Ok(None) if told => {}
            Ok(None) => tracing::info!("another process fetches records; this one stands by"),
            Err(error) => tracing::error!(%error, "the spool cannot be used; no records are fetched"),
        }
        told = true;
        tokio::select! {
            _ = stopped.changed() => return None,
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

/// The running jobs and the running erasures.
struct Running {
    context: Arc<JobContext>,
    tasks: JoinSet<()>,
    running: HashMap<String, AbortHandle>,
    erasing: Option<JoinHandle<Option<Erasing>>>,
    /// The result and the time of the last run that could not complete all erasures. Until `BLOCKED_RETRY` has passed,
    /// the worker handles only requests that are newer than those of this run.
    erased: Option<(Erasing, Instant)>,
}

impl Running {
    /// Makes the transitions that are due, and makes the jobs that the applications' sync frequencies require.
    async fn keep_time(&self) {
        let store = self.context.store.clone();
        let kept = tokio::task::spawn_blocking(move || {
            store.sweep()?;
            store.jobs().schedule()
        });
        if let Ok(Err(error)) = kept.await {
            tracing::error!(%error, "overdue moves could not be made");
        }
    }

    /// Aborts jobs that were stopped.
    async fn stop_what_ended(&mut self) {
        if self.running.is_empty() {
            return;
        }
        let (store, jobs) = (
            self.context.store.clone(),
            self.running.keys().cloned().collect::<Vec<_>>(),
        );
        let ended = tokio::task::spawn_blocking(move || {
            let mut ended = Vec::new();
            for job in jobs {
                if store.jobs().was_stopped(&job)? {
                    ended.push(job);
                }
            }
            Ok::<_, crate::consent::Error>(ended)
        });
        match ended.await {
            Ok(Ok(ended)) => {
                for job in ended {
                    if let Some(task) = self.running.remove(&job) {
                        tracing::info!(job, "a sync was stopped");
                        task.abort();
                    }
                }
            }
            Ok(Err(error)) => tracing::error!(%error, "running syncs could not be looked at"),
            Err(_) => {}
        }
    }

    /// Starts the requested erasures, unless some are running.
    async fn erase(&mut self) {
        if self.erasing.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        if let Some(task) = self.erasing.take()
            && let Ok(Some(came)) = task.await
        {
            match &mut self.erased {
                Some((before, _)) => before.last = came.last,
                None if came.left > 0 => self.erased = Some((came, Instant::now())),
                None => {}
            }
        }
        self.erased = self.erased.take().filter(|(_, at)| at.elapsed() < BLOCKED_RETRY);
        let after = self.erased.map_or(0, |(came, _)| came.last);
        let store = &self.context.store;
        let due = store.erasures().due(after, 1).and_then(|open| {
            if open.is_empty() {
                store.erasure_jobs().has_unreceipted()
            } else {
                Ok(true)
            }
        });
        match due {
            Ok(false) => {}
            Ok(true) => self.erasing = Some(tokio::spawn(erase(self.context.clone(), after))),
            Err(error) => tracing::error!(%error, "erasures could not be looked for"),
        }
    }

    /// Starts due jobs, up to the maximum number.
    async fn begin_what_is_due(&mut self) {
        let jobs = self.context.settings.jobs.max(1);
        let free = jobs.saturating_sub(self.running.len());
        if free == 0 {
            return;
        }
        let (store, max_jobs) = (self.context.store.clone(), free + self.running.len());
        let due = match tokio::task::spawn_blocking(move || store.jobs().due(max_jobs, jobs.div_ceil(2))).await {
            Ok(Ok(due)) => due,
            Ok(Err(error)) => return tracing::error!(%error, "sync jobs could not be looked for"),
            Err(_) => return,
        };
        let fresh: Vec<String> = due
            .into_iter()
            .map(|due| due.job)
            .filter(|job| !self.running.contains_key(job))
            .collect();
        for job in fresh.into_iter().take(free) {
            let task = self.tasks.spawn(run(self.context.clone(), job.clone()));
            self.running.insert(job, task);
        }
    }
}

/// Runs the requested erasures. Returns `None` after an error. Then the worker starts them again at its next turn.
async fn erase(context: Arc<JobContext>, after: i64) -> Option<Erasing> {
    loop {
        let writing = context.writing.clone().lock_owned().await;
        let (store, lake, rules) = (context.store.clone(), context.lake.clone(), context.rules());
        let done = tokio::task::spawn_blocking(move || {
            let done = carry_out_erasures(&store, &lake, after, &rules);
            drop(writing);
            done
        });
        match done.await {
            Ok(Ok(came)) => {
                if came.done > 0 {
                    tracing::info!(count = came.done, "records of ended authorizations are erased");
                }
                return Some(came);
            }
            Err(_) => return None,
            Ok(Err(EraseError::Lake(LakeError::Busy { .. }))) => tokio::time::sleep(LOCK_RETRY).await,
            Ok(Err(error)) => {
                tracing::error!(%error, "records could not be erased");
                return None;
            }
        }
    }
}
