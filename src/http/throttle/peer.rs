//! The client's address.

use std::net::IpAddr;

use axum::http::{Extensions, HeaderMap};

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The peer of a connection.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Peer(pub(in crate::http) IpAddr);

/// The client's address, after resolving proxies.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct ClientAddress(pub(in crate::http) IpAddr);

/// The client's address. Behind a proxy it is the last entry of `X-Forwarded-For`, which the proxy added. Anybody can
/// write the entries before it.
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

/// The owner of an address. For IPv6 this is the network of 64 bits, in which a subscriber has any number of addresses.
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
