//! The error type of all requests: its HTTP status, its headers and its message.
//!
//! Messages about a client's fault use the client's own terms. Internal errors are logged with the request's id and
//! not shown. A handler returns its error unchanged. The middleware `frame` renders it in the format of the path
//! (`routes::refusals`).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_RANGE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::server::coding::SPOKEN;
use super::throttle::Allowance;
use crate::consent::{self, SourceOutcome};
use crate::fhir::outcome::{Issue, IssueType, OperationOutcome};
use crate::lake::LakeError;
use crate::patient::PatientError;
use crate::search::SearchError;
use crate::views::{Finding, RunError};

/// The statuses of a source that a failed first sync passes on. 401 and 429 are not among them, because they would
/// speak of the caller's own token and rate.
const PASSED_ON: [u16; 6] = [400, 403, 404, 409, 410, 422];
/// The maximum number of characters of a client's name or value that an error message repeats.
const LONGEST_NAME: usize = 64;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The request has no bearer token.
    #[error("this route needs an access token: send it as Authorization: Bearer ...")]
    NoToken,
    /// The bearer token is not valid, or cannot be checked now.
    #[error("{0}")]
    BadToken(consent::Refusal),
    /// The FHIR API does not accept application tokens of test mode.
    #[error("the FHIR API takes live-mode application tokens, and this is one of test mode")]
    TestMode,
    /// The caller is not allowed to do this.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The caller's scope has no such resource.
    #[error("there is no {resource_type} with the id {id:?}")]
    NotFound {
        /// The resource type.
        resource_type: String,
        /// The id in the request.
        id: String,
    },
    /// The resource type, method or operation is not supported.
    #[error("{0}")]
    NotSupported(String),
    /// The request, or a value in it, is invalid.
    #[error("{0}")]
    Invalid(String),
    /// A parameter of an operation is missing, invalid or unsupported.
    #[error("{problem}")]
    Parameter {
        /// The names of the parameters.
        names: Vec<String>,
        /// The issue's code in the OperationOutcome.
        code: IssueType,
        /// The message, which contains the names.
        problem: String,
    },
    /// The request's ViewDefinition is invalid. There is at least one finding.
    #[error("the ViewDefinition cannot be run")]
    Faulty(Vec<Finding>),
    /// The request is valid but cannot be carried out. Trying again does not help.
    #[error("{0}")]
    Processing(String),
    /// The patient's records are being fetched for the first time. The client should try again after this many
    /// seconds.
    #[error("the records are being fetched for the first time; try again in {0} s")]
    Syncing(i64),
    /// No source delivered records. Contains what the sources said.
    #[error("no records could be fetched; the patient has to authorize again")]
    NothingSynced(SourceOutcome),
    /// The server has no format that the request accepts. Contains the formats that it has.
    #[error("answers come as {0}, which the request does not accept")]
    NotAcceptable(&'static str),
    /// The requested byte range begins after the end. Contains the length in bytes.
    #[error("there are {0} bytes, and the part that is asked for begins behind them")]
    Range(u64),
    /// The route does not accept the body's media type. Contains the accepted ones.
    #[error("the body must be {0}")]
    MediaType(&'static str),
    /// The request's body has an unsupported content coding, or more than one.
    #[error("the body may be coded once, by gzip or zstd, or not at all")]
    ContentCoding,
    /// The client accepts neither a supported content coding nor a response without one.
    #[error("answers come as they are or coded by gzip or zstd, and Accept-Encoding admits none of these")]
    NoCoding,
    /// The path exists, but does not support this method.
    #[error("this is not answered by that method; the Allow header says by which it is")]
    Method,
    /// The path and query exceed this number of bytes.
    #[error("the URL is longer than {0} bytes; send a search as POST .../_search")]
    LongUrl(usize),
    /// The body exceeds this number of bytes.
    #[error("the body is longer than {0} bytes")]
    LongBody(usize),
    /// The body was not received in time, or was cut off.
    #[error("the request's body did not arrive")]
    LostBody,
    /// The response would be too large, or the request needs too much work.
    #[error("{0}")]
    TooCostly(String),
    /// The page link has expired: its snapshot no longer exists, or an erasure has changed the rows of this snapshot.
    #[error("{0}")]
    Gone(String),
    /// The server has too much work at the moment.
    #[error("the service is busy; try again in a moment")]
    Busy,
    /// The client has sent too many requests.
    #[error("this is more than {limit} requests in a row; try again in {wait} s", limit = .0.limit(), wait = .0.wait)]
    Throttled(Allowance),
    /// There is nothing with this name or id that the caller may see.
    #[error("{0}")]
    Unknown(String),
    /// There is no such static file.
    #[error("there is no such file")]
    NoFile,
    /// The route needs a patient token, and the request has an application token.
    #[error("A Consent access token is required for this endpoint.")]
    ConsentToken,
    /// The route needs an application token, and the request has a patient token.
    #[error("An Application access token is required for this endpoint.")]
    ApplicationToken,
    /// The route needs a key pair, and the request has none, or one that is not valid.
    #[error("this route takes an application's key pair: send Authorization: Basic with publishable_key:secret_key")]
    KeyPair,
    /// The secret key does not belong to the token's application and mode.
    #[error("the secret_key is not one of the application and mode that the access token is for")]
    SecretKey,
    /// An error that has a code in OAuth.
    #[error("{description}")]
    OAuth {
        /// OAuth's code.
        code: &'static str,
        /// The HTTP status.
        status: StatusCode,
        /// The description of the error.
        description: String,
    },
    /// An internal error. The response does not contain it.
    #[error("the service failed to answer; the X-Request-Id header names this request")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Returns an internal error, which the client did not cause.
    pub(super) fn internal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Internal(error.into())
    }

    /// Returns an error about one parameter of an operation.
    pub(super) fn parameter(name: &str, code: IssueType, problem: impl fmt::Display) -> Error {
        let name = shortened(name);
        Error::Parameter {
            problem: format!("the parameter {name} {problem}"),
            names: vec![name.into_owned()],
            code,
        }
    }

    /// Returns the error for unknown parameters of an operation. There is at least one.
    pub(super) fn unknown_parameters(names: &[String]) -> Error {
        let names: Vec<String> = names.iter().map(|name| shortened(name).into_owned()).collect();
        let plain = names.join(", ");
        Error::Parameter {
            problem: match names.len() {
                1 => format!("there is no parameter {plain}"),
                _ => format!("there are no parameters {plain}"),
            },
            names,
            code: IssueType::Invalid,
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Error::BadToken(consent::Refusal::Unavailable) => StatusCode::SERVICE_UNAVAILABLE,
            Error::NoToken
            | Error::BadToken(_)
            | Error::ConsentToken
            | Error::ApplicationToken
            | Error::KeyPair
            | Error::SecretKey => StatusCode::UNAUTHORIZED,
            Error::OAuth { status, .. } => *status,
            Error::TestMode | Error::Forbidden(_) => StatusCode::FORBIDDEN,
            Error::NotFound { .. } | Error::Unknown(_) | Error::NoFile | Error::NotSupported(_) => {
                StatusCode::NOT_FOUND
            }
            Error::Invalid(_) | Error::Parameter { .. } | Error::Faulty(_) => StatusCode::BAD_REQUEST,
            Error::Processing(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::NothingSynced(said) => {
                let status = said.status.filter(|status| PASSED_ON.contains(status));
                let status = status.and_then(|status| StatusCode::from_u16(status).ok());
                status.unwrap_or(StatusCode::UNPROCESSABLE_ENTITY)
            }
            Error::Syncing(_) => StatusCode::TOO_MANY_REQUESTS,
            Error::NotAcceptable(_) | Error::NoCoding => StatusCode::NOT_ACCEPTABLE,
            Error::Range(_) => StatusCode::RANGE_NOT_SATISFIABLE,
            Error::MediaType(_) | Error::ContentCoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Error::Method => StatusCode::METHOD_NOT_ALLOWED,
            Error::LongUrl(_) => StatusCode::URI_TOO_LONG,
            Error::LongBody(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Error::LostBody => StatusCode::REQUEST_TIMEOUT,
            Error::TooCostly(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::Gone(_) => StatusCode::GONE,
            Error::Busy | Error::Throttled(_) => StatusCode::TOO_MANY_REQUESTS,
            Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn code(&self) -> IssueType {
        match self {
            Error::BadToken(consent::Refusal::Unavailable) | Error::Internal(_) => IssueType::Exception,
            Error::NoToken
            | Error::BadToken(_)
            | Error::ConsentToken
            | Error::ApplicationToken
            | Error::KeyPair
            | Error::SecretKey => IssueType::Login,
            Error::TestMode | Error::Forbidden(_) => IssueType::Forbidden,
            Error::NotFound { .. } | Error::Unknown(_) | Error::NoFile => IssueType::NotFound,
            Error::NotSupported(_)
            | Error::Method
            | Error::NotAcceptable(_)
            | Error::NoCoding
            | Error::MediaType(_)
            | Error::ContentCoding => IssueType::NotSupported,
            Error::Invalid(_) | Error::Faulty(_) | Error::Range(_) | Error::OAuth { .. } => IssueType::Invalid,
            Error::Parameter { code, .. } => *code,
            Error::Processing(_) | Error::NothingSynced(_) => IssueType::Processing,
            Error::LongUrl(_) | Error::LongBody(_) => IssueType::TooLong,
            Error::LostBody => IssueType::Timeout,
            Error::TooCostly(_) => IssueType::TooCostly,
            Error::Gone(_) => IssueType::Expired,
            Error::Busy | Error::Throttled(_) => IssueType::Throttled,
            Error::Syncing(_) => IssueType::Transient,
        }
    }

    /// Returns the error as an OperationOutcome.
    fn outcome(&self) -> OperationOutcome {
        let plain = Issue::error(self.code(), self.to_string());
        match self {
            Error::Parameter { names, .. } => {
                OperationOutcome::new(names.iter().fold(plain, |issue, name| issue.expression(name)))
            }
            Error::Faulty(findings) => {
                let mut issues = findings.iter().map(|finding| Issue {
                    code: self.code(),
                    ..issue(finding)
                });
                let first = OperationOutcome::new(issues.next().unwrap_or(plain));
                issues.fold(first, OperationOutcome::and)
            }
            _ => OperationOutcome::new(plain),
        }
    }

    /// Returns the OperationOutcome as JSON. If sources sent issues, these are the outcome's issues. The error's own
    /// issue follows them only if none of them is an error.
    pub(super) fn outcome_json(&self) -> String {
        let outcome = self.outcome();
        match self {
            Error::NothingSynced(said) if !said.issue.is_empty() => {
                let is_error = |issue: &Value| matches!(issue["severity"].as_str(), Some("error" | "fatal"));
                let mut issues = said.issue.clone();
                if !issues.iter().any(is_error) {
                    issues.extend(
                        outcome
                            .issues()
                            .iter()
                            .filter_map(|issue| serde_json::to_value(issue).ok()),
                    );
                }
                json!({"resourceType": "OperationOutcome", "issue": issues}).to_string()
            }
            _ => outcome.to_json(),
        }
    }

    /// Returns the error for a route outside of `/fhir`. Its form has no place for the issues of sources, so it does
    /// not have their status either.
    pub(super) fn without_sources(self) -> Error {
        match self {
            Error::NothingSynced(_) => Error::NothingSynced(SourceOutcome::default()),
            error => error,
        }
    }

    /// Returns the challenge for `WWW-Authenticate` (RFC 6750, RFC 7617). It has an error code only if the request's
    /// token is the cause of the error.
    fn challenge(&self) -> Option<String> {
        match self {
            Error::KeyPair => Some(r#"Basic realm="records", charset="UTF-8""#.to_owned()),
            Error::NoToken | Error::SecretKey => Some(bearer_challenge(None)),
            Error::BadToken(consent::Refusal::Unavailable) => None,
            Error::BadToken(refusal) => Some(bearer_challenge(Some(&refusal.to_string()))),
            // The token is valid, but the route needs a token of another kind.
            Error::ConsentToken | Error::ApplicationToken => Some(bearer_challenge(Some(&self.to_string()))),
            _ => None,
        }
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Error {
        match error {
            SearchError::Value { .. }
            | SearchError::Modifier { .. }
            | SearchError::Unknown { .. }
            | SearchError::Terminology { .. }
            | SearchError::Chain { .. }
            | SearchError::Operator { .. }
            | SearchError::Joins { .. }
            | SearchError::Deep { .. }
            | SearchError::Many { .. } => Error::Invalid(error.to_string()),
            SearchError::TooManyIncluded(_)
            | SearchError::TooManyJoined(_)
            | SearchError::TooManyContained(_)
            | SearchError::TooCostly
            | SearchError::LongLinks(_) => Error::TooCostly(error.to_string()),
            error if error.is_too_costly() => Error::TooCostly(
                "the expression of a search parameter costs more over these records than there is for it".to_owned(),
            ),
            SearchError::NoCompartment(_) => Error::NotSupported(error.to_string()),
            SearchError::Expired => Error::Gone(error.to_string()),
            error => Error::internal(error),
        }
    }
}

impl From<PatientError> for Error {
    fn from(error: PatientError) -> Error {
        let problem = error.to_string();
        match error {
            PatientError::NoPatient(id) => Error::NotFound {
                resource_type: "Patient".to_owned(),
                id,
            },
            PatientError::Unknown(name) => Error::unknown_parameters(&[name]),
            PatientError::Value { parameter, .. } | PatientError::Repeated(parameter) => Error::Parameter {
                names: vec![parameter.to_owned()],
                code: IssueType::Invalid,
                problem,
            },
            PatientError::Profile(_) => Error::NotSupported(problem),
            PatientError::Summary(error) => Error::internal(error),
            PatientError::Card(error) => Error::internal(error),
            PatientError::Search(error) => error.into(),
        }
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        match error {
            RunError::Lake(LakeError::SnapshotGone(_)) => SearchError::Expired.into(),
            RunError::SpoolsFull => Error::Busy,
            error if error.is_too_costly() => Error::TooCostly(error.to_string()),
            error if error.is_of_view() => Error::Processing(error.to_string()),
            error => Error::internal(error),
        }
    }
}

impl Error {
    /// Returns a response with the error's status and headers, without a body. The status and the headers do not depend
    /// on the format of the body.
    pub(super) fn head(&self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status();
        if let Some(challenge) = self.challenge().and_then(|text| HeaderValue::from_str(&text).ok()) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        if matches!(self, Error::Busy | Error::BadToken(consent::Refusal::Unavailable)) {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if let Error::Range(length) = self
            && let Ok(range) = HeaderValue::from_str(&format!("bytes */{length}"))
        {
            response.headers_mut().insert(CONTENT_RANGE, range);
        }
        if let Error::Throttled(allowance) = self {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(allowance.wait));
            allowance.tell(response.headers_mut());
        }
        if let Error::Syncing(wait) = self {
            let wait = HeaderValue::from(*wait);
            response.headers_mut().insert(RETRY_AFTER, wait.clone());
            response
                .headers_mut()
                .insert(HeaderName::from_static("x-retry-after"), wait);
        }
        if matches!(self, Error::ContentCoding) {
            response.headers_mut().insert(ACCEPT_ENCODING, SPOKEN);
        }
        if let Some(cause) = self.cause() {
            response.extensions_mut().insert(cause);
        }
        response
    }

    /// Returns the cause of an internal error. `None` for other errors.
    pub(super) fn cause(&self) -> Option<Cause> {
        match self {
            Error::Internal(cause) => Some(Cause(chain(cause.as_ref()).into())),
            _ => None,
        }
    }
}

/// The error of a request, as an extension of the response. The handler adds it, and `frame` renders it.
#[derive(Clone, Debug)]
pub(super) struct Raised(pub(super) Arc<Error>);

/// Returns an empty response that has the error as an extension. The middleware `frame` renders the error later,
/// because only `frame` knows the format that clients of the route expect.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status();
        response.extensions_mut().insert(Raised(Arc::new(self)));
        response
    }
}

/// Returns a bearer challenge (RFC 6750, section 3). All access tokens belong to one realm, the whole service. A
/// `reason` says why the request's token is not accepted.
fn bearer_challenge(reason: Option<&str>) -> String {
    match reason {
        None => r#"Bearer realm="records""#.to_owned(),
        Some(reason) => {
            format!(r#"Bearer realm="records", error="invalid_token", error_description="{reason}""#)
        }
    }
}

/// The cause of an internal error, for the log only. `frame` logs it with the request's id.
#[derive(Clone, Debug)]
pub(super) struct Cause(pub(super) Arc<str>);

/// Joins the messages of an error and its causes in one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .fold(String::new(), |text, cause| match text {
            text if text.is_empty() => cause,
            text if text.contains(&cause) => text,
            text => format!("{text}: {cause}"),
        })
}

/// Shortens a name or value to the maximum length in an error message.
pub(super) fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(LONGEST_NAME) {
        None => Cow::Borrowed(name),
        Some((end, _)) => Cow::Owned(format!("{}...", &name[..end])),
    }
}

/// Converts a finding to an issue. Adds the position inside the FHIRPath expression, if it is known.
pub(super) fn issue(finding: &Finding) -> Issue {
    match finding.position {
        Some(position) => finding.issue().diagnostics(format!("in the FHIRPath: {position}")),
        None => finding.issue(),
    }
}
