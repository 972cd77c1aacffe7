//! Decides who pays which part of a claim. Institutional, professional and pharmacy claims share this adjudication.

use super::super::clinical::codes::{Code, adjudication, carin_adjudication};
use super::super::output::json::{List, Object};
use super::super::people::dice::Dice;

/// The amounts of a claim line or of a whole claim, in cents.
#[derive(Clone, Copy, Default)]
pub(in crate::sandbox) struct Amounts {
    pub(in crate::sandbox) submitted: i64,
    pub(in crate::sandbox) discount: i64,
    pub(in crate::sandbox) deductible: i64,
    pub(in crate::sandbox) coinsurance: i64,
    pub(in crate::sandbox) copay: i64,
    pub(in crate::sandbox) paid: i64,
}

impl Amounts {
    /// Splits the charge `submitted` at random into the other amounts. `copay` is the maximum copay. All amounts are in
    /// cents.
    pub(in crate::sandbox) fn of(dice: &mut Dice, submitted: i64, copay: i64) -> Amounts {
        let discount = submitted * dice.between(5, 45) / 100;
        let allowed = submitted - discount;
        let deductible = if dice.percent(25) {
            allowed * dice.between(10, 100) / 100
        } else {
            0
        };
        let copay = copay.min(allowed - deductible);
        let coinsurance = (allowed - deductible - copay) * dice.between(0, 4) * 5 / 100;
        let paid = allowed - deductible - copay - coinsurance;
        Amounts {
            submitted,
            discount,
            deductible,
            coinsurance,
            copay,
            paid,
        }
    }

    /// Returns the sums of the amounts of two claim lines.
    pub(in crate::sandbox) fn plus(self, other: Amounts) -> Amounts {
        Amounts {
            submitted: self.submitted + other.submitted,
            discount: self.discount + other.discount,
            deductible: self.deductible + other.deductible,
            coinsurance: self.coinsurance + other.coinsurance,
            copay: self.copay + other.copay,
            paid: self.paid + other.paid,
        }
    }

    /// Returns the part that the person pays: deductible, coinsurance and copay.
    pub(in crate::sandbox) fn liability(self) -> i64 {
        self.deductible + self.coinsurance + self.copay
    }

    fn categories(self) -> [(Code, i64); 7] {
        [
            (adjudication("submitted", "Submitted Amount"), self.submitted),
            (
                adjudication("eligible", "Eligible Amount"),
                self.submitted - self.discount,
            ),
            (adjudication("deductible", "Deductible"), self.deductible),
            (adjudication("copay", "CoPay"), self.copay),
            (carin_adjudication("coinsurance", "Coinsurance"), self.coinsurance),
            (carin_adjudication("paidtoprovider", "Paid to provider"), self.paid),
            (
                carin_adjudication("memberliability", "Member liability"),
                self.liability(),
            ),
        ]
    }
}

/// Writes the amounts as the list `adjudication`. Leaves out amounts of zero, except the submitted amount.
pub(in crate::sandbox) fn lines(o: &mut Object<'_>, amounts: Amounts) {
    o.list("adjudication", |l| each(l, amounts));
}

/// Writes the amounts as the list `total`. Leaves out amounts of zero, except the submitted amount.
pub(in crate::sandbox) fn totals(o: &mut Object<'_>, amounts: Amounts) {
    o.list("total", |l| each(l, amounts));
}

fn each(list: &mut List<'_>, amounts: Amounts) {
    for (category, cents) in amounts.categories() {
        if cents != 0 || category.code == "submitted" {
            list.object(|o| {
                o.concept("category", &category).money("amount", cents);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::people::dice::{Dice, Stream};

    #[test]
    fn every_cent_is_somebodys() {
        let mut dice = Dice::new(11, Stream::Story, 4);
        for _ in 0..1000 {
            let charge = dice.between(1, 900_000);
            let amounts = Amounts::of(&mut dice, charge, 2_500);
            assert_eq!(amounts.discount + amounts.liability() + amounts.paid, charge);
            assert!(
                [amounts.deductible, amounts.coinsurance, amounts.copay, amounts.paid]
                    .iter()
                    .all(|part| *part >= 0)
            );
        }
    }
}
