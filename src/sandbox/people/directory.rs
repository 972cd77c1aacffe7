//! The directory that people share: the nation's payers, laboratories, pharmacies, plans and drugs, and the providers
//! of each district.
//!
//! A district serves 200 consecutive people. A person is referred only to their own district, or to a district with a
//! lower index. So a population of any size contains all providers to which its people are referred.

use uuid::Uuid;

use super::super::clinical::codes::{Code, taxonomy};
use super::super::clinical::medication::drugs::DRUGS;
use super::super::output::datatypes::{Link, link};
use super::calendar::Zone;
use super::dice::{Dice, Stream};
use super::names;

/// The number of people in a district.
pub(in crate::sandbox) const PEOPLE: u64 = 200;

/// An organization with its National Provider Identifier.
pub(in crate::sandbox) struct Organization {
    pub(in crate::sandbox) id: Uuid,
    pub(in crate::sandbox) name: String,
    pub(in crate::sandbox) npi: String,
}

/// A plan that a payer offers.
pub(in crate::sandbox) struct Plan {
    pub(in crate::sandbox) id: Uuid,
    pub(in crate::sandbox) name: &'static str,
    /// The code of the plan's type in R4's code system of insurance plan types.
    pub(in crate::sandbox) kind: &'static str,
}

/// The directory of the whole nation.
pub(in crate::sandbox) struct Nation {
    pub(in crate::sandbox) payers: Vec<Organization>,
    /// The plans of each payer, in the order of [`PLANS`].
    pub(in crate::sandbox) plans: Vec<Vec<Plan>>,
    pub(in crate::sandbox) laboratories: Vec<Organization>,
    pub(in crate::sandbox) pharmacies: Vec<Organization>,
    /// Ids of the Medication resources, in the order of [`DRUGS`].
    pub(in crate::sandbox) drugs: Vec<Uuid>,
}

/// The plans that every payer offers: name and type.
pub(in crate::sandbox) const PLANS: &[(&str, &str)] = &[
    ("Open Access PPO", "medical"),
    ("Family HMO", "medical"),
    ("Senior Advantage", "medical"),
];
/// The index in [`PLANS`] of the plan for people of 65 years or more.
pub(in crate::sandbox) const SENIOR: usize = 2;

const PAYERS: &[&str] = &[
    "Meridian Health Plan",
    "Bluewater Mutual",
    "Harborlight Insurance",
    "Summit Care Alliance",
    "Plainsman Health",
];
const LABORATORIES: &[&str] = &["Clearwater Laboratories", "Northern Reference Laboratory"];
const PHARMACIES: &[&str] = &["Corner Drug", "Wellspring Pharmacy", "Apothecary by Mail"];

impl Nation {
    /// The number of payers.
    pub(in crate::sandbox) const PAYERS: usize = PAYERS.len();

    /// Generates the nation for a seed.
    pub(in crate::sandbox) fn new(seed: u64) -> Nation {
        let dice = &mut Dice::new(seed, Stream::Nation, 0);
        let mut named = |names: &[&str]| -> Vec<Organization> {
            names
                .iter()
                .map(|name| Organization {
                    id: dice.id(),
                    name: (*name).to_owned(),
                    npi: npi(dice),
                })
                .collect()
        };
        let (payers, laboratories, pharmacies) = (named(PAYERS), named(LABORATORIES), named(PHARMACIES));
        let plans = payers
            .iter()
            .map(|_| {
                PLANS
                    .iter()
                    .map(|(name, kind)| Plan {
                        id: dice.id(),
                        name,
                        kind,
                    })
                    .collect()
            })
            .collect();
        let drugs = DRUGS.iter().map(|_| dice.id()).collect();
        Nation {
            payers,
            plans,
            laboratories,
            pharmacies,
            drugs,
        }
    }
}

/// The specialty of a practitioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Specialty {
    Family,
    Pediatrics,
    Internal,
    Cardiology,
    Emergency,
    Orthopedics,
    Obstetrics,
    Radiology,
    Nursing,
}

