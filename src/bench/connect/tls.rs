//! TLS for servers with an https address, with the certificates that the system trusts.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::super::error::BenchError;

/// Adds TLS to connections.
#[derive(Clone)]
pub(in crate::bench) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// Creates a TLS client for the server `host`.
    pub(in crate::bench) fn new(host: &str) -> Result<Tls, BenchError> {
        let refused = |error: &dyn std::fmt::Display| BenchError::Tls(error.to_string());
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let reason = found.errors.first().map(ToString::to_string);
            return Err(refused(
                &reason.unwrap_or_else(|| "the system has no certificates".to_owned()),
            ));
        }
        let config = ClientConfig::builder_with_provider(Arc::new(crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| refused(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Tls {
            connector: TlsConnector::from(Arc::new(config)),
            name: ServerName::try_from(host.to_owned()).map_err(|error| refused(&error))?,
        })
    }

    /// Performs the TLS handshake.
    pub(in crate::bench) async fn connect(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.name.clone(), stream).await
    }
}
