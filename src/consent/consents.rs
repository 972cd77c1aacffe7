//! The table of consents: finds, lists, makes and revokes them.

use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params, params_from_iter};
use uuid::Uuid;

use super::error::Error;
use super::log::audit::Actor;
use super::moves::{NewConsent, end, kill_tokens};
use super::record::{Authorization, Consent};
use super::states::{AuthorizationEvent, ConsentEvent, ConsentState};
use super::store::Store;
use super::with_sources::ConsentWithSources;
use crate::lake::{Lake, Mode, Scope};

/// The number of consents that one transaction revokes.
const AT_ONCE: usize = 100;

/// Conditions on the consents of a list. A field that is `None` is no condition.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConsentFilter<'a> {
    /// Only consents to this application.
    pub application: Option<&'a str>,
    /// Only consents of this mode.
    pub mode: Option<Mode>,
    /// Only consents in this state.
    pub state: Option<ConsentState>,
    /// Only consents of the user with this identifier of the application.
    pub external_id: Option<&'a str>,
    /// Only consents that come after the one with this creation time and id. The newest consents come first.
    pub after: Option<(i64, &'a str)>,
    /// The maximum number of consents.
    pub limit: u32,
}

/// The repository of consents.
#[derive(Clone, Copy, Debug)]
pub struct Consents<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Consents<'_> {
    /// Returns the consents that match a filter, newest first.
    pub fn list(&self, filter: &ConsentFilter<'_>) -> Result<Vec<ConsentWithSources>, Error> {
        let mut conditions = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        let mut equal = |column: &str, value: Option<&str>| {
            if let Some(value) = value {
                values.push(value.to_owned().into());
                conditions.push(format!("{column} = ?{}", values.len()));
            }
        };
        equal("application", filter.application);
        equal("mode", filter.mode.map(Mode::schema));
        equal("state", filter.state.map(ConsentState::name));
        equal("external_id", filter.external_id);
        if let Some((at, id)) = filter.after {
            values.extend([at.into(), id.to_owned().into()]);
            conditions.push(format!("(created_at, id) < (?{}, ?{})", values.len() - 1, values.len()));
        }
        values.push(i64::from(filter.limit).into());
        let place = if conditions.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", conditions.join(" AND "))
        };
        let condition = format!("{place} ORDER BY created_at DESC, id DESC LIMIT ?{}", values.len());
        self.store.read(|connection| {
            let consents = Consent::select(connection, &condition, params_from_iter(values))?;
            consents
                .into_iter()
                .map(|consent| ConsentWithSources::of(connection, consent))
                .collect()
        })
    }

    /// Returns the consent ids that begin with `beginning`, in order and at most `limit`.
    pub fn beginning(&self, beginning: &str, limit: u32) -> Result<Vec<String>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT id FROM consent WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(params![beginning, limit], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Makes a consent and writes an audit line. `owner_of` computes the owner of its rows from its id.
    pub fn create(&self, new: &NewConsent<'_>, owner_of: impl Fn(&str) -> i64) -> Result<Consent, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let consent = Consent::create(transaction, now, new, owner_of)?;
            consent.note_created(transaction, now)?;
            Ok(consent)
        })
    }

    /// Revokes a consent with all its authorizations, tokens, codes and jobs, and requests the erasure of its rows.
    /// Returns how many authorizations this ended. Does nothing and returns zero if the consent is already REVOKED or
    /// ABANDONED.
    pub fn revoke(&self, id: &str, actor: Actor) -> Result<u64, Error> {
        let now = self.store.clock().now();
        let revoked = self.store.write_jobs(|transaction| {
            let consent = Consent::get(transaction, id)?.ok_or(Error::Lost("consent"))?;
            revoke(transaction, now, consent, actor)
        })?;
        self.store.take_up_revocations()?;
        self.store.health_links().wipe_ended()?;
        Ok(revoked)
    }

    /// Revokes many consents as [`revoke`](Self::revoke) does, some in each transaction. Leaves out those that are
    /// gone.
    pub(in crate::consent) fn revoke_all(&self, ids: &[String], actor: Actor) -> Result<(), Error> {
        let now = self.store.clock().now();
        for some in ids.chunks(AT_ONCE) {
            self.store.write_jobs(|transaction| {
                for id in some {
                    if let Some(consent) = Consent::get(transaction, id)? {
                        revoke(transaction, now, consent, actor)?;
                    }
                }
                Ok(())
            })?;
            self.store.take_up_revocations()?;
        }
        self.store.health_links().wipe_ended()?;
        Ok(())
    }

    /// Returns the ids of an application's consents in one mode that can be revoked, except the operator's.
    pub(in crate::consent) fn open_of(&self, application: &str, mode: Mode) -> Result<Vec<String>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT id FROM consent WHERE application = ?1 AND mode = ?2 AND owner IS NOT NULL
                         AND state IN ('CREATED', 'AUTHORIZED', 'EXCHANGED') ORDER BY created_at, id";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([application, mode.schema()], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the consent with this id.
    pub fn get(&self, id: &str) -> Result<Option<Consent>, Error> {
        self.store.read(|connection| Consent::get(connection, id))
    }

    /// Returns the id of the operator's consent for one person's imported records. Makes the consent at the first
    /// call, so that all tokens for the person have the same subject.
    pub fn of_imported(&self, application: &str, mode: Mode, patient: &str) -> Result<String, Error> {
        let mut connection = self.store.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sql = "SELECT consent.id FROM consent JOIN consent_patient ON consent_patient.consent = consent.id
                   WHERE application = ?1 AND mode = ?2 AND patient = ?3 AND made_by = 'operator'
                     AND expunged_at IS NULL
                   ORDER BY created_at, consent.id LIMIT 1";
        let known = transaction
            .query_row(sql, [application, mode.schema(), patient], |row| row.get(0))
            .optional()?;
        let id = match known {
            Some(id) => id,
            None => {
                let id = Uuid::new_v4().to_string();
                transaction.execute(
                    "INSERT INTO consent (id, application, mode, made_by, created_at) VALUES (?1, ?2, ?3, 'operator', ?4)",
                    params![id, application, mode.schema(), self.store.clock().now()],
                )?;
                transaction.execute(
                    "INSERT INTO consent_patient (consent, ordinal, patient) VALUES (?1, 0, ?2)",
                    [&id, patient],
                )?;
                id
            }
        };
        transaction.commit()?;
        Ok(id)
    }

    /// Returns the consent with this id and its sources.
    pub fn full(&self, consent: &str) -> Result<Option<ConsentWithSources>, Error> {
        self.store.read(|connection| match Consent::get(connection, consent)? {
            Some(consent) => ConsentWithSources::of(connection, consent).map(Some),
            None => Ok(None),
        })
    }

    /// Returns the newest consent whose sync stored this Patient. `None` for imported and unknown Patients.
    pub fn full_of_patient(
        &self,
        application: &str,
        mode: Mode,
        patient: &str,
    ) -> Result<Option<ConsentWithSources>, Error> {
        let Some(id) = self.of_patient(application, mode, patient)? else {
            return Ok(None);
        };
        self.store.read(|connection| {
            let consent = Consent::get(connection, &id)?.filter(|consent| consent.owner.is_some());
            consent
                .map(|consent| ConsentWithSources::of(connection, consent))
                .transpose()
        })
    }

    /// Returns the consent of an authorization, if it is a consent to this application in this mode.
    pub fn full_of_authorization(
        &self,
        application: &str,
        mode: Mode,
        authorization: &str,
    ) -> Result<Option<ConsentWithSources>, Error> {
        self.store.read(|connection| {
            let sql = "WHERE application = ?1 AND mode = ?2
                         AND id = (SELECT consent FROM patient_authorization WHERE id = ?3)";
            let consent = Consent::select(connection, sql, [application, mode.schema(), authorization])?.pop();
            consent
                .map(|consent| ConsentWithSources::of(connection, consent))
                .transpose()
        })
    }

    /// Returns the id of a Patient's newest consent. Consents with syncs come before those for imported records.
    pub fn of_patient(&self, application: &str, mode: Mode, patient: &str) -> Result<Option<String>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT consent.id FROM consent_patient AS known JOIN consent ON consent.id = known.consent
                       WHERE known.patient = ?1 AND application = ?2 AND mode = ?3
                       ORDER BY consent.owner IS NULL, consent.created_at DESC, consent.id LIMIT 1";
            let mut statement = connection.prepare_cached(sql)?;
            let id = statement.query_row([patient, application, mode.schema()], |row| row.get(0));
            Ok(id.optional()?)
        })
    }

    /// Returns the scope of one Patient's rows in the lake: the rows that the syncs of the Patient's newest consent
    /// stored, or the imported rows if there is no such consent.
    pub fn scope_of_patient(&self, lake: &Lake, application: &str, mode: Mode, patient: &str) -> Result<Scope, Error> {
        let known = self.full_of_patient(application, mode, patient)?;
        let mut scope = match &known {
            Some(full_consent) => full_consent.scope(lake, None),
            None => {
                return Ok(Scope::of_patient(
                    application,
                    mode,
                    patient,
                    lake.owners_of(application, patient),
                ));
            }
        };
        if let Some(person) = &mut scope.patient {
            Arc::make_mut(person).patients = vec![patient.to_owned()];
        }
        Ok(scope)
    }

    /// Whether the erasure of some of a consent's rows was requested and is not finished.
    pub fn is_erasing(&self, consent: &str) -> Result<bool, Error> {
        self.store.read(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM erasure WHERE done_at IS NULL AND consent = ?1)";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row(params![consent], |row| row.get(0))?)
        })
    }
}

/// Revokes a consent with all its authorizations, tokens, codes and jobs, and requests the erasure of its rows. Returns
/// how many authorizations this ended: none if the consent is already REVOKED or ABANDONED.
fn revoke(connection: &Connection, now: i64, mut consent: Consent, actor: Actor) -> Result<u64, Error> {
    if consent.state.after(ConsentEvent::Revoked).is_err() {
        return Ok(0);
    }
    consent.step(connection, now, actor, ConsentEvent::Revoked)?;
    let mut count = 0;
    for mut authorization in Authorization::of(connection, &consent.id)? {
        if authorization.state.after(AuthorizationEvent::Revoked).is_ok() {
            let event = AuthorizationEvent::Revoked;
            end(connection, now, actor, &consent, &mut authorization, event)?;
            count += 1;
        }
    }
    kill_tokens(connection, now, (actor, ConsentEvent::Revoked.name()), &consent.id)?;
    Ok(count)
}