/// For each specialty: the number of practitioners that each district has, and the code of the specialty.
const STAFF: &[(Specialty, usize, Code)] = &[
    (
        Specialty::Family,
        6,
        taxonomy("207Q00000X", "Family Medicine Physician"),
    ),
    (Specialty::Pediatrics, 3, taxonomy("208000000X", "Pediatrics Physician")),
    (
        Specialty::Internal,
        4,
        taxonomy("207R00000X", "Internal Medicine Physician"),
    ),
    (
        Specialty::Cardiology,
        2,
        taxonomy("207RC0000X", "Cardiovascular Disease Physician"),
    ),
    (
        Specialty::Emergency,
        3,
        taxonomy("207P00000X", "Emergency Medicine Physician"),
    ),
    (
        Specialty::Orthopedics,
        2,
        taxonomy("207X00000X", "Orthopaedic Surgery Physician"),
    ),
    (
        Specialty::Obstetrics,
        2,
        taxonomy("207V00000X", "Obstetrics & Gynecology Physician"),
    ),
    (
        Specialty::Radiology,
        1,
        taxonomy("2085R0202X", "Diagnostic Radiology Physician"),
    ),
    (Specialty::Nursing, 3, taxonomy("363L00000X", "Nurse Practitioner")),
];

/// A practitioner. `role` is the id of the PractitionerRole, which links the practitioner to the site.
pub(in crate::sandbox) struct Practitioner {
    pub(in crate::sandbox) id: Uuid,
    pub(in crate::sandbox) role: Uuid,
    pub(in crate::sandbox) given: &'static str,
    pub(in crate::sandbox) family: &'static str,
    pub(in crate::sandbox) female: bool,
    pub(in crate::sandbox) npi: String,
    pub(in crate::sandbox) specialty: Specialty,
    pub(in crate::sandbox) taxonomy: Code,
    /// The display name, such as `Dr. Ada Young`.
    pub(in crate::sandbox) name: String,
    /// The index of the practitioner's workplace in [`District::sites`].
    pub(in crate::sandbox) site: usize,
}

/// A hospital or clinic with its location.
pub(in crate::sandbox) struct Site {
    pub(in crate::sandbox) organization: Organization,
    pub(in crate::sandbox) location: Uuid,
    pub(in crate::sandbox) hospital: bool,
    pub(in crate::sandbox) line: String,
    pub(in crate::sandbox) postal_code: String,
    pub(in crate::sandbox) phone: String,
    /// The latitude in millionths of a degree. `longitude` has the same unit.
    pub(in crate::sandbox) latitude: i64,
    pub(in crate::sandbox) longitude: i64,
}

/// The providers of a district.
pub(in crate::sandbox) struct District {
    pub(in crate::sandbox) town: &'static names::Town,
    /// The sites: a hospital, which comes first, and three practices or clinics.
    pub(in crate::sandbox) sites: Vec<Site>,
    /// The id of the Location of the hospital's emergency department.
    pub(in crate::sandbox) emergency: Uuid,
    pub(in crate::sandbox) practitioners: Vec<Practitioner>,
}

impl District {
    /// Generates the district with this index.
    pub(in crate::sandbox) fn new(seed: u64, index: u64) -> District {
        let dice = &mut Dice::new(seed, Stream::District, index);
        let town = &names::TOWNS[(index % names::TOWNS.len() as u64) as usize];
        let kinds = ["Hospital", "Family Practice", "Medical Group", "Children's Clinic"];
        let sites: Vec<Site> = kinds.iter().map(|kind| site(dice, town, kind)).collect();
        let emergency = dice.id();
        let practitioners = STAFF
            .iter()
            .flat_map(|entry| (0..entry.1).map(move |_| entry))
            .map(|(specialty, _, taxonomy)| practitioner(dice, *specialty, *taxonomy))
            .collect();
        District {
            town,
            sites,
            emergency,
            practitioners,
        }
    }

    /// Returns the index of the home district of the person with this index.
    pub(in crate::sandbox) fn of(person: u64) -> u64 {
        person / PEOPLE
    }

    /// Returns the time zone of the district's town.
    pub(in crate::sandbox) fn zone(&self) -> Zone {
        Zone(self.town.3)
    }

    /// Returns the index of a practitioner with this specialty. The same `key` always gives the same practitioner.
    pub(in crate::sandbox) fn practitioner(&self, specialty: Specialty, key: u64) -> usize {
        let first = self
            .practitioners
            .iter()
            .position(|one| one.specialty == specialty)
            .unwrap_or(0);
        let many = self
            .practitioners
            .iter()
            .filter(|one| one.specialty == specialty)
            .count()
            .max(1);
        first + (key % many as u64) as usize
    }
}

