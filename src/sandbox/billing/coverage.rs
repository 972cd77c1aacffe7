//! Coverage: the insurance of a person over time. In a family, the policy of the head of the household also covers the
//! other members.

use super::super::clinical::codes::{Code, copay_type, coverage_class, identifier_type, relationship};
use super::super::output::datatypes::{Link, link};
use super::super::output::json::{List, Object};
use super::super::people::calendar::{DAY, Moment, Text, YEAR};
use super::super::people::chart::Chart;
use super::super::people::directory::{Plan, SENIOR};
use super::super::people::insurance::Insurance;
use super::super::people::profile::Profile;

/// Decides when a person is covered by which payer, and writes the Coverages. There is at least one.
pub(in crate::sandbox) fn write(chart: &mut Chart<'_>) {
    let profile = chart.profile;
    let payers = chart.nation.payers.len();
    let began = profile
        .birth
        .max(profile.end().after(-10 * YEAR - chart.dice.between(0, 400) * DAY))
        .day();
    let mut from = began;
    let years = began.years_until(profile.end());
    let changes = (chart.dice.weighted(&[45, 40, 15]) as i64).min(years / 2);
    let mut payer = (profile.payer + changes as usize) % payers;
    for change in 0..=changes {
        let last = change == changes;
        let until = from
            .after(years / (changes + 1) * YEAR + chart.dice.between(0, 60) * DAY)
            .day();
        let until = (!last).then_some(until).or(profile.death.map(Moment::day));
        let senior = profile.age(from) >= 65 && profile.head.is_none();
        let plan = if senior { SENIOR } else { profile.plan.min(SENIOR - 1) };
        chart.insurances.push(Insurance {
            id: chart.dice.id(),
            payer,
            plan,
            from,
            until,
        });
        from = until.unwrap_or(from);
        payer = (payer + payers - 1) % payers;
    }
    for at in 0..chart.insurances.len() {
        coverage(chart, at);
    }
}

fn coverage(chart: &mut Chart<'_>, at: usize) {
    let profile = chart.profile;
    let patient = chart.patient();
    let insurance = chart.insurances[at];
    let payer = &chart.nation.payers[insurance.payer];
    let plan = &chart.nation.plans[insurance.payer][insurance.plan];
    let head = profile.head.as_deref();
    let subscriber = head.unwrap_or(profile);
    let subscriber_name = subscriber.name();
    let subscriber_link = Link {
        resource_type: "Patient",
        id: subscriber.id,
        display: &subscriber_name,
    };
    let active = insurance.until.is_none_or(|until| until >= profile.end());
    chart.records.add("Coverage", insurance.id, |o| {
        o.profile("http://hl7.org/fhir/us/carin-bb/StructureDefinition/C4BB-Coverage");
        o.only("identifier", |o| {
            o.concept("type", &identifier_type("MB", "Member Number"));
            o.text(
                "system",
                format_args!("https://members.example.org/payer/{}", insurance.payer),
            );
            o.text("value", format_args!("M{:09}-{at:02}", profile.member_number))
                .link("assigner", payer.link());
        });
        o.text("status", if active { "active" } else { "cancelled" });
        o.object("type", |o| sort(o, insurance, plan));
        if head.is_some() {
            o.link("policyHolder", subscriber_link);
        }
        o.link("subscriber", subscriber_link)
            .text("subscriberId", format_args!("S{:09}", subscriber.member_number));
        o.link("beneficiary", patient)
            .text("dependent", format_args!("{:02}", profile.index % 10));
        o.concept("relationship", &kinship(profile));
        o.object("period", |o| {
            o.text("start", Text::Day(insurance.from))
                .maybe("end", insurance.until.map(Text::Day));
        });
        o.links("payor", payer.link());
        o.list("class", |l| classes(l, profile.index / 7 % 40 + 1, plan));
        if at.is_multiple_of(2) {
            o.bare("order", 1)
                .text("network", format_args!("{} preferred network", payer.name));
        }
        o.only("costToBeneficiary", cost);
    });
}

fn kinship(profile: &Profile) -> Code {
    match &profile.head {
        None => relationship("self", "Self"),
        Some(head) if (profile.birth.0 - head.birth.0).abs() < 16 * YEAR => relationship("spouse", "Spouse"),
        Some(_) => relationship("child", "Child"),
    }
}

fn sort(o: &mut Object<'_>, insurance: Insurance, plan: &Plan) {
    let (code, display) = if insurance.plan == SENIOR {
        ("11", "Medicare Advantage")
    } else {
        ("512", "Commercial Managed Care - PPO")
    };
    o.only("coding", |o| {
        o.text("system", "https://nahdo.org/sopt")
            .text("code", code)
            .text("display", display);
    });
    o.text("text", plan.name);
}

fn classes(list: &mut List<'_>, group: u64, plan: &Plan) {
    list.object(|o| {
        o.concept("type", &coverage_class("group", "Group"))
            .text("value", format_args!("G{group:04}"));
        o.text("name", format_args!("Employer group {group}"));
    });
    list.object(|o| {
        o.concept("type", &coverage_class("plan", "Plan"))
            .text("value", plan.id)
            .text("name", plan.name);
    });
}

fn cost(o: &mut Object<'_>) {
    o.concept("type", &copay_type("gpvisit", "GP Office Visit"))
        .money("valueMoney", 2_500);
}

/// Returns a reference to a coverage.
pub(in crate::sandbox) fn reference(insurance: Insurance) -> Link<'static> {
    link("Coverage", insurance.id)
}
