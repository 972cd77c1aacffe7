//! The population: a number of people, and the directory that they share.
//!
//! Invariant: a person's resources depend only on the seed and the person's index. All references lead to resources of
//! the same population, even if the population is small.

use super::super::output::organizations;
use super::super::output::records::Records;
use super::directory::{District, Nation, PEOPLE};
use super::profile::Profile;
use super::story;

/// A synthetic population that is generated from a seed.
pub struct Population {
    seed: u64,
    patients: u64,
    nation: Nation,
}

impl Population {
    /// Creates the population of `patients` people for a seed.
    pub fn new(seed: u64, patients: u64) -> Population {
        Population {
            seed,
            patients,
            nation: Nation::new(seed),
        }
    }

    /// Returns the number of people.
    pub fn patients(&self) -> u64 {
        self.patients
    }

    /// Returns the resources of the shared directory in several parts: first the part of the nation, then one part for
    /// the providers of each district.
    pub fn directory(&self) -> impl Iterator<Item = Records> {
        let nation = std::iter::once_with(|| {
            let mut records = Records::default();
            organizations::nation(&mut records, &self.nation);
            records
        });
        let districts = (0..self.patients.div_ceil(PEOPLE)).map(|index| {
            let mut records = Records::default();
            organizations::district(&mut records, &District::new(self.seed, index));
            records
        });
        nation.chain(districts)
    }

    /// Returns each person's resources. The Patient comes first.
    pub fn people(&self) -> impl Iterator<Item = Records> {
        (0..self.patients).map(|index| self.person(index))
    }

    /// Returns the resources of the person with this index. The Patient comes first.
    pub fn person(&self, index: u64) -> Records {
        story::tell(self.seed, &self.nation, &Profile::of(self.seed, index))
    }

    /// Returns the id of the Patient of the person with this index.
    pub fn patient_id(&self, index: u64) -> String {
        Profile::of(self.seed, index).id.to_string()
    }
}