impl Practitioner {
    /// Returns a reference to the practitioner.
    pub(in crate::sandbox) fn link(&self) -> Link<'_> {
        Link {
            resource_type: "Practitioner",
            id: self.id,
            display: &self.name,
        }
    }

    /// Returns a reference to the practitioner's PractitionerRole.
    pub(in crate::sandbox) fn role(&self) -> Link<'static> {
        link("PractitionerRole", self.role)
    }
}

impl Organization {
    /// Returns a reference to the organization.
    pub(in crate::sandbox) fn link(&self) -> Link<'_> {
        Link {
            resource_type: "Organization",
            id: self.id,
            display: &self.name,
        }
    }
}

fn site(dice: &mut Dice, town: &names::Town, kind: &str) -> Site {
    let name = format!("{} {kind}", dice.pick(names::PROVIDERS));
    Site {
        organization: Organization {
            id: dice.id(),
            name,
            npi: npi(dice),
        },
        location: dice.id(),
        hospital: kind == "Hospital",
        line: format!("{} {}", dice.between(1, 999), dice.pick(names::STREETS)),
        postal_code: format!("{}{:02}", town.2, dice.below(100)),
        phone: phone(dice),
        latitude: dice.between(30_000_000, 45_000_000),
        longitude: dice.between(-120_000_000, -75_000_000),
    }
}

fn practitioner(dice: &mut Dice, specialty: Specialty, taxonomy: Code) -> Practitioner {
    let female = dice.percent(52);
    let given = *dice.pick(if female { names::FEMALE } else { names::MALE });
    let family = *dice.pick(names::FAMILY);
    let title = if specialty == Specialty::Nursing { "" } else { "Dr. " };
    let site = match specialty {
        Specialty::Family | Specialty::Nursing => 1,
        Specialty::Internal | Specialty::Cardiology | Specialty::Obstetrics => 2,
        Specialty::Pediatrics => 3,
        Specialty::Emergency | Specialty::Orthopedics | Specialty::Radiology => 0,
    };
    Practitioner {
        id: dice.id(),
        role: dice.id(),
        given,
        family,
        female,
        npi: npi(dice),
        specialty,
        taxonomy,
        name: format!("{title}{given} {family}"),
        site,
    }
}

/// Returns a telephone number from the range that is reserved for fiction.
pub(in crate::sandbox) fn phone(dice: &mut Dice) -> String {
    format!("({}) 555-01{:02}", dice.between(201, 989), dice.below(100))
}

/// Returns a number in the form of a National Provider Identifier, with a valid check digit. Real identifiers begin
/// with 1 or 2. The returned number begins with 99, so it belongs to no real provider.
fn npi(dice: &mut Dice) -> String {
    let body = format!("99{:07}", dice.below(10_000_000));
    // Luhn's algorithm gives the check digit. It covers the prefix 80840 and then the body. The digits of the prefix
    // add 24 to the sum.
    let sum: u32 = body
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let digit = u32::from(digit - b'0');
            if at % 2 == 1 {
                digit
            } else {
                digit * 2 / 10 + digit * 2 % 10
            }
        })
        .sum();
    format!("{body}{}", (10 - (sum + 24) % 10) % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_numbers_carry_their_check_digit() {
        let mut dice = Dice::new(3, Stream::District, 0);
        for _ in 0..50 {
            let text = format!("80840{}", npi(&mut dice));
            let sum: u32 = text
                .bytes()
                .rev()
                .enumerate()
                .map(|(at, digit)| {
                    let digit = u32::from(digit - b'0');
                    if at % 2 == 0 {
                        digit
                    } else {
                        digit * 2 / 10 + digit * 2 % 10
                    }
                })
                .sum();
            assert_eq!(sum % 10, 0, "{text}");
        }
    }

    #[test]
    fn a_district_has_every_specialty() {
        let district = District::new(1, 5);
        for (specialty, many, _) in STAFF {
            let at = district.practitioner(*specialty, 17);
            assert_eq!(district.practitioners[at].specialty, *specialty);
            assert_eq!(
                district
                    .practitioners
                    .iter()
                    .filter(|one| one.specialty == *specialty)
                    .count(),
                *many
            );
        }
    }
}
