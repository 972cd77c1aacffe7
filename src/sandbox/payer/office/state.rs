//! The state of a running organization: its knobs, counts and grants, and the changes that tests made to its records.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use url::{Host, Url};

use super::super::records::additions::Additions;
use super::super::sign_in::grants::Grants;
use super::knobs::{Counts, Knobs};
use super::organization::{Kind, Organization};

/// A running organization.
pub(in crate::sandbox::payer) struct Office {
    pub(in crate::sandbox::payer) organization: &'static Organization,
    pub(in crate::sandbox::payer) counts: Counts,
    knobs: Mutex<Arc<Knobs>>,
    grants: Mutex<Grants>,
    changes: Mutex<HashMap<u64, Changes>>,
    redirect_uris: Mutex<Vec<String>>,
}

/// The changes that tests made to one person's records.
#[derive(Clone, Default)]
pub(in crate::sandbox::payer) struct Changes {
    /// The number of changes. It is part of the key under which `World` caches the person's records. So records that
    /// were cached before the last change are not found.
    pub(in crate::sandbox::payer) times: u64,
    pub(in crate::sandbox::payer) additions: Additions,
}

impl Office {
    pub(in crate::sandbox::payer) fn new(organization: &'static Organization, redirect_uris: &[String]) -> Office {
        Office {
            organization,
            counts: Counts::default(),
            knobs: Mutex::default(),
            grants: Mutex::default(),
            changes: Mutex::default(),
            redirect_uris: Mutex::new(redirect_uris.to_vec()),
        }
    }

    /// Returns the current knobs.
    pub(in crate::sandbox::payer) fn knobs(&self) -> Arc<Knobs> {
        locked(&self.knobs).clone()
    }

    pub(in crate::sandbox::payer) fn turn(&self, knobs: Knobs) {
        *locked(&self.knobs) = Arc::new(knobs);
    }

    /// Returns the pending logins, codes and tokens.
    pub(in crate::sandbox::payer) fn grants(&self) -> MutexGuard<'_, Grants> {
        locked(&self.grants)
    }

    /// Whether the organization grants refresh tokens. A portal never grants them.
    pub(in crate::sandbox::payer) fn refreshable(&self) -> bool {
        let lasting = self.knobs().refreshable.unwrap_or(self.organization.refreshable);
        lasting && self.organization.kind != Kind::Portal
    }

    /// Returns the changes to a person's records.
    pub(in crate::sandbox::payer) fn changes(&self, person: u64) -> Option<Changes> {
        locked(&self.changes).get(&person).cloned()
    }

    /// Changes a person's records by `change`, and counts the change.
    pub(in crate::sandbox::payer) fn change<T>(&self, person: u64, change: impl FnOnce(&mut Additions) -> T) -> T {
        let mut changes = locked(&self.changes);
        let changes = changes.entry(person).or_default();
        changes.times += 1;
        change(&mut changes.additions)
    }

    /// Registers a redirect URI. A request is allowed to use it only if it has exactly this text.
    pub(in crate::sandbox::payer) fn register(&self, redirect_uri: String) {
        let mut registered = locked(&self.redirect_uris);
        if !registered.contains(&redirect_uri) {
            registered.push(redirect_uri);
        }
    }

    /// Whether a redirect URI is allowed: it is registered, or it leads to this machine.
    pub(in crate::sandbox::payer) fn admits(&self, redirect_uri: &str) -> bool {
        locked(&self.redirect_uris).iter().any(|one| one == redirect_uri) || is_loopback(redirect_uri)
    }
}

/// Whether an address is an `http` address of this machine, with any port, and without a fragment or a user.
fn is_loopback(uri: &str) -> bool {
    let Ok(url) = Url::parse(uri) else { return false };
    let here = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    here && url.scheme() == "http" && url.fragment().is_none() && url.username().is_empty() && url.password().is_none()
}

/// Locks a mutex. If a thread panicked while it had the lock, this is ignored, because the data is always consistent.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_and_what_is_registered_is_admitted() {
        let office = Office::new(
            Organization::named("lakeshore").unwrap(),
            &["https://app.example/back".to_owned()],
        );
        for good in [
            "http://127.0.0.1:5/x?y=1",
            "http://localhost/cb",
            "http://[::1]:80/",
            "https://app.example/back",
        ] {
            assert!(office.admits(good), "{good}");
        }
        for bad in [
            "https://app.example/back/",
            "https://127.0.0.1/x",
            "http://127.0.0.1.evil.example/",
            "http://localhost@evil.example/",
            "http://user@localhost/",
            "http://localhost/#f",
            "javascript:alert(1)",
            "",
        ] {
            assert!(!office.admits(bad), "{bad}");
        }
        office.register("app.example:/back".to_owned());
        assert!(office.admits("app.example:/back"));
    }
}
