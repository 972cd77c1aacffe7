//! The base address at which clients reach a server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::http::Uri;

use crate::cli::terminal::failure::Failure;

/// Returns an `http` or `https` address without its trailing slashes. Fails for other text, and if the address has a
/// query, a fragment or an `@`.
pub(in crate::cli) fn checked(text: &str) -> Result<String, Failure> {
    let bad = || {
        Failure::input(format!(
            "{text:?} is no base address; one looks like https://records.example.org"
        ))
    };
    let uri: Uri = text.parse().map_err(|_| bad())?;
    let sound = matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty());
    if !sound || text.contains(['?', '#', '@']) {
        return Err(bad());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Returns the `http` address at which this machine reaches a server. An unspecified address, such as 0.0.0.0, becomes
/// 127.0.0.1.
pub(in crate::cli) fn local(address: SocketAddr) -> String {
    let mut address = address;
    if address.ip().is_unspecified() {
        address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    format!("http://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_their_trailing_slash() {
        assert_eq!(
            checked("https://records.example.org/").unwrap(),
            "https://records.example.org"
        );
        assert_eq!(
            checked("http://localhost:8080/base").unwrap(),
            "http://localhost:8080/base"
        );
        for bad in [
            "",
            "records.example.org",
            "ftp://x",
            "http://",
            "https://x/?y",
            "https://a@b",
            "http://x#y",
            "/x",
        ] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn listening_everywhere_is_reached_by_loopback() {
        assert_eq!(local("0.0.0.0:80".parse().unwrap()), "http://127.0.0.1:80");
        assert_eq!(local("[::]:80".parse().unwrap()), "http://127.0.0.1:80");
        assert_eq!(local("10.1.2.3:80".parse().unwrap()), "http://10.1.2.3:80");
        assert_eq!(local("[::1]:80".parse().unwrap()), "http://[::1]:80");
    }
}
