//! ExplanationOfBenefit for a dispensed drug.

use super::super::clinical::codes::{care_team_role, carin_information};
use super::super::clinical::medication::dispensing::Dispensing;
use super::super::output::datatypes::Unit;
use super::super::output::json::{List, decimal};
use super::super::people::calendar::{DAY, Text};
use super::super::people::chart::Chart;
use super::adjudication::{self, Amounts};
use super::claims;

/// Writes the claim for a dispensed drug.
pub(in crate::sandbox) fn claim(chart: &mut Chart<'_>, dispensing: &Dispensing<'_>) {
    let id = chart.dice.id();
    let drug = dispensing.drug;
    let price = drug.price + chart.dice.between(0, drug.price / 4);
    let amounts = Amounts::of(&mut chart.dice, price, 1_000);
    let head = claims::Head {
        kind: claims::Kind::Pharmacy,
        from: dispensing.at,
        until: dispensing.at,
        cancelled: chart.dice.percent(1),
    };
    let zone = chart.zone;
    let (pharmacy, prescriber) = (dispensing.pharmacy, dispensing.prescriber);
    let insurance = chart.insurance(dispensing.at);
    let payer = &chart.nation.payers[insurance.payer];
    let patient = chart.patient();
    let covered = super::coverage::reference(insurance);
    chart.records.add("ExplanationOfBenefit", id, |o| {
        claims::head(o, id, &head, patient, payer.link(), pharmacy.link());
        o.only("careTeam", |o| {
            o.bare("sequence", 1)
                .link("provider", prescriber)
                .concept("role", &care_team_role("other", "Other"));
        });
        o.list("supportingInfo", |l| information(l, dispensing));
        claims::insurance(o, covered);
        o.only("item", |o| {
            o.bare("sequence", 1).list("careTeamSequence", |l| {
                l.bare(1);
            });
            o.concept_of("productOrService", &[&drug.code], Some(drug.code.display));
            o.text("servicedDate", Text::Day(dispensing.at.after(i64::from(zone.0) * 60)));
            o.quantity("quantity", decimal(drug.daily * drug.days, 0), Unit("each", "{each}"));
            adjudication::lines(o, amounts);
        });
        adjudication::totals(o, amounts);
        claims::payment(o, amounts, dispensing.at.after(14 * DAY));
    });
}

fn information(list: &mut List<'_>, dispensing: &Dispensing<'_>) {
    let supplied = (carin_information("dayssupply", "Days Supply"), dispensing.drug.days);
    let refilled = (carin_information("refillnum", "Refill Number"), dispensing.refill);
    for (at, (category, number)) in [supplied, refilled].iter().enumerate() {
        list.object(|o| {
            o.bare("sequence", at + 1)
                .concept("category", category)
                .object("valueQuantity", |o| {
                    o.bare("value", number);
                });
        });
    }
}
