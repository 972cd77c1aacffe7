//! `POST /oauth/token`: the three grants. `/link/token` accepts the same requests, but its refreshes also fetch fresh
//! records.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Extensions;
use axum::response::Response;

use super::answer::TokenAnswer;
use super::body::Fields;
use super::client::Identity;
use super::error::OAuthError;
use crate::consent::{Caller, Granted, Issued, Resync};
use crate::http::service::Service;

/// PKCE verifiers have 43 to 128 characters (RFC 7636, section 4.1).
const VERIFIER: std::ops::RangeInclusive<usize> = 43..=128;

/// The grant of a well-formed token request, with the fields that it requires.
pub(in crate::http) enum Grant {
    /// Tokens for an authorization code.
    Code {
        /// The code.
        code: String,
        /// The redirect URI. It must be the one to which the code was sent.
        redirect_uri: String,
        /// The PKCE verifier.
        verifier: String,
    },
    /// Tokens for a refresh token.
    Refresh {
        /// The refresh token.
        token: String,
    },
    /// An application token, which stands for the client itself.
    Client,
}

/// The value of `grant_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum GrantType {
    /// `authorization_code`.
    Code,
    /// `refresh_token`.
    Refresh,
    /// `client_credentials`.
    Client,
}

/// The result of a grant.
pub(in crate::http) enum Given {
    /// Tokens for a consent.
    Consent(Box<Granted>),
    /// An application token, which stands for the client itself.
    Application(Issued),
}

impl GrantType {
    fn of(fields: &Fields) -> Result<GrantType, OAuthError> {
        match fields.need("grant_type")? {
            "authorization_code" => Ok(GrantType::Code),
            "refresh_token" => Ok(GrantType::Refresh),
            "client_credentials" => Ok(GrantType::Client),
            _ => Err(OAuthError::GrantType),
        }
    }
}

impl Grant {
    fn of(grant_type: GrantType, fields: &Fields) -> Result<Grant, OAuthError> {
        match grant_type {
            GrantType::Code => {
                let verifier = fields.need("code_verifier")?;
                let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
                if !VERIFIER.contains(&verifier.len()) || !verifier.bytes().all(unreserved) {
                    return Err(OAuthError::request(
                        "code_verifier must be 43 to 128 letters, digits or any of -._~",
                    ));
                }
                Ok(Grant::Code {
                    code: fields.need("code")?.to_owned(),
                    redirect_uri: fields.need("redirect_uri")?.to_owned(),
                    verifier: verifier.to_owned(),
                })
            }
            GrantType::Refresh => Ok(Grant::Refresh {
                token: fields.need("refresh_token")?.to_owned(),
            }),
            GrantType::Client => Ok(Grant::Client),
        }
    }

    fn carry_out(&self, service: &Service, caller: Option<&Caller>, resync: Resync) -> Result<Given, OAuthError> {
        let tokens = &service.tokens;
        let named = || caller.ok_or_else(OAuthError::unnamed);
        match self {
            Grant::Code {
                code,
                redirect_uri,
                verifier,
            } => {
                let granted = tokens.exchange_code(named()?, code, redirect_uri, verifier)?;
                Ok(Given::Consent(Box::new(granted)))
            }
            Grant::Refresh { token } => {
                let granted = tokens.refresh(caller, token, resync)?;
                Ok(Given::Consent(Box::new(granted)))
            }
            Grant::Client => Ok(Given::Application(tokens.client_credentials(named()?)?)),
        }
    }
}

/// A token request that was read, but not carried out yet.
pub(in crate::http) struct Asked {
    /// The client. A refresh may omit it, because the refresh token identifies the client.
    identity: Option<Identity>,
    /// The grant that the client requests.
    pub(in crate::http) grant: Grant,
    extensions: Extensions,
}

impl Asked {
    /// Reads a token request. A request that is not a refresh must name its client.
    pub(in crate::http) async fn read(service: &Service, request: Request) -> Result<Asked, OAuthError> {
        let (parts, body) = request.into_parts();
        let fields = Fields::read(&parts.headers, body, &service.limits).await?;
        // Check the grant type before the client: a request without a grant type gets `invalid_request`, even if it
        // names no client.
        let grant_type = GrantType::of(&fields)?;
        let identity = Identity::of(&parts.headers, &fields)?;
        if identity.is_none() && grant_type != GrantType::Refresh {
            return Err(OAuthError::unnamed());
        }
        Ok(Asked {
            identity,
            grant: Grant::of(grant_type, &fields)?,
            extensions: parts.extensions,
        })
    }

    /// Authenticates the client, if the request names one, and carries out the grant. If the client proved its secret
    /// key, the request is charged to the client's rate. Blocks on the store.
    pub(in crate::http) fn carry_out(&self, service: &Service, resync: Resync) -> Result<Given, OAuthError> {
        let authenticate = |identity: &Identity| {
            service
                .store
                .clients()
                .authenticate(identity.client(), identity.secret())
        };
        let caller = self.identity.as_ref().map(authenticate).transpose()?;
        if let Some(caller) = caller.as_ref().filter(|caller| caller.proven) {
            service
                .throttle
                .charge_credential(&caller.client.id, &self.extensions)?;
        }
        self.grant.carry_out(service, caller.as_ref(), resync)
    }
}

/// Answers `POST /oauth/token`.
pub(super) async fn token(State(service): State<Arc<Service>>, request: Request) -> Result<Response, OAuthError> {
    let asked = Asked::read(&service, request).await?;
    let work = move |service: &Service| -> Result<Response, OAuthError> {
        match asked.carry_out(service, Resync::Never)? {
            Given::Consent(granted) => Ok(TokenAnswer::of_consent(&granted).response()?),
            Given::Application(issued) => Ok(TokenAnswer::of_application(&issued).response()?),
        }
    };
    service.blocking(work).await?
}
