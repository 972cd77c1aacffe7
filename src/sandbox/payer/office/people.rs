//! The people of the sandbox: their logins, their demographics, and the facilities where they were seen. All of this is
//! computed from a person's index. So a login in a large sandbox does not need a scan of all people.

use std::collections::HashMap;
use std::sync::OnceLock;

use unicode_normalization::UnicodeNormalization;

use crate::sandbox::output::records::Records;
use crate::sandbox::people::calendar::Text;
use crate::sandbox::people::directory::District;
use crate::sandbox::people::names::TOWNS;
use crate::sandbox::people::population::Population;
use crate::sandbox::people::profile::Profile;

/// The password of all test logins.
pub const PASSWORD: &str = "sandbox";
/// The last digit of a person's index if no facility has seen the person.
const UNKNOWN: u64 = 9;

/// A person's login and demographics.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Person {
    /// The index in the population.
    #[serde(skip)]
    pub index: u64,
    /// The user name: the given name in ASCII letters, and the index plus 1, such as `zoe12`.
    pub user: String,
    /// The id of the Patient at every organization.
    pub patient: String,
    /// The given name.
    pub given: String,
    /// The family name.
    pub family: String,
    /// The date of birth, `YYYY-MM-DD`.
    pub birth_date: String,
    /// `female` or `male`.
    pub gender: &'static str,
    /// The street and number.
    pub line: String,
    /// The town.
    pub city: &'static str,
    /// The state.
    pub state: &'static str,
    /// The postal code.
    pub postal_code: String,
}

/// The demographics by which a person is looked up.
#[derive(Clone, Debug, Default)]
pub(in crate::sandbox::payer) struct Demographics {
    pub(in crate::sandbox::payer) given: String,
    pub(in crate::sandbox::payer) family: String,
    pub(in crate::sandbox::payer) birth_date: String,
    pub(in crate::sandbox::payer) gender: Option<String>,
    pub(in crate::sandbox::payer) postal_code: Option<String>,
}

/// The people of the sandbox.
pub(in crate::sandbox::payer) struct People {
    seed: u64,
    population: Population,
    register: OnceLock<Register>,
}

/// Maps from Patient ids, and from birth dates, to the indexes of people. They are built at the first use.
struct Register {
    patients: HashMap<String, u64>,
    births: HashMap<String, Vec<u64>>,
}

impl People {
    pub(in crate::sandbox::payer) fn new(seed: u64, patients: u64) -> People {
        People {
            seed,
            population: Population::new(seed, patients),
            register: OnceLock::new(),
        }
    }

    pub(in crate::sandbox::payer) fn count(&self) -> u64 {
        self.population.patients()
    }

    pub(in crate::sandbox::payer) fn population(&self) -> &Population {
        &self.population
    }

    /// Returns the person with this index. `None` if the sandbox has fewer people.
    pub(in crate::sandbox::payer) fn person(&self, index: u64) -> Option<Person> {
        (index < self.count()).then(|| Person::of(&Profile::of(self.seed, index)))
    }

    /// Returns a person's whole record.
    pub(in crate::sandbox::payer) fn records(&self, index: u64) -> Records {
        self.population.person(index)
    }

    /// Returns the person with this user name and password. `None` if one of the two is wrong.
    pub(in crate::sandbox::payer) fn log_in(&self, user: &str, password: &str) -> Option<Person> {
        let user = user.trim().to_lowercase();
        let digits = user.bytes().rev().take_while(u8::is_ascii_digit).count();
        let number: u64 = user[user.len() - digits..].parse().ok()?;
        let person = self.person(number.checked_sub(1)?)?;
        (person.user == user && password == PASSWORD).then_some(person)
    }

    /// Returns the index of the person whose Patient has this id.
    pub(in crate::sandbox::payer) fn by_patient(&self, id: &str) -> Option<u64> {
        self.register().patients.get(id).copied()
    }

