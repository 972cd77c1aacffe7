//! Generates a person's profile: names, family, place, illnesses and frequency of visits. The file `story` generates
//! the events of the person's life.

use uuid::Uuid;

use super::super::clinical::summary::diagnoses::{CHRONIC, Chronic};
use super::calendar::{DAY, Moment, PRESENT, YEAR};
use super::dice::{Dice, Stream};
use super::directory::{District, Nation, PLANS, SENIOR};
use super::names;

/// The households of ten consecutive people. For each of the ten, the number is the position of the head of the
/// household among the ten. The head comes before the other members. So a population of any size contains the head of
/// each of its people.
const HOUSEHOLDS: [u64; 10] = [0, 1, 1, 3, 4, 4, 4, 4, 8, 8];

/// How often a person has visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Burden {
    Light,
    Regular,
    Heavy,
}

/// A chronic condition of a person, and when it began.
#[derive(Clone, Copy)]
pub(in crate::sandbox) struct Illness {
    pub(in crate::sandbox) what: &'static Chronic,
    pub(in crate::sandbox) id: Uuid,
    pub(in crate::sandbox) since: Moment,
}

/// A person's profile.
pub(in crate::sandbox) struct Profile {
    pub(in crate::sandbox) index: u64,
    pub(in crate::sandbox) id: Uuid,
    pub(in crate::sandbox) record_number: u64,
    pub(in crate::sandbox) member_number: u64,
    pub(in crate::sandbox) female: bool,
    pub(in crate::sandbox) given: &'static str,
    pub(in crate::sandbox) middle: Option<&'static str>,
    pub(in crate::sandbox) family: &'static str,
    /// The family name before marriage. `None` if the person did not change the name.
    pub(in crate::sandbox) maiden: Option<&'static str>,
    pub(in crate::sandbox) birth: Moment,
    pub(in crate::sandbox) death: Option<Moment>,
    pub(in crate::sandbox) district: u64,
    pub(in crate::sandbox) line: String,
    pub(in crate::sandbox) postal_code: String,
    pub(in crate::sandbox) phone: String,
    /// The index of the race in `RACES`. `language` is an index in `LANGUAGES`. Both lists are in the file `patient`.
    pub(in crate::sandbox) race: usize,
    pub(in crate::sandbox) language: usize,
    pub(in crate::sandbox) hispanic: bool,
    /// The number of children that were born together, including this person. `None` for a single birth.
    pub(in crate::sandbox) siblings_at_birth: Option<u64>,
    pub(in crate::sandbox) payer: usize,
    pub(in crate::sandbox) plan: usize,
    pub(in crate::sandbox) burden: Burden,
    /// Whether the person measures blood pressure and pulse at home.
    pub(in crate::sandbox) monitors: bool,
    pub(in crate::sandbox) illnesses: Vec<Illness>,
    /// The height of the person as an adult, in millimetres.
    pub(in crate::sandbox) height: i64,
    /// The weight of the person as an adult, in tenths of a kilogram.
    pub(in crate::sandbox) weight: i64,
    pub(in crate::sandbox) systolic: i64,
    /// The head of the household. `None` if the person is the head.
    pub(in crate::sandbox) head: Option<Box<Profile>>,
}

impl Profile {
    /// Generates the profile of the person with this index.
    pub(in crate::sandbox) fn of(seed: u64, index: u64) -> Profile {
        let head_index = index - index % 10 + HOUSEHOLDS[(index % 10) as usize];
        let head = (head_index != index).then(|| Box::new(Profile::of(seed, head_index)));
        let dice = &mut Dice::new(seed, Stream::Profile, index);
        let mut profile = Profile::basic(dice, index, head);
        profile.health(dice);
        profile
    }

    /// Returns the age at a moment, in whole years.
    pub(in crate::sandbox) fn age(&self, at: Moment) -> i64 {
        self.birth.years_until(at)
    }

    /// Returns the last moment at which events can occur: the death, or the present if the person is alive.
    pub(in crate::sandbox) fn end(&self) -> Moment {
        self.death.unwrap_or(PRESENT)
    }

