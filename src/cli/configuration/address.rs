//! Checks addresses to listen on, such as `127.0.0.1:8080`, and binds them.

use std::io::ErrorKind;
use std::net::{Ipv6Addr, TcpListener, ToSocketAddrs};

use crate::cli::service::serve::base_url;
use crate::cli::terminal::failure::Failure;

/// Checks that `text` has the form `HOST:PORT`. The error is a part of a sentence, such as "is a port alone". The
/// caller writes the address before it.
pub(in crate::cli) fn checked(text: &str) -> Result<(), String> {
    if text.parse::<u16>().is_ok() {
        return Err(format!(
            "is a port alone; an address goes before it: 127.0.0.1:{text}, or 0.0.0.0:{text} for all"
        ));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(format!("has no port; add one: [{text}]:8080"));
    }
    match text.rsplit_once(':') {
        Some(("", port)) if port.parse::<u16>().is_ok() => Err(format!(
            "is a port without an address; give both: 127.0.0.1:{port}, or 0.0.0.0:{port} for all"
        )),
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(()),
        None if !text.is_empty() => Err(format!("has no port; add one: {text}:8080")),
        _ => Err("is no address and port; one looks like 127.0.0.1:8080".to_owned()),
    }
}

/// Binds `address`. Returns the listener and the `http` address at which this machine reaches it. `option` is the name
/// of the option that gave the address, for error messages.
pub(in crate::cli) fn listen(address: &str, option: &str) -> Result<(TcpListener, String), Failure> {
    checked(address).map_err(|problem| Failure::input(format!("cannot listen: {option} {address} {problem}")))?;
    let refused = |error: std::io::Error| {
        let hint = match error.kind() {
            ErrorKind::AddrInUse => format!("; choose another with {option}, or a free one with port 0"),
            ErrorKind::AddrNotAvailable => {
                format!("; this machine has no such address: choose one of its own with {option}, or 0.0.0.0 for all")
            }
            _ => format!("; choose another with {option}"),
        };
        Failure::input(format!("cannot listen on {address}: {error}{hint}"))
    };
    // Resolves the host before `bind`, because the error for an unknown host must not be reported as an address in use.
    address.to_socket_addrs().map_err(refused)?;
    let listener = TcpListener::bind(address).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let local = base_url::local(listener.local_addr().map_err(refused)?);
    Ok((listener, local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for sound in ["127.0.0.1:0", "[::1]:8080", "localhost:80", "0.0.0.0:65535"] {
            assert_eq!(checked(sound), Ok(()), "{sound}");
        }
        for (faulty, said) in [
            ("18300", "127.0.0.1:18300"),
            ("127.0.0.1", "has no port; add one: 127.0.0.1:8080"),
            ("localhost", "has no port; add one: localhost:8080"),
            ("::1", "has no port; add one: [::1]:8080"),
            (":18300", "give both: 127.0.0.1:18300, or 0.0.0.0:18300 for all"),
            (":http", "looks like"),
            ("localhost:http", "looks like"),
            ("", "looks like"),
            ("1.2.3.4:70000", "looks like"),
        ] {
            let problem = checked(faulty).unwrap_err();
            assert!(problem.contains(said), "{faulty}: {problem}");
        }
    }
}
