//! The service's secret at a source: how the source accepts it, and where it may be sent.

use url::{Host, Url};

use super::calls::Client;
use super::discovery::Configuration;
use super::error::Error;
use super::registration::Registration;
use crate::consent::ClientAuth;

/// What a source did with the service's secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretTried {
    /// The source accepts the secret in this way.
    Taken(ClientAuth),
    /// The source refuses the secret, whichever way it is sent.
    Refused,
    /// The answers do not show whether the source accepts the secret. Contains the first error.
    Untold(Error),
}

impl Client {
    /// Finds out how a source accepts the service's secret: requests access with an invalid refresh token. If the
    /// source rejects the token and not the client, it has accepted the secret. Only errors of RFC 6749 count, because
    /// any other answer may come from a gateway. Returns `None` if there is no secret. Fails if the secret may not be
    /// sent to the token endpoint.
    pub async fn try_secret(
        &self,
        configuration: &Configuration,
        registration: &Registration,
    ) -> Result<Option<SecretTried>, Error> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", "no-refresh-token")];
        let Some(secret) = &registration.client_secret else {
            return Ok(None);
        };
        self.may_have_secret(configuration, registration)?;
        let mut untold = None;
        for how in ways(configuration, registration, secret) {
            match self.ask_token(configuration, registration, &form, Some(how)).await {
                Ok(_) => return Ok(Some(SecretTried::Taken(how))),
                Err(error) if refuses_grant(&error) => return Ok(Some(SecretTried::Taken(how))),
                Err(Error::Refused { code, .. }) if code == "invalid_client" => {}
                Err(error) => {
                    let is_over = error.may_pass();
                    untold = untold.or(Some(error));
                    if is_over {
                        break;
                    }
                }
            }
        }
        Ok(Some(untold.map_or(SecretTried::Refused, SecretTried::Untold)))
    }

    /// Checks that the secret may be sent to the token endpoint: over TLS or within this machine, and only to the
    /// addresses of the registration.
    pub(super) fn may_have_secret(
        &self,
        configuration: &Configuration,
        registration: &Registration,
    ) -> Result<(), Error> {
        let url = self.http.guard().check(&configuration.token_endpoint)?;
        if url.scheme() != "https" && !is_loopback(&url) {
            return Err(Error::Forbidden("the client secret goes over TLS only"));
        }
        match &registration.secret_at {
            Some(realm) if !realm.holds(&url) => Err(Error::Elsewhere {
                origin: url.origin().ascii_serialization(),
            }),
            _ => Ok(()),
        }
    }
}

/// Returns the ways in which a source may accept the secret, the most likely first. A way that the registration already
/// knows comes before those of the source's configuration.
pub(super) fn ways(configuration: &Configuration, registration: &Registration, secret: &str) -> Vec<ClientAuth> {
    let methods = &configuration.token_endpoint_auth_methods_supported;
    let has = |name: &str| methods.iter().any(|method| method == name);
    let mut ways = Vec::new();
    if has("client_secret_basic") || !has("client_secret_post") {
        ways.push(ClientAuth::Basic);
        let id = registration.client_id.as_str();
        if encoded(id) != id || encoded(secret) != secret {
            ways.push(ClientAuth::PlainBasic);
        }
    }
    if has("client_secret_post") || methods.is_empty() {
        ways.push(ClientAuth::Post);
    }
    if let Some(known) = registration.client_auth {
        ways.retain(|one| *one != known);
        ways.insert(0, known);
    }
    ways
}

/// Whether an error shows that the source refused the grant, and so accepted the client (RFC 6749, section 5.2).
fn refuses_grant(error: &Error) -> bool {
    const OF_THE_GRANT: [&str; 4] = [
        "invalid_grant",
        "unsupported_grant_type",
        "unauthorized_client",
        "invalid_scope",
    ];
    matches!(error, Error::Refused { code, .. } if OF_THE_GRANT.contains(&code.as_str()))
}

/// Whether an error shows that the source refused the client, and not the grant.
pub(super) fn is_about_client(error: &Error) -> bool {
    match error {
        Error::Refused { code, .. } => code == "invalid_client",
        Error::Status { status, .. } => *status == 401,
        _ => false,
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

pub(super) fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Guard, HttpLimits, Realm};
    use super::*;

    #[test]
    fn a_secret_goes_to_where_the_operator_knows_and_over_tls_only() {
        let client = Client::new(Guard::Private, HttpLimits::default()).unwrap();
        let to = |token_endpoint: &str, agreed: &[&str]| {
            let configuration = Configuration {
                token_endpoint: token_endpoint.to_owned(),
                ..Configuration::default()
            };
            let registration = Registration {
                client_id: "us".to_owned(),
                client_secret: Some("hush".to_owned()),
                scope: String::new(),
                client_auth: None,
                secret_at: Some(Realm::origins(agreed.iter().copied())),
            };
            client.may_have_secret(&configuration, &registration)
        };
        let base = "https://payer.example/fhir/r4";
        assert_eq!(to("https://payer.example/oauth/token", &[base]), Ok(()));
        let elsewhere = to("https://auth.payer.example/token?x=1", &[base]).unwrap_err();
        assert!(
            elsewhere
                .to_string()
                .contains("--token-endpoint https://auth.payer.example"),
            "{elsewhere}"
        );
        for other in [
            "https://payer.example:8443/token",
            "https://payer.example.evil.example/token",
        ] {
            assert!(to(other, &[base]).is_err(), "{other}");
        }
        let agreed = [base, "https://auth.payer.example/token"];
        assert_eq!(to("https://auth.payer.example/v2/token", &agreed), Ok(()));
        let clear = [
            "http://10.0.0.5/fhir",
            "http://127.0.0.1/fhir",
            "http://localhost:9/fhir",
            "http://[::1]/fhir",
        ];
        assert!(matches!(to("http://10.0.0.5/token", &clear), Err(Error::Forbidden(_))));
        for loopback in [
            "http://127.0.0.1/token",
            "http://localhost:9/token",
            "http://[::1]/token",
        ] {
            assert_eq!(to(loopback, &clear), Ok(()), "{loopback}");
        }
    }
}
