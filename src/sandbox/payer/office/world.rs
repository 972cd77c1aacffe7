//! The data of one sandbox: the people, the running organizations, and a cache of people's records at organizations.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::super::records::holding::Holding;
use super::super::records::papers;
use super::super::records::shelf::Shelf;
use super::super::sign_in::key::IdentityKey;
use super::knobs::{KnobError, Knobs, Turn};
use super::organization::{IDENTITY, Kind, ORGANIZATIONS};
use super::people::People;
use super::state::Office;

/// The maximum size of the cache in bytes, 96 MiB. `TYPICAL` is the expected size of one entry.
const KEPT: u64 = 96 << 20;
const TYPICAL: u64 = 512 << 10;

/// The settings of a sandbox.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of people.
    pub patients: u64,
    /// The seed of the population.
    pub seed: u64,
    /// The public address of the sandbox, without a trailing slash.
    pub base_url: String,
    /// The redirect URIs that are registered at all organizations. Addresses of this machine are always allowed.
    pub redirect_uris: Vec<String>,
    /// The knobs that are set at the start.
    pub knobs: Vec<Turn>,
}

/// The data of one sandbox.
pub(in crate::sandbox::payer) struct World {
    pub(in crate::sandbox::payer) base_url: String,
    pub(in crate::sandbox::payer) people: People,
    pub(in crate::sandbox::payer) key: IdentityKey,
    offices: Vec<Office>,
    shelf: Shelf,
    holdings: Cache<Key, Arc<Holding>, ByBytes>,
}

/// The key of cached records: the organization's id, the person's index, and the number of changes that tests made to
/// the person's records there.
type Key = (&'static str, u64, u64);

#[derive(Clone)]
struct ByBytes;

impl Weighter<Key, Arc<Holding>> for ByBytes {
    fn weight(&self, _: &Key, holding: &Arc<Holding>) -> u64 {
        holding.weight().max(1)
    }
}

impl World {
    pub(in crate::sandbox::payer) fn new(settings: Settings) -> Result<World, KnobError> {
        let organizations = ORGANIZATIONS.iter().chain(std::iter::once(&IDENTITY));
        let world = World {
            people: People::new(settings.seed, settings.patients),
            key: IdentityKey::default(),
            offices: organizations
                .map(|organization| Office::new(organization, &settings.redirect_uris))
                .collect(),
            shelf: Shelf::default(),
            holdings: Cache::with_weighter((KEPT / TYPICAL) as usize, KEPT, ByBytes),
            base_url: settings.base_url,
        };
        for turn in &settings.knobs {
            let changes = serde_json::json!({ &turn.name: turn.value });
            if world.turn(&turn.organization, &changes)?.is_none() {
                return Err(KnobError::nobody(&turn.organization));
            }
        }
        Ok(world)
    }

    /// Returns the organization with this id, which may be the identity provider.
    pub(in crate::sandbox::payer) fn office(&self, id: &str) -> Option<&Office> {
        self.offices.iter().find(|office| office.organization.id == id)
    }

    /// Returns the organizations with records.
    pub(in crate::sandbox::payer) fn offices(&self) -> impl Iterator<Item = &Office> {
        self.offices
            .iter()
            .filter(|office| office.organization.kind != Kind::Identity)
    }

    /// Changes knobs of one organization, or of all organizations if `organization` is `all`. Returns the new knobs of
    /// the last changed organization. `None` if no organization has this id.
    pub(in crate::sandbox::payer) fn turn(
        &self,
        organization: &str,
        changes: &serde_json::Value,
    ) -> Result<Option<Knobs>, KnobError> {
        let chosen = self
            .offices
            .iter()
            .filter(|office| organization == "all" || office.organization.id == organization);
        let mut last = None;
        for office in chosen {
            let knobs = office.knobs().turned(changes)?;
            office.turn(knobs.clone());
            last = Some(knobs);
        }
        Ok(last)
    }

    /// Returns the address of an organization's FHIR API, without a trailing slash.
    pub(in crate::sandbox::payer) fn fhir_base(&self, office: &Office) -> String {
        format!("{}/{}/fhir", self.base_url, office.organization.id)
    }

    /// Returns an organization's records of a person. They include the documents that the knob `attachments` chooses.
    /// There are no records if the knob `no_records` is set.
    pub(in crate::sandbox::payer) fn holding(&self, office: &Office, index: u64) -> Arc<Holding> {
        let Some(person) = self.people.person(index).filter(|_| !office.knobs().no_records) else {
            return Arc::default();
        };
        let changes = office.changes(index);
        let key = (
            office.organization.id,
            index,
            changes.as_ref().map_or(0, |changes| changes.times),
        );
        let additions = changes.as_ref().map(|changes| &changes.additions);
        let made = self.holdings.get_or_insert_with(&key, || {
            let holding = Holding::of(office.organization, &person, &self.people, &self.shelf, additions);
            Ok::<_, std::convert::Infallible>(Arc::new(holding))
        });
        let holding = match made {
            Ok(holding) => holding,
            Err(never) => match never {},
        };
        let knobs = office.knobs();
        if knobs.attachments.is_empty() {
            return holding;
        }
        let types = office.organization.types();
        let mut more = papers::rows(&person, &knobs, &self.fhir_base(office));
        more.retain(|row| types.contains(&row.resource_type.as_str()));
        Arc::new(holding.with(more))
    }
}
