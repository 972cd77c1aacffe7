//! The table of patient authorizations: the sources that a patient has chosen for a consent.

use super::error::Error;
use super::log::audit::Actor;
use super::moves::{Grant, NewAuthorization};
use super::record::Authorization;
use super::states::AuthorizationEvent;
use super::store::Store;

/// Patient authorizations: the sources of consents.
#[derive(Clone, Copy, Debug)]
pub struct Authorizations<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Authorizations<'_> {
    /// Adds a source to a consent.
    pub fn create(&self, new: &NewAuthorization<'_>) -> Result<Authorization, Error> {
        let now = self.store.clock().now();
        self.store
            .write(|transaction| Authorization::create(transaction, now, new))
    }

    /// Sends the patient to the source of an authorization: the transition to AUTHORIZING.
    pub fn send_to_source(&self, id: &str) -> Result<Authorization, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let lost = Error::Lost("patient authorization");
            let mut authorization = Authorization::get(transaction, id)?.ok_or(lost)?;
            authorization.step(transaction, now, Actor::Patient, AuthorizationEvent::Redirected)?;
            Ok(authorization)
        })
    }

    /// Records the grant of an authorization's source: the transition to AUTHORIZED.
    pub fn grant(&self, id: &str, grant: &Grant<'_>) -> Result<Authorization, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let lost = Error::Lost("patient authorization");
            let mut authorization = Authorization::get(transaction, id)?.ok_or(lost)?;
            authorization.grant(transaction, now, grant)?;
            Ok(authorization)
        })
    }

    /// The authorization with this id.
    pub fn get(&self, id: &str) -> Result<Option<Authorization>, Error> {
        self.store.read(|connection| Authorization::get(connection, id))
    }

    /// The authorizations of a consent, in order.
    pub fn of_consent(&self, consent: &str) -> Result<Vec<Authorization>, Error> {
        self.store.read(|connection| Authorization::of(connection, consent))
    }
}
