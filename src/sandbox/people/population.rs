//! The population: a number of people, and the directory they share.
//!
//! Invariant: a person's resources depend only on the seed and the person's index. All references lead to resources of
//! the same population, whatever its size.

use super::super::output::organizations;
use super::super::output::records::Records;
use super::directory::{District, Nation, PEOPLE};
use super::profile::Profile;
use super::story;

/// A seeded synthetic population.
pub struct Population {
    seed: u64,
    patients: u64,
    nation: Nation,
}

impl Population {
    /// The population of `patients` people of a seed.
    pub fn new(seed: u64, patients: u64) -> Population {
        Population {
            seed,
            patients,
            nation: Nation::new(seed),
        }
    }

    /// The number of people.
    pub fn patients(&self) -> u64 {
        self.patients
    }

    /// The shared directory in portions: first organizations, plans and drugs, then each district's providers.
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

    /// Each person's resources, the Patient first.
    pub fn people(&self) -> impl Iterator<Item = Records> {
        (0..self.patients).map(|index| self.person(index))
    }

    /// The resources of the `index`th person, the Patient first.
    pub fn person(&self, index: u64) -> Records {
        story::tell(self.seed, &self.nation, &Profile::of(self.seed, index))
    }

    /// The id of the `index`th person's Patient.
    pub fn patient_id(&self, index: u64) -> String {
        Profile::of(self.seed, index).id.to_string()
    }
}
