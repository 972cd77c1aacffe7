//! A source, as one job uses it: renews access in time, limits concurrent requests, and retries temporary failures.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;

use super::attach::download::{DownloadTarget, Reply, once};
use super::said::Said;
use super::search::PageSizes;
use crate::consent::{Authorization, AuthorizationType, Credential, Dialect, Endpoint, Store};
use crate::ingest::SourceBase;
use crate::sync::client::{Answer, Client, Configuration, Error, Grant, Realm, Registration, is_passing};
use crate::sync::settings::Pace;

/// Access that expires within this number of seconds is renewed.
const IN_TIME: i64 = 30;
/// After this number of renewals in a row did not help against a 401, further ones are not tried for `VAIN_FOR`.
const VAIN: u32 = 2;
const VAIN_FOR: Duration = Duration::from_secs(60);

/// Why a request to a source failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// A temporary failure.
    #[error("{why}")]
    Passing {
        why: String,
        /// The number of seconds that the source asks to wait.
        retry_after: Option<u64>,
    },
    /// Repeating the request would not help, but other requests may succeed.
    #[error("{0}")]
    Broken(String),
    /// No request of this job can succeed any more.
    #[error("{0}")]
    Over(String),
    /// Access to the source has ended: it was renewed if possible, and the source still refuses everything by 401.
    #[error("{0}")]
    Shut(String),
    /// The job was stopped.
    #[error("it was stopped")]
    Stopped,
}

impl Trouble {
    /// Whether all further requests of the job are pointless.
    pub(super) fn ends_all(&self) -> bool {
        matches!(self, Trouble::Over(_) | Trouble::Shut(_) | Trouble::Stopped)
    }
}

/// What all jobs of one source share.
#[derive(Debug)]
pub(in crate::sync) struct Gate {
    requests: Semaphore,
    /// The end of the pause that the source has asked for.
    rest: std::sync::Mutex<Option<Instant>>,
}

impl Gate {
    pub(in crate::sync) fn new(requests: usize) -> Gate {
        Gate {
            requests: Semaphore::new(requests.max(1)),
            rest: std::sync::Mutex::new(None),
        }
    }

