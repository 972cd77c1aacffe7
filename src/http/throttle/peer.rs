//! Finds the address of the client, behind a proxy or not.

use std::net::IpAddr;

use axum::http::{Extensions, HeaderMap};

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The address of a connection's peer: the client or a proxy.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Peer(pub(in crate::http) IpAddr);

/// The address of the client that sent the request.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct ClientAddress(pub(in crate::http) IpAddr);

/// Returns the client's address. Behind a proxy this is the last entry of `X-Forwarded-For`, which the proxy added.
/// Anybody can write the entries before it. Without a valid entry, returns the peer's address.
pub(in crate::http) fn client_address(
    headers: &HeaderMap,
    extensions: &Extensions,
    behind_proxy: bool,
) -> Option<IpAddr> {
    let peer = extensions.get::<Peer>().map(|Peer(address)| *address);
    if !behind_proxy {
        return peer;
    }
    let last = headers.get_all(FORWARDED_FOR).iter().next_back();
    let last = last.and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    last.or(peer)
}

/// Returns the address that stands for a subscriber. For IPv6 this is the /64 network, because a subscriber can use
/// any address in it.
pub(in crate::http) fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_proxy_added_is_believed() {
        let mut headers = HeaderMap::new();
        let mut extensions = Extensions::new();
        extensions.insert(Peer([10, 0, 0, 1].into()));
        let address = |headers: &HeaderMap, behind| client_address(headers, &extensions, behind).unwrap().to_string();
        assert_eq!(address(&headers, true), "10.0.0.1");
        headers.append(FORWARDED_FOR, "203.0.113.9, 192.0.2.7".parse().unwrap());
        assert_eq!(address(&headers, true), "192.0.2.7");
        assert_eq!(address(&headers, false), "10.0.0.1");
        headers.append(FORWARDED_FOR, "2001:db8::1".parse().unwrap());
        assert_eq!(address(&headers, true), "2001:db8::1");
        headers.append(FORWARDED_FOR, "unknown".parse().unwrap());
        assert_eq!(address(&headers, true), "10.0.0.1");
    }
}