    /// Returns the display name, such as `Zoë Müller`.
    pub(in crate::sandbox) fn name(&self) -> String {
        format!("{} {}", self.given, self.family)
    }

    fn basic(dice: &mut Dice, index: u64, head: Option<Box<Profile>>) -> Profile {
        let id = dice.id();
        let place = index % 10;
        let spouse = matches!(place, 2 | 5 | 9);
        let age = match &head {
            Some(head) if spouse => (head.birth.years_until(PRESENT) + dice.near(0, 8)).max(20),
            Some(_) => dice.between(0, 20),
            // This person is the head of a family with children, so the age must fit the children's ages.
            None if place == 4 => dice.between(28, 55),
            None => dice.near(50, 45).clamp(19, 95),
        };
        let birth = PRESENT.after(-age * YEAR - dice.between(1, 364) * DAY).day();
        let female = dice.percent(51);
        let own_family = *dice.pick(names::FAMILY);
        let family = head.as_ref().map_or(own_family, |head| head.family);
        let given_names = if female { names::FEMALE } else { names::MALE };
        let died = age > 40 && dice.percent(6);
        let town = &names::TOWNS[(District::of(index) % names::TOWNS.len() as u64) as usize];
        let (line, postal_code) = (
            format!("{} {}", dice.between(1, 2400), dice.pick(names::STREETS)),
            dice.below(100),
        );
        let payer = dice.index(Nation::PAYERS);
        let plan = if age >= 65 { SENIOR } else { dice.index(PLANS.len() - 1) };
        Profile {
            index,
            id,
            record_number: dice.below(10_000_000),
            member_number: dice.below(1_000_000_000),
            female,
            given: given_names[dice.index(given_names.len())],
            middle: dice.percent(60).then(|| *dice.pick(given_names)),
            family,
            maiden: (spouse && own_family != family).then_some(own_family),
            birth,
            death: died.then(|| PRESENT.after(-dice.between(30, 3 * 365) * DAY + dice.between(0, DAY - 1))),
            district: District::of(index),
            line: head.as_ref().map_or(line, |head| head.line.clone()),
            postal_code: head
                .as_ref()
                .map_or(format!("{}{postal_code:02}", town.2), |head| head.postal_code.clone()),
            phone: super::directory::phone(dice),
            race: dice.weighted(&[60, 14, 8, 2, 1, 15]),
            language: dice.weighted(&[78, 12, 3, 2, 2, 3]),
            hispanic: dice.percent(18),
            siblings_at_birth: dice.percent(3).then(|| dice.between(2, 3) as u64),
            payer: head.as_ref().map_or(payer, |head| head.payer),
            plan,
            burden: Burden::Light,
            monitors: false,
            illnesses: Vec::new(),
            height: if female {
                dice.near(1630, 180)
            } else {
                dice.near(1760, 190)
            },
            weight: if female {
                dice.near(720, 300)
            } else {
                dice.near(850, 320)
            },
            systolic: dice.near(118, 18),
            head,
        }
    }

    fn health(&mut self, dice: &mut Dice) {
        let age = self.age(PRESENT);
        for what in CHRONIC {
            let likely = what.per_mille * (age.clamp(what.from_age, 80) - what.from_age) as u64 / 40;
            if age >= what.from_age && dice.per_mille(likely.min(700)) {
                let since = PRESENT.after(-dice.between(1, (age - what.from_age).clamp(1, 20)) * YEAR);
                let since = since.after(-dice.between(0, 300) * DAY).max(self.birth);
                self.illnesses.push(Illness {
                    what,
                    id: dice.id(),
                    since: since.min(self.end().after(-DAY)),
                });
            }
        }
        let ill = self.illnesses.len() as u64;
        self.burden = match dice.weighted(&[40_u64.saturating_sub(ill * 8), 40, 5 + ill * 8]) {
            0 => Burden::Light,
            1 => Burden::Regular,
            _ => Burden::Heavy,
        };
        if self.illnesses.iter().any(|illness| illness.what.raises_pressure) {
            self.systolic += dice.between(8, 26);
        }
        self.monitors = age >= 30 && dice.percent(8 + 9 * ill.min(4));
    }
}