    fn rest(&self) -> Option<Instant> {
        *self.rest.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn leave_alone(&self, until: Instant) {
        let mut rest = self.rest.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *rest = Some(rest.map_or(until, |rest| rest.max(until)));
    }
}

/// What a job needs to use a source, besides the access.
pub(super) struct Terms {
    /// The gate that all jobs of the source share.
    pub(super) gate: Arc<Gate>,
    pub(super) pace: Pace,
    /// What the source says about its failures.
    pub(super) said: Arc<Said>,
    /// What is known about the source's behaviour.
    pub(super) dialect: Dialect,
}

/// A source as one job uses it.
pub(super) struct Source {
    client: Client,
    store: Arc<Store>,
    authorization: Authorization,
    fhir_base: String,
    /// The addresses to which the access token may be sent.
    realm: Realm,
    registration: Registration,
    configuration: Option<Configuration>,
    access: Mutex<Access>,
    /// Whether the source has accepted the access for any request of the job.
    accepted: AtomicBool,
    gate: Arc<Gate>,
    pace: Pace,
    /// What the source says about its failures.
    said: Arc<Said>,
    /// The id of the endpoint in the directory.
    endpoint: String,
    pages: PageSizes,
    /// Other bases under which the source has shown its records before.
    bases: Vec<String>,
}

/// How access is renewed.
#[derive(Clone, Copy)]
enum Renewal<'a> {
    /// By the source's refresh token.
    Refresh(&'a str),
    /// By the service's own credentials, for this Patient of a located facility.
    Located(&'a str),
    /// By the identity provider's ID token, while it is valid.
    Asserted(&'a str),
}

struct Access {
    credential: Credential,
    /// How many times access was renewed.
    generation: u64,
    /// The number of renewals since the last one that helped against a 401, and the time of the newest.
    vain: (u32, Instant),
    /// The newest generation of which it is known whether its renewal helped.
    judged: u64,
    /// Why access cannot be renewed any more.
    dead_end: Option<String>,
}

impl Source {
    pub(super) fn new(
        client: Client,
        store: Arc<Store>,
        authorization: Authorization,
        endpoint: &Endpoint,
        credential: Credential,
        terms: Terms,
    ) -> Result<Source, Trouble> {
        let Terms {
            gate,
            pace,
            said,
            dialect,
        } = terms;
        let secret = store.endpoints().secret(&endpoint.id).map_err(internal)?;
        let pages = store.endpoints().pages(&endpoint.id).map_err(internal)?;
        let configuration = endpoint.configuration.as_deref();
        let requested = authorization.scope_requested.clone();
        Ok(Source {
            client,
            store,
            fhir_base: endpoint.fhir_base.trim_end_matches('/').to_owned(),
            realm: Realm::under(pages.iter().map(String::as_str).chain([endpoint.fhir_base.as_str()])),
            registration: Registration {
                client_id: endpoint.client_id.clone(),
                client_secret: secret,
                scope: requested.unwrap_or_else(|| endpoint.scope.clone()),
                client_auth: dialect.client_auth,
                secret_at: Some(Realm::origins(
                    [endpoint.fhir_base.as_str()]
                        .into_iter()
                        .chain(dialect.token_endpoint.as_deref()),
                )),
            },
            configuration: configuration.and_then(|json| serde_json::from_str(json).ok()),
            access: Mutex::new(Access {
                credential,
                generation: 0,
                vain: (0, Instant::now()),
                judged: 0,
                dead_end: None,
            }),
            accepted: AtomicBool::new(false),
            authorization,
            gate,
            pace,
            said,
            endpoint: endpoint.id.clone(),
            pages: PageSizes::new(dialect.page_size),
            bases: dialect.bases,
        })
    }

    /// Returns the page sizes of the source.
    pub(super) fn pages(&self) -> &PageSizes {
        &self.pages
    }

    /// Records that the source accepted pages of this size.
    pub(super) fn took(&self, size: u32) {
        let Some(size) = self.pages.took(size) else { return };
        let (store, endpoint) = (self.store.clone(), self.endpoint.clone());
        remember(move || store.dialects().set_page_size(&endpoint, size));
    }

    /// Stores the origin of a next page that is outside the realm and therefore was not requested.
    pub(super) fn pages_elsewhere(&self, origin: &str) {
        let (store, endpoint, origin) = (self.store.clone(), self.endpoint.clone(), origin.to_owned());
        remember(move || store.dialects().set_elsewhere(&endpoint, &origin));
    }

    /// Returns the FHIR base in all forms that are known.
    pub(super) fn all_bases(&self) -> SourceBase {
        SourceBase::with_forms(&self.fhir_base, &self.bases)
    }

    /// Stores the forms of the FHIR base that the source's answers have shown.
    pub(super) fn note_bases(&self, base: &SourceBase) {
        let learned = base.learned();
        if learned != self.bases {
            let (store, endpoint) = (self.store.clone(), self.endpoint.clone());
            remember(move || store.dialects().set_bases(&endpoint, &learned));
        }
    }

    /// Returns the FHIR base, without a trailing slash.
    pub(super) fn base(&self) -> &str {
        &self.fhir_base
    }

    /// Returns the addresses to which the access token may be sent.
    pub(super) fn realm(&self) -> &Realm {
        &self.realm
    }

    /// Gets an answer. Temporary failures are retried, and access is renewed if necessary. An answer with 401 refuses
    /// this request only, because sources use 401 also for types that the scope lacks.
    pub(super) async fn get(&self, url: &str) -> Result<Answer, Trouble> {
        Ok(self.ask(url, None).await?.answer)
    }

    /// Gets an answer like [`get`](Self::get), and writes its body to a file if the status is 200.
    pub(super) async fn download(&self, url: &str, target: DownloadTarget<'_>) -> Result<Reply, Trouble> {
        self.ask(url, Some(target)).await
    }

    async fn ask(&self, url: &str, target: Option<DownloadTarget<'_>>) -> Result<Reply, Trouble> {
        let mut renewed = false;
        let mut tries = 0;
        loop {
            let (token, generation) = self.token().await?;
            let reply = {
                let _request = self.turn().await?;
                once(&self.client, url, &token, &self.realm, target).await
            };
            if let Ok(Reply { answer, .. }) = reply.as_ref() {
                if answer.status == 401 && !renewed && self.renew_refused(generation).await? {
                    renewed = true;
                    continue;
                }
                if renewed {
                    self.note_renewal(generation, answer.status != 401).await;
                }
                if matches!(answer.status, 200..300 | 403) {
                    self.accepted.store(true, Ordering::Relaxed);
                }
                if !matches!(answer.status, 200..300) {
                    self.hear(answer.status, &answer.body).await;
                }
            }
            let (why, retry_after) = match reply {
                Ok(reply) if !is_passing(reply.answer.status) => return Ok(reply),
                Ok(Reply { answer, .. }) => (
                    format!("the source answered with status {}", answer.status),
                    answer.retry_after,
                ),
                Err(error) if error.may_pass() => (error.to_string(), error.retry_after()),
                Err(error) => return Err(Trouble::Broken(error.to_string())),
            };
            tries += 1;
            let wait = match retry_after {
                Some(seconds) => Duration::from_secs(seconds),
                None => jittered(self.pace.first.saturating_mul(1 << (tries - 1).min(16))),
            };
            if let Some(seconds) = retry_after {
                let until = Instant::now() + Duration::from_secs(seconds).min(self.pace.max_wait);
                self.gate.leave_alone(until);
            }
            if tries >= self.pace.tries || wait > self.pace.max_wait {
                return Err(Trouble::Passing { why, retry_after });
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// If the body is an OperationOutcome, keeps its issues and the status for the result of the job, without tokens
    /// and secrets.
    pub(super) async fn hear(&self, status: u16, body: &[u8]) {
        let access = self.access.lock().await;
        let credential = &access.credential;
        let secrets = [
            Some(&credential.access_token),
            credential.refresh_token.as_ref(),
            credential.assertion.as_ref(),
            self.registration.client_secret.as_ref(),
        ];
        let secrets: Vec<&str> = secrets.into_iter().flatten().map(String::as_str).collect();
        self.said.hear(status, body, &secrets);
    }

    /// Waits until the gate allows a request.
    async fn turn(&self) -> Result<tokio::sync::SemaphorePermit<'_>, Trouble> {
        loop {
            if let Some(rest) = self.gate.rest().filter(|rest| *rest > Instant::now()) {
                tokio::time::sleep_until(rest).await;
                continue;
            }
            return self.gate.requests.acquire().await.map_err(|_| Trouble::Stopped);
        }
    }

    /// Returns an access token for the next request, and how many times access was renewed. Renews access that ends
    /// soon.
    async fn token(&self) -> Result<(String, u64), Trouble> {
        let access = self.access.lock().await;
        let (token, generation) = (access.credential.access_token.clone(), access.generation);
        let ends = access.credential.expires_at;
        let can = self.renewal(&access.credential).is_some();
        drop(access);
        let over = ends.is_some_and(|ends| ends - IN_TIME <= self.store.clock().now());
        if !over || !can {
            return Ok((token, generation));
        }
        self.renew(generation).await?;
        let access = self.access.lock().await;
        Ok((access.credential.access_token.clone(), access.generation))
    }

    /// Returns how access can be renewed, if it can.
    fn renewal<'a>(&'a self, credential: &'a Credential) -> Option<Renewal<'a>> {
        if let Some(token) = &credential.refresh_token {
            return Some(Renewal::Refresh(token));
        }
        let patient = self.authorization.source_patient.as_deref();
        match self.authorization.authorization_type {
            AuthorizationType::Ial1 => patient.map(Renewal::Located),
            _ => credential.assertion.as_deref().map(Renewal::Asserted),
        }
    }

    /// Returns why access has ended, if it has: the source has accepted it for no request of the job. The caller has
    /// seen that it refuses the Patient by 401.
    pub(super) async fn end_of_access(&self) -> Option<Trouble> {
        if self.has_answered() {
            return None;
        }
        let dead_end = self.access.lock().await.dead_end.clone();
        Some(Trouble::Shut(
            dead_end.unwrap_or_else(|| "the source takes its access for none".to_owned()),
        ))
    }

    /// Whether the source has accepted the access for any request of the job.
    pub(super) fn has_answered(&self) -> bool {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Records whether the renewal that led to access number `generation` helped against a 401. Each renewal counts
    /// once.
    async fn note_renewal(&self, generation: u64, helped: bool) {
        let mut access = self.access.lock().await;
        let judged = std::mem::replace(&mut access.judged, generation);
        if helped {
            access.vain = (0, Instant::now());
        } else if judged != generation {
            access.vain = (access.vain.0 + 1, Instant::now());
        }
    }

    /// Renews access that the source has refused by 401, unless renewals have not helped lately.
    async fn renew_refused(&self, generation: u64) -> Result<bool, Trouble> {
        let access = self.access.lock().await;
        let (vain, at) = access.vain;
        let is_old = access.generation != generation;
        drop(access);
        if !is_old && vain >= VAIN && at.elapsed() < VAIN_FOR {
            return Ok(false);
        }
        self.renew(generation).await
    }

    /// Renews access. Returns whether there is other access now than that of `generation`. If another request of the
    /// job has renewed it since, does nothing.
    async fn renew(&self, generation: u64) -> Result<bool, Trouble> {
        let mut access = self.access.lock().await;
        if access.generation != generation {
            return Ok(true);
        }
        if access.dead_end.is_some() {
            return Ok(false);
        }
        let Some(renewal) = self.renewal(&access.credential) else {
            let why = "access has ended, and the source gave nothing to renew it with";
            access.dead_end = Some(why.to_owned());
            return Ok(false);
        };
        let mut tries = 0;
        let grant = loop {
            let asked = self.ask_again(renewal).await;
            match asked {
                Ok(grant) => break grant,
                Err(error) if error.may_pass() => {
                    tries += 1;
                    let (why, retry_after) = (error.to_string(), error.retry_after());
                    if tries >= self.pace.tries {
                        return Err(Trouble::Passing { why, retry_after });
                    }
                    let wait = retry_after.map_or(self.pace.first, Duration::from_secs);
                    tokio::time::sleep(wait.min(self.pace.max_wait)).await;
                }
                Err(error) => {
                    access.dead_end = Some(format!("access could not be renewed: {error}"));
                    return Ok(false);
                }
            }
        };
        let now = self.store.clock().now();
        let renewed = Credential {
            access_token: grant.access_token,
            expires_at: grant.expires_in.map(|seconds| now.saturating_add(seconds)),
            refresh_token: grant.refresh_token.or(access.credential.refresh_token.clone()),
            assertion: access.credential.assertion.clone(),
        };
        let (store, authorization, kept) = (self.store.clone(), self.authorization.id.clone(), renewed.clone());
        let (endpoint, known) = (self.endpoint.clone(), self.registration.client_auth);
        let news = grant.client_auth.filter(|how| known != Some(*how));
        let stands = blocking(move || {
            if let Some(how) = news {
                store.dialects().set_client_auth(&endpoint, how)?;
            }
            store.credentials().renew(&authorization, &kept)
        })
        .await?;
        if !stands.map_err(internal)? {
            return Err(Trouble::Stopped);
        }
        access.credential = renewed;
        access.generation += 1;
        Ok(true)
    }

    async fn ask_again(&self, renewal: Renewal<'_>) -> Result<Grant, Error> {
        let discovered;
        let configuration = match &self.configuration {
            Some(configuration) => configuration,
            None => {
                discovered = self.client.discover(&self.fhir_base).await?;
                &discovered
            }
        };
        let (client, registration) = (&self.client, &self.registration);
        match renewal {
            Renewal::Refresh(token) => client.refresh(configuration, registration, token).await,
            Renewal::Located(patient) => client.access_located(configuration, registration, patient).await,
            Renewal::Asserted(token) => client.assert_identity(configuration, registration, token).await,
        }
    }
}

/// Runs blocking work, such as disk work, on a thread apart from network work.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Trouble> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Trouble::Over("the service failed".to_owned()))
}

/// Stores a fact about a source in the background. A failure is only logged, because the fact can be found out again.
pub(super) fn remember(work: impl FnOnce() -> Result<(), crate::consent::Error> + Send + 'static) {
    tokio::task::spawn_blocking(move || {
        if let Err(error) = work() {
            tracing::warn!(%error, "what was found out of a source could not be kept");
        }
    });
}

/// Logs a failure of the service itself, and returns it as a temporary failure.
pub(super) fn internal(error: impl std::fmt::Display) -> Trouble {
    tracing::error!(%error, "a sync met a failure of the service itself");
    Trouble::Passing {
        why: "the service itself failed".to_owned(),
        retry_after: None,
    }
}

/// Returns a random time between half of `time` and `time`, so that jobs that failed together do not retry together.
fn jittered(time: Duration) -> Duration {
    let half = time / 2;
    // Each new hasher has random keys, so its hash is a random number.
    let chance = std::hash::RandomState::new().hash_one(0u8) as u32;
    half + half.mul_f64(f64::from(chance) / f64::from(u32::MAX))
}
