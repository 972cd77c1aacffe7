//! Decides which addresses may be called. Addresses come from the directory, from sources and from redirects. The form
//! of an address is checked before the call. The IP addresses of its name are checked when the connection is made. So
//! no name can lead into the service's own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::super::error::Error;

/// The maximum length of an address in bytes. The page links of sources have up to some thousand characters.
const LONGEST: usize = 32 << 10;

/// The addresses that may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Public addresses, over TLS.
    Public,
    /// Also loopback and private addresses, and plain HTTP: for sources in the same network, and for tests. Link-local
    /// addresses stay forbidden, because clouds serve their machines' credentials there.
    Private,
}

impl Guard {
    /// Parses an address. Fails if its form is not allowed.
    pub fn check(self, address: &str) -> Result<Url, Error> {
        if address.len() > LONGEST {
            return Err(Error::Forbidden("it is too long"));
        }
        let url = Url::parse(address).map_err(|_| Error::Forbidden("it is no URL"))?;
        self.check_url(&url)?;
        Ok(url)
    }

    /// Checks the form of an address without resolving its name.
    pub(super) fn check_url(self, url: &Url) -> Result<(), Error> {
        match (url.scheme(), self) {
            ("https", _) | ("http", Guard::Private) => {}
            ("http", Guard::Public) => {
                return Err(Error::Forbidden("it is not https (--allow-private-sources admits it)"));
            }
            _ => return Err(Error::Forbidden("it is neither https nor http")),
        }
        if url.as_str().len() > LONGEST {
            return Err(Error::Forbidden("it is too long"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Error::Forbidden("it names a user"));
        }
        let admitted = match url.host() {
            None => false,
            Some(Host::Domain(name)) => !name.is_empty(),
            // A URL with an IP address is called without name resolution, so the address is checked here.
            Some(Host::Ipv4(ip)) => self.admits(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => self.admits(IpAddr::V6(ip)),
        };
        admitted.then_some(()).ok_or(Error::Forbidden(
            "it is no public address (--allow-private-sources admits private ones)",
        ))
    }

    /// Whether the guard allows connections to an IP address.
    pub(super) fn admits(self, ip: IpAddr) -> bool {
        match class(ip) {
            Class::Public => true,
            Class::Private => self == Guard::Private,
            Class::Never => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Public,
    /// Loopback, private use, unique local, shared address space.
    Private,
    /// Link-local, multicast, unspecified, reserved.
    Never,
}

fn class(ip: IpAddr) -> Class {
    match ip {
        IpAddr::V4(ip) => class_v4(ip),
        IpAddr::V6(ip) => class_v6(ip),
    }
}

fn class_v4(ip: Ipv4Addr) -> Class {
    match ip.octets() {
        [10 | 127, ..] | [192, 168, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => Class::Private,
        // "This network", link-local, protocol assignments, documentation, 6to4 relays, benchmarks, multicast,
        // reserved.
        [0, ..] | [169, 254, ..] | [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => Class::Never,
        [198, 51, 100, _] | [203, 0, 113, _] | [224..=255, ..] => Class::Never,
        _ => Class::Public,
    }
}

fn class_v6(ip: Ipv6Addr) -> Class {
    if let Some(inner) = ip.to_ipv4_mapped() {
        return class_v4(inner);
    }
    let inner = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        class_v4(Ipv4Addr::new(a, b, c, d))
    };
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] | [0xfc00..=0xfdff, ..] => Class::Private,
        // NAT64 and 6to4 addresses have the class of the IPv4 address that they contain.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inner(high, low),
        [0x2002, high, low, ..] => inner(high, low),
        // Teredo and other protocol assignments, documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Class::Never,
        // Of the remaining addresses only global unicast is public.
        [0x2000..=0x3fff, ..] => Class::Public,
        _ => Class::Never,
    }
}

/// Resolves names to allowed addresses. If one address of a name is forbidden, the whole name is refused, because such
/// a mixture is suspicious.
pub(super) struct Resolver(pub(super) Guard);

/// Why a name was not resolved.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to an address that may not be called")]
pub(super) struct Refused;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0;
        Box::pin(async move {
            // The caller sets the port.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.iter().any(|address| !guard.admits(address.ip())) {
                return Err(Refused.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_networks_of_our_own_are_told_apart() {
        let class = |text: &str| super::class(text.parse().unwrap());
        for public in [
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.167.1.1",
            "223.255.255.255",
            "2606:4700::1",
            "2a00::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert_eq!(class(public), Class::Public, "{public}");
        }
        for private in [
            "127.0.0.1",
            "127.255.1.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "100.64.0.1",
            "::1",
            "fc00::1",
            "fd12::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::1",
            "2002:a00:1::",
        ] {
            assert_eq!(class(private), Class::Private, "{private}");
        }
        for never in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "192.0.0.170",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2001::1",
            "2001:db8::1",
            "100::1",
        ] {
            assert_eq!(class(never), Class::Never, "{never}");
        }
    }

    #[test]
    fn the_form_of_an_address_is_checked_before_it_is_called() {
        for good in [
            "https://payer.example/fhir",
            "https://payer.example:8443/",
            "https://8.8.8.8/",
        ] {
            assert!(Guard::Public.check(good).is_ok(), "{good}");
        }
        for bad in [
            "http://payer.example/fhir",
            "ftp://payer.example/",
            "file:///etc/passwd",
            "https://user@payer.example/",
            "https://user:word@payer.example/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            // The URL parser reads the next three as 127.0.0.1.
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://169.254.169.254/latest/meta-data",
            "payer.example",
            "",
            &format!("https://payer.example/{}", "x".repeat(LONGEST)),
        ] {
            assert!(Guard::Public.check(bad).is_err(), "{bad}");
        }
        assert!(Guard::Private.check("http://127.0.0.1:4000/fhir").is_ok());
        assert!(Guard::Private.check("http://169.254.169.254/").is_err());
        assert!(Guard::Private.check("http://0.0.0.0/").is_err());
    }

    #[tokio::test]
    async fn a_name_is_refused_for_what_it_resolves_to() {
        let resolve = |guard: Guard| Resolver(guard).resolve("localhost".parse().unwrap());
        let refused = resolve(Guard::Public).await.err().unwrap();
        assert!(refused.downcast_ref::<Refused>().is_some());
        assert!(resolve(Guard::Private).await.unwrap().next().is_some());
    }
}
