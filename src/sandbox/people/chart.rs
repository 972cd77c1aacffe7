//! A person's record while it is generated: the person, the person's providers, and the resources so far.

use uuid::Uuid;

use super::super::clinical::codes::Code;
use super::super::output::datatypes::{Link, link};
use super::super::output::records::Records;
use super::calendar::{Moment, Zone};
use super::dice::Dice;
use super::directory::{District, Nation, Organization, Practitioner};
use super::insurance::Insurance;
use super::profile::Profile;

/// A person's record while it is generated.
pub(in crate::sandbox) struct Chart<'a> {
    pub(in crate::sandbox) dice: Dice,
    pub(in crate::sandbox) nation: &'a Nation,
    pub(in crate::sandbox) profile: &'a Profile,
    /// The districts that treat the person: the home district at index 0, and the district of referrals at index 1.
    /// Both may be the same district.
    pub(in crate::sandbox) care: &'a [District],
    /// The index of the person's usual doctor among the home district's practitioners.
    pub(in crate::sandbox) primary: usize,
    pub(in crate::sandbox) zone: Zone,
    pub(in crate::sandbox) name: String,
    pub(in crate::sandbox) insurances: Vec<Insurance>,
    pub(in crate::sandbox) records: Records,
}

/// The kind of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Kind {
    Checkup,
    Problem,
    FollowUp,
    Remote,
    Emergency,
    Inpatient,
}

/// A diagnosed condition that other resources refer to.
#[derive(Clone, Copy)]
pub(in crate::sandbox) struct Reason {
    pub(in crate::sandbox) condition: Uuid,
    pub(in crate::sandbox) icd: Code,
    pub(in crate::sandbox) snomed: Code,
}

/// A visit.
pub(in crate::sandbox) struct Visit {
    pub(in crate::sandbox) id: Uuid,
    pub(in crate::sandbox) kind: Kind,
    pub(in crate::sandbox) start: Moment,
    pub(in crate::sandbox) end: Moment,
    /// The index of the district in [`Chart::care`].
    pub(in crate::sandbox) place: usize,
    /// The index of the practitioner in the district `place`.
    pub(in crate::sandbox) practitioner: usize,
    /// The index of the site in the district `place`.
    pub(in crate::sandbox) site: usize,
    pub(in crate::sandbox) reasons: Vec<Reason>,
}

impl Visit {
    /// Returns a reference to the Encounter.
    pub(in crate::sandbox) fn link(&self) -> Link<'static> {
        link("Encounter", self.id)
    }
}

impl<'a> Chart<'a> {
    /// Returns a reference to the Patient.
    pub(in crate::sandbox) fn patient(&self) -> Link<'static> {
        link("Patient", self.profile.id)
    }

    /// Returns the practitioner of a visit.
    pub(in crate::sandbox) fn practitioner(&self, visit: &Visit) -> &'a Practitioner {
        &self.care[visit.place].practitioners[visit.practitioner]
    }

    /// Returns the organization of a visit.
    pub(in crate::sandbox) fn organization(&self, visit: &Visit) -> &'a Organization {
        &self.care[visit.place].sites[visit.site].organization
    }

    /// Returns the laboratory that tests the person's samples. The person's district decides which one.
    pub(in crate::sandbox) fn laboratory(&self) -> &'a Organization {
        let laboratories = &self.nation.laboratories;
        &laboratories[(self.profile.district % laboratories.len() as u64) as usize]
    }

    /// Returns the coverage at this moment. If the person has none at this moment, returns the person's first coverage.
    pub(in crate::sandbox) fn insurance(&self, at: Moment) -> Insurance {
        let covering = self
            .insurances
            .iter()
            .position(|one| one.from <= at && one.until.is_none_or(|until| at < until));
        self.insurances[covering.unwrap_or(0)]
    }
}
