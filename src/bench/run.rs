//! Runs the bench: draws values, starts a server if none is given, measures each family, and reports.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use super::ask::dice::Dice;
use super::ask::mix::{Family, Kind, Mix, Query, Subject, Who};
use super::ask::plan::{Drawn, Plan};
use super::ask::request::get;
use super::ask::walk;
use super::connect::child::Child;
use super::connect::client;
use super::connect::client::{Job, Line, Tokens};
use super::connect::target::Target;
use super::connect::tls::Tls;
use super::error::BenchError;
use super::hostile::{self, Beside, Hostile};
use super::soak::{self, Commands, Writer};
use super::tell::machine;
use super::tell::machine::Memory;
use super::tell::report::{
    ErrorCount, FORMAT, LakeSize, Latency, LeftOut, Outcome, Pages, Program, Report, Server, Soak, mebibytes,
};
use super::tell::tally::Tally;
use crate::consent::{Clock, Store};
use crate::lake::{Lake, Mode, Scope};

/// The maximum time for which a soak uses the same token. Then it makes a new one.
const SOAK_PART: Duration = Duration::from_secs(600);
/// The minimum number of progress lines that a soak prints.
const SOAK_LINES: f64 = 12.0;
/// The maximum time that a soak waits after its last request, to measure the memory that stays in use.
const SOAK_REST: Duration = Duration::from_secs(30);

/// The settings of a bench.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The numbers of clients. A family runs one time with each number, unless its mix names other numbers.
    pub clients: Vec<usize>,
    /// How long each family runs with each number of clients.
    pub time: Duration,
    /// How long a timed family runs before its measurement. The requests of this time do not count.
    pub warm_up: Duration,
    /// The seed of all draws.
    pub seed: u64,
    /// Whether a soak sends hostile requests in every second part of its time.
    pub hostile: bool,
    /// The scope of the records to draw from. If the bench starts a server, it makes tokens for the application and
    /// mode of this scope.
    pub scope: Arc<Scope>,
}

/// A bench that is ready to run.
#[derive(Debug)]
pub struct Bench {
    /// The lake from which parameters are drawn.
    pub lake: Lake,
    /// The mix to run.
    pub mix: Mix,
    /// The settings.
    pub settings: Settings,
    /// The server to measure.
    pub asked: Asked,
}

/// The server to measure.
#[derive(Debug)]
pub enum Asked {
    /// A server that the bench starts over the lake.
    Own {
        /// The executable of the program.
        program: PathBuf,
        /// The store in which the bench makes its tokens.
        store: Arc<Store>,
    },
    /// A running server, with a token if it requires one.
    Given {
        /// The server's address.
        target: Target,
        /// The bearer token of all requests, if any.
        token: Option<String>,
    },
}

impl Asked {
    /// Returns an [`Asked::Own`] for a lake. The bench starts the server later.
    pub fn own(lake: &Lake) -> Result<Asked, BenchError> {
        Ok(Asked::Own {
            program: std::env::current_exe()?,
            store: Arc::new(Store::open(lake.folder().path(), Clock::System)?),
        })
    }
}

impl Bench {
    /// Runs all families. Calls `tell` with each line of the table as soon as it is known.
    pub fn run(&self, tell: &mut dyn FnMut(String)) -> Result<Report, BenchError> {
        let info = self.lake.info()?;
        let Settings { scope, seed, .. } = &self.settings;
        let families = &self.mix.families;
        let drawn = Drawn::read(&self.lake, scope, families, *seed)?;
        let mode = scope.mode.schema();
        let tables = info.tables.iter().filter(|table| table.mode == mode);
        let types: Vec<(String, u64, u64)> = tables
            .map(|table| (table.table.to_owned(), table.rows, table.bytes))
            .collect();
        let mut report = Report {
            tabularium_bench: FORMAT,
            at: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            program: Program {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
            },
            machine: machine::machine(),
            server: Server {
                url: match &self.asked {
                    Asked::Own { .. } => None,
                    Asked::Given { target, .. } => Some(target.url.clone()),
                },
                software: None,
                version: None,
                peak_memory_bytes: None,
            },
            lake: LakeSize {
                snapshot: info.snapshot,
                resources: types.iter().map(|(_, rows, _)| rows).sum(),
                bytes: types.iter().map(|(_, _, bytes)| bytes).sum(),
                types: types.into_iter().map(|(name, rows, _)| (name, rows)).collect(),
            },
            mix: self.mix.name.clone(),
            seed: *seed,
            seconds: self.settings.time.as_secs_f64(),
            warm_up_seconds: self.settings.warm_up.as_secs_f64(),
            interrupted: false,
            ended_early: false,
            results: Vec::new(),
            left_out: Vec::new(),
        };
        let mut plans = Vec::new();
        for family in families {
            match self.plan(&drawn, family) {
                Ok(plan) => {
                    report
                        .left_out
                        .extend(plan.left_out.iter().map(|reason| left_out(family, reason)));
                    plans.push((family, plan));
                }
                Err(reason) => report.left_out.push(left_out(family, &reason)),
            }
        }
        if plans.is_empty() {
            let reason = report.left_out.first().map(|left_out| left_out.reason.clone());
            return Err(BenchError::Nothing {
                reason: reason.unwrap_or_default(),
                application: scope.application.to_string(),
                mode,
            });
        }
        // A family of [`Kind::Once`] needs a server that was just started. So these families run first: the first of
        // them uses the server that the bench starts anyway.
        plans.sort_by_key(|(_, plan)| plan.kind != Kind::Once);
        self.ask(plans, &mut report, tell)?;
        Ok(report)
    }

