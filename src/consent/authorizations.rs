//! The table of patient authorizations: the sources that a patient has chosen for a consent.

use super::error::Error;
use super::log::audit::Actor;
use super::moves::{Grant, NewAuthorization};
use super::record::Authorization;
use super::states::AuthorizationEvent;
use super::store::Store;

/// The repository of patient authorizations.
#[derive(Clone, Copy, Debug)]
pub struct Authorizations<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Authorizations<'_> {
    /// Adds a source to a consent: makes an authorization in state CREATED.
    pub fn create(&self, new: &NewAuthorization<'_>) -> Result<Authorization, Error> {
        let now = self.store.clock().now();
        self.store
            .write(|transaction| Authorization::create(transaction, now, new))
    }

    /// Records that the patient is sent to the source: changes the authorization's state to AUTHORIZING.
    pub fn send_to_source(&self, id: &str) -> Result<Authorization, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let lost = Error::Lost("patient authorization");
            let mut authorization = Authorization::get(transaction, id)?.ok_or(lost)?;
            authorization.step(transaction, now, Actor::Patient, AuthorizationEvent::Redirected)?;
            Ok(authorization)
        })
    }

    /// Records that the source grants access: changes the authorization's state to AUTHORIZED.
    pub fn grant(&self, id: &str, grant: &Grant<'_>) -> Result<Authorization, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let lost = Error::Lost("patient authorization");
            let mut authorization = Authorization::get(transaction, id)?.ok_or(lost)?;
            authorization.grant(transaction, now, grant)?;
            Ok(authorization)
        })
    }

    /// Returns the authorization with this id.
    pub fn get(&self, id: &str) -> Result<Option<Authorization>, Error> {
        self.store.read(|connection| Authorization::get(connection, id))
    }

    /// Returns the authorizations of a consent, in the order in which they were added.
    pub fn of_consent(&self, consent: &str) -> Result<Vec<Authorization>, Error> {
        self.store.read(|connection| Authorization::of(connection, consent))
    }
}