    /// Returns the people who have these demographics, in the order of their indexes.
    pub(in crate::sandbox::payer) fn find(&self, by: &Demographics) -> Vec<Person> {
        let born = self.register().births.get(by.birth_date.trim());
        let people = born.into_iter().flatten().filter_map(|index| self.person(*index));
        people.filter(|person| person.matches(by)).collect()
    }

    fn register(&self) -> &Register {
        self.register.get_or_init(|| {
            let mut register = Register {
                patients: HashMap::new(),
                births: HashMap::new(),
            };
            for index in 0..self.count() {
                let profile = Profile::of(self.seed, index);
                register.patients.insert(profile.id.to_string(), index);
                let born = Text::Day(profile.birth).to_string();
                register.births.entry(born).or_default().push(index);
            }
            register
        })
    }
}

impl Person {
    fn of(profile: &Profile) -> Person {
        let town = &TOWNS[(District::of(profile.index) % TOWNS.len() as u64) as usize];
        Person {
            index: profile.index,
            user: format!("{}{}", folded(profile.given), profile.index + 1),
            patient: profile.id.to_string(),
            given: profile.given.to_owned(),
            family: profile.family.to_owned(),
            birth_date: Text::Day(profile.birth).to_string(),
            gender: if profile.female { "female" } else { "male" },
            line: profile.line.clone(),
            city: town.0,
            state: town.1,
            postal_code: profile.postal_code.clone(),
        }
    }

    /// Whether the person has these demographics. Names are compared without accents, case and punctuation. The other
    /// demographics must be equal. A gender or a postal code that is missing in `by` is not compared.
    pub(in crate::sandbox::payer) fn matches(&self, by: &Demographics) -> bool {
        let agrees = |given: &Option<String>, own: &str| given.as_deref().is_none_or(|given| given.trim() == own);
        folded(&by.given) == folded(&self.given)
            && folded(&by.family) == folded(&self.family)
            && by.birth_date.trim() == self.birth_date
            && agrees(&by.gender, self.gender)
            && agrees(&by.postal_code, &self.postal_code)
    }

    /// Returns the number of facilities where the person was seen: none for every tenth person, and one to three for
    /// the others. A number of 2 means the first two facilities of `ORGANIZATIONS`.
    pub fn facilities(&self) -> u64 {
        match self.index % 10 {
            UNKNOWN => 0,
            _ => 1 + self.index % 3,
        }
    }
}

/// Returns a name as lower-case ASCII letters and digits, without accents.
fn folded(name: &str) -> String {
    name.nfd()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_logs_in_by_their_own_name_only() {
        let people = People::new(1, 25);
        for index in 0..25 {
            let person = people.person(index).unwrap();
            assert_eq!(people.log_in(&person.user, PASSWORD).as_ref(), Some(&person));
            assert_eq!(people.by_patient(&person.patient), Some(index));
            assert!(people.log_in(&person.user, "wrong").is_none());
            assert!(people.log_in(&format!("x{}", person.user), PASSWORD).is_none());
        }
        for nobody in ["", "ada", "ada0", "ada26", "ada99999999999999999999", "é", "1"] {
            assert!(people.log_in(nobody, PASSWORD).is_none(), "{nobody}");
        }
    }

    #[test]
    fn people_are_found_by_name_and_birth_however_the_name_is_written() {
        let people = People::new(1, 60);
        let person = people.person(12).unwrap();
        let mut by = Demographics {
            given: person.given.to_uppercase(),
            family: format!(" {} ", person.family),
            birth_date: person.birth_date.clone(),
            ..Demographics::default()
        };
        assert_eq!(people.find(&by), std::slice::from_ref(&person));
        by.gender = Some(person.gender.to_owned());
        by.postal_code = Some(person.postal_code.clone());
        assert_eq!(people.find(&by).len(), 1);
        by.postal_code = Some("00000".to_owned());
        assert!(people.find(&by).is_empty());
        by.postal_code = None;
        by.birth_date = "1800-01-01".to_owned();
        assert!(people.find(&by).is_empty());
    }

    #[test]
    fn names_lose_their_accents() {
        assert_eq!(folded("Ana María"), "anamaria");
        assert_eq!(folded("O'Brien-Þ"), "obrien");
    }
}