    fn plan(&self, drawn: &Drawn, family: &Family) -> Result<Plan, String> {
        let given = matches!(self.asked, Asked::Given { .. });
        if family.kind == Kind::Once && given {
            return Err("it asks a server that was just started, and this one runs already".to_owned());
        }
        if family.kind == Kind::Soak && given {
            return Err("it imports and erases, which is done to a copy of the lake alone".to_owned());
        }
        let as_application = |query: &Query| query.token == Who::Application && query.subject != Subject::Server;
        let own = matches!(self.asked, Asked::Own { .. });
        if own && self.settings.scope.mode == Mode::Test && family.queries.iter().any(as_application) {
            return Err(
                "it asks with an application's token, and those of test mode are not let at records".to_owned(),
            );
        }
        drawn.plan(family)
    }

    fn ask(
        &self,
        plans: Vec<(&Family, Plan)>,
        report: &mut Report,
        tell: &mut dyn FnMut(String),
    ) -> Result<(), BenchError> {
        // Clients mostly wait, so half of the processors is more than enough for them.
        let threads = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build()?;
        let all: Vec<(&Family, usize)> = plans
            .iter()
            .map(|(family, _)| (*family, self.clients(family).len()))
            .collect();
        let mut running = Running::new(self)?;
        let outcome = runtime.block_on(async {
            tokio::select! {
                biased;
                _ = tokio::signal::ctrl_c() => Err(BenchError::Interrupted),
                done = self.families(plans, &mut running, report, tell) => done,
            }
        });
        report.server.peak_memory_bytes = running.end()?;
        match outcome {
            // If the user interrupts the bench after the first measurement, return the report with the finished
            // measurements, and no error.
            Err(BenchError::Interrupted) if !report.results.is_empty() => {
                report.interrupted = true;
                for (family, numbers) in all {
                    let measured = report.results.iter().filter(|outcome| outcome.family == family.name);
                    let missing = numbers.saturating_sub(measured.count());
                    if missing > 0 {
                        let reason =
                            format!("interrupted before {missing} of {numbers} numbers of clients were measured");
                        report.left_out.push(left_out(family, &reason));
                    }
                }
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn clients<'a>(&'a self, family: &'a Family) -> &'a [usize] {
        family.clients.as_ref().unwrap_or(&self.settings.clients)
    }

    async fn families(
        &self,
        plans: Vec<(&Family, Plan)>,
        running: &mut Running<'_>,
        report: &mut Report,
        tell: &mut dyn FnMut(String),
    ) -> Result<(), BenchError> {
        running.start()?;
        (report.server.software, report.server.version) = running.software().await?;
        let mut untouched = true;
        for (family, plan) in plans {
            if plan.kind == Kind::Once && !std::mem::take(&mut untouched) {
                running.start()?;
            }
            let mut job = Job {
                target: running.target()?,
                tls: running.tls.clone(),
                tokens: Tokens::default(),
                plan,
            };
            for clients in self.clients(family) {
                // The application's token may expire during a bench, so a new one is made.
                job.tokens = running.tokens(&job.plan)?;
                let outcome;
                (job, outcome) = match job.plan.kind {
                    Kind::Soak => self.soak(family, *clients, job, running, tell).await?,
                    _ => self.figures(family, *clients, job, running.process()).await?,
                };
                if outcome.answers == 0
                    && let Some(closed) = closed(&outcome.errors)
                {
                    let url = job.target.url.clone();
                    let reason = match (closed.status.as_str(), report.results.is_empty()) {
                        ("401", true) => return Err(refused(url, closed.status.clone(), &closed.message)),
                        ("401", false) => format!("the server answered 401 from here on: {}", closed.message),
                        (_, true) => {
                            let reason = closed.message.clone();
                            return Err(BenchError::Unreachable { url, reason });
                        }
                        (_, false) => format!("the server answered no more from here on: {}", closed.message),
                    };
                    report.left_out.push(left_out(family, &reason));
                    report.ended_early = true;
                    return Ok(());
                }
                tell(outcome.line());
                report.results.push(outcome);
            }
            untouched = false;
        }
        Ok(())
    }

    /// Measures a family with `clients` clients, after a warm-up if its kind is [`Kind::Timed`].
    async fn figures(
        &self,
        family: &Family,
        clients: usize,
        job: Job,
        process: Option<u32>,
    ) -> Result<(Job, Outcome), BenchError> {
        let Settings { time, warm_up, .. } = self.settings;
        let job = if job.plan.kind == Kind::Timed && !warm_up.is_zero() {
            self.phase(family, clients, job, "warm-up", warm_up).await?.0
        } else {
            job
        };
        let memory = Memory::watch(process);
        let begun = Instant::now();
        let (job, tally) = self.phase(family, clients, job, "clients", time).await?;
        let outcome = outcome(family, clients, &job.plan, &tally, begun.elapsed());
        Ok((
            job,
            Outcome {
                server_memory_bytes: memory.peak(),
                ..outcome
            },
        ))
    }

    /// Measures a family with `clients` clients while other processes import and erase. Watches the server's memory.
    async fn soak(
        &self,
        family: &Family,
        clients: usize,
        mut job: Job,
        running: &mut Running<'_>,
        tell: &mut dyn FnMut(String),
    ) -> Result<(Job, Outcome), BenchError> {
        let Settings { time, seed, .. } = self.settings;
        let Asked::Own { program, .. } = &self.asked else {
            return Err(BenchError::Interrupted);
        };
        let wanted = self.settings.hostile;
        let hostile = wanted.then(|| self.hostile(program, running)).transpose()?;
        let writer = Writer::start(program, &self.lake, &self.settings.scope, seed, time)?;
        let memory = Memory::watch(running.process());
        let (begun, mut tally, mut beside) = (Instant::now(), client::tally()?, Beside::new()?);
        let parts = (time.as_secs_f64() / SOAK_PART.as_secs_f64()).ceil().max(SOAK_LINES) as u32;
        // The number is even, so that there are as many parts with hostile requests as without.
        let parts = parts.next_multiple_of(2);
        for part in 1..=parts {
            let until = time * part / parts;
            let start = begun.elapsed();
            let left = until.saturating_sub(start);
            let sent = hostile.clone().filter(|_| part % 2 == 0);
            let is_quiet = sent.is_none();
            let sending = sent.map(|hostile| tokio::spawn(hostile.ask(Instant::now() + left)));
            let (returned, told) = self.phase(family, clients, job, &format!("part {part}"), left).await?;
            if let Some(sending) = sending {
                beside.hostile.add(sending.await.map_err(std::io::Error::other)??);
            }
            beside.add(is_quiet, told.clone(), (start, begun.elapsed()));
            tally.add(told);
            job = returned;
            let (imports, erasures) = writer.done();
            let now = memory.last().map_or_else(|| "unknown".to_owned(), mebibytes);
            let at = begun.elapsed().as_secs();
            tell(format!(
                "{} {:>3}:{:02}  memory {now}, {imports} imports, {erasures} erasures, {} requests",
                family.name,
                at / 60,
                at % 60,
                tally.answers()
            ));
            // The application's token may expire during a soak, so a new one is made.
            job.tokens = running.tokens(&job.plan)?;
        }
        let (taken, samples) = (begun.elapsed(), memory.samples());
        let (imports, erasures) = writer.done();
        let failures = tokio::task::spawn_blocking(|| writer.stop())
            .await
            .map_err(std::io::Error::other)?;
        let rest = SOAK_REST.min(time / 10);
        tokio::time::sleep(rest).await;
        let mut outcome = outcome(family, clients, &job.plan, &tally, taken);
        outcome.failed += failures.iter().map(|failure| failure.count).sum::<u64>();
        outcome.errors.extend(failures);
        outcome.server_memory_bytes = memory.peak();
        outcome.soak = Some(Soak {
            imports,
            erasures,
            growth: soak::growth(&samples),
            memory: soak::curve(&samples),
            bytes_after: memory.last(),
            seconds_after: rest.as_secs_f64(),
            hostile: hostile.map(|hostile| beside.figures(hostile.clients(), &samples)),
        });
        Ok((job, outcome))
    }

    /// Imports people with hostile attachments, and prepares the requests for their records.
    fn hostile(&self, program: &Path, running: &Running<'_>) -> Result<Hostile, BenchError> {
        Commands::new(program, &self.lake, &self.settings.scope).import(&hostile::records()?)?;
        self.lake.refresh()?;
        let tokens: Vec<String> = hostile::people()
            .map(|person| running.patient_token(&person))
            .collect::<Result<_, _>>()?;
        Ok(Hostile::new(&running.target()?, &tokens))
    }

    /// Runs all clients of a family for a time. Returns the job, and the results of all clients together.
    async fn phase(
        &self,
        family: &Family,
        clients: usize,
        job: Job,
        purpose: &str,
        time: Duration,
    ) -> Result<(Job, Tally), BenchError> {
        let shared = Arc::new(job);
        let purpose = format!("{} {purpose}", family.name);
        let tally = phase(shared.clone(), clients, self.settings.seed, purpose, time).await?;
        // This error does not happen: all clients are done, so no other reference to the job exists.
        let job = Arc::try_unwrap(shared).map_err(|_| BenchError::Interrupted)?;
        Ok((job, tally))
    }
}

/// Computes a family's figures from its tally.
fn outcome(family: &Family, clients: usize, plan: &Plan, tally: &Tally, taken: Duration) -> Outcome {
    let seconds = taken.as_secs_f64();
    let per_second = tally.answers() as f64 / seconds;
    let pages = tally.walks.medians().map(|(first, last)| Pages {
        walks: tally.walks.ends.len() as u64,
        resources: tally.walks.resources,
        resources_per_second: tally.walks.rate,
        first_page_ms: first,
        last_page_ms: last,
    });
    Outcome {
        family: family.name.clone(),
        clients,
        seconds,
        answers: tally.answers(),
        per_second,
        latency_ms: Latency::of(tally),
        bytes: tally.bytes,
        rows_per_second: plan.table_rows.map(|rows| rows as f64 * per_second),
        pages,
        soak: None,
        failed: tally.failed(),
        errors: ErrorCount::of(tally),
        server_memory_bytes: None,
        queries: plan.queries.iter().map(|ready| ready.query.text.clone()).collect(),
    }
}

/// Returns the error because of which the bench must stop, if there is one. `errors` are the errors of a family that
/// got no good answer. A 401 stops the bench, because the server refuses the token for every family. Errors of
/// connections stop it if there are no other errors, because then the server has stopped.
fn closed(errors: &[ErrorCount]) -> Option<&ErrorCount> {
    let refused = errors.iter().find(|error| error.status == "401");
    let gone = errors.iter().all(|error| error.status == "connection");
    refused.or_else(|| errors.first().filter(|_| gone))
}

fn refused(url: String, status: String, message: &str) -> BenchError {
    let message = match message {
        "" => String::new(),
        said => format!(": {said}"),
    };
    BenchError::Refused { url, status, message }
}

fn left_out(family: &Family, reason: &str) -> LeftOut {
    LeftOut {
        family: family.name.clone(),
        reason: reason.to_owned(),
    }
}

/// Runs all clients for a time, and adds up their results.
async fn phase(job: Arc<Job>, clients: usize, seed: u64, purpose: String, time: Duration) -> Result<Tally, BenchError> {
    let until = Instant::now() + time;
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let (job, dice) = (job.clone(), Dice::new(seed, &purpose, client as u64));
        match job.plan.kind {
            Kind::Timed | Kind::Soak => tasks.spawn(client::timed(job, dice, until)),
            Kind::Once => tasks.spawn(client::once(job, dice, until)),
            Kind::Pages => tasks.spawn(walk::walks(job, dice, time)),
        };
    }
    drop(job);
    let mut all = client::tally()?;
    while let Some(tally) = tasks.join_next().await {
        all.add(tally.map_err(std::io::Error::other)??);
    }
    Ok(all)
}

/// The measured server.
struct Running<'a> {
    bench: &'a Bench,
    child: Option<Child>,
    tls: Option<Tls>,
    patients: HashMap<Box<str>, Arc<str>>,
    peak: Option<u64>,
    /// The base URL that was in the store when the bench began. The bench's own server overwrites it, so it is restored
    /// at the end. `None` if the store had none, or if the server was given.
    announced: Option<String>,
}

impl<'a> Running<'a> {
    fn new(bench: &'a Bench) -> Result<Running<'a>, BenchError> {
        let (tls, announced) = match &bench.asked {
            Asked::Own { store, .. } => (None, store.settings().base_url()?),
            Asked::Given { target, .. } if target.secure => (Some(Tls::new(&target.host)?), None),
            Asked::Given { .. } => (None, None),
        };
        Ok(Running {
            bench,
            child: None,
            tls,
            patients: HashMap::new(),
            peak: None,
            announced,
        })
    }

    /// Stops the bench's own server, if it is running, and starts a new one. Does nothing if the user gave the server.
    fn start(&mut self) -> Result<(), BenchError> {
        if let Asked::Own { program, .. } = &self.bench.asked {
            self.stop();
            self.patients.clear();
            self.child = Some(Child::start(program, self.bench.lake.folder().path())?);
        }
        Ok(())
    }

    fn stop(&mut self) {
        if let Some(child) = self.child.take() {
            self.peak = self.peak.max(machine::peak_memory(child.id()));
        }
    }

    fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    fn target(&self) -> Result<Target, BenchError> {
        match (&self.bench.asked, &self.child) {
            (Asked::Given { target, .. }, _) => Ok(target.clone()),
            (Asked::Own { .. }, Some(child)) => Target::parse(&format!("{}/fhir", child.base_url())),
            (Asked::Own { .. }, None) => Err(BenchError::Server("it ended".to_owned())),
        }
    }

    /// Makes a Patient's token for the bench's own server.
    fn patient_token(&self, patient: &str) -> Result<String, BenchError> {
        let (Asked::Own { store, .. }, Some(child)) = (&self.bench.asked, &self.child) else {
            return Err(BenchError::Server("it ended".to_owned()));
        };
        let maker = crate::consent::Tokens::new(store.clone(), self.bench.lake.clone(), child.base_url());
        let Scope { application, mode, .. } = &*self.bench.settings.scope;
        Ok(maker.for_patient(application, *mode, patient)?.token)
    }

    /// Makes the tokens for a family's queries. If the user gave the server, returns the user's token.
    fn tokens(&mut self, plan: &Plan) -> Result<Tokens, BenchError> {
        let (store, child) = match (&self.bench.asked, &self.child) {
            (Asked::Given { token, .. }, _) => {
                return Ok(Tokens {
                    application: token.as_deref().map(Arc::from),
                    patients: Arc::default(),
                });
            }
            (Asked::Own { store, .. }, Some(child)) => (store, child),
            (Asked::Own { .. }, None) => return Err(BenchError::Server("it ended".to_owned())),
        };
        let maker = crate::consent::Tokens::new(store.clone(), self.bench.lake.clone(), child.base_url());
        let Scope { application, mode, .. } = &*self.bench.settings.scope;
        for patient in plan.token_people() {
            if !self.patients.contains_key(patient) {
                let token = maker.for_patient(application, *mode, patient)?.token;
                self.patients.insert(patient.into(), token.into());
            }
        }
        Ok(Tokens {
            application: Some(maker.for_application(application, *mode)?.token.into()),
            patients: Arc::new(self.patients.clone()),
        })
    }

    /// Returns the name and version of the server's software. Fails if the server does not answer, or answers 401, 403
    /// or 404.
    async fn software(&self) -> Result<(Option<String>, Option<String>), BenchError> {
        let target = self.target()?;
        let token = match &self.bench.asked {
            Asked::Given { token, .. } => token.as_deref(),
            Asked::Own { .. } => None,
        };
        let mut request = Vec::new();
        get(&format!("{}/metadata", target.path), &target, token, &mut request);
        let mut line = Line::new(&target, self.tls.as_ref());
        let (answer, _) = line
            .send(&request, usize::MAX)
            .await
            .map_err(|error| BenchError::Unreachable {
                url: target.url.clone(),
                reason: error.to_string(),
            })?;
        if matches!(answer.status, 401 | 403 | 404) {
            return Err(refused(
                format!("{}/metadata", target.url),
                answer.status.to_string(),
                &client::message(&line.kept),
            ));
        }
        let statement: Value = serde_json::from_slice(&line.kept).unwrap_or_default();
        let software = |name: &str| {
            let said = statement["software"][name].as_str()?;
            Some(said.chars().filter(|char| !char.is_control()).collect())
        };
        Ok((software("name"), software("version")))
    }

    /// Stops the bench's own server, and restores the base URL that the store had before. Returns the server's peak
    /// memory.
    fn end(mut self) -> Result<Option<u64>, BenchError> {
        self.stop();
        if let Asked::Own { store, .. } = &self.bench.asked {
            let settings = store.settings();
            match &self.announced {
                Some(announced) => settings.set_base_url(announced)?,
                None => settings.remove_base_url()?,
            }
        }
        Ok(self.peak)
    }
}
