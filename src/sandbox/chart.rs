//! A person's record while it is being written: who they are, who cares for them, and the resources so far.

use uuid::Uuid;

use super::calendar::{Moment, Zone};
use super::codes::Code;
use super::coverage::Insurance;
use super::datatypes::{Link, link};
use super::dice::Dice;
use super::directory::{District, Nation, Organization, Practitioner};
use super::profile::Profile;
use super::records::Records;

/// A person's record while it is being written.
pub(super) struct Chart<'a> {
    pub(super) dice: Dice,
    pub(super) nation: &'a Nation,
    pub(super) profile: &'a Profile,
    /// The home district first, then one the person is referred to.
    pub(super) care: &'a [District],
    /// Place of the usual doctor among the home district's practitioners.
    pub(super) primary: usize,
    pub(super) zone: Zone,
    pub(super) name: String,
    pub(super) insurances: Vec<Insurance>,
    pub(super) records: Records,
}

/// What sort of visit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Checkup,
    Problem,
    FollowUp,
    Remote,
    Emergency,
    Inpatient,
}

/// A diagnosed condition, as what follows from it refers to it.
#[derive(Clone, Copy)]
pub(super) struct Reason {
    pub(super) condition: Uuid,
    pub(super) icd: Code,
    pub(super) snomed: Code,
}

/// A visit.
pub(super) struct Visit {
    pub(super) id: Uuid,
    pub(super) kind: Kind,
    pub(super) start: Moment,
    pub(super) end: Moment,
    /// Place in [`Chart::care`].
    pub(super) place: usize,
    /// Place among that district's practitioners.
    pub(super) practitioner: usize,
    /// Place among that district's sites.
    pub(super) site: usize,
    pub(super) reasons: Vec<Reason>,
}

impl Visit {
    /// A reference to the Encounter.
    pub(super) fn link(&self) -> Link<'static> {
        link("Encounter", self.id)
    }
}

impl<'a> Chart<'a> {
    /// A reference to the person.
    pub(super) fn patient(&self) -> Link<'static> {
        link("Patient", self.profile.id)
    }

    /// Who sees the person at a visit.
    pub(super) fn practitioner(&self, visit: &Visit) -> &'a Practitioner {
        &self.care[visit.place].practitioners[visit.practitioner]
    }

    /// Where the person is seen.
    pub(super) fn organization(&self, visit: &Visit) -> &'a Organization {
        &self.care[visit.place].sites[visit.site].organization
    }

    /// The laboratory that the person's samples go to.
    pub(super) fn laboratory(&self) -> &'a Organization {
        let laboratories = &self.nation.laboratories;
        &laboratories[(self.profile.district % laboratories.len() as u64) as usize]
    }
}
